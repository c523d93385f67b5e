# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a case as tables, for the terminal, the text file and the page; pre-wake modes of our pool
against each other; a sentence a case."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Iterator, NamedTuple, Sequence

import numpy as np
import pandas as pd

from nrbench.judge import FASTER, N_MIN, NONE, SAME, UNKNOWN, Interval, median_interval
from nrbench.render import WIDTH, Column, Table, plain_columns, table_width
from nrbench.sweep.cells import (
    CPU_TIME,
    CaseResult,
    Cell,
    Ratio,
    any_unpaired,
    ratio_of,
    told_apart,
    verdict_text,
)
from nrbench.sweep.figures import RX, Figure
from nrbench.sweep.frame import keys_of
from nrbench.sweep.record import Run

NOTHING = "-"
BOUND = (
    "bound: the time that no pool can beat: the work of inline runs (or of recorded slots), divided by the "
    "cores that can compute. It counts the core of the thread that waits, for OAI's pool too, although that "
    "thread sleeps there."
)
PARALLEL_BOUND = (
    "parallel: the parallel bound, µs: the same with the work of inline runs side by side, one on each core. "
    "They share caches, memory, power and SMT cores, as a pool's threads do. Shown where all cores compute."
)
BELOW_BOUND = (
    "÷ bound below 1: the work took less time in a pool than inline. The bound is too high here: inline runs "
    "were disturbed, or caches and the CPU's frequency favour many threads."
)
UNPAIRED = (
    "Some ratios compare runs of different rounds. Changes on the machine between these rounds are part of "
    "the ratios."
)
DERIVED = "† calculated as a difference of figures: the program does not print this one"
ALL = "all"
OVER_ALL = (
    f"{ALL}: in each round the geometric mean over the numbers of threads; then the median over the rounds "
    "that were taken in one go"
)
MANY = 6  # variants, above which a terminal gets the main figure only
RULE = (
    "Each line is for the largest number of threads that does not exceed the cores. In brackets: the 95 % "
    "interval. Both pools have the same number of threads. In thread_pool_ws the thread that waits runs "
    "tasks, too."
)


def precise(value: float) -> int:
    """Decimals that leave three digits or more; four of them at the most."""
    return 2 if value <= 0 else min(4, max(0, 2 - math.floor(math.log10(value))))


def number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.{precise(abs(value))}f}"


def factor(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def interval_text(interval: Interval | None) -> str:
    return NOTHING if interval is None else f"[{interval.low:.2f}, {interval.high:.2f}]"


def median_text(cell: Cell | None) -> str:
    """Median and spread; of runs that all failed, how."""
    if cell is None:
        return ""
    if cell.median is None:
        return " ".join(f"{cause} ×{count}" for cause, count in Counter(cell.causes).items()) or NOTHING
    spread = "" if cell.half_iqr is None else f" ±{cell.half_iqr:.{precise(abs(cell.median))}f}"
    return number(cell.median) + spread


def threads_text(result: CaseResult, threads: int) -> str:
    return f"{threads} *" if threads > result.group.cores(threads) else str(threads)


def shared_note(result: CaseResult) -> Iterator[str]:
    """Which rows have more threads than cores."""
    by_cores: dict[int, list[str]] = defaultdict(list)
    for threads in result.group.threads:
        if threads > result.group.cores(threads):
            by_cores[result.group.cores(threads)].append(str(threads))
    for cores, many in by_cores.items():
        yield f"* {cores} core{'s' if cores > 1 else ''}: {', '.join(many)} threads share them"


def derived_note(result: CaseResult, figures: Sequence[Figure]) -> Iterator[str]:
    if any(cell.derived for figure in figures for _, cell in result.column(figure.key)):
        yield DERIVED


def _marked(result: CaseResult, variant: str, figure: Figure) -> str:
    return variant + "†" * any(cell.derived for _, cell in result.column(figure.key, variant))


def _by_threads(result: CaseResult, title: str, figures: Sequence[Figure], notes: list[str]) -> Table:
    """A row for each number of threads, a column for each variant, for each figure."""
    places = [(figure, variant) for figure in figures for variant in result.group.variants]
    heads = [Column(figure.title, _marked(result, variant, figure)) for figure, variant in places]
    rows = [
        [threads_text(result, t), *(median_text(result.get(t, v, figure.key)) for figure, v in places)]
        for t in result.group.threads
    ]
    return Table(title, [Column("", "threads"), *heads], rows, notes)


def _by_variant(result: CaseResult, title: str, figure: Figure, notes: list[str]) -> Table:
    """A row for each variant, a column for each number of threads."""
    group = result.group
    heads = [Column("threads", threads_text(result, threads)) for threads in group.threads]
    rows = [
        [_marked(result, v, figure), *(median_text(result.get(t, v, figure.key)) for t in group.threads)]
        for v in group.variants
    ]
    return Table(title, [Column("", "variant"), *heads], rows, notes)


def _medians(
    result: CaseResult, title: str, figures: Sequence[Figure], first: Sequence[str], width: int
) -> Iterator[Table]:
    """One table if it fits; else one a figure, with a row a variant where there are too many of them."""

    def notes(of: Sequence[Figure]) -> list[str]:
        return [*first, *shared_note(result), *derived_note(result, of)]

    whole = _by_threads(result, title, figures, notes(figures))
    if table_width(whole) <= width:
        yield whole
        return
    for figure in figures:
        one = _by_threads(result, f"{title}: {figure.title}", [figure], notes([figure]))
        yield one if table_width(one) <= width else _by_variant(result, one.title, figure, one.notes)


def spread_note(result: CaseResult) -> str:
    """Of how many runs the medians are, and what stands behind ±."""
    counts = {cell.count for cell in result.cells.values() if cell.count}
    if not counts:
        return "no run gave a result"
    if max(counts) == 1:
        return "one run each"
    runs = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    return f"medians of {runs} runs ± half the interquartile range"


def error_note(result: CaseResult) -> Iterator[str]:
    """Slots that were not decoded at once: the decoder's work differs where they do."""
    frame = result.group.frame
    good = frame[(frame["status"] == "ok") & frame["errors"].notna()]
    sums = good.groupby("variant", sort=False)[["errors", "trials"]].sum()
    if len(sums) and sums["errors"].sum() > 0:
        shares = (f"{name} {row['errors']:.0f} of {row['trials']:.0f}" for name, row in sums.iterrows())
        yield f"slots not decoded in their first round: {', '.join(shares)}"


def median_tables(result: CaseResult, width: int = WIDTH) -> Iterator[Table]:
    """The slides' table: a row for each number of threads, old beside new, for each figure."""
    notes = [f"µs, {spread_note(result)}", *error_note(result)]
    notes += [] if result.has_bound else ["no bound: no inline run of this case gave a result"]
    yield from _medians(result, "Times", result.figures, notes, width)


def cost_tables(result: CaseResult, width: int = WIDTH) -> Iterator[Table]:
    """CPU time of a whole run beside its wall time."""
    if result.costs:
        notes = [f"s, of the whole process, {spread_note(result)}"]
        yield from _medians(result, "What a run costs", result.costs, notes, width)


def _ratio_row(result: CaseResult, threads: int, variant: str, figure: Figure) -> list[str]:
    cell, baseline = result.get(threads, variant, figure.key), result.group.baseline
    if cell is None:
        return []
    row = [variant + "†" * cell.derived, median_text(cell)]
    if variant == baseline:
        row += ["", "", ""]
    elif baseline is not None:
        ratio = cell.ratio
        row += [factor(ratio.value if ratio else None), interval_text(ratio.interval if ratio else None)]
        row += [verdict_text(ratio.verdict if ratio else None, figure.key)]
    row += [number(cell.bound), factor(cell.over_bound)] if _has_bound(result, figure) else []
    if _has_parallel_bound(result, figure):
        row += [number(cell.parallel_bound), factor(cell.over_parallel_bound)]
    return row


def _has_bound(result: CaseResult, figure: Figure) -> bool:
    return result.has_bound and figure != CPU_TIME


def _has_parallel_bound(result: CaseResult, figure: Figure) -> bool:
    return result.has_parallel_bound and figure != CPU_TIME


def _ratio_table(result: CaseResult, figure: Figure, notes: list[str]) -> Table:
    baseline, has_bound = result.group.baseline, _has_bound(result, figure)
    heads = ["threads", "variant", f"median, {'s' if figure == CPU_TIME else 'µs'}"]
    heads += ["÷ old", "95 % interval", "verdict"] if baseline is not None else []
    heads += ["bound, µs", "÷ bound"] if has_bound else []
    heads += ["parallel", "÷ it"] if _has_parallel_bound(result, figure) else []
    rows = []
    for threads in result.group.threads:
        of_row = [_ratio_row(result, threads, variant, figure) for variant in result.group.variants]
        texts = [threads_text(result, threads), *[""] * len(of_row)]
        rows += [[text, *row] for text, row in zip(texts, filter(None, of_row))]
    if any(cell.is_below_bound for _, cell in result.column(figure.key)):
        notes = [*notes, BELOW_BOUND]
    against = " and ".join(filter(None, [baseline, "the bound" if has_bound else ""]))
    title = f"{figure.title[0].upper()}{figure.title[1:]}, against {against}"
    return Table(title, plain_columns(*heads), rows, [*notes, *derived_note(result, [figure])])


def ratio_tables(result: CaseResult, only: Figure | None = None) -> Iterator[Table]:
    """Every variant against the old one and the bound: a table a figure, of all main ones and CPU time."""
    notes = list(ratio_notes(result))
    for figure in [only] if only else result.compared:
        if result.group.baseline is not None or _has_bound(result, figure):
            yield _ratio_table(result, figure, notes)
            notes = []


def _slower_at_once(result: CaseResult) -> str:
    group = result.group
    factors = [
        f" {count} at once take {work[RX] / group.work[RX]:.2f} times as long as one alone (whole RX)."
        for count, work in sorted(group.work_at_once.items())
        if RX in work and group.work.get(RX)
    ]
    return "".join(factors)


def beyond(threshold: float) -> str:
    return f" by more than {100 * threshold:g} %" if threshold else ""


def ratio_notes(result: CaseResult) -> Iterator[str]:
    if result.group.baseline is not None:
        yield (
            f"÷ old: median divided by the median of {result.group.baseline}; below 1 is faster. "
            f"Verdict: faster or slower if the interval leaves out 1{beyond(result.threshold)}. "
            "Where nothing differs, about one row in twenty has such an interval by chance."
        )
    if result.has_bound:
        yield BOUND
    if result.has_parallel_bound:
        yield f"{PARALLEL_BOUND}{_slower_at_once(result)}"
    if any_unpaired([cell.ratio for cell in result.cells.values()]):
        yield UNPAIRED


def failures(runs: Sequence[Run]) -> list[Table]:
    """Runs without a result, by host, case, variant and cause."""
    causes: dict[tuple[str, ...], Counter[int]] = defaultdict(Counter)
    for run, key in zip(runs, keys_of(runs)):
        if run.status != "ok":
            cause = run.status + (f": {run.error}" if run.error else "")
            causes[run.host.label, key.name, run.variant, cause][run.threads] += 1
    if not causes:
        return []
    rows = [
        [*where, ", ".join(f"{threads} ×{n}" for threads, n in sorted(counts.items())), cause]
        for (*where, cause), counts in causes.items()
    ]
    total = sum(counts.total() for counts in causes.values())
    columns = plain_columns("host", "case", "variant", "threads ×runs", "cause")
    return [Table(f"{total} of {len(runs)} runs gave no result", columns, rows, [])]


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


class Headline(NamedTuple):
    case: str
    sentence: str
    word: str  # of the verdict


def chosen_threads(result: CaseResult) -> int | None:
    """The most threads that do not exceed the cores; the fewest if all do."""
    group = result.group
    fitting = [threads for threads in group.threads if threads <= group.cores(threads)]
    return fitting[-1] if fitting else next(iter(group.threads), None)


def against_old(ratio: Ratio | None, variant: str, old: str, where: str) -> str:
    if ratio is None:
        return f"{variant} cannot be compared with {old} {where}: one of them gave no result"
    verdict, interval = ratio.verdict, interval_text(ratio.interval)
    if verdict.word in (SAME, UNKNOWN):
        return f"{variant} against {old} {where}: {verdict}, ratio {ratio.value:.2f} {interval}"
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
    for variant in compared_variants(result) or group.ours or group.variants:
        cell, word = result.get(threads, variant, figure.key), ""
        if cell is None or cell.median is None:
            text, word = f"{variant} gave no result {where}", NONE
        elif group.baseline in (None, variant):
            text = f"{variant} takes {number(cell.median)} µs {where}"
        else:
            text, word = against_old(cell.ratio, variant, str(group.baseline), where), cell.word
            text += f" ({_all_rows(result, variant, figure.key)})"
        if cell and cell.over_bound is not None:
            text += f"; {cell.over_bound:.2f} times the bound"
            text += ", which is too high here" if cell.is_below_bound else ""
        if cell and cell.over_parallel_bound is not None:
            text += f", {cell.over_parallel_bound:.2f} times the parallel bound"
        yield Headline(group.key.name, f"{figure.title}: {text}", word)


def compared_variants(result: CaseResult) -> Sequence[str]:
    """Our variants, or all others where none is ours; none where there is nothing to compare with."""
    group = result.group
    if group.baseline is None:
        return ()
    return group.ours or [variant for variant in group.variants if variant != group.baseline]
