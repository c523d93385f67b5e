# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a report: capacity; at equal timescale late samples, budgets, lost blocks, costs and clocks."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import accumulate
from statistics import median
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from nrbench.judge import Interval, median_interval, ratio_interval
from nrbench.radio.capacity import Bounded, Limits, capacity, limits_of, lived_up_to, ratio
from nrbench.radio.plan import NO_SPIN, Cell, cell_of, counted, trials
from nrbench.radio.record import BUDGET_BIN_US, BUDGET_BINS, LOST_MAX, SIDES, Blocks, RadioRun, Side, SideName
from nrbench.radio.watch import SAMPLE_CLOCK
from nrbench.render import Column, Table, plain_columns
from nrbench.sweep.tables import NOTHING, factor, number

POOL_THREADS = ("tpool", "ws")  # how the names of a pool's threads begin, whatever the case
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
STEPS: dict[SideName, dict[str, str]] = {
    "gnb": {"Rx": "L1 Rx processing", "PUSCH": "PUSCH inner-receiver", "DFT": "feprx",
            "Tx": "L1 Tx processing", "encode": "DLSCH encoding"},
    "ue": {"Rx": "DLSCH_PROCEDURES_STATS", "decode": "DLSCH_DECODING_STATS", "Tx": "PHY_PROC_TX",
           "encode": "ULSCH_ENCODING_STATS"},
}  # fmt: skip
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


@dataclass(frozen=True)
class Place:
    """Runs of a cell at one timescale."""

    timescale: float
    cell: Cell
    runs: Sequence[RadioRun]
    every: Mapping[tuple[float, Cell], Place]

    def other(self, reference: Reference) -> Place | None:
        cell = reference(self.cell, [cell for _, cell in self.every])
        return self.every.get((self.timescale, cell)) if cell else None

    def bins(self, side: SideName) -> list[int]:
        """Writes by their budget, of all runs together."""
        radios = (run.radio(side) for run in self.runs)
        return [sum(counts) for counts in zip(*(radio.budget_bins for radio in radios if radio))]


def by_cell(runs: Iterable[RadioRun]) -> dict[Cell, list[RadioRun]]:
    """OAI's pool first."""
    found: dict[Cell, list[RadioRun]] = defaultdict(list)
    for run in runs:
        found[cell_of(run)].append(run)
    return dict(sorted(found.items(), key=lambda one: _order(one[0])))


def _order(cell: Cell) -> tuple[object, ...]:
    return (*cell.setting, cell.gnb == "new", cell.ue == "new", cell.spin != "off", cell.spin)


def places(runs: Sequence[RadioRun]) -> list[Place]:
    """Timescales at which all cells of a setting have runs; all timescales, where there is none."""
    cells, every = by_cell(runs), dict[tuple[float, Cell], Place]()
    at = {cell: {run.timescale for run in of_cell} for cell, of_cell in cells.items()}
    for cell, of_cell in cells.items():
        shared = set.intersection(*(at[other] for other in cells if other.setting == cell.setting))
        for timescale in shared or at[cell]:
            there = [run for run in of_cell if run.timescale == timescale]
            every[timescale, cell] = Place(timescale, cell, there, every)
    return sorted(every.values(), key=lambda place: place.timescale)


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


Reference = Callable[[Cell, Iterable[Cell]], Cell | None]
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
    cells, of_all = by_cell(runs), limits(runs)
    rows = {}
    for cell, of_cell in cells.items():
        tried = trials(of_cell)
        safe, lived = lived_up_to(tried), sum(trial.lived for trial in tried)
        ratios = [against(cells, cell, other(cell, cells), of_all) for other in REFERENCES.values()]
        texts = [
            *map(str, (len(tried), lived, capacity(tried, of_all))),
            *(str(one or NOTHING) for one in ratios),
        ]
        rows[cell] = [*texts, factor(safe)]
    names = ("runs", "lived", "capacity", *REFERENCES, "all lived to")
    return Table("Capacity", *_with_setting(rows, *names), [CAPACITY, LIVES])


class Middle(NamedTuple):
    """The median of several runs. The interval needs five of them."""

    value: float
    interval: Interval | None


def middle(values: Iterable[float | None]) -> Middle | None:
    there = [value for value in values if value is not None]
    return Middle(median(there), median_interval(there)) if there else None


def tx_late(place: Place, side: SideName) -> Middle | None:
    """The share of late writes."""
    return middle(radio.tx_late for run in place.runs if (radio := run.radio(side)))


def _late_ratio(new: Place, old: Place | None, side: SideName) -> Middle | None:
    """Of the medians of late writes. Where both have the same rounds, the interval is that of whole rounds.
    None: on the old side there is no late write in some run."""
    of_new, of_old = (
        [(run.round, radio.tx_late) for run in place.runs if (radio := run.radio(side))] if place else []
        for place in (new, old)
    )
    if not of_new or not of_old or min(late for _, late in of_old) <= 0:
        return None
    (new_rounds, new_late), (old_rounds, old_late) = zip(*sorted(of_new)), zip(*sorted(of_old))
    interval = ratio_interval(old_late, new_late, paired=new_rounds == old_rounds)
    return Middle(median(new_late) / median(old_late), interval)


def edges_us(timescale: float) -> list[float]:
    """Upper ends of the bins of budgets, wall time. The last bin has none."""
    return [BUDGET_BIN_US / timescale * place for place in range(1, BUDGET_BINS)]


def budget(counts: Sequence[int], share: float, timescale: float) -> str:
    """That so large a share of the writes remains below, µs of wall time; with < or ≥ where the bin has no
    other end. Within a bin the writes count as evenly spread."""
    width, wanted = BUDGET_BIN_US / timescale, share * sum(counts)
    if not any(counts):
        return NOTHING
    place = next(place for place, below in enumerate(accumulate(counts)) if below >= wanted)
    if place == 0:
        return f"< {width:.0f}"
    if place == BUDGET_BINS - 1:
        return f"≥ {width * place:.0f}"
    return f"{width * (place + (wanted - sum(counts[:place])) / counts[place]):.0f}"


Shown = Callable[[float], str]
OfRun = Callable[[RadioRun], "float | None"]
OfPlace = Callable[[Place], str]


class Figure(NamedTuple):
    """A column: its heading, and what stands in it."""

    group: str
    name: str
    text: OfPlace


def _percent(share: float) -> str:
    return number(100 * share)


def _text(of: Middle | None, shown: Shown) -> str:
    """With its interval."""
    ends = f" [{', '.join(map(shown, of.interval))}]" if of and of.interval else ""
    return NOTHING if of is None else shown(of.value) + ends


def _median(of_run: OfRun, shown: Shown = number) -> OfPlace:
    def text(place: Place) -> str:
        found = middle(map(of_run, place.runs))
        return NOTHING if found is None else shown(found.value)

    return text


def _late(side: SideName) -> Iterator[Figure]:
    def against(reference: Reference) -> OfPlace:
        return lambda place: _text(_late_ratio(place, place.other(reference), side), factor)

    def rx(run: RadioRun) -> float | None:
        return radio.rx_late if (radio := run.radio(side)) else None

    yield Figure("", "late slots", lambda place: _text(tx_late(place, side), lambda s: f"{s * 1e6:.0f}"))
    yield Figure("", "RX late %", _median(rx, _percent))
    yield from (Figure("", name, against(reference)) for name, reference in REFERENCES.items())


def _budgets(side: SideName) -> Iterator[Figure]:
    def left(share: float) -> OfPlace:
        return lambda place: budget(place.bins(side), share, place.timescale)

    yield from (Figure(SIDES[side], name, left(share)) for name, share in SHARES.items())


def _blocks(title: str, way: str) -> Iterator[Figure]:
    def of(figure: Callable[[Blocks, RadioRun], float | None]) -> OfRun:
        return lambda run: figure(found, run) if (found := getattr(run, way)) else None

    def megabits(blocks: Blocks, run: RadioRun) -> float | None:
        return blocks.bytes_after_attach * 8e-6 / run.steady_s if run.steady_s else None

    yield Figure(title, "lost %", _median(of(lambda blocks, _: blocks.lost), _percent))
    yield Figure(title, "BLER %", _median(of(lambda blocks, _: blocks.bler), _percent))
    yield Figure(title, "DTX", _median(of(lambda blocks, _: blocks.dtx), "{:.0f}".format))
    yield Figure(title, "Mbit/s", _median(of(megabits)))


def _costs(side: SideName) -> Iterator[Figure]:
    def each_second(amount: Callable[[Side], float | None]) -> OfPlace:
        def of_run(run: RadioRun) -> float | None:
            found = amount(run.sides[side]) if side in run.sides and run.steady_s else None
            return None if found is None or not run.steady_s else found / run.steady_s

        return _median(of_run)

    def cpu_s(is_counted: Callable[[str], bool]) -> Callable[[Side], float | None]:
        return lambda of: sum(s for name, s in of.cpu_s.items() if is_counted(name)) if of.cpu_s else None

    # The sample clock busy-polls, whatever the gNB does.
    yield Figure(SIDES[side], "CPUs", each_second(cpu_s(lambda thread: thread != SAMPLE_CLOCK)))
    is_pool = cpu_s(lambda thread: thread.lower().startswith(POOL_THREADS))
    yield Figure(SIDES[side], "of the pool", each_second(is_pool))
    yield Figure(SIDES[side], "wakes/s", each_second(lambda of: of.voluntary))


def _steps(side: SideName, figure: str) -> Iterator[Figure]:
    def of(step: str) -> OfRun:
        return lambda run: (
            getattr(run.sides[side].steps.get(step), figure, None) if side in run.sides else None
        )

    yield from (Figure(SIDES[side], name, _median(of(step))) for name, step in STEPS[side].items())


def _largest(jumps: str) -> OfPlace:
    def text(place: Place) -> str:
        return number(max((jump for run in place.runs for jump in getattr(run.clock, jumps)), default=None))

    return text


LIVED = Figure("", "lived", lambda place: str(sum(run.lives for run in place.runs)))
ATTACH = Figure("", "attach s", _median(lambda run: run.attach_s, "{:.1f}".format))
AT_EQUAL: dict[str, tuple[Sequence[Figure], str]] = {
    "Late samples of the gNB": ([*_late("gnb")], LATE),
    "Late samples of the UE": ([*_late("ue")], ""),
    "Budget": ([*_budgets("gnb"), *_budgets("ue")], BUDGET),
    "Lost blocks": ([LIVED, *_blocks("uplink", "ul"), *_blocks("downlink", "dl")], BLOCKS),
    "Attach and cost": ([ATTACH, *_costs("gnb"), *_costs("ue")], COST),
    "Mean times": ([*_steps("gnb", "us_mean"), *_steps("ue", "us_mean")], TIMES),
    "Largest times": ([*_steps("gnb", "us_max"), *_steps("ue", "us_max")], LARGEST),
    "Clocks": (
        [
            Figure("", "sample clock ms", _largest("jumps_ms")),
            Figure("", "realtime ms", _largest("realtime_jumps_ms")),
            Figure("", "late sleep p99 µs", _median(lambda run: run.clock.late_sleep_us_p99)),
            Figure("", "stolen %", _median(lambda run: run.steal_share, _percent)),
        ],
        CLOCK,
    ),
}


def _at_equal(title: str, every: Sequence[Place], columns: Sequence[Figure], note: str) -> Table:
    """A row a place; the timescale stands in the first row of its own."""
    cells = list(dict.fromkeys(place.cell for place in every))
    rows, before = [], None
    for place in every:
        first = f"{place.timescale:g}" if place.timescale != before else ""
        about = [first, name_of(place.cell, cells), str(len(place.runs))]
        rows.append([*about, *(column.text(place) for column in columns)])
        before = place.timescale
    heads = [*plain_columns("timescale", "variant", "runs"), *(Column(c.group, c.name) for c in columns)]
    return Table(f"{title} at equal timescale", heads, rows, [note] if note else [])


def equal_tables(runs: Sequence[RadioRun]) -> Iterator[Table]:
    every = places(counted(runs))
    has_steps = any(side.steps for run in counted(runs) for side in run.sides.values())
    for title, (columns, note) in AT_EQUAL.items():
        if every and (has_steps or not title.endswith("times")):
            yield _at_equal(title, every, columns, note)


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
