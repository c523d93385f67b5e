# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from lint_circles import check

from tests.fixture import TreeTest

A, B, C = ('#include "ws_a.h"\n', '#include "ws_b.h"\n', '#include "ws_c.h"\n')


class CirclesTest(TreeTest):
    def expect(self, files: dict[str, str], *expected: str) -> None:
        self.assert_rules(check(self.tree(files)), *expected)

    def test_a_chain_is_none(self) -> None:
        self.expect({"@/core/ws_a.c": A + B, "@/core/ws_a.h": "", "@/core/ws_b.h": C, "@/core/ws_c.h": ""})

    def test_a_source_and_its_header_are_one(self) -> None:
        files = {"@/core/ws_a.c": B, "@/core/ws_a.h": "", "@/core/ws_b.h": "", "@/core/ws_b.c": A}
        self.expect(files, "ws_a.c:1 circle")

    def test_a_header_of_cxx_stands_for_itself(self) -> None:
        files = {"@/include/ws_a.h": "", "@/include/ws_a.hpp": '#include "ws_a.h"\n#include "ws_b.hpp"\n'}
        self.expect({**files, "@/include/ws_b.hpp": A})
        self.expect({**files, "@/include/ws_b.hpp": '#include "ws_a.hpp"\n'}, "ws_a.hpp:2 circle")

    def test_through_others_and_other_folders(self) -> None:
        back = '\n#include "../core/ws_a.h"\n'
        files = {"@/core/ws_a.h": '#include "../sleep/ws_b.h"\n', "@/sleep/ws_b.h": C, "@/sleep/ws_c.h": back}
        self.expect(files, "ws_a.h:1 circle")

    def test_a_comment_is_no_include(self) -> None:
        self.expect({"@/core/ws_a.h": B, "@/core/ws_b.h": "// " + A})

    def test_imports_of_python(self) -> None:
        files = {"x/pack/__init__.py": "", "x/pack/a.py": "from pack.b import f\n"}
        self.expect({**files, "x/pack/b.py": "import os\n"})
        self.expect({**files, "x/pack/b.py": "from pack import a\n"}, "a.py:1 circle")
        self.expect({**files, "x/pack/b.py": "from .a import g\n"}, "a.py:1 circle")
        self.expect({**files, "x/pack/b.py": "def f():\n    import pack.a\n"}, "a.py:1 circle")

    def test_tests_are_left_out(self) -> None:
        self.expect({"@/tests/unit/ws_a.h": B, "@/tests/unit/ws_b.h": A})
