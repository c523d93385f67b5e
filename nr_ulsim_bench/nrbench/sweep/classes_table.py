# SPDX-License-Identifier: BSD-3-Clause
"""Hosts side by side, and their classes pooled, as tables; a sentence a class and case."""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from nrbench.judge import N_MIN, NONE
from nrbench.record import Host
from nrbench.render import WIDTH, Column, Table, plain_columns, table_width
from nrbench.sweep.cells import CaseResult, told_apart, verdict_text
from nrbench.sweep.classes import HostClass, HostsResult, class_of
from nrbench.sweep.figures import Figure
from nrbench.sweep.table import (
    Headline,
    against_old,
    beyond,
    chosen_threads,
    compared_variants,
    factor,
    interval_text,
    number,
)

POOLED = (
    "÷ old: geometric mean of the hosts' ratios, each host with the same weight. Row all: of the classes, "
    "each with the same weight. Interval: 95 %; each resample draws hosts within their class, and rounds "
    "within each host."
)
FEW_HOSTS = (
    f"Classes of fewer than {N_MIN} hosts: the interval is for these hosts. It does not hold for other hosts "
    "of the class."
)
Variants = Sequence[tuple[int, str]]


def threads_text(count: int) -> str:
    return f"{count} thread{'s' if count != 1 else ''}"


def class_table(names: Mapping[HostClass, str], hosts: Sequence[Host]) -> Table:
    """Which hosts are of which class."""
    rows = [
        [name, kind.cpu, str(kind.cores), kind.kernel, str(len(members)), ", ".join(members)]
        for kind, name in names.items()
        if (members := [host.label for host in hosts if class_of(host) == kind])
    ]
    columns = [Column("", name) for name in ("class", "CPU", "cores", "kernel", "number", "host")]
    return Table(
        "Classes of hosts", columns, rows, ["A class: the same CPU model, kernel and number of cores."]
    )


def _cell(result: CaseResult, threads: int, variant: str, figure: Figure) -> str:
    cell = result.get(threads, variant, figure.key)
    if cell is None:
        return ""
    if result.group.baseline in (None, variant) or cell.ratio is None:
        return number(cell.median)
    return f"{factor(cell.ratio.value)} {told_apart(cell.ratio, figure.key)}".rstrip()


def _side_by_side(hosts: HostsResult, figure: Figure, rows: Variants, title: str) -> Table:
    heads = [Column(threads_text(threads), variant) for threads, variant in rows]
    cells = [
        [name if first else "", one.group.host.label, *(_cell(one, t, v, figure) for t, v in rows)]
        for name, members in hosts.classes.items()
        for first, one in zip([True, *[False] * len(members)], members)
    ]
    old = hosts.baseline
    note = f"{old}: median, {'s' if figure.key.endswith('_s') else 'µs'}. Others: ÷ {old}, and a word where"
    notes = [f"{note} the interval leaves out 1{beyond(hosts.results[0].threshold)}"] if old else []
    return Table(title, [Column("", "class"), Column("", "host"), *heads], cells, notes)


def side_by_side_tables(hosts: HostsResult, figure: Figure, width: int) -> Iterator[Table]:
    """A row a host. One table if it fits, else one for each number of threads."""
    title = f"Hosts side by side: {figure.title}"
    whole = _side_by_side(hosts, figure, hosts.rows, title)
    if table_width(whole) <= width:
        yield whole
        return
    for threads in dict.fromkeys(threads for threads, _ in hosts.rows):
        rows = [row for row in hosts.rows if row[0] == threads]
        yield _side_by_side(hosts, figure, rows, f"{title}, {threads_text(threads)}")


def _pooled_rows(hosts: HostsResult, figure: Figure) -> Iterator[list[str]]:
    for name in hosts.names_of_rows:
        first = name
        for row in hosts.rows:
            pooled = hosts.pooled(name, row, figure.key)
            if pooled is None:
                continue
            ratio = pooled.ratio
            words = [
                factor(ratio.value),
                interval_text(ratio.interval),
                verdict_text(ratio.verdict, figure.key),
            ]
            yield [first, str(row[0]), row[1], str(pooled.hosts), *words]
            first = ""


def pooled_table(hosts: HostsResult, figure: Figure) -> Table | None:
    """None: there is nothing to compare with."""
    rows = list(_pooled_rows(hosts, figure)) if hosts.baseline else []
    few = any(1 < len(members) < N_MIN for members in hosts.classes.values())
    heads = plain_columns("class", "threads", "variant", "hosts", "÷ old", "95 % interval", "verdict")
    notes = [POOLED, *([FEW_HOSTS] if few else [])]
    return (
        Table(f"Classes pooled: {figure.title}, against {hosts.baseline}", heads, rows, notes)
        if rows
        else None
    )


def hosts_tables(hosts: HostsResult, width: int = WIDTH, short: bool = False) -> Iterator[Table]:
    """@param short  for a terminal: the main figure only"""
    for figure in [hosts.main] if short else hosts.compared:
        if figure is not None:
            yield from side_by_side_tables(hosts, figure, width)
            table = pooled_table(hosts, figure)
            if table:
                yield table


def class_headlines(hosts: HostsResult) -> Iterator[tuple[str, Headline]]:
    """Of each class of several hosts, with its name."""
    figure = hosts.main
    for name, members in hosts.classes.items():
        threads = chosen_threads(members[0])
        if figure is None or threads is None or len(members) < 2:
            continue
        where = f"at {threads_text(threads)}"
        for variant in compared_variants(members[0]):
            pooled = hosts.pooled(name, (threads, variant), figure.key)
            ratio = pooled.ratio if pooled else None
            text = against_old(ratio, variant, str(hosts.baseline), where)
            of = f"class {name}, {pooled.hosts if pooled else 0} hosts"
            word = ratio.verdict.word if ratio else NONE
            yield of, Headline(hosts.name, f"{figure.title}: {text}", word)
