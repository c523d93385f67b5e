# SPDX-License-Identifier: BSD-3-Clause
"""Figures of raw runs that are kept as a report in text, for sentences and small tables of documents. A row's
cells stand two blanks or more apart, an empty line ends a table. Each KIND of results.py here has the folder
of the raw runs, and the words of its mark."""

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from nrbench.parts.prewake import REGRET_MAX
from nrbench.record import ResultsError
from nrbench.render import Table, markdown

SCALING, PREWAKE = "scaling-simulated.txt", "2-cores-pre-wake.txt"
LIVES, NOISES = "2-cores-lives.txt", "2-cores-noises.txt"
SLOTS = "v2.3.0_prb273_mcs25_l1.slots"  # recorded in nr_ulsim
ALONE = "alone"  # the noise that is none
SOURCES = "sources.csv"  # beside the folder of the raw runs
CELL = re.compile(r"\[([^|\]]+)\|([^|\]]+)\|(\d+)\]")  # begin of a table | begin of a row | column, from 0
MUCH = 50  # percent by which a p99 falls or rises
LONG_US = 20  # tasks from there on


def paragraphs(path: Path) -> list[list[str]]:
    return [part.splitlines() for part in path.read_text(encoding="utf-8").strip().split("\n\n")]


def cells(lines: Iterable[str]) -> Iterator[list[str]]:
    return (re.split(r"\s{2,}", line.strip()) for line in lines)


def found(path: Path, begin: str) -> list[list[str]]:
    """The rows below the paragraph's first line, which begins so."""
    for first, *lines in paragraphs(path):
        if first.startswith(begin):
            return [*cells(lines)]
    raise ResultsError(f"{path}: nothing begins with {begin!r}")


def span(values: Iterable[float], digits: int = 2) -> str:
    """From the least to the largest."""
    texts = [f"{value:.{digits}f}" for value in sorted(values)]
    return " to ".join(dict.fromkeys((texts[0], texts[-1])))


def simulated(folder: Path, row: str) -> dict[tuple[str, str], dict[int, float]]:
    """Of each case and machine the row of its table, by CPUs."""
    every = {}
    for first, *lines in paragraphs(folder / SCALING):
        if title := re.fullmatch(r"(.+) on (\S+), simulated", first):
            rows = {name: values for name, *values in cells(lines)}
            columns = zip(rows["CPUs"], rows.get(row, ()))
            every[title[1], title[2]] = {int(cpus): float(value) for cpus, value in columns if value != "-"}
    return every


def simulated_gain(folder: Path, cpus: str) -> str:
    """Time of this pool ÷ of a mutexed queue for each worker, of recorded slots, over the machines."""
    ours, others = (simulated(folder, f"{pool}: p50 us") for pool in ("ws", "mutex-per-worker"))
    return span(ours[key][int(cpus)] / of[int(cpus)] for key, of in others.items() if key[0] == SLOTS)


def simulated_most(folder: Path, words: str) -> str:
    """CASE | ROW: the most of all machines and CPUs."""
    case, row = words.split(" | ")
    return f"{max(max(of.values()) for key, of in simulated(folder, row).items() if key[0] == case):.1f}"


def growth(folder: Path, _: str) -> str:
    """By how much slots of long tasks only take longer on more CPUs."""
    most = 0
    for case, *machine_and_times in found(folder / SCALING, "Does the curve turn up")[1:]:
        tasks = re.findall(r"\d+x([\d.]+)", case)
        if tasks and min(map(float, tasks)) >= LONG_US:
            grown = re.search(r"\+(\d+) %", machine_and_times[1])
            most = max(most, int(grown[1]) if grown else 0)
    return f"{most} %"


def goals(folder: Path, _: str) -> str:
    """Each goal of the simulated machines for a number of CPUs, with the worst of them."""
    every: dict[str, list[tuple[float, list[str]]]] = {}
    for goal, machine, limit, *_met, worst in found(folder / SCALING, "Goals (simulated")[1:]:
        if value := re.match(r"[\d.]+(?=:| )", worst):
            every.setdefault(goal, []).append((float(value[0]), [goal, limit, f"{worst}, {machine}"]))
    return markdown(Table("", ["goal", "limit", "worst"], [max(rows)[1] for rows in every.values()], []))


def lives_p99(folder: Path, sched_class: str) -> str:
    """p99 of this pool ÷ that of the one that never sleeps, of fastest and slowest lives, all cases."""
    ratios: dict[bool, list[float]] = {True: [], False: []}
    for first, *lines in paragraphs(folder / LIVES):
        rows = {(row[0], row[2]): row for row in cells(lines) if row[1:2] == [sched_class]}
        for (case, pool), row in rows.items():
            if pool == "ws":
                hot = rows[case, "ws hot"]
                ratios[first == ALONE] += (float(row[at]) / float(hot[at]) for at in (10, 13))
    return f"{span(ratios[True])}, and beside other programs {span(ratios[False])}"


def right(folder: Path, goal: str) -> str:
    """GOAL, in percent: how many late bursts of each noise got its cause, and which noises miss the goal."""
    path = folder / NOISES
    rows = paragraphs(path)[1][1:]
    shares = {re.split(r"\s{2,}", row)[0]: float(row.split()[-1]) for row in rows}
    missed = (f"*{name}* {share} %" for name, share in shares.items() if share < float(goal))
    return f"{span(shares.values(), 1)} %. Below {goal} %: {', '.join(missed) or 'none'}"


def late_starts(folder: Path, _: str) -> str:
    rows = found(folder / PREWAKE, "Lateness of the first tasks")[1:]
    rows = [row for row in rows if len(row) > 6]
    off, auto = (span((float(row[at]) for row in rows), 1) for at in (3, 4))
    changes = [int(row[8]) for row in rows]
    falls, rises = sum(one <= -MUCH for one in changes), sum(one >= MUCH for one in changes)
    return (
        f"In {len(rows)} cases `off` starts the worker's first task {off} µs late (p50), and `auto` {auto} "
        f"µs. p99 falls by half or more in {falls} of them, and rises by half or more in {rises}."
    )


def regret(folder: Path, _: str) -> str:
    rows = [row for row in found(folder / PREWAKE, "Regret:")[1:] if len(row) > 7]
    ends = [float(end) for row in rows for end in row[7].partition(" ")[2].strip("[]").split(", ")]
    met = sum(row[-1] == "met" for row in rows)
    ratios = span(float(row[7].split()[0]) for row in rows)
    return f"{ratios}, at most {REGRET_MAX:g} in {met} of {len(rows)} cases; 95 % intervals: {span(ends)}"


def cell(path: Path, at: re.Match[str]) -> str:
    """Of one row, or from the least to the largest of several."""
    column = int(at[3])
    texts = [
        row[column] for row in found(path, at[1]) if " ".join(row).startswith(at[2]) and len(row) > column
    ]
    if not texts:
        raise ResultsError(f"{path}: has no cell {at[0]}")
    return texts[0] if len(texts) == 1 else span(float(text.split()[0]) for text in texts)


def headlines(folder: Path, _: str) -> str:
    """What the sources of this pool have published, beside the same of raw runs."""
    rows = []
    with open(folder.parent / SOURCES, encoding="utf-8", newline="") as lines:
        for one in csv.DictReader(lines):
            path = folder / one["file"]
            here = CELL.sub(lambda at, path=path: cell(path, at), one["here"])
            rows.append([f"[{one['headline']}]({folder.name}/{path.name})", one["theirs"], here])
    return markdown(Table("", ["headline", "theirs", "here"], rows, []))


OF_TEXTS = (
    simulated_gain, simulated_most, growth, goals, lives_p99, right, late_starts, regret, headlines
)  # fmt: skip
