# SPDX-License-Identifier: BSD-3-Clause
"""Pre-wake modes of our pool against each other: what it gains, or costs, on this host."""

from __future__ import annotations

from typing import Iterator, Sequence

import numpy as np
import pandas as pd

from nrbench.sweep.bootstrap import N_MIN, median_interval
from nrbench.sweep.cells import CaseResult, Ratio, ratio_of
from nrbench.sweep.figures import Figure
from nrbench.sweep.frame import CPU
from nrbench.sweep.table import (
    NOTHING,
    UNPAIRED,
    Column,
    Table,
    beyond,
    interval_text,
    shared_note,
    threads_text,
    verdict_word,
)
from nrbench.sweep.verdicts import FASTER, SLOWER

ALL = "all"
OVER_ALL = (
    f"{ALL}: round by round the geometric mean over the numbers of threads, and of that the median; of "
    "rounds that were taken together"
)


def ratio_over_all(result: CaseResult, reference: str, variant: str, column: str) -> Ratio | None:
    """Round by round the geometric mean, over the numbers of threads, of the ratios: less noise than any of
    them. Only rounds in which all of them gave a result; None where there is but one number of threads."""
    logs = []
    for threads in result.group.threads:
        old = result.group.values(reference, threads, column)
        new = result.group.values(variant, threads, column)
        shared = old.index.intersection(new.index)
        if not len(shared) or not (old.index.is_unique and new.index.is_unique):
            return None
        logs.append(np.log(new.loc[shared] / old.loc[shared]))
    rounds = np.exp(pd.concat(logs, axis=1, join="inner").mean(axis=1))
    if len(logs) < 2 or not len(rounds) or not np.isfinite(rounds).all():
        return None
    return Ratio(
        float(rounds.median()), median_interval(rounds.to_numpy()), len(rounds), True, result.threshold
    )


def _ratio(result: CaseResult, threads: int, variants: tuple[str, str], column: str) -> Ratio | None:
    old, new = (result.group.values(variant, threads, column) for variant in variants)
    return ratio_of(old, new, result.threshold)


def _any_unpaired(result: CaseResult, variants: tuple[str, str], figures: Sequence[Figure]) -> bool:
    ratios = (_ratio(result, t, variants, figure.key) for t in result.group.threads for figure in figures)
    return any(ratio is not None and not ratio.paired for ratio in ratios)


def _text(ratio: Ratio | None, figure: Figure) -> str:
    """With a word only where chance does not explain it."""
    if ratio is None:
        return NOTHING
    word = ratio.verdict.word if ratio.verdict.word in (FASTER, SLOWER) else ""
    text = verdict_word(word, figure.key)
    return f"{ratio.value:.2f} {interval_text(ratio.interval)} {text}".rstrip()


def _rows(result: CaseResult, reference: str, variant: str, figures: Sequence[Figure]) -> Iterator[list[str]]:
    for threads in result.group.threads:
        ratios = (_ratio(result, threads, (reference, variant), figure.key) for figure in figures)
        cells = [_text(ratio, figure) for ratio, figure in zip(ratios, figures)]
        yield [threads_text(result, threads), *cells]
    whole = [ratio_over_all(result, reference, variant, figure.key) for figure in figures]
    if any(whole):
        yield [ALL, *(_text(ratio, figure) for ratio, figure in zip(whole, figures))]


def spin_tables(result: CaseResult) -> Iterator[Table]:
    """One for each mode but the first; none where but one was run."""
    group = result.group
    reference, *others = group.ours or ("",)
    figures = [*result.figures, *(figure for figure in result.costs if figure.key == CPU)]
    for variant in others:
        counts = [len(group.values(variant, t, figure.key)) for t in group.threads for figure in figures]
        rows = list(_rows(result, reference, variant, figures))
        notes = [
            f"÷ {reference}, 95 % interval; below 1 is faster, or less CPU time, and said so where the "
            f"interval leaves out 1{beyond(result.threshold)}",
            *([OVER_ALL] if rows[-1][0] == ALL else []),
            *([f"no intervals below {N_MIN} repeats"] if min(counts, default=0) < N_MIN else []),
            *([UNPAIRED] if _any_unpaired(result, (reference, variant), figures) else []),
            *shared_note(result, group.threads),
        ]
        heads = [Column("", head) for head in ("threads", *(figure.title for figure in figures))]
        yield Table(f"Pre-wake: {variant} against {reference}", heads, rows, notes)
