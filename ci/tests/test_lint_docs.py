# SPDX-License-Identifier: BSD-3-Clause
import subprocess
from unittest import mock

import lint_docs
from lint_docs import SPDX, anchors, check, old_steps

from tests.fixture import FolderTest, TreeTest

HEAD = f"// {SPDX}\n"
KILLS = "mutant,units,scenes,contract\n"
TREE = {
    "docs/tuning.md": "# Tuning\n## Spin & `wake`: 2 µs\n",
    "@/setup/ws_pool.c": HEAD,
    "ci/test": f"# {SPDX}\n",
    "ci/steps/88-abi": "",
    "@/tests/CMakeLists.txt": f"# {SPDX}\nset(target test_scenes)\n",
    "@/tests/unit/test_push.c": f"{HEAD}TEST_CASE(a_push)\n",
    "@/tests/sim/mutants/wait-rides.toml": f"# {SPDX}\n",
    "@/tests/model/Deque.pml": f"{HEAD}#ifdef NO_FENCE\n",
}
# What README.md holds, and the findings there.
PAGES: tuple[tuple[str, ...], ...] = (
    ("[a](docs/tuning.md) [b](docs/) [c](https://example.org/none)\n",),
    ("[a](docs/tunning.md)\n\n[x]: docs/none.md\n", "1 link", "3 link"),
    ("`[a](b)`\n\n```\n[a](none.md)\n```\n",),
    ("# Here\n[a](#here) [b](docs/tuning.md#spin--wake-2-µs)\n",),
    ("# Here\n[a](#there) [b](docs/tuning.md#spin)\n", "2 anchor"),
    ("`ci/test full`, `ws_pool.c`, `docs/*.md`, `docs/`, `build/x.c`, `ci/<step>`, `a/b`, `x.h`\n",),
    ("`docs/none.md`\n`ws_pol.c`\n", "1 path", "2 path"),
    ("`setup/ws_pool.c:3`, `setup/ws_pol.c`, `cmake_targets/build_oai`\n", "1 path"),
    ("`core/ws_pool.c`\n", "1 path"),
    ("```\nci/test full && ./ci/test\nbuild/x a/b <x>/ci/none ~/ci/none docs/*.md\n```\n",),
    ("```\nci/test --out \\\n docs/none.md\n./ci/tset\n```\n", "3 path", "4 path"),
    ("```c\nci/none;\n```\n\n~~~\nci/test\n~~~\n",),
    ("`test_push`, test_scenes, test_push.c, Deque.pml, OAI's `test_actor`, my_test_x, a/test_x\n",),
    ("`test_pull`\nws-bench\ntpool-ws-trace\nPark.tla\n", "1 name", "2 name", "3 name", "4 name"),
    ("step 88-abi, Steps 88, in 10 steps, `ci/test full abi`, `ci/test WORD`, steps 1 to 12\n",),
    ("step 88-api\nsteps 88 and 89\n`ci/test abi api`\n", "1 name", "2 name", "3 name"),
    ("the mutant `wait-rides`\nthe mutants `wait-rode`\n", "2 name"),
    ("tests/model: (NO_FENCE)\n(NO_FENCE, NO_PENCE)\n", "2 name"),
    ("(NO_PENCE)\n",),
    ("see /ho" + "me/ann/x\n", "1 machine"),
    ("see /ro" + "ot/x\n", "1 machine"),
    ("see net/wo" + "rk/x, ~/x, $HOME/x\n",),
)
SOURCES: tuple[tuple[str, ...], ...] = (
    ("a.c", "int a;\n", "1 spdx"),
    ("a.c", HEAD),
    ("CMakeLists.txt", "", "1 spdx"),
    ("run", "#!/bin/sh\n", "1 spdx"),
    ("data.csv", "x" * 111 + "\n"),
    ("CHANGELOG.md", "`ws-pi` is gone\n"),
    ("@/tests/sim/kills.csv", f"{KILLS}wait-rides,push: a_push,,\nwait-rides,push: a_pull,,\n", "3 case"),
    ("@/tests/sim/kills.csv", f"{KILLS}x,push: a_push,,\n", "2 case"),
    ("@/tests/model/models.txt", "spin | d | Deque.pml | | -DNO_FENCE\ntlc | p | Park | |\n", "2 model"),
    ("a.c", HEAD + "x" * 110 + "\n" + "x" * 111 + "\n", "3 columns"),
    ("run", f"#!/bin/sh\n# {SPDX}\n" + "x" * 111 + "\n", "3 columns"),
)


class DocsTest(TreeTest):
    def test_pages(self) -> None:
        for text, *expected in PAGES:
            self.expect(check, {**TREE, "README.md": text}, *(f"README.md:{finding}" for finding in expected))

    def test_sources(self) -> None:
        for name, text, *expected in SOURCES:
            found = (f"{name.rpartition('/')[2]}:{finding}" for finding in expected)
            self.expect(check, {**TREE, name: text}, *found)

    def test_a_repeated_heading_is_numbered(self) -> None:
        self.assertEqual(anchors("# A b\n## A b\n```\n# no\n```\n"), {"a-b", "a-b-1"})


class OldStepsTest(FolderTest):
    def git(self, *words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        command = ["git", "-C", str(self.root), *who, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def test_steps_that_passed_long_ago_or_never(self) -> None:
        self.git("init", "-q")
        commits = []
        for _ in range(3):
            self.git("commit", "-q", "--allow-empty", "-m", "x")
            commits.append(self.git("rev-parse", "--short=12", "HEAD"))
        for folder in ("docs", "ci/steps"):
            (self.root / folder).mkdir(parents=True)
        for step in ("20-gate", "60-never", "61-old", "62-new"):
            (self.root / "ci/steps" / step).touch()
        rows = f"|61-old|2026-01-01|{commits[0]}|\n|62-new|2026-01-01|{commits[1]}|\n"
        (self.root / "docs/testing.md").write_text(rows, encoding="utf-8")
        for commits_max, expected in ((2, ["60-never", "61-old"]), (3, ["60-never"]), (4, [])):
            with mock.patch.object(lint_docs, "COMMITS_MAX", commits_max):
                self.assertEqual(old_steps(self.root), expected)
