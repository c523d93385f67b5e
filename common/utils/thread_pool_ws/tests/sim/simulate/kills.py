# SPDX-License-Identifier: BSD-3-Clause
"""ci/simulate kills: which suite of tests, and which test, finds which mutant?

Each mutant is put into a copy of the checkout, which is then built and tested. The suites are units
(tests/unit, stress and shim), scenes, contract (with the tests of other pools' interfaces), and explore,
which is the mutant's stored seed, if it has one. Each result is written at once into tests/sim/kills.csv:
what has failed, as "suite: case", or "-". The cell of a run that is missing is empty. A result is kept until
the mutant, the files that it changes, or the sources of the suite change. Another call goes on where the last
one stopped. Cases that are gone leave the table; the cell of a run that found no others becomes empty."""

import argparse
import csv
import hashlib
import os
import re
import resource
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

from simulate.mutants import replay
from simulate.mutate import MODULE, SIM, Edit, Mutant, MutantError, find_mutants, tree
from simulate.named import CASES, Named
from simulate.program import HOST_CPUS, print_line

# The labels of each suite in ctest. Mutants of the shims meet the tests of the shims, others all other tests.
SUITES = {
    "units": {room.name for room in (MODULE / "tests/unit").iterdir()} | {"stress", "shim"},
    "scenes": {"scenes"},
    "contract": {"contract", "api"},
    "explore": {"explore"},
}
OF_SHIM, NOT_OF_SHIM = {"shim", "contract", "explore"}, {"shim"}
# The folders of their sources, beside those of what all tests share.
SOURCES = {
    "units": ("unit", "stress", "shim"),
    "scenes": ("scenes",),
    "contract": ("contract", "../api/tests"),
    "explore": ("sim/engine", "sim/explore"),
}
SHARED = ("support", "host")
HEADS = ("mutant", "keys", *SUITES)
NAMES_MAX = 30
# A wait of a test may take so long. The watchdog ends a case after twice the time.
DEADLINE_S = "10"
# A program has as long as this. One that takes longer may have starved: it runs again.
LIMIT_S = "180"
Rows = dict[str, dict[str, str]]


def room_of(mutant: Mutant) -> str:
    return mutant.edits[0].file.split("/")[0]


def read_table(path: Path, mutants: list[Mutant]) -> Rows:
    """A row for each mutant, and none for what is no mutant any more."""
    stored: Rows = {}
    if path.exists():
        with path.open(newline="") as file:
            stored = {row["mutant"]: row for row in csv.DictReader(file)}
    empty = dict.fromkeys(HEADS, "")
    return {one.name: empty | stored.get(one.name, {}) | {"mutant": one.name} for one in mutants}


def drop_gone(row: dict[str, str], named: Named) -> None:
    """A case that is gone finds nothing. A run that found no other is missing."""
    for suite in CASES:
        gone = named.gone(suite, row[suite])
        if gone:
            row[suite] = "; ".join(entry for entry in row[suite].split("; ") if entry not in gone)
        if gone and not row[suite]:
            row["keys"] = " ".join(key for key in row["keys"].split() if not key.startswith(f"{suite}="))


def write_table(path: Path, rows: Rows) -> None:
    new = path.with_suffix(".new")
    with new.open("w", newline="") as file:
        writer = csv.DictWriter(file, HEADS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())
    new.replace(path)


def keys_of(row: dict[str, str]) -> dict[str, str]:
    """@return suite -> the hash of what it was run with"""
    return dict(key.split("=") for key in row["keys"].split())


def store(row: dict[str, str], suite: str, key: str, found: list[str]) -> None:
    more = [f"and {len(found) - NAMES_MAX} more"] if len(found) > NAMES_MAX else []
    row[suite] = "; ".join(found[:NAMES_MAX] + more) or "-"
    row["keys"] = " ".join(f"{name}={text}" for name, text in (keys_of(row) | {suite: key}).items())


def key_of(mutant: Mutant, suite: str) -> str:
    """Of the mutant, the files that it changes, and the sources of the suite."""
    files = {MODULE / edit.file for edit in mutant.edits}
    for folder in (*SOURCES[suite], *SHARED):
        files |= {path for path in (MODULE / "tests" / folder).rglob("*") if path.suffix[:2] in (".c", ".h")}
    found = hashlib.sha256(repr((mutant.edits, suite == "explore" and mutant.seed)).encode())
    for file in sorted(files):
        found.update(file.read_bytes())
    return found.hexdigest()[:8]


def failures(test: str, output: str, how: str) -> list[str]:
    """The cases of CUnit's output that failed, and the one in which the program ended: "suite: case". Where a
    case runs its program again for itself alone (contract.h), the verdict comes after that run."""
    end = "hang" if how == "Timeout" or "\nWATCHDOG: " in output else how
    verdicts, suite = {}, test
    for part in re.split(r"\n(?=Suite: |  Test: )", output):
        head = re.match(r"(Suite|  Test): (\S+)", part)
        if head and head[1] == "Suite":
            suite = head[2]
        elif head:
            verdict = re.findall(r"(passed|FAILED)$", part, re.MULTILINE)[-1:]
            verdicts[f"{suite}: {head[2]}"] = "".join(verdict)
    found = [name + f" ({end})" * (not verdict) for name, verdict in verdicts.items() if verdict != "passed"]
    return found or [f"{test} ({end})"]


class Suites:
    """The tests as ctest runs them."""

    def __init__(self, jobs: int, suites: list[str]) -> None:
        self.jobs = jobs
        self.always: set[str] = set()
        labels = {label for suite in suites if suite != "explore" for label in SUITES[suite]}
        if labels:
            self.always = set(self.run((), labels))
        for text in sorted(self.always):
            print(f"left out, for it fails without a mutant: {text}", flush=True)

    def run(self, edits: Iterable[Edit], labels: set[str]) -> list[str]:
        tree().change(edits)
        build = tree().build("debug")
        words = f"ctest -j{self.jobs} --timeout {LIMIT_S} --repeat after-timeout:2".split()
        words += ["--test-output-size-failed", "9999999", "--output-junit", "kills.xml"]
        words += ["-L", f"^({'|'.join(labels)})$"]
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("TPOOL_WS_", "WS_"))}
        kept["WS_TEST_DEADLINE_S"] = DEADLINE_S
        results = build / "kills.xml"
        results.unlink(missing_ok=True)
        said = subprocess.run(
            words, cwd=build, env=kept, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        how = dict(re.findall(r"^\t *\d+ - (\S+) \(([^()]+)\)", said.stdout, re.MULTILINE))
        if not results.exists():
            raise MutantError("ctest has run nothing")
        found = []
        for test in ElementTree.parse(results).iter("testcase"):
            name = test.get("name", "")
            if test.get("status") == "fail":
                found += failures(name, test.findtext("system-out", ""), how[name])
        return found

    def find(self, mutant: Mutant, suite: str) -> list[str]:
        """@return what has failed"""
        if suite == "explore":
            finding = "" if mutant.scenes else replay(mutant, mutant.build())[2]
            return [finding] if finding else []
        labels = SUITES[suite] & OF_SHIM if room_of(mutant) == "shim" else SUITES[suite] - NOT_OF_SHIM
        return sorted(set(self.run(mutant.edits, labels)) - self.always) if labels else []


def summary(rows: Rows, mutants: list[Mutant]) -> Iterator[str]:
    """The table on one screen. Suites without any result are left out."""
    suites = [suite for suite in SUITES if any(row[suite] for row in rows.values())]
    by = {name: [suite for suite in suites if row[suite] not in ("", "-")] for name, row in rows.items()}
    whole = [name for name, row in rows.items() if all(row[suite] for suite in suites)]
    rooms: dict[str, list[str]] = {room: [] for room in sorted(map(room_of, mutants))}
    for mutant in mutants:
        rooms[room_of(mutant)].append(mutant.name)
    heads = ("mutants", *suites, "one suite", "none", "not run")
    yield "room".ljust(8) + "".join(head.rjust(10) for head in heads)
    for room, names in (rooms | {"all": list(rows)}).items():
        counts = [len(names), *(sum(suite in by[name] for name in names) for suite in suites)]
        counts += [sum(len(by[name]) == number for name in names if name in whole) for number in (1, 0)]
        counts.append(sum(name not in whole for name in names))
        yield room.ljust(8) + "".join(str(count).rjust(10) for count in counts)
    for suite in (*suites, ""):
        if names := [name for name in whole if by[name] == [suite] * bool(suite)]:
            head = f"{suite} only" if suite else "no suite"
            yield textwrap.fill(f"{head} ({len(names)}): {', '.join(names)}", 110, subsequent_indent="  ")


def read(arguments: list[str]) -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="ci/simulate kills", description=__doc__, formatter_class=form)
    add = parser.add_argument
    add("--slice", type=float, default=60.0, metavar="MINUTES", help="begin no run after so long (60)")
    add("--room", type=lambda text: text.split(","), default=[], help="mutants of core,tasks,... (all)")
    add("--suite", type=lambda text: text.split(","), default=list(SUITES), help="units,contract,... (all)")
    add("--jobs", type=int, default=2 * HOST_CPUS, help="programs at once (two a CPU, as many wait)")
    add("--show", action="store_true", help="print a summary of the table, run nothing")
    add("only", nargs="*", help="mutants (all)")
    return parser.parse_args(arguments)


def fill(options: argparse.Namespace, path: Path, mutants: list[Mutant], chosen: list[Mutant]) -> int:
    """@return how many do not fit, or do not build"""
    end, bad = time.monotonic() + 60 * options.slice, 0
    suites, rows = Suites(options.jobs, options.suite), read_table(path, mutants)
    keys = {(one, suite): key_of(one, suite) for one in chosen for suite in options.suite}
    runs = [(one, suite) for one, suite in keys if keys_of(rows[one.name]).get(suite) != keys[one, suite]]
    for number, (mutant, suite) in enumerate(runs):
        if time.monotonic() > end:
            print(f"{len(runs) - number} of {len(runs)} runs are left for another slice")
            break
        began = time.monotonic()
        try:
            found = suites.find(mutant, suite)
        except MutantError as error:
            print(f"{mutant.name}, {suite}: {error}", file=sys.stderr)
            bad += 1
            continue
        rows = read_table(path, mutants)
        store(rows[mutant.name], suite, keys[mutant, suite], found)
        write_table(path, rows)
        seconds, first = f"{time.monotonic() - began:.0f} s", f"{len(found)}: {found[0]}" if found else "-"
        print_line((mutant.name, suite, seconds, first), (32, 8, 5, 0), 2)
    return bad


def main(arguments: list[str]) -> int:
    options = read(arguments)
    mutants, path = find_mutants(), SIM / "kills.csv"
    known = {one.name for one in mutants} | {room_of(one) for one in mutants} | SUITES.keys()
    unknown = {*options.only, *options.room, *options.suite} - known
    if unknown:
        print(f"ci/simulate kills: there is no {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    rows, named = read_table(path, mutants), Named(MODULE)
    for row in rows.values():
        drop_gone(row, named)
    write_table(path, rows)
    if options.show:
        print("\n".join(summary(rows, mutants)))
        return 0
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # mutants crash
    chosen = [one for one in mutants if not options.only or one.name in options.only]
    chosen = [one for one in chosen if not options.room or room_of(one) in options.room]
    try:
        return 1 if fill(options, path, mutants, chosen) else 0
    except MutantError as error:
        print(f"ci/simulate kills: {error}", file=sys.stderr)
        return 2
