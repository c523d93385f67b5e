# SPDX-License-Identifier: BSD-3-Clause
from lint_includes import BUILD, check

from tests.fixture import TreeTest

CASES: tuple[tuple[str, ...], ...] = (
    ("#include <stddef.h>\nsize_t size;\n",),
    ("#include <signal.h>\nsize_t size;\n", "1 missing", "1 unused"),
    ("int f(void)\n{\n  return getpid();\n}\n", "1 compiles"),
)


class IncludesTest(TreeTest):
    def test_file(self) -> None:
        for text, *expected in CASES:
            self.expect(check, {BUILD: "[]", "a.c": text}, *(f"a.c:{one}" for one in expected))
