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
        self.expect(
            "[a](docs/tunning.md)\n\n[x]: docs/none.md\n",
            "README.md:1 link",
            "README.md:3 link",
        )

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
        self.expect("`setup/ws_pool.c:3`, `setup/`, `setup/none/`\n")
        self.expect("`core/ws_pool.c`\n", "README.md:1 path")
        self.expect("`cmake_targets/build_oai`, OAI's\n")

    def expect_commands(self, commands: str, *expected: str) -> None:
        self.expect(f"```\n{commands}\n```\n", *expected)

    def test_files_of_commands(self) -> None:
        self.expect_commands(
            "ci/test full && ./ci/test  # ci/none\nbuild/x a/b <x>/ci/none ~/ci/none docs/*.h"
        )
        self.expect_commands("ci/test\nci/tset", "README.md:3 command")
        self.expect_commands(
            "ci/test --out \\\n docs/none.md\n./ci/tset",
            "README.md:2 command",
            "README.md:4 command",
        )
        self.expect("```c\nci/none;\n```\n\n~~~\nci/none\n~~~\n")

    def test_commands_run_where_the_page_has_gone(self) -> None:
        self.expect_commands("cd docs && ../ci/test\ncd <elsewhere>\ndocs/none.md")
        self.expect_commands("cd docs\nci/test", "README.md:3 command")
        self.expect_commands("cd ci/none", "README.md:2 command")
        self.expect_commands(
            "WS=~/here\n$WS/ci/test -DX=$WS/ci/none <here>/ci/test",
            "README.md:3 command",
        )

    def test_builds_of_oai_are_where_they_were_made(self) -> None:
        begin = "cd <OAI>/cmake_targets\n./build_oai -d ws \\\n --ninja\n"
        self.expect_commands(
            begin + "cd ws/build\n./nr_ulsim\n```\n\n```\nx --new <OAI>/cmake_targets/ws/build"
        )
        self.expect_commands(begin + "cd ran_build/build", "README.md:5 command")
        self.expect_commands(begin + "x --old=<OAI>/cmake_targets/old/build", "README.md:5 command")
        self.expect_commands("cd <OAI>/cmake_targets && ./build_oai\ncd ran_build/build")
        self.expect_commands("OAI=~/x\ncmake -S $OAI -B $OAI/b/build\nx $OAI/b/build")
        self.expect_commands("./build_oai -d ws", "README.md:2 command")

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
