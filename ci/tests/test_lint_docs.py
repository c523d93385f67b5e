# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from lint_docs import SPDX, anchors, check

from tests.fixture import TreeTest

HEAD = f"// {SPDX}\n"


class DocsTest(TreeTest):
    def expect(self, text: str, *expected: str) -> None:
        files = {
            "README.md": text,
            "docs/tuning.md": "# Tuning\n## Spin & `wake`: 2 µs\n",
            "@/setup/ws_pool.c": HEAD,
            "ci/test": f"#!/bin/sh\n# {SPDX}\n",
        }
        self.assert_rules(check(self.tree(files)), *expected)

    def test_links(self) -> None:
        self.expect("[a](docs/tuning.md) [b](docs/) [c](https://example.org/none)\n")
        self.expect("[a](docs/tunning.md)\n\n[x]: docs/none.md\n", "README.md:1 link", "README.md:3 link")

    def test_links_in_code_are_no_links(self) -> None:
        self.expect("`[a](b)`\n\n```\n[a](none.md)\n```\n")

    def test_anchors(self) -> None:
        self.expect("# Here\n[a](#here) [b](docs/tuning.md#spin--wake-2-µs)\n")
        self.expect("# Here\n[a](#there) [b](docs/tuning.md#spin)\n", "README.md:2 anchor")

    def test_a_repeated_heading_is_numbered(self) -> None:
        self.assertEqual(anchors("# A b\n## A b\n```\n# no\n```\n"), {"a-b", "a-b-1"})

    def test_paths_in_backticks(self) -> None:
        self.expect(
            "`ci/test full`, `ws_pool.c`, `docs/*.md`, `docs/`, `build/x.c`, `ci/<step>`, `a/b`, `x.h`\n"
        )
        self.expect("`docs/none.md` and `ws_pol.c`\n", "README.md:1 path")
        self.expect("`cmake_targets/build_oai`, OAI's\n")

    def test_reminders_need_an_issue(self) -> None:
        word = "TO" + "DO"
        self.expect(f"{word} #12: later\n")
        self.expect(f"later: {word}\n", "README.md:1 reminder")

    def test_machine_paths(self) -> None:
        self.expect("see " + "/ho" + "me/ann/x\n", "README.md:1 machine")
        self.expect("see " + "/ro" + "ot/x\n", "README.md:1 machine")
        self.expect("see net" + "/wo" + "rk/x, ~/x, $HOME/x\n")

    def test_sources_name_their_licence(self) -> None:
        files = {
            "a.c": "int a;\n",
            "b.c": HEAD,
            "CMakeLists.txt": "",
            "run": "#!/bin/sh\n",
            "data.csv": "1\n",
        }
        self.assert_rules(check(self.tree(files)), "a.c:1 spdx", "CMakeLists.txt:1 spdx", "run:1 spdx")
