# SPDX-License-Identifier: BSD-3-Clause
"""Pre-wake modes of our pool against each other, and all tables of a case in their order."""

from __future__ import annotations

from typing import Iterator

import numpy as np
import pandas as pd

from nrbench.sweep.bootstrap import N_MIN, median_interval
from nrbench.sweep.cells import CaseResult, Ratio, any_unpaired, ratio_of, told_apart
from nrbench.sweep.show import WIDTH, Table, plain_columns
from nrbench.sweep.table import (
    NOTHING,
    UNPAIRED,
    beyond,
    cost_tables,
    interval_text,
    median_tables,
    ratio_tables,
    shared_note,
    threads_text,
)

ALL = "all"
OVER_ALL = (
    f"{ALL}: in each round the geometric mean over the numbers of threads; then the median over the rounds "
    "that were taken in one go"
)
MANY = 6  # variants, above which a terminal gets the main figure only


def ratio_over_all(result: CaseResult, reference: str, variant: str, column: str) -> Ratio | None:
    """Round by round the geometric mean, over the numbers of threads, of the ratios: less noise than any of
    them. Only rounds in which all of them gave a result; None where there is but one number of threads."""
    logs = []
    for threads in result.group.threads:
        old, new = (result.group.values(name, threads, column) for name in (reference, variant))
        shared = old.index.intersection(new.index)
        if not len(shared) or not (old.index.is_unique and new.index.is_unique):
            return None
        logs.append(np.log(new.loc[shared] / old.loc[shared]))
    rounds = np.exp(pd.concat(logs, axis=1, join="inner").mean(axis=1))
    if len(logs) < 2 or not len(rounds) or not np.isfinite(rounds).all():
        return None
    interval = median_interval(rounds.to_numpy())
    return Ratio(float(rounds.median()), interval, len(rounds), True, result.threshold)


def _text(ratio: Ratio | None, column: str) -> str:
    if ratio is None:
        return NOTHING
    return f"{ratio.value:.2f} {interval_text(ratio.interval)} {told_apart(ratio, column)}".rstrip()


def _spin_table(result: CaseResult, reference: str, variant: str) -> Table:
    group, columns = result.group, [figure.key for figure in result.compared]
    values = {(v, t, c): group.values(v, t, c) for v in (reference, variant) for t in group.threads
              for c in columns}  # fmt: skip
    rows, every = [], []
    for t in group.threads:
        ratios = [ratio_of(values[reference, t, c], values[variant, t, c], result.threshold) for c in columns]
        every += ratios
        rows.append([threads_text(result, t), *(_text(ratio, c) for ratio, c in zip(ratios, columns))])
    whole = [ratio_over_all(result, reference, variant, c) for c in columns]
    if any(whole):
        rows.append([ALL, *(_text(ratio, c) for ratio, c in zip(whole, columns))])
    fewest = min(len(values[variant, t, c]) for t in group.threads for c in columns) if columns else 0
    notes = [
        f"÷ {reference}, 95 % interval; below 1 is faster, or less CPU time; with a word where the interval "
        f"leaves out 1{beyond(result.threshold)}",
        *([OVER_ALL] if any(whole) else []),
        *([f"no intervals below {N_MIN} repeats"] if fewest < N_MIN else []),
        *([UNPAIRED] if any_unpaired(every) else []),
        *shared_note(result),
    ]
    heads = plain_columns("threads", *(figure.title for figure in result.compared))
    return Table(f"Pre-wake: {variant} against {reference}", heads, rows, notes)


def spin_tables(result: CaseResult) -> Iterator[Table]:
    """One for each mode but the first; none where but one was run."""
    for variant in result.group.ours[1:]:
        yield _spin_table(result, result.group.ours[0], variant)


def case_tables(result: CaseResult, width: int = WIDTH, short: bool = False) -> Iterator[Table]:
    """All that is shown of a case, in order.

    @param short  for a terminal: of many variants the main figure only
    """
    short = short and len(result.group.variants) > MANY
    yield from median_tables(result, width)
    yield from ratio_tables(result, result.main if short else None)
    yield from spin_tables(result)
    if not short:
        yield from cost_tables(result, width)
