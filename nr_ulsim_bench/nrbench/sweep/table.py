# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a case as tables: rows of cells, for the terminal, the text file and the page."""

from __future__ import annotations

import math
from collections import Counter
from typing import Iterator, NamedTuple, Sequence

from nrbench.sweep.bootstrap import Interval
from nrbench.sweep.cells import CaseResult, Cell
from nrbench.sweep.figures import RX, Figure
from nrbench.sweep.frame import CPU, WALL, keys_of
from nrbench.sweep.record import Run

WIDTH = 110
GAP = 2  # between columns
NOTHING = "-"
BELOW_BOUND = (
    "÷ bound below 1: the work took less time in a pool than inline. The bound is too high here: inline runs "
    "were disturbed, or caches and the CPU's frequency favour many threads."
)
UNPAIRED = (
    "some ratios are of runs that were not taken together, round by round: what changed on the machine in "
    "between is part of them"
)
DERIVED = "† a difference of figures that the program prints, not printed by itself"


class Column(NamedTuple):
    """Columns with the same group stand below one heading."""

    group: str
    name: str


class Table(NamedTuple):
    title: str
    columns: list[Column]
    rows: list[list[str]]
    notes: list[str]


def precise(value: float) -> int:
    """Decimals that leave three digits or more; four of them at the most."""
    return 2 if value <= 0 else min(4, max(0, 2 - math.floor(math.log10(value))))


def number(value: float | None, decimals: int | None = None) -> str:
    if value is None:
        return NOTHING
    return f"{value:.{precise(abs(value)) if decimals is None else decimals}f}"


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


def shared_note(result: CaseResult, rows: Sequence[int]) -> Iterator[str]:
    """Which rows have more threads than cores."""
    by_cores: dict[int, list[str]] = {}
    for threads in rows:
        cores = result.group.cores(threads)
        if threads > cores:
            by_cores.setdefault(cores, []).append(str(threads))
    for cores, many in by_cores.items():
        yield f"* {cores} core{'s' if cores > 1 else ''}: {', '.join(many)} threads share them"


def _is_derived(result: CaseResult, variant: str, column: str) -> bool:
    cells = (result.get(threads, variant, column) for threads in result.group.threads)
    return any(cell.derived for cell in cells if cell is not None)


def _marked(result: CaseResult, variant: str, figure: Figure) -> str:
    return variant + "†" * _is_derived(result, variant, figure.key)


def _median_notes(result: CaseResult, figures: Sequence[Figure], notes: Sequence[str]) -> list[str]:
    derived = any(_is_derived(result, v, figure.key) for v in result.group.variants for figure in figures)
    return [*notes, *shared_note(result, result.group.threads), *([DERIVED] if derived else [])]


def _by_threads(result: CaseResult, title: str, figures: Sequence[Figure], notes: Sequence[str]) -> Table:
    """A row for each number of threads, a column for each variant, for each figure."""
    group = result.group
    heads = [Column(f.title, _marked(result, variant, f)) for f in figures for variant in group.variants]
    rows = [
        [
            threads_text(result, threads),
            *(median_text(result.get(threads, v, figure.key)) for figure in figures for v in group.variants),
        ]
        for threads in group.threads
    ]
    return Table(title, [Column("", "threads"), *heads], rows, _median_notes(result, figures, notes))


def _by_variant(result: CaseResult, title: str, figure: Figure, notes: Sequence[str]) -> Table:
    """A row for each variant, a column for each number of threads."""
    group = result.group
    heads = [Column("threads", threads_text(result, threads)) for threads in group.threads]
    rows = [
        [_marked(result, v, figure), *(median_text(result.get(t, v, figure.key)) for t in group.threads)]
        for v in group.variants
    ]
    return Table(title, [Column("", "variant"), *heads], rows, _median_notes(result, [figure], notes))


def table_width(table: Table) -> int:
    width = 0
    seen = ""
    for index, column in enumerate(table.columns):
        words = column.group.split() if column.group != seen else []
        seen = column.group
        texts = [column.name, *words, *(row[index] for row in table.rows)]
        width += max(len(text) for text in texts) + GAP
    return width


def _medians(
    result: CaseResult, title: str, figures: Sequence[Figure], notes: Sequence[str], width: int
) -> Iterator[Table]:
    """One table if it fits; else one a figure, with a row a variant where there are too many of them."""
    whole = _by_threads(result, title, figures, notes)
    if table_width(whole) <= width:
        yield whole
        return
    for figure in figures:
        name = f"{title}: {figure.title}"
        one = _by_threads(result, name, [figure], notes)
        yield one if table_width(one) <= width else _by_variant(result, name, figure, notes)


def spread_note(result: CaseResult) -> str:
    """Of how many runs the medians are, and what stands behind ±."""
    counts = {cell.count for cell in result.cells.values() if cell.count}
    if not counts:
        return "no run gave a result"
    low, high = min(counts), max(counts)
    if high == 1:
        return "one run each"
    return f"medians of {low if low == high else f'{low} to {high}'} runs ± half the interquartile range"


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


def below_bound(cell: Cell) -> bool:
    """By more than the last digit of tables."""
    return cell.over_bound is not None and cell.over_bound < 0.995


def verdict_word(text: str, column: str) -> str:
    """CPU time is not faster or slower, but more or less."""
    return text.replace("faster", "less").replace("slower", "more") if column in (CPU, WALL) else text


def verdict_text(cell: Cell, column: str) -> str:
    return "no result" if cell.ratio is None else verdict_word(str(cell.ratio.verdict), column)


def _ratio_row(result: CaseResult, threads: int, variant: str, column: str) -> list[str] | None:
    cell = result.get(threads, variant, column)
    if cell is None:
        return None
    first = variant == next(v for v in result.group.variants if (v, threads) in result.group.parts)
    row = [threads_text(result, threads) if first else "", variant + "†" * cell.derived, median_text(cell)]
    baseline = result.group.baseline
    if baseline is not None and variant == baseline:
        row += ["", "", ""]
    elif baseline is not None:
        ratio = cell.ratio
        row.append(NOTHING if ratio is None else f"{ratio.value:.2f}")
        row += [interval_text(ratio.interval if ratio else None), verdict_text(cell, column)]
    if column not in (CPU, WALL) and result.has_bound:
        row += [number(cell.bound), NOTHING if cell.over_bound is None else f"{cell.over_bound:.2f}"]
    return row


def ratio_tables(result: CaseResult, only: Sequence[Figure] | None = None) -> Iterator[Table]:
    """Every variant against the old one and the bound: a table a figure, of all main ones and CPU time."""
    baseline = result.group.baseline
    cpu = tuple(figure for figure in result.costs if figure.key == CPU)
    for figure in (*result.figures, *cpu) if only is None else only:
        has_bound = result.has_bound and figure.key != CPU
        if baseline is None and not has_bound:
            continue
        unit = "s" if figure.key == CPU else "µs"
        heads = ["threads", "variant", f"median, {unit}"]
        heads += ["÷ old", "95 % interval", "verdict"] if baseline is not None else []
        heads += ["bound, µs", "÷ bound"] if has_bound else []
        rows = [
            row
            for threads in result.group.threads
            for variant in result.group.variants
            if (row := _ratio_row(result, threads, variant, figure.key)) is not None
        ]
        notes = list(ratio_notes(result)) if only is not None or figure == result.figures[0] else []
        notes += [BELOW_BOUND] if any(map(below_bound, result.row_cells(figure.key))) else []
        notes += [DERIVED] if any(_is_derived(result, v, figure.key) for v in result.group.variants) else []
        title = f"{figure.title[0].upper()}{figure.title[1:]}, against {_against(baseline, has_bound)}"
        yield Table(title, [Column("", head) for head in heads], rows, notes)


def _against(baseline: str | None, has_bound: bool) -> str:
    names = [baseline] if baseline is not None else []
    return " and ".join([*names, *(["the bound"] if has_bound else [])])


def beyond(threshold: float) -> str:
    return f" by more than {100 * threshold:g} %" if threshold else ""


def ratio_notes(result: CaseResult) -> Iterator[str]:
    baseline = result.group.baseline
    if baseline is not None:
        yield (
            f"÷ old: median divided by the median of {baseline}; below 1 is faster. Verdict: faster or "
            f"slower if the interval leaves out 1{beyond(result.threshold)}; where nothing differs, about"
            " one row in twenty says otherwise by chance."
        )
    if result.has_bound:
        yield (
            "bound: the time that no pool can beat: the work of inline runs (or of recorded slots), divided "
            "by the cores that can compute. It counts the core of the thread that waits, for OAI's pool too, "
            "although that thread sleeps there."
        )
    if any(cell.ratio is not None and not cell.ratio.paired for cell in result.cells.values()):
        yield UNPAIRED


def failures(runs: Sequence[Run]) -> list[Table]:
    """Runs without a result, by host, case, variant and cause."""
    causes: dict[tuple[str, str, str, str], Counter[int]] = {}
    for run, key in zip(runs, keys_of(runs)):
        if run.status != "ok":
            cause = run.status + (f": {run.error}" if run.error else "")
            where = (run.host.label, key.name, run.variant, cause)
            causes.setdefault(where, Counter())[run.threads] += 1
    if not causes:
        return []
    rows = [
        [host, case, variant, ", ".join(f"{t} ×{n}" for t, n in sorted(counts.items())), cause]
        for (host, case, variant, cause), counts in causes.items()
    ]
    total = sum(counts.total() for counts in causes.values())
    heads = ("host", "case", "variant", "threads ×runs", "cause")
    title = f"{total} of {len(runs)} runs gave no result"
    return [Table(title, [Column("", head) for head in heads], rows, [])]


def main_figure(result: CaseResult) -> Figure | None:
    """What a case is summed up by: whole RX, else the last figure that it has."""
    known = {figure.key: figure for figure in result.figures}
    return known.get(RX) or next(reversed(result.figures), None)
