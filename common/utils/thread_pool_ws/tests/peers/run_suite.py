#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the test suite of another pool, built on this one, and compares with a list of expected failures.

    run_suite.py --name N --format F --expected FILE [--seconds S] [--link FOLDER] program [argument]...

The programs run in a scratch folder, in which FOLDER is linked by its name.

Formats: text (BS::thread_pool's), doctest, gtest, boost, tap (libuv's), programs. Of doctest, boost and
programs each argument is a program.
Programs of doctest, gtest and boost run once for each test case: one that hangs costs no other.
A line of FILE is "case: reason"; a case may end with *. With "?" before it the case may pass, too.
A failure that is not listed fails the run, and so does a listed case that passes or does not exist.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from fnmatch import fnmatchcase
from functools import partial

Outcome = dict[str, str]  # case -> "pass", "fail", "skip"; in the order of the suite


def call(command: list[str], seconds: float, folder: str) -> tuple[int, str]:
    """Exit status and output; 124 if the time is over."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        text = late.stdout or b""
        return 124, text.decode(errors="replace") if isinstance(text, bytes) else text


def of_status(code: int) -> str:
    return "pass" if code == 0 else "fail"


def each_case(names: list[str], command, ran: str, seconds: float, folder: str) -> Outcome:
    """A run in which the program does not report, as @p ran, that one case ran, has failed."""
    found: Outcome = {}
    for name in names:
        code, text = call(command(name), seconds, folder)
        if code == 0 and not re.search(ran, text):
            code = -1
        found[name] = of_status(code)
        if code != 0:
            print(f"-- {name}: status {code}\n{text[-2000:]}")
    return found


def run_text(program: list[str], seconds: float, folder: str) -> Outcome:
    """Lines "Checking ..." name what the lines "-> passed." and "-> FAILED!" after them are about."""
    code, text = call(program, seconds, folder)
    found: Outcome = {}
    topic, count = "", 0
    for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines():
        if line.startswith("Checking"):
            topic, count = line.strip(), 0
        if re.search(r"-> (passed|FAILED)", line):
            count += 1
            case = f"{topic} {count}".strip()
            while case in found:
                count += 1
                case = f"{topic} {count}"
            found[case] = "pass" if "-> passed" in line else "fail"
    if code in (124,) or code < 0 or not re.search(r"(Passed all|but failed)", text):
        print(text[-2000:])
        found["the whole program"] = "fail"
    return found


def doctest_command(program: str, name: str) -> list[str]:
    return [program, "--test-case=" + name.replace("\\", "\\\\").replace(",", "\\,")]


def run_doctest(programs: list[str], seconds: float, folder: str) -> Outcome:
    found: Outcome = {}
    for program in programs:
        code, text = call([program, "--list-test-cases", "--no-colors", "--no-intro"], 60, folder)
        lines = [line for line in text.splitlines() if line and not line.startswith(("[doctest]", "==="))]
        ran = r"test cases: +[1-9]\d* \|"  # cases of one name run together
        part = each_case(lines, partial(doctest_command, program), ran, seconds, folder)
        stem = os.path.basename(program) + "/" if len(programs) > 1 else ""
        found.update({stem + name: outcome for name, outcome in part.items()})
    return found


def run_gtest(program: list[str], seconds: float, folder: str) -> Outcome:
    code, text = call([*program, "--gtest_list_tests"], 60, folder)
    names, suite = [], ""
    for line in text.splitlines():
        line = line.split("#")[0].rstrip()
        if line.endswith(".") and not line.startswith(" "):
            suite = line
        elif line.startswith("  "):
            names.append(suite + line.strip())
    ran = r"\b1 test from 1 test suite ran"
    return each_case(names, lambda name: [*program, "--gtest_filter=" + name], ran, seconds, folder)


def boost_command(program: str, suite: str, case: str) -> list[str]:
    return [program, f"--run_test={suite}{case}"]


def run_boost(programs: list[str], seconds: float, folder: str) -> Outcome:
    found: Outcome = {}
    for program in programs:
        code, text = call([program, "--list_content"], 60, folder)
        names = [line.strip().rstrip("*") for line in text.splitlines() if line.strip()]
        leaves = [line.strip().rstrip("*") for line in text.splitlines() if line.startswith("    ")] or names
        stem = os.path.basename(program)
        suite = "" if leaves is names else names[0] + "/"
        ran = r"Running 1 test case\b"
        part = each_case(leaves, partial(boost_command, program, suite), ran, seconds, folder)
        found.update({f"{stem}/{name}": outcome for name, outcome in part.items()})
    return found


def run_tap(program: list[str], seconds: float, folder: str) -> Outcome:
    code, text = call(program, seconds, folder)
    found: Outcome = {}
    for line in text.splitlines():
        match = re.match(r"(not )?ok \d+ - (\S+)(.*)", line)
        if match:
            skipped = "# SKIP" in match[3].upper()
            found[match[2]] = "skip" if skipped else "fail" if match[1] else "pass"
    if code == 124:
        found["the whole program"] = "fail"
    for line in text.splitlines():
        if line.startswith("#"):
            print(line)
    return found


def run_programs(programs: list[str], seconds: float, folder: str) -> Outcome:
    return each_case(programs, lambda program: [program], "", seconds, folder)


FORMATS = {
    "text": run_text,
    "doctest": run_doctest,
    "gtest": run_gtest,
    "boost": run_boost,
    "tap": run_tap,
    "programs": run_programs,
}


def read_expected(path: str) -> dict[str, tuple[str, bool]]:
    """case -> reason, whether it may pass"""
    expected = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            case, colon, reason = line.partition(": ")
            if not colon or not reason.strip():
                sys.exit(f"{path}:{number}: a line is 'case: reason', this one is: {line}")
            expected[case.lstrip("?")] = (reason.strip(), case.startswith("?"))
    return expected


def judge(name: str, found: Outcome, expected: dict[str, tuple[str, bool]]) -> int:
    """Prints what differs, and the sum. @return number of differences"""
    wrong = 0
    for case, outcome in found.items():
        if outcome == "fail" and not any(fnmatchcase(case, each) for each in expected):
            print(f"{name}: FAILED, not expected: {case}")
            wrong += 1
    for case, (reason, may_pass) in expected.items():
        matching = [outcome for each, outcome in found.items() if fnmatchcase(each, case)]
        if "fail" in matching:
            print(f"{name}: fails as expected: {case} ({reason})")
        elif not may_pass:
            print(f"{name}: PASSES or is missing, but is expected to fail: {case}")
            wrong += 1
    sums = {kind: sum(each == kind for each in found.values()) for kind in ("pass", "fail", "skip")}
    print(f"{name}: {sums['pass']} of {len(found)} passed, {sums['fail']} failed, {sums['skip']} skipped")
    if sums["pass"] == 0:
        print(f"{name}: no case passed")
        wrong += 1
    return wrong


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--name", required=True)
    parser.add_argument("--format", required=True, choices=FORMATS)
    parser.add_argument("--expected", required=True)
    parser.add_argument("--seconds", type=float, default=600, help="watchdog of one process")
    parser.add_argument("--link", help="a folder that the programs expect in theirs")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    expected = read_expected(arguments.expected)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.link:
            os.symlink(arguments.link, os.path.join(folder, os.path.basename(arguments.link)))
        found = FORMATS[arguments.format](arguments.program, arguments.seconds, folder)
    return 1 if judge(arguments.name, found, expected) else 0


if __name__ == "__main__":
    sys.exit(main())
