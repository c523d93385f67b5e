# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a report: capacity; late samples, budgets, lost blocks, costs and clocks at equal timescale."""

from __future__ import annotations

from collections import Counter
from typing import Callable, Iterable, Iterator, Sequence

from nrbench.radio import figures
from nrbench.radio.capacity import Bounded, Limits, capacity, limits_of, lived_up_to, ratio
from nrbench.radio.figures import SIDES, Middle, Place, middle
from nrbench.radio.plan import NO_SPIN, Cell, cell_of, counted, trials
from nrbench.radio.record import LOST_MAX, Blocks, RadioRun, Step
from nrbench.render import Column, Table, plain_columns
from nrbench.sweep.tables import NOTHING, factor, number

SHARES = {"p50": 0.5, "p1": 0.01, "p0.1": 0.001}
LIVES = (
    f"A run lives when the UE attaches, less than {100 * LOST_MAX:g} % of the samples are late on each "
    f"side, and less than {100 * LOST_MAX:g} % of the blocks after the attach are lost in each direction."
)
CAPACITY = (
    "capacity: the timescale at which half of the runs live; 1 is real time. In brackets: the 95 % "
    "interval, with … where the runs do not bound it. ÷ OAI's: ratio to the row with OAI's pool on both "
    "sides. ÷ off: ratio to the row with the same pools and pre-wake off. all lived to: the highest "
    "timescale at which a run lived and up to which none died."
)
LATE = (
    "late slots: slots that were written too late (TX), of a million; 10,000 are 1 % of the samples. RX "
    "late: share of the samples that were read too late. Both of the steady stretch where it is known. "
    "Medians over the runs; in brackets: the 95 % interval, from 5 runs on. Runs that printed no report "
    "are in no median. ÷ OAI's, ÷ off: ratios of late slots, to the row with OAI's pool on both sides, and"
    " to that with the same pools and pre-wake off."
)
BUDGET = (
    "Time between the write of a slot's samples and their use, of all runs together, in µs of wall time. 1"
    " % of the slots have less than p1, 0.1 % less than p0.1. The radio counts in bins of 100 µs of sample"
    " time; values within a bin are interpolated."
)
BLOCKS = (
    "lost: blocks that no round could save. BLER: first transmissions that had to be sent again. DTX: "
    "grants or acknowledgements of which nothing was heard. Mbit/s: of wall time, received in the uplink "
    "and sent in the downlink. All of the steady stretch; medians over the runs."
)
COST = (
    "CPUs: CPU time ÷ wall time of the steady stretch, of all threads but the radio's sample clock, and of"
    " the pool's. wakes: voluntary context switches of all threads. Medians over the runs."
)
# Those in which a pool's tasks are awaited, by side: the column's name, and OAI's.
STEPS = {
    "gnb": {
        "Rx": "L1 Rx processing",
        "PUSCH": "PUSCH inner-receiver",
        "DFT": "feprx",
        "Tx": "L1 Tx processing",
        "encode": "DLSCH encoding",
    },
    "ue": {
        "Rx": "DLSCH_PROCEDURES_STATS",
        "decode": "DLSCH_DECODING_STATS",
        "Tx": "PHY_PROC_TX",
        "encode": "ULSCH_ENCODING_STATS",
    },
}
TIMES = "OAI's own times of its steps, µs of wall time; medians over the runs. " + "; ".join(
    f"{SIDES[side]}: {', '.join(f'{column} = {name}' for column, name in steps.items())}"
    for side, steps in STEPS.items()
)
LARGEST = "The largest times since the program's start, µs of wall time; medians over the runs."
CLOCK = (
    "Of the machine, whatever the pools did. sample clock, realtime: the largest jump of the radio's "
    "sample clock, and of CLOCK_REALTIME against CLOCK_MONOTONIC, of all runs. late sleep, stolen: medians"
    " over the runs."
)


def setting_text(cell: Cell, cells: Iterable[Cell]) -> str:
    """Those facts of the setting in which the cells differ."""
    facts = (cell.version or "unknown version", f"{cell.prb} PRB", cell.placement, cell.noise)
    several = [len(set(values)) > 1 for values in zip(*(one.setting for one in cells))]
    return ", ".join(fact for fact, differs in zip(facts, several) if differs)


def name_of(cell: Cell, cells: Iterable[Cell]) -> str:
    return ", ".join(filter(None, [cell.pools, setting_text(cell, cells)]))


def old_of(cell: Cell, cells: Iterable[Cell]) -> Cell | None:
    """The cell that this one is compared with."""
    olds = (one for one in cells if one.is_old and one.setting == cell.setting)
    return None if cell.is_old else next(olds, None)


def off_of(cell: Cell, cells: Iterable[Cell]) -> Cell | None:
    """The same pools without pre-wake."""
    off = cell._replace(spin="off")
    return off if cell.spin not in (NO_SPIN, "off") and off in cells else None


# Columns of ratios, and the row that each of them refers to.
REFERENCES = {"÷ OAI's": old_of, "÷ off": off_of}


def limits(runs: Sequence[RadioRun]) -> Limits:
    return limits_of(trials(runs))


def has_capacity(runs: Sequence[RadioRun]) -> bool:
    return len({run.timescale for run in runs}) > 1


def against(
    cells: dict[Cell, list[RadioRun]], cell: Cell, other: Cell | None, of_all: Limits
) -> Bounded | None:
    return ratio(trials(cells[cell]), trials(cells[other]), of_all) if other else None


def _with_setting(rows: dict[Cell, list[str]], *names: str) -> tuple[list[Column], list[list[str]]]:
    """With a first column of the facts in which the cells differ, if they do."""
    texts = {cell: setting_text(cell, rows) for cell in rows}
    columns = plain_columns("variant", *names)
    if not any(texts.values()):
        return columns, [[cell.pools, *row] for cell, row in rows.items()]
    first = [
        text if at == 0 or text != list(texts.values())[at - 1] else ""
        for at, text in enumerate(texts.values())
    ]
    return [Column("", "case"), *columns], [
        [text, cell.pools, *row] for text, (cell, row) in zip(first, rows.items())
    ]


def capacity_table(runs: Sequence[RadioRun]) -> Table:
    cells, of_all = figures.by_cell(runs), limits(runs)
    rows = {}
    for cell, of_cell in cells.items():
        tried = trials(of_cell)
        safe, lived = lived_up_to(tried), sum(trial.lived for trial in tried)
        ratios = [against(cells, cell, other(cell, cells), of_all) for other in REFERENCES.values()]
        rows[cell] = [
            str(len(tried)),
            str(lived),
            str(capacity(tried, of_all)),
            *(str(one or NOTHING) for one in ratios),
            NOTHING if safe is None else f"{safe:.2f}",
        ]
    names = ("runs", "lived", "capacity", *REFERENCES, "all lived to")
    return Table("Capacity", *_with_setting(rows, *names), [CAPACITY, LIVES])


Row = Callable[[Place], list[str]]


def _at_equal(title: str, places: Sequence[Place], columns: Sequence[Column], row: Row, note: str) -> Table:
    """A row a place; the timescale stands in the first row of its own."""
    cells = list(dict.fromkeys(place.cell for place in places))
    rows, before = [], None
    for place in places:
        first = f"{place.timescale:g}" if place.timescale != before else ""
        rows.append([first, name_of(place.cell, cells), str(len(place.runs)), *row(place)])
        before = place.timescale
    heads = plain_columns("timescale", "variant", "runs")
    return Table(f"{title} at equal timescale", [*heads, *columns], rows, list(filter(None, [note])))


def _percent(share: float) -> str:
    return number(100 * share)


def _median(of: Middle | None, shown: Callable[[float], str] = number) -> str:
    return NOTHING if of is None else shown(of.value)


def _text(of: Middle | None, shown: Callable[[float], str]) -> str:
    """With its interval."""
    ends = f" [{', '.join(map(shown, of.interval))}]" if of and of.interval else ""
    return _median(of, shown) + ends


def _sided(*names: str) -> list[Column]:
    return [Column(title, name) for title in SIDES.values() for name in names]


def _late_table(places: Sequence[Place], side: str) -> Table:
    of: dict[tuple[float, Cell | None], Place] = {(place.timescale, place.cell): place for place in places}
    cells = list(dict.fromkeys(place.cell for place in places))

    def row(place: Place) -> list[str]:
        there = list(figures.radios(place.runs, side))
        tx, rx = middle(radio.tx_late for radio in there), middle(radio.rx_late for radio in there)
        others = (of.get((place.timescale, other(place.cell, cells))) for other in REFERENCES.values())
        return [
            _text(tx, lambda share: f"{share * 1e6:.0f}"),
            _median(rx, _percent),
            *(_text(figures.late_ratio(place, other, side) if other else None, factor) for other in others),
        ]

    columns = plain_columns("late slots", "RX late %", *REFERENCES)
    note = LATE if side == next(iter(SIDES)) else ""
    return _at_equal(f"Late samples of the {SIDES[side]}", places, columns, row, note)


def _budget(place: Place) -> list[str]:
    cells = []
    for side in SIDES:
        counts = figures.bins(place.runs, side)
        for share in SHARES.values():
            found = figures.budget(counts, share, place.timescale)
            cells.append(f"{found.sign}{' ' if found.sign else ''}{found.us:.0f}" if found else NOTHING)
    return cells


def _megabits(run: RadioRun, blocks: Blocks | None) -> float | None:
    return blocks.bytes_after_attach * 8e-6 / run.steady_s if blocks and run.steady_s else None


def _blocks(place: Place) -> list[str]:
    cells = [str(sum(run.lives for run in place.runs))]
    for of_run in ([(run, run.ul) for run in place.runs], [(run, run.dl) for run in place.runs]):
        there = [blocks for _, blocks in of_run if blocks]
        cells += [
            _median(middle(blocks.lost for blocks in there), _percent),
            _median(middle(blocks.bler for blocks in there), _percent),
            _median(middle(blocks.dtx for blocks in there), "{:.0f}".format),
            _median(middle(_megabits(run, blocks) for run, blocks in of_run)),
        ]
    return cells


def _cost(place: Place) -> list[str]:
    amounts = (figures.cpus, figures.pool_cpus, lambda side: side.voluntary)
    each = [figures.each_second(place.runs, side, amount) for side in SIDES for amount in amounts]
    attach = _median(middle(run.attach_s for run in place.runs), "{:.1f}".format)
    return [attach, *(_median(middle(values)) for values in each)]


def _steps(amount: Callable[[Step], float]) -> Row:
    def row(place: Place) -> list[str]:
        each = {side: figures.steps(place.runs, side) for side in SIDES}
        return [
            _median(middle(amount(steps[name]) for steps in each[side] if name in steps))
            for side, names in STEPS.items()
            for name in names.values()
        ]

    return row


def _clock(place: Place) -> list[str]:
    clocks = [run.clock for run in place.runs]
    jumps = (jump for clock in clocks for jump in clock.jumps_ms)
    realtime = (jump for clock in clocks for jump in clock.realtime_jumps_ms)
    return [
        number(max(jumps, default=None)),
        number(max(realtime, default=None)),
        _median(middle(clock.late_sleep_us_p99 for clock in clocks)),
        _median(middle(run.steal_share for run in place.runs), _percent),
    ]


def equal_tables(runs: Sequence[RadioRun]) -> Iterator[Table]:
    places = figures.places(counted(runs))
    if not places:
        return
    yield from (_late_table(places, side) for side in SIDES)
    yield _at_equal("Budget", places, _sided(*SHARES), _budget, BUDGET)
    names = ("lost %", "BLER %", "DTX", "Mbit/s")
    of_blocks = [Column(way, name) for way in ("uplink", "downlink") for name in names]
    yield _at_equal("Lost blocks", places, [Column("", "lived"), *of_blocks], _blocks, BLOCKS)
    cost = [Column("", "attach s"), *_sided("CPUs", "of the pool", "wakes/s")]
    yield _at_equal("Attach and cost", places, cost, _cost, COST)
    if any(figures.steps(place.runs, side) for place in places for side in SIDES):
        columns = [Column(SIDES[side], name) for side, names in STEPS.items() for name in names]
        yield _at_equal("Mean times", places, columns, _steps(lambda step: step.us_mean), TIMES)
        yield _at_equal("Largest times", places, columns, _steps(lambda step: step.us_max), LARGEST)
    clock = plain_columns("sample clock ms", "realtime ms", "late sleep p99 µs", "stolen %")
    yield _at_equal("Clocks", places, clock, _clock, CLOCK)


def tables(runs: Sequence[RadioRun]) -> Iterator[Table]:
    if has_capacity(counted(runs)):
        yield capacity_table(counted(runs))
    yield from equal_tables(runs)


def failures(runs: Sequence[RadioRun]) -> list[Table]:
    """Runs that did not come to their end."""
    causes = Counter(
        (str(cell_of(run)), run.outcome + (f": {run.error}" if run.error else ""))
        for run in runs
        if run.outcome != "ok"
    )
    rows = [[variant, str(count), cause] for (variant, cause), count in causes.items()]
    title = f"{causes.total()} of {len(runs)} runs did not come to their end"
    return [Table(title, plain_columns("variant", "runs", "cause"), rows, [])] if rows else []
