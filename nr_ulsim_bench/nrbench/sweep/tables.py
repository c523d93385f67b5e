# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a case as tables, for the terminal, the text file and the page; pre-wake modes of our pool
against each other; a sentence a case."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Iterator, Sequence

import numpy as np
import pandas as pd

from nrbench.judge import FASTER, N_MIN, NONE, SAME, UNKNOWN, Interval, median_interval
from nrbench.render import WIDTH, Column, Line, Table, plain_columns, table_width
from nrbench.sweep.cells import CPU_TIME, Case, Cell, any_unpaired, ratio_of, told_apart, verdict_text
from nrbench.sweep.figures import RX, Figure
from nrbench.sweep.runs import Runs
from nrbench.table import Ratio

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
CAUSES_MAX = SLOWEST_MAX = 20
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


def threads_text(case: Case, threads: int) -> str:
    return f"{threads} *" if threads > case.cores(threads) else str(threads)


def shared_note(case: Case) -> Iterator[str]:
    """Which rows have more threads than cores."""
    by_cores: dict[int, list[str]] = defaultdict(list)
    for threads in case.threads:
        if threads > case.cores(threads):
            by_cores[case.cores(threads)].append(str(threads))
    for cores, many in by_cores.items():
        yield f"* {cores} core{'s' if cores > 1 else ''}: {', '.join(many)} threads share them"


def derived_note(case: Case, figures: Sequence[Figure]) -> Iterator[str]:
    if any(cell.derived for figure in figures for _, cell in case.column(figure.key)):
        yield DERIVED


def _marked(case: Case, variant: str, figure: Figure) -> str:
    return variant + "†" * any(cell.derived for _, cell in case.column(figure.key, variant))


def _by_threads(case: Case, title: str, figures: Sequence[Figure], notes: list[str]) -> Table:
    """A row for each number of threads, a column for each variant, for each figure."""
    places = [(figure, variant) for figure in figures for variant in case.variants]
    heads = [Column(figure.title, _marked(case, variant, figure)) for figure, variant in places]
    rows = [
        [threads_text(case, t), *(median_text(case.get(t, v, figure.key)) for figure, v in places)]
        for t in case.threads
    ]
    return Table(title, [Column("", "threads"), *heads], rows, notes)


def _by_variant(case: Case, title: str, figure: Figure, notes: list[str]) -> Table:
    """A row for each variant, a column for each number of threads."""
    heads = [Column("threads", threads_text(case, threads)) for threads in case.threads]
    rows = [
        [_marked(case, v, figure), *(median_text(case.get(t, v, figure.key)) for t in case.threads)]
        for v in case.variants
    ]
    return Table(title, [Column("", "variant"), *heads], rows, notes)


def _medians(
    case: Case, title: str, figures: Sequence[Figure], first: Sequence[str], width: int
) -> Iterator[Table]:
    """One table if it fits; else one a figure, with a row a variant where there are too many of them."""

    def notes(of: Sequence[Figure]) -> list[str]:
        return [*first, *shared_note(case), *derived_note(case, of)]

    whole = _by_threads(case, title, figures, notes(figures))
    if table_width(whole) <= width:
        yield whole
        return
    for figure in figures:
        one = _by_threads(case, f"{title}: {figure.title}", [figure], notes([figure]))
        yield one if table_width(one) <= width else _by_variant(case, one.title, figure, one.notes)


def spread_note(case: Case) -> str:
    """Of how many runs the medians are, and what stands behind ±."""
    counts = {cell.count for cell in case.cells.values() if cell.count}
    if not counts:
        return "no run gave a case"
    if max(counts) == 1:
        return "one run each"
    runs = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    return f"medians of {runs} runs ± half the interquartile range"


def error_note(case: Case) -> Iterator[str]:
    """Slots that were not decoded at once: the decoder's work differs where they do."""
    errors, trials = defaultdict[str, float](float), defaultdict[str, float](float)
    for threads, variant in case.rows:
        wrong, sent = (case.values(variant, threads, name) for name in ("errors", "trials"))
        errors[variant] += wrong.sum()
        trials[variant] += sent[sent.index.isin(wrong.index)].sum()
    if sum(errors.values()) > 0:
        shares = (f"{name} {errors[name]:.0f} of {count:.0f}" for name, count in trials.items() if count)
        yield f"slots not decoded in their first round: {', '.join(shares)}"


def median_tables(case: Case, width: int = WIDTH) -> Iterator[Table]:
    """The slides' table: a row for each number of threads, old beside new, for each figure."""
    notes = [f"µs, {spread_note(case)}", *error_note(case)]
    notes += [] if case.has_bound else ["no bound: no inline run of this case gave a case"]
    yield from _medians(case, "Times", case.figures, notes, width)


def cost_tables(case: Case, width: int = WIDTH) -> Iterator[Table]:
    """CPU time of a whole run beside its wall time."""
    if case.costs:
        notes = [f"s, of the whole process, {spread_note(case)}"]
        yield from _medians(case, "What a run costs", case.costs, notes, width)


def _ratio_row(case: Case, threads: int, variant: str, figure: Figure) -> list[str]:
    cell, baseline = case.get(threads, variant, figure.key), case.baseline
    if cell is None:
        return []
    row = [variant + "†" * cell.derived, median_text(cell)]
    if variant == baseline:
        row += ["", "", ""]
    elif baseline is not None:
        ratio = cell.ratio
        row += [factor(ratio.value if ratio else None), interval_text(ratio.interval if ratio else None)]
        row += [verdict_text(ratio.verdict if ratio else None, figure.key)]
    has_bound, has_parallel = case.bounds_of(figure)
    row += [number(cell.bound), factor(cell.over_bound)] if has_bound else []
    return row + ([number(cell.parallel_bound), factor(cell.over_parallel_bound)] if has_parallel else [])


def _ratio_table(case: Case, figure: Figure, notes: list[str]) -> Table:
    baseline, (has_bound, has_parallel) = case.baseline, case.bounds_of(figure)
    heads = ["threads", "variant", f"median, {'s' if figure == CPU_TIME else 'µs'}"]
    heads += ["÷ old", "95 % interval", "verdict"] if baseline is not None else []
    heads += ["bound, µs", "÷ bound"] if has_bound else []
    heads += ["parallel", "÷ it"] if has_parallel else []
    rows = []
    for threads in case.threads:
        of_row = [_ratio_row(case, threads, variant, figure) for variant in case.variants]
        texts = [threads_text(case, threads), *[""] * len(of_row)]
        rows += [[text, *row] for text, row in zip(texts, filter(None, of_row))]
    if any(cell.is_below_bound for _, cell in case.column(figure.key)):
        notes = [*notes, BELOW_BOUND]
    against = " and ".join(filter(None, [baseline, "the bound" if has_bound else ""]))
    title = f"{figure.title[0].upper()}{figure.title[1:]}, against {against}"
    return Table(title, plain_columns(*heads), rows, [*notes, *derived_note(case, [figure])])


def ratio_tables(case: Case, only: Figure | None = None) -> Iterator[Table]:
    """Every variant against the old one and the bound: a table a figure, of all main ones and CPU time."""
    notes = list(ratio_notes(case))
    for figure in [only] if only else case.compared:
        if case.baseline is not None or case.bounds_of(figure)[0]:
            yield _ratio_table(case, figure, notes)
            notes = []


def _slower_at_once(case: Case) -> str:
    factors = [
        f" {count} at once take {work[RX] / case.work[RX]:.2f} times as long as one alone (whole RX)."
        for count, work in sorted(case.work_at_once.items())
        if RX in work and case.work.get(RX)
    ]
    return "".join(factors)


def beyond(threshold: float) -> str:
    return f" by more than {100 * threshold:g} %" if threshold else ""


def ratio_notes(case: Case) -> Iterator[str]:
    if case.baseline is not None:
        yield (
            f"÷ old: median divided by the median of {case.baseline}; below 1 is faster. "
            f"Verdict: faster or slower if the interval leaves out 1{beyond(case.threshold)}. "
            "Where nothing differs, about one row in twenty has such an interval by chance."
        )
    if case.has_bound:
        yield BOUND
    if case.has_parallel_bound:
        yield f"{PARALLEL_BOUND}{_slower_at_once(case)}"
    if any_unpaired([cell.ratio for cell in case.cells.values()]):
        yield UNPAIRED


def failures(runs: Runs) -> list[Table]:
    """Runs without a result, by host, case, variant and cause; the most frequent causes first."""
    keys = runs.keys
    causes: dict[tuple[str, ...], Counter[int]] = defaultdict(Counter)
    bad = runs.frame[runs.frame["status"] != "ok"]
    for row, place, status in zip(bad.index, bad["setting"], bad["status"]):
        run, error = runs.settings[place], runs.errors.get(row)
        cause = f"{status}: {error}" if error else status
        causes[run.host.label, keys[place].name, run.variant, cause][run.threads] += 1
    if not causes:
        return []
    rows = [
        [*where, ", ".join(f"{threads} ×{n}" for threads, n in sorted(counts.items())), cause]
        for (*where, cause), counts in sorted(causes.items(), key=lambda of: -of[1].total())[:CAUSES_MAX]
    ]
    columns = plain_columns("host", "case", "variant", "threads ×runs", "cause")
    return [Table(f"{len(bad)} of {len(runs.frame)} runs gave no result", columns, rows, [])]


def slowest_table(cases: Sequence[Case]) -> Table:
    """Of many cases those with the largest ratios of the main figure."""
    found = [
        (cell.ratio, [case.host.label, case.key.name, str(place.threads), place.variant])
        for case in cases
        for place, cell in case.cells.items()
        if case.main and place.column == case.main.key and cell.ratio
    ]
    words = Counter(ratio.verdict.word for ratio, _ in found)
    counts = ", ".join(f"{word} {count}" for word, count in words.most_common())
    found.sort(key=lambda of: -of[0].value)
    rows = [
        [*where, factor(ratio.value), interval_text(ratio.interval), str(ratio.verdict)]
        for ratio, where in found[:SLOWEST_MAX]
    ]
    heads = plain_columns("host", "case", "threads", "variant", "÷ old", "95 % interval", "verdict")
    return Table("Slowest cases", heads, rows, [f"all {len(found)} ratios: {counts}"])


def ratio_over_all(case: Case, reference: str, variant: str, column: str) -> Ratio | None:
    """Round by round the geometric mean, over the numbers of threads, of the ratios: less noise than any of
    them. Only rounds in which all of them gave a case; None where there is but one number of threads."""
    logs = []
    for threads in case.threads:
        old, new = (case.values(name, threads, column) for name in (reference, variant))
        shared = old.index.intersection(new.index)
        if not len(shared) or not (old.index.is_unique and new.index.is_unique):
            return None
        logs.append(np.log(new.loc[shared] / old.loc[shared]))
    rounds = np.exp(pd.concat(logs, axis=1, join="inner").mean(axis=1))
    if len(logs) < 2 or not len(rounds) or not np.isfinite(rounds).all():
        return None
    interval = median_interval(rounds.to_numpy())
    return Ratio(float(rounds.median()), interval, len(rounds), True, case.threshold)


def _text(ratio: Ratio | None, column: str) -> str:
    if ratio is None:
        return NOTHING
    return f"{ratio.value:.2f} {interval_text(ratio.interval)} {told_apart(ratio, column)}".rstrip()


def _spin_table(case: Case, reference: str, variant: str) -> Table:
    columns = [figure.key for figure in case.compared]
    rows, every = [], []
    for t in case.threads:
        ratios = [ratio_of(case, (reference, t), (variant, t), column) for column in columns]
        every += ratios
        rows.append([threads_text(case, t), *(_text(ratio, c) for ratio, c in zip(ratios, columns))])
    whole = [ratio_over_all(case, reference, variant, c) for c in columns]
    if any(whole):
        rows.append([ALL, *(_text(ratio, c) for ratio, c in zip(whole, columns))])
    fewest = min((cell.count for column in columns for _, cell in case.column(column, variant)), default=0)
    notes = [
        f"÷ {reference}, 95 % interval; below 1 is faster, or less CPU time; with a word where the interval "
        f"leaves out 1{beyond(case.threshold)}",
        *([OVER_ALL] if any(whole) else []),
        *([f"no intervals below {N_MIN} repeats"] if fewest < N_MIN else []),
        *([UNPAIRED] if any_unpaired(every) else []),
        *shared_note(case),
    ]
    heads = plain_columns("threads", *(figure.title for figure in case.compared))
    return Table(f"Pre-wake: {variant} against {reference}", heads, rows, notes)


def spin_tables(case: Case) -> Iterator[Table]:
    """One for each mode but the first; none where but one was run."""
    for variant in case.ours[1:]:
        yield _spin_table(case, case.ours[0], variant)


def case_tables(case: Case, width: int = WIDTH, short: bool = False) -> Iterator[Table]:
    """All that is shown of a case, in order.

    @param short  for a terminal: of many variants the main figure only
    """
    short = short and len(case.variants) > MANY
    yield from median_tables(case, width)
    yield from ratio_tables(case, case.main if short else None)
    yield from spin_tables(case)
    if not short:
        yield from cost_tables(case, width)


def chosen_threads(case: Case) -> int | None:
    """The most threads that do not exceed the cores; the fewest if all do."""
    fitting = [threads for threads in case.threads if threads <= case.cores(threads)]
    return fitting[-1] if fitting else next(iter(case.threads), None)


def against_old(ratio: Ratio | None, variant: str, old: str, where: str) -> str:
    if ratio is None:
        return f"{variant} cannot be compared with {old} {where}: one of them gave no case"
    verdict, interval = ratio.verdict, interval_text(ratio.interval)
    if verdict.word in (SAME, UNKNOWN):
        return f"{variant} against {old} {where}: {verdict}, ratio {ratio.value:.2f} {interval}"
    if verdict.word == FASTER and ratio.interval:
        speed, inverse = 1 / ratio.value, interval_text(ratio.interval.inverse())
        return f"{variant} is {speed:.{2 if speed < 10 else 1}f} times as fast as {old} {where} {inverse}"
    return f"{variant} takes {ratio.value:.2f} times as long as {old} {where} {interval}"


def _all_rows(case: Case, variant: str, column: str) -> str:
    """Verdicts at all numbers of threads, so that the chosen one does not stand alone."""
    words = Counter(cell.word for _, cell in case.column(column, variant))
    return "all threads: " + ", ".join(f"{word} {count} of {words.total()}" for word, count in words.items())


def headlines(case: Case) -> Iterator[Line]:
    """Of each of our variants, or of all where none is ours."""
    figure, threads, of = case.main, chosen_threads(case), f"{case.host.label}, {case.key.name}"
    if figure is None or threads is None:
        yield Line(of, "no run gave a case", NONE)
        return
    where = f"at {threads} thread{'s' if threads != 1 else ''}"
    for variant in compared_variants(case) or case.ours or case.variants:
        cell, word = case.get(threads, variant, figure.key), ""
        if cell is None or cell.median is None:
            text, word = f"{variant} gave no case {where}", NONE
        elif case.baseline in (None, variant):
            text = f"{variant} takes {number(cell.median)} µs {where}"
        else:
            text, word = against_old(cell.ratio, variant, str(case.baseline), where), cell.word
            text += f" ({_all_rows(case, variant, figure.key)})"
        if cell and cell.over_bound is not None:
            text += f"; {cell.over_bound:.2f} times the bound"
            text += ", which is too high here" if cell.is_below_bound else ""
        if cell and cell.over_parallel_bound is not None:
            text += f", {cell.over_parallel_bound:.2f} times the parallel bound"
        yield Line(of, f"{figure.title}: {text}", word)


def compared_variants(case: Case) -> Sequence[str]:
    """Our variants, or all others where none is ours; none where there is nothing to compare with."""
    if case.baseline is None:
        return ()
    return case.ours or [variant for variant in case.variants if variant != case.baseline]
