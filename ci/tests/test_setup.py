# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from tests.fakes import FakeMachine

CI = Path(__file__).resolve().parent.parent


class PackagesTest(FakeMachine):
    def test_the_first_alternative_that_apt_knows_is_installed(self) -> None:
        self.packages("a | b")
        self.apt_has("a", "b")
        self.assertEqual(self.setup_run()[0], 0)
        self.assertEqual(self.lines("installed"), ["a"])

    def test_an_alternative_that_apt_does_not_know_is_passed_over(self) -> None:
        self.packages("gcc", "v2 | v1", "cmake")
        self.apt_has("gcc", "cmake", "v1")
        self.assertEqual(self.setup_run()[0], 0)
        self.assertEqual(self.lines("installed"), ["gcc", "v1", "cmake"])

    def test_an_alternative_that_cannot_be_installed_is_passed_over(self) -> None:
        self.packages("gcc", "a | b")
        self.apt_has("gcc", "b", broken=("a",))
        self.assertEqual(self.setup_run()[0], 0)
        self.assertEqual(sorted(self.lines("installed")), ["b", "gcc"])

    def test_all_that_is_there_is_left_alone(self) -> None:
        self.packages("gcc", "a | b")
        self.write("fake/installed", "b\ngcc\n")
        self.assertEqual(self.setup_run(), (0, []))
        self.assertEqual(self.lines("calls"), [])

    def test_an_unknown_package_of_one_step_takes_no_other_down(self) -> None:
        self.packages("gcc", "spin  # only 61-spin", "cmake")
        self.apt_has("gcc", "cmake")
        code, said = self.setup_run()
        self.assertEqual(code, 0)
        self.assertEqual(self.lines("installed"), ["gcc", "cmake"])
        self.assertEqual(
            said[-1], "not installed: spin (61-spin goes without it); to get it: apt install spin"
        )

    def test_an_uninstallable_package_of_one_step_takes_no_other_down(self) -> None:
        self.packages("gcc", "spin  # only 61-spin", "cmake")
        self.apt_has("gcc", "cmake", broken=("spin",))
        code, said = self.setup_run()
        self.assertEqual(code, 0)
        self.assertEqual(self.lines("installed"), ["gcc", "cmake"])
        self.assertIn("not installed: spin", said[-1])

    def test_a_needed_package_that_is_missing_is_named_and_the_rest_installed(self) -> None:
        self.packages("gcc", "libcunit", "x | y", "spin  # only 61-spin")
        self.apt_has("gcc", "spin")
        code, said = self.setup_run()
        self.assertEqual(code, 1)
        self.assertEqual(self.lines("installed"), ["gcc", "spin"])
        self.assertEqual(
            said[-1],
            "missing and needed by ci/setup test: libcunit, x | y; to get it: apt install libcunit x",
        )

    def test_a_package_that_one_list_needs_and_another_does_not_is_needed(self) -> None:
        self.packages("clang  # only 22-clang-release")
        self.write("ci/packages-bench.txt", "clang\n")
        code, said = self.setup_run("test", "bench")
        self.assertEqual(code, 1)
        self.assertIn("needed by ci/setup test bench: clang;", said[-1])

    def test_an_update_that_fails_is_no_obstacle(self) -> None:
        self.packages("gcc")
        self.apt_has("gcc")
        self.write("fake/offline", "")
        code, said = self.setup_run()
        self.assertEqual((code, self.lines("installed")), (0, ["gcc"]))
        self.assertIn("apt-get update failed", said[0])

    def test_check_installs_nothing_and_counts_each_missing_package(self) -> None:
        self.packages("gcc", "spin  # only 61-spin")
        self.apt_has("gcc", "spin")
        self.write("fake/installed", "gcc\n")
        code, said = self.setup_run("--check")
        self.assertEqual((code, self.lines("calls")), (1, []))
        self.assertIn("not installed: spin", said[-1])
        self.write("fake/installed", "gcc\nspin\n")
        self.assertEqual(self.setup_run("--check"), (0, []))

    def test_what_could_not_be_had_is_asked_for_once_a_run(self) -> None:
        self.packages("gcc", "spin  # only 61-spin")
        self.apt_has("gcc")
        asked = {"WS_SETUP_ASKED": str(self.fake / "asked")}
        self.setup_run(**asked)
        calls = self.lines("calls")
        code, said = self.setup_run(**asked)
        self.assertEqual((code, self.lines("calls")), (0, calls))
        self.assertIn("not installed: spin", said[-1])
        self.setup_run()
        self.assertNotEqual(self.lines("calls"), calls)

    def test_an_unknown_argument_is_refused(self) -> None:
        code, said = self.setup_run("tests")
        self.assertEqual(code, 2)
        self.assertIn("usage: ci/setup", said[0])


class RightsTest(FakeMachine):
    def setUp(self) -> None:
        super().setUp()
        self.write("fake/id", "1000\n")
        self.packages("gcc", "spin  # only 61-spin")
        self.apt_has("gcc", "spin")

    def test_sudo_is_used(self) -> None:
        self.assertEqual(self.setup_run()[0], 0)
        self.assertEqual(self.lines("installed"), ["gcc", "spin"])

    def test_a_proxy_passes_through_sudo(self) -> None:
        self.assertEqual(self.setup_run(https_proxy="http://proxy.example:1")[0], 0)
        self.assertEqual(self.lines("calls").count("by way of http://proxy.example:1"), 2)

    def test_sudo_that_asks_for_a_password(self) -> None:
        self.write("fake/password", "")
        code, said = self.setup_run()
        self.assertEqual((code, self.lines("installed")), (1, []))
        self.assertIn("sudo needs a password", said[0])
        self.assertIn("needed by ci/setup test: gcc;", said[-1])

    def test_neither_root_nor_sudo(self) -> None:
        self.without_sudo()
        code, said = self.setup_run(path="")
        self.assertEqual((code, self.lines("installed")), (1, []))
        self.assertIn("not root and no sudo", said[0])
        self.assertIn("needed by ci/setup test: gcc;", said[-1])
        self.write("fake/installed", "gcc\n")
        self.assertEqual(self.setup_run(path="")[0], 0)


class PythonTest(FakeMachine):
    def refuse(self, *names: str) -> None:
        self.write("fake/refused", "".join(f"{name}\n" for name in names))

    def test_a_list_is_installed_in_one_go_and_once(self) -> None:
        self.requirements("test", "# a comment", "pytest>=7", "rich  # only a part")
        self.assertEqual(self.setup_run()[0], 0)
        self.assertEqual(self.setup_run()[0], 0)
        self.assertEqual(len(self.lines("calls")), 1)
        self.assertEqual(self.lines("wheels"), [":pytest>=7", ":rich"])

    def test_a_requirement_of_one_part_takes_no_other_down(self) -> None:
        self.requirements("test", "pytest>=7", 'tbb; platform_machine == "x86_64"  # only oneTBB', "rich")
        self.refuse('tbb; platform_machine == "x86_64"')
        code, said = self.setup_run()
        self.assertEqual((code, self.lines("wheels")), (0, [":pytest>=7", ":rich"]))
        self.assertIn("(oneTBB goes without it); to get it: .venv/bin/pip install tbb", said[-1])

    def test_a_needed_requirement_is_named_and_the_rest_installed(self) -> None:
        self.requirements("test", "pytest>=7", "rich")
        self.refuse("pytest>=7")
        code, said = self.setup_run()
        self.assertEqual((code, self.lines("wheels")), (1, [":rich"]))
        self.assertIn("missing and needed by ci/setup test: pytest>=7;", said[-1])

    def test_a_refused_requirement_is_asked_for_once_a_run(self) -> None:
        self.requirements("test", "pytest>=7", "rich")
        self.refuse("pytest>=7")
        asked = {"WS_SETUP_ASKED": str(self.fake / "asked")}
        self.setup_run(**asked)
        calls = self.lines("calls")
        code, said = self.setup_run(**asked)
        self.assertEqual((code, self.lines("calls")), (1, calls))
        self.assertIn("needed by ci/setup test: pytest>=7;", said[-1])

    def test_a_validator_that_cannot_be_had_leaves_the_others_in_their_folder(self) -> None:
        self.requirements("deploy", "helm==1  # only the chart", "yamllint==2  # only the style")
        self.refuse("helm==1")
        code, said = self.setup_run("deploy")
        self.assertEqual(code, 0)
        self.assertEqual(self.lines("wheels")[-1], "deploy:yamllint==2")
        self.assertIn("not installed: helm==1 (the chart goes without it)", said[-1])
        self.assertFalse((self.root / ".venv/deploy-try").exists())

    def test_a_pip_that_is_ended_by_the_time_limit_leaves_no_files(self) -> None:
        self.requirements("test", "endless")
        (self.root / "tmp").mkdir()
        env = {"WS_SETUP_PIP_SECONDS": "1", "TMPDIR": str(self.root / "tmp")}
        code, said = self.setup_run(**env)
        self.assertEqual(code, 1)
        self.assertIn("needed by ci/setup test: endless;", said[-1])
        self.assertEqual(list((self.root / "tmp").iterdir()), [])
        self.assertEqual(list((self.root / ".venv").glob("tmp*")), [])


class TestCommandTest(FakeMachine):
    """ci/test with steps of its own."""

    def run_test(self, *args: str) -> tuple[int, list[str]]:
        shutil.copy(CI / "test", self.root / "ci/test")
        shutil.copy(CI / "leftovers.sh", self.root / "ci/leftovers.sh")
        self.program("ci/steps/10-a", "echo said >&2; echo '3 passed, 0 failed, 1 skipped'")
        self.program("ci/steps/20-b", "echo 'spin is not installed: apt install spin'; exit 77")
        env = {"PATH": f"{self.fake}/bin:/usr/bin:/bin", "FAKE": str(self.fake), "HOME": os.sep}
        command = [str(self.root / "ci/test"), *args]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
        # other programs of this machine may leave something at that moment
        said = [line for line in done.stdout.splitlines() if "unless another program" not in line]
        return done.returncode, said

    def test_a_needed_package_that_is_missing_is_the_reason_of_the_failure(self) -> None:
        self.packages("gcc", "libcunit1-dev")
        self.apt_has("gcc")
        code, out = self.run_test("quick")
        self.assertEqual(code, 1)
        self.assertRegex(out[0], r"^setup +FAIL +setup: missing and needed by ci/setup test: libcunit1-dev;")
        self.assertEqual(out[-2:], ["failed steps: setup", "3 passed, 1 failed, 2 skipped"])

    def test_a_package_of_one_step_fails_nothing_and_its_step_names_it(self) -> None:
        self.packages("gcc", "spin  # only 20-b")
        self.apt_has("gcc")
        code, out = self.run_test()
        self.assertEqual(code, 0)
        self.assertRegex(out[1], r"^20-b +skip +\d+ s +spin is not installed: apt install spin$")
        self.assertEqual(out[-1], "3 passed, 0 failed, 2 skipped")


class ListsTest(unittest.TestCase):
    """The lists of this project."""

    def test_steps_that_a_comment_names_are_there(self) -> None:
        steps = {path.name for path in (CI / "steps").iterdir()}
        named = set()
        for path in [*CI.glob("packages-*.txt"), *CI.glob("requirements-*.txt")]:
            for use in re.findall(r"# only (.*)", path.read_text(encoding="utf-8")):
                named |= set(re.findall(r"\b\d\d-[a-z-]+", use))
        self.assertLess(5, len(named))
        self.assertEqual(named - steps, set())

    def test_compilers_and_cunit_are_needed_by_all(self) -> None:
        text = (CI / "packages-test.txt").read_text(encoding="utf-8")
        for name in ("gcc", "g++", "cmake", "ninja-build", "libcunit1-dev", "python3-venv"):
            self.assertRegex(text, f"(?m)^{re.escape(name)}$")
