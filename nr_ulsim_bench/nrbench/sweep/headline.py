# SPDX-License-Identifier: BSD-3-Clause
"""A sentence a case."""

from __future__ import annotations

from collections import Counter
from typing import Iterator, NamedTuple, Sequence

from nrbench.sweep.cells import CaseResult, Cell
from nrbench.sweep.table import interval_text, number
from nrbench.sweep.verdicts import FASTER, FEW, NONE, SAME

RULE = (
    "Each line is for the largest number of threads that does not exceed the cores. In brackets: the 95 % "
    "interval. Both pools have the same number of threads. In thread_pool_ws the thread that waits runs "
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


def _against_old(cell: Cell, variant: str, old: str, where: str) -> str:
    ratio = cell.ratio
    if ratio is None:
        return f"{variant} cannot be compared with {old} {where}: one of them gave no result"
    verdict, interval = ratio.verdict, interval_text(ratio.interval)
    if verdict.word == FEW:
        return f"{variant} takes {ratio.value:.2f} times as long as {old} {where}: {verdict}"
    if verdict.word == SAME:
        return f"{variant} and {old} are {verdict} {where}: ratio {ratio.value:.2f} {interval}"
    if verdict.word == FASTER and ratio.interval:
        speed, inverse = 1 / ratio.value, interval_text(ratio.interval.inverse())
        return f"{variant} is {speed:.{2 if speed < 10 else 1}f} times as fast as {old} {where} {inverse}"
    return f"{variant} takes {ratio.value:.2f} times as long as {old} {where} {interval}"


def _all_rows(result: CaseResult, variant: str, column: str) -> str:
    """Verdicts at all numbers of threads, so that the chosen one does not stand alone."""
    words = Counter(cell.word for _, cell in result.column(column, variant))
    return "all threads: " + ", ".join(f"{word} {count} of {words.total()}" for word, count in words.items())


def headlines(result: CaseResult) -> Iterator[Headline]:
    """Of each of our variants, or of all where none is ours."""
    figure, threads, group = result.main, chosen_threads(result), result.group
    if figure is None or threads is None:
        yield Headline(group.key.name, "no run gave a result", NONE)
        return
    where = f"at {threads} thread{'s' if threads != 1 else ''}"
    for variant in _compared(result) or group.ours or group.variants:
        cell, word = result.get(threads, variant, figure.key), ""
        if cell is None or cell.median is None:
            text, word = f"{variant} gave no result {where}", NONE
        elif group.baseline in (None, variant):
            text = f"{variant} takes {number(cell.median)} µs {where}"
        else:
            text, word = _against_old(cell, variant, str(group.baseline), where), cell.word
            text += f" ({_all_rows(result, variant, figure.key)})"
        if cell and cell.over_bound is not None:
            text += f"; {cell.over_bound:.2f} times the bound"
            text += ", which is too high here" if cell.is_below_bound else ""
        if cell and cell.over_parallel_bound is not None:
            text += f", {cell.over_parallel_bound:.2f} times the parallel bound"
        yield Headline(group.key.name, f"{figure.title}: {text}", word)


def _compared(result: CaseResult) -> Sequence[str]:
    """Our variants, or all others where none is ours; none where there is nothing to compare with."""
    group = result.group
    if group.baseline is None:
        return ()
    return group.ours or [variant for variant in group.variants if variant != group.baseline]
