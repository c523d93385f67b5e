# SPDX-License-Identifier: BSD-3-Clause
"""ci/test and .ci/run in a folder of made-up steps."""

import re
import shutil
import subprocess
from pathlib import Path

from tests.fixture import FolderTest

CI = Path(__file__).resolve().parents[1]
STEPS = {
    "10-good": "echo '3 passed, 0 failed, 1 skipped'",
    "20-skips": "echo 'tool is not installed: apt install tool'; exit 77",
    "60-bad": "echo why; exit 3",
    "61-good": "true",
}
RESULTS = {"10-good": "ok", "20-skips": "skip", "60-bad": "FAIL", "61-good": "ok"}


class TestCommandTest(FolderTest):
    def setUp(self) -> None:
        super().setUp()
        (self.root / "ci/steps").mkdir(parents=True)
        for name in ("test", "leftovers.sh"):
            shutil.copy(CI / name, self.root / "ci" / name)
        shutil.copytree(CI.parent / ".ci", self.root / ".ci")
        self.write("setup", "true")
        for name, body in STEPS.items():
            self.write(f"steps/{name}", body)

    def write(self, name: str, body: str) -> None:
        (self.root / "ci" / name).write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        (self.root / "ci" / name).chmod(0o755)

    def run_test(self, *words: str, program: str = "ci/test") -> tuple[int, str]:
        done = subprocess.run([str(self.root / program), *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_which_steps_run_and_what_they_give(self) -> None:
        for words, ran in (
            ((), ["10-good", "20-skips"]),
            (("full",), list(STEPS)),
            (("full", "--shard", "2/2"), ["20-skips", "61-good"]),
            (("good", "bad"), ["10-good", "60-bad", "61-good"]),
        ):
            with self.subTest(words=words):
                status, text = self.run_test(*words)
                lines = (self.root / "build-ci/logs/times.tsv").read_text(encoding="utf-8").splitlines()
                rows = [line.split("\t") for line in lines[1:]]
                self.assertEqual([row[:2] for row in rows], [[name, RESULTS[name]] for name in ran])
                self.assertTrue(all(row[2].isdigit() and row[3].isdigit() for row in rows))
                self.assertEqual(status, int("60-bad" in ran))
                self.assertIn("all steps", text)
                self.assertEqual("tool is not installed: apt install tool" in text, "20-skips" in ran)
        self.assertIn("failed steps: 60-bad\n4 passed, 1 failed, 1 skipped", text)
        self.assertIn("    | why", text)

    def test_full_notes_what_has_passed(self) -> None:
        page = self.root / "docs/testing.md"
        page.parent.mkdir()
        page.write_text("# T\n\n|step|passed|commit|\n|---|---|---|\n|59-x|d|c|\n", encoding="utf-8")
        git = ["git", "-C", str(self.root), "-c", "user.name=a", "-c", "user.email=a@b"]
        (self.root / ".gitignore").write_text("build-ci\n", encoding="utf-8")
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
            subprocess.run([*git, *words], check=True)
        rows = "|60-bad|2020-02-02|0123|\n|61-good|2020-02-02|0123|\n|99-gone|2020-02-02|0123|\n"
        head = page.read_text(encoding="utf-8")
        page.write_text(head + rows, encoding="utf-8")
        self.run_test("full")  # of a changed tree
        self.assertEqual(page.read_text(encoding="utf-8"), head + rows)
        subprocess.run([*git, "commit", "-q", "-a", "-m", "y"], check=True)
        self.run_test("61")
        self.assertEqual(page.read_text(encoding="utf-8"), head + rows)
        self.run_test("full")
        commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
        text = page.read_text(encoding="utf-8")
        wanted = r"\|60-bad\|2020-02-02\|0123\|\n\|61-good\|20\d\d-\d\d-\d\d\|" + commit.stdout.strip()
        self.assertRegex(text, re.escape(head) + wanted + r"\|\n\|99-gone\|2020-02-02\|0123\|\n$")
        subprocess.run([*git, "commit", "-q", "-a", "-m", "z"], check=True)
        copy = self.root / "build-ci/copy"  # in another checkout, which ignores it
        for part in ("ci", "docs"):
            shutil.copytree(self.root / part, copy / part)
        self.run_test("full", program="build-ci/copy/ci/test")
        self.assertEqual((copy / "docs/testing.md").read_text(encoding="utf-8"), text)

    def test_words_that_name_no_step_are_refused(self) -> None:
        for words, said in (
            (("quick",), 'no step has "quick"'),
            (("--shard", "3/2"), "there are 2 shards"),
            (("--shard",), "not <k>/<n>"),
        ):
            status, text = self.run_test(*words)
            self.assertEqual(status, 2)
            self.assertIn(said, text)
            self.assertIn("  61-good", text)

    def test_a_package_that_is_missing_fails_the_run_and_the_steps_still_run(self) -> None:
        self.write("setup", "echo 'setup: missing: tool' >&2; exit 1")
        status, text = self.run_test("10")
        self.assertEqual(status, 1)
        self.assertRegex(text, r"setup +FAIL +setup: missing: tool")
        self.assertIn("3 passed, 1 failed, 1 skipped", text)

    def test_what_ci_calls(self) -> None:
        """A step that is skipped for want of a package fails in a bare root only."""
        lacks = "failed: tool is not installed: apt install tool\nfailed: a list in ci/packages"
        for words, bench, failed in (
            (("--here",), "true", ""),
            (("--here",), "false", "failed: ci/bench --quick"),
            (("--in-root",), "true", lacks),
            (("--in-root", "test"), "touch out.bench", lacks),
        ):
            self.write("bench", bench)
            got, text = self.run_test(*words, program=".ci/run")
            self.assertEqual((got, text.count("failed:")), (int(bool(failed)), failed.count("failed:")))
            self.assertIn(failed, text)
            self.assertTrue(text.endswith(f"\n3 passed, {got} failed, 2 skipped\n"), text)
        self.assertFalse((self.root / "out.bench").exists())

    def test_the_sum_names_what_failed_its_release_and_how_to_run_it_again(self) -> None:
        bad = (
            "10-bad  FAIL  3 s\n    | why\n    whole log: build-ci/logs/10-bad.log   again: ci/test 10-bad\n"
        )
        logs = {"good": "2 passed, 0 failed, 1 skipped\n", "bad": f"{bad}3 passed, 1 failed, 0 skipped\n"}
        logs["unmade"] = "failed: make: no server\n"
        for release, log in logs.items():
            (self.root / "build-ci/logs" / release).mkdir(parents=True)
            (self.root / "build-ci/logs" / release / "all.log").write_text(log, encoding="utf-8")
        for releases, status, lines in (
            (["good"], 0, ["2 passed, 0 failed, 1 skipped"]),
            (
                ["bad", "good", "unmade"],
                1,
                [
                    "bad: 10-bad  FAIL  3 s",
                    "bad:     | why",
                    "bad:     whole log: build-ci/logs/bad/10-bad.log   again: ci/test 10-bad",
                    "bad failed; again: ci/fresh gate bad",
                    "unmade: failed: make: no server",
                    "unmade failed; again: ci/fresh gate unmade",
                    "5 passed, 2 failed, 1 skipped",
                ],
            ),
        ):
            self.assertEqual(
                self.run_test("--sum", *releases, program=".ci/run"), (status, "\n".join(lines) + "\n")
            )
