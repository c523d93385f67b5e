# SPDX-License-Identifier: BSD-3-Clause
"""Runs of several hosts: which hosts are of one class, hosts side by side, and the ratios of a class and of
all classes pooled; of one case, or over all cases."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from statistics import fmean
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

import numpy as np

from nrbench.judge import N_MIN, NONE, pooled_quantiles
from nrbench.record import Host
from nrbench.render import WIDTH, Column, Line, Table, plain_columns, table_width
from nrbench.sweep import tables
from nrbench.sweep.cells import Case, Cell, told_apart, verdict_text
from nrbench.sweep.figures import Figure
from nrbench.table import Ratio

ALL = "all"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
OVER_CASES = "all cases together"
POOLED = (
    "÷ old: geometric mean of the hosts' ratios, each host with the same weight. Row all: of the classes, "
    "each with the same weight. Interval: 95 %; each resample draws hosts within their class, and rounds "
    "within each host."
)
FEW_HOSTS = (
    f"Classes of fewer than {N_MIN} hosts: the interval is for these hosts. It does not hold for other hosts "
    "of the class."
)
Row = tuple[int, str]  # threads, variant


class HostClass(NamedTuple):
    """What the hosts of a class share."""

    cpu: str
    cores: int
    kernel: str


def class_of(host: Host) -> HostClass:
    return HostClass(host.cpu, host.cores, host.kernel)


def letters(hosts: Iterable[Host]) -> dict[HostClass, str]:
    """Short names of the classes, in the order of the hosts: A to Z, then AA, AB."""
    found: dict[HostClass, str] = {}
    for host in hosts:
        rest, last = divmod(len(found), len(LETTERS))
        found.setdefault(class_of(host), (LETTERS[rest - 1] if rest else "") + LETTERS[last])
    return found


def _mean(classes: Sequence[Sequence[Ratio]]) -> Ratio:
    """The geometric mean of classes, and in each of its hosts."""
    every = [one for ratios in classes for one in ratios]
    value = math.exp(fmean(fmean(math.log(one.value) for one in ratios) for ratios in classes))
    fewest, paired = min(one.repeats for one in every), all(one.paired for one in every)
    logs = [[one.logs for one in ratios if one.logs is not None] for ratios in classes]
    return Ratio(value, pooled_quantiles(logs, fewest), fewest, paired, every[0].threshold)


def pooled(classes: Sequence[Sequence[Cell]]) -> Cell | None:
    """@param classes  of each class its hosts' cells
    @return as of one host, with the number of hosts as count. None: no host has a result of both sides"""
    there = [found for cells in classes if (found := [one.ratio for one in cells if one.ratio])]
    return Cell(sum(map(len, there)), (), ratio=_mean(there)) if there else None


def over_cases(cells: Sequence[Cell]) -> Cell:
    """Of a host: the geometric mean over its cases, each of which has a ratio."""
    ratios = [one.ratio for one in cells if one.ratio]
    logs: Any = np.mean([one.logs for one in ratios if one.logs is not None], axis=0)
    mean = replace(_mean([ratios]), logs=logs)
    interval = pooled_quantiles([[logs]], mean.repeats)  # each round has all cases
    return Cell(len(cells), (), ratio=replace(mean, interval=interval))


@dataclass(frozen=True)
class Hosts:
    """A case in one configuration on several hosts, or all cases together."""

    name: str
    cases: Sequence[Case]  # one a host
    names: Mapping[HostClass, str]

    @cached_property
    def classes(self) -> dict[str, list[Case]]:
        found: dict[str, list[Case]] = defaultdict(list)
        for case in self.cases:
            found[self.names[class_of(case.host)]].append(case)
        return {name: found[name] for name in self.names.values() if name in found}

    @property
    def names_of_rows(self) -> list[str]:
        """The classes; then all of them, if there are several."""
        return [*self.classes, *([ALL] if len(self.classes) > 1 else [])]

    @property
    def compared(self) -> tuple[Figure, ...]:
        return tuple(dict.fromkeys(figure for case in self.cases for figure in case.compared))

    @cached_property
    def main(self) -> Figure | None:
        return next((case.main for case in self.cases if case.main), None)

    @cached_property
    def baseline(self) -> str | None:
        """None: some hosts have another one, or none."""
        (first, *others) = {case.baseline for case in self.cases}
        return None if others else first

    @cached_property
    def rows(self) -> list[Row]:
        """In the order of the hosts' own tables."""
        variants = list(dict.fromkeys(v for case in self.cases for v in case.variants))
        there = {(place.threads, place.variant) for case in self.cases for place in case.cells}
        threads = sorted({t for t, _ in there})
        return [(t, v) for t in threads for v in variants if (t, v) in there]

    def pooled(self, of: str, row: Row, column: str) -> Cell | None:
        """@param of  a class, or ALL"""
        members = self.classes.values() if of == ALL else [self.classes[of]]
        return pooled([[cell for case in cases if (cell := case.get(*row, column))] for cases in members])


def hosts_results(cases: Sequence[Case]) -> list[Hosts]:
    """One a case that several hosts have run; empty where the runs are of one host."""
    names = letters(case.host for case in cases)
    found: dict[tuple[str, ...], list[Case]] = defaultdict(list)
    for case in cases:
        found[case.key[1:]].append(case)
    return [Hosts(of[0].key.name, of, names) for of in found.values() if len(of) > 1]


def all_cases(cases: Sequence[Case]) -> Hosts:
    """Of each host one case, whose cells are means over its cases: ratios of the main figure only."""
    of_host: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        of_host[case.key.host].append(case)
    found = []
    for of in of_host.values():
        cells: dict[Any, list[Cell]] = defaultdict(list)
        for case in of:
            for place, cell in case.cells.items():
                if case.main and place.column == case.main.key and cell.ratio:
                    cells[place].append(cell)
        key = of[0].key._replace(scenario=OVER_CASES, case="", configuration="")
        settings = [run for case in of for run in case.settings]
        variants = tuple(dict.fromkeys(variant for case in of for variant in case.variants))
        means = {place: over_cases(those) for place, those in cells.items()}
        found.append(Case(key, of[0].host, settings, variants, of[0].baseline, of[0].ours, means, {}, {},
                          {}, None, of[0].threshold))  # fmt: skip
    return Hosts(OVER_CASES, found, letters(case.host for case in cases))


def threads_text(count: int) -> str:
    return f"{count} thread{'s' if count != 1 else ''}"


def class_table(several: Sequence[Hosts]) -> Table:
    """Which hosts are of which class."""
    hosts = list({case.host.id: case.host for one in several for case in one.cases}.values())
    rows = [
        [name, kind.cpu, str(kind.cores), kind.kernel, str(len(members)), ", ".join(members)]
        for kind, name in several[0].names.items()
        if (members := [host.label for host in hosts if class_of(host) == kind])
    ]
    columns = plain_columns("class", "CPU", "cores", "kernel", "number", "host")
    return Table(
        "Classes of hosts", columns, rows, ["A class: the same CPU model, kernel and number of cores."]
    )


def _cell(case: Case, threads: int, variant: str, figure: Figure) -> str:
    cell = case.get(threads, variant, figure.key)
    if cell is None:
        return ""
    if case.baseline in (None, variant) or cell.ratio is None:
        return tables.number(cell.median)
    return f"{tables.factor(cell.ratio.value)} {told_apart(cell.ratio, figure.key)}".rstrip()


def _side_by_side(hosts: Hosts, figure: Figure, rows: Sequence[Row], title: str) -> Table:
    heads = [Column(threads_text(threads), variant) for threads, variant in rows]
    cells = [
        ["" if at else name, one.host.label, *(_cell(one, t, v, figure) for t, v in rows)]
        for name, members in hosts.classes.items()
        for at, one in enumerate(members)
    ]
    old = hosts.baseline
    note = f"{old}: median, {'s' if figure.key.endswith('_s') else 'µs'}. Others: ÷ {old}, and a word where"
    notes = [f"{note} the interval leaves out 1{tables.beyond(hosts.cases[0].threshold)}"] if old else []
    return Table(title, [*plain_columns("class", "host"), *heads], cells, notes)


def side_by_side_tables(hosts: Hosts, figure: Figure, width: int) -> Iterator[Table]:
    """A row a host. One table if it fits, else one for each number of threads."""
    title = f"Hosts side by side: {figure.title}"
    whole = _side_by_side(hosts, figure, hosts.rows, title)
    if table_width(whole) <= width:
        yield whole
        return
    for threads in dict.fromkeys(threads for threads, _ in hosts.rows):
        rows = [row for row in hosts.rows if row[0] == threads]
        yield _side_by_side(hosts, figure, rows, f"{title}, {threads_text(threads)}")


def _pooled_rows(hosts: Hosts, figure: Figure) -> Iterator[list[str]]:
    for name in hosts.names_of_rows:
        first = name
        for threads, variant in hosts.rows:
            found = hosts.pooled(name, (threads, variant), figure.key)
            if found and (ratio := found.ratio):
                word = verdict_text(ratio.verdict, figure.key)
                yield [first, str(threads), variant, str(found.count), tables.factor(ratio.value),
                       tables.interval_text(ratio.interval), word]  # fmt: skip
                first = ""


def pooled_table(hosts: Hosts, figure: Figure) -> Table | None:
    """None: there is nothing to compare with."""
    rows = list(_pooled_rows(hosts, figure)) if hosts.baseline else []
    few = any(1 < len(members) < N_MIN for members in hosts.classes.values())
    heads = plain_columns("class", "threads", "variant", "hosts", "÷ old", "95 % interval", "verdict")
    notes = [POOLED, *([FEW_HOSTS] if few else [])]
    title = f"Classes pooled: {figure.title}, against {hosts.baseline}"
    return Table(title, heads, rows, notes) if rows else None


def hosts_tables(hosts: Hosts, width: int = WIDTH, short: bool = False) -> Iterator[Table]:
    """@param short  for a terminal: the main figure only"""
    for figure in [hosts.main] if short else hosts.compared:
        if figure is not None:
            yield from side_by_side_tables(hosts, figure, width)
            table = pooled_table(hosts, figure)
            if table:
                yield table


def class_headlines(hosts: Hosts) -> Iterator[Line]:
    """Of each class of several hosts."""
    figure = hosts.main
    for name, members in hosts.classes.items():
        threads = tables.chosen_threads(members[0])
        if figure is None or threads is None or len(members) < 2:
            continue
        where = f"at {threads_text(threads)}"
        for variant in tables.compared_variants(members[0]):
            found = hosts.pooled(name, (threads, variant), figure.key)
            ratio = found.ratio if found else None
            text = tables.against_old(ratio, variant, str(hosts.baseline), where)
            of = f"class {name}, {found.count if found else 0} hosts, {hosts.name}"
            yield Line(of, f"{figure.title}: {text}", ratio.verdict.word if ratio else NONE)


def class_rows(hosts: Hosts) -> Iterator[dict[str, Any]]:
    """One a class, figure, variant and number of threads; and of all classes."""
    for figure, name, row in product(hosts.compared, hosts.names_of_rows, hosts.rows):
        found = hosts.pooled(name, row, figure.key)
        if found and (ratio := found.ratio):
            low, high = ratio.interval or (None, None)
            yield {
                "class": name, "case": hosts.name, "figure": figure.key, "threads": row[0],
                "variant": row[1], "baseline": hosts.baseline, "hosts": found.count,
                "ratio": ratio.value, "ratio_low": low, "ratio_high": high, "verdict": str(ratio.verdict),
            }  # fmt: skip
