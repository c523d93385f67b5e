# SPDX-License-Identifier: BSD-3-Clause
"""A sentence a case, and hosts side by side."""

from __future__ import annotations

from collections import Counter
from typing import Iterator, NamedTuple, Sequence

from nrbench.sweep.cells import CaseResult, Cell
from nrbench.sweep.frame import Key
from nrbench.sweep.table import Column, Table, below_bound, interval_text, main_figure, number
from nrbench.sweep.verdicts import FASTER, FEW, SAME, SLOWER

RULE = (
    "Each line is for the largest number of threads that does not exceed the cores. In brackets: the 95 % "
    "interval. Both pools have the same number of threads; in thread_pool_ws the thread that waits runs "
    "tasks, too."
)


class Headline(NamedTuple):
    case: str
    sentence: str
    word: str  # of the verdict


def chosen_threads(result: CaseResult) -> int | None:
    """The most threads that do not exceed the cores; the fewest if all do."""
    group = result.group
    fitting = [threads for threads in group.threads if threads <= group.cores(threads)]
    return fitting[-1] if fitting else next(iter(group.threads), None)


def many(threads: int) -> str:
    return f"{threads} thread{'s' if threads != 1 else ''}"


def _times(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _against_old(cell: Cell, variant: str, old: str, threads: int) -> tuple[str, str]:
    where = f"at {many(threads)}"
    ratio = cell.ratio
    if ratio is None:
        return f"{variant} cannot be compared with {old} {where}: one of them gave no result", "no result"
    verdict = ratio.verdict
    if ratio.interval is None:
        return f"{variant} takes {ratio.value:.2f} times as long as {old} {where}: {verdict}", FEW
    if verdict.word == SAME:
        return f"{variant} and {old} are {verdict} {where}: ratio {ratio.value:.2f} " + interval_text(
            ratio.interval
        ), SAME
    if verdict.word == FASTER:
        speed = f"{_times(1 / ratio.value)} times as fast as {old}"
        return f"{variant} is {speed} {where} {interval_text(ratio.interval.inverse())}", FASTER
    slower = f"takes {ratio.value:.2f} times as long as {old}"
    return f"{variant} {slower} {where} {interval_text(ratio.interval)}", SLOWER


def _all_rows(result: CaseResult, variant: str, column: str) -> str:
    """Verdicts at all numbers of threads, so that the chosen one does not stand alone."""
    words = Counter(
        cell.ratio.verdict.word if cell.ratio else "no result"
        for threads in result.group.threads
        if (cell := result.get(threads, variant, column)) is not None
    )
    total = words.total()
    return "all threads: " + ", ".join(f"{word} {count} of {total}" for word, count in words.items())


def headlines(result: CaseResult) -> Iterator[Headline]:
    """Of each of our variants, or of all where none is ours."""
    figure, threads = main_figure(result), chosen_threads(result)
    group = result.group
    if figure is None or threads is None:
        yield Headline(group.key.name, "no run gave a result", "no result")
        return
    for variant in _compared(result) or group.ours or group.variants:
        cell = result.get(threads, variant, figure.key)
        if cell is None or cell.median is None:
            text = f"{variant} gave no result at {many(threads)}"
            yield Headline(group.key.name, f"{figure.title}: {text}", "no result")
            continue
        if group.baseline in (None, variant):
            text, word = f"{variant} takes {number(cell.median)} µs at {many(threads)}", ""
        else:
            text, word = _against_old(cell, variant, str(group.baseline), threads)
            text += f" ({_all_rows(result, variant, figure.key)})"
        if cell.over_bound is not None:
            text += f"; {cell.over_bound:.2f} times the bound"
            text += ", which is too high here" if below_bound(cell) else ""
        yield Headline(group.key.name, f"{figure.title}: {text}", word)


def _compared(result: CaseResult) -> Sequence[str]:
    """Our variants, or all others where none is ours; none where there is nothing to compare with."""
    group = result.group
    if group.baseline is None:
        return ()
    return group.ours or [variant for variant in group.variants if variant != group.baseline]


def _overview_cell(result: CaseResult | None, variant: str) -> str:
    figure, threads = (None, None) if result is None else (main_figure(result), chosen_threads(result))
    if result is None or figure is None or threads is None:
        return ""
    cell = result.get(threads, variant, figure.key)
    if cell is None or cell.ratio is None:
        return "no result"
    return f"{cell.ratio.value:.2f} {interval_text(cell.ratio.interval)} at {threads}"


def overview(results: Sequence[CaseResult]) -> Table | None:
    """Ratios of all hosts beside each other; None with one host, or with nothing to compare."""
    labels = {result.group.key.host: result.group.host.label for result in results}
    cases: dict[tuple[str, ...], dict[str, CaseResult]] = {}
    for result in results:
        cases.setdefault(result.group.key[1:], {})[result.group.key.host] = result
    rows = []
    for by_host in cases.values():
        variants = dict.fromkeys(name for result in by_host.values() for name in _compared(result))
        name = Key(*next(iter(by_host.values())).group.key).name
        rows += [
            [name, variant, *(_overview_cell(by_host.get(host), variant) for host in labels)]
            for variant in variants
        ]
    if len(labels) < 2 or not rows:
        return None
    columns = [Column("", "case"), Column("", "variant"), *(Column("", label) for label in labels.values())]
    note = (
        "Ratio to the old pool of the same host with its 95 % interval, and the number of threads: the most "
        "that do not exceed that host's cores. Whole RX where it was measured. Absolute times of different "
        "hosts say nothing about the pools and are not compared."
    )
    return Table("Hosts side by side", columns, rows, [note])
