# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a report: capacity; at equal timescale late slots, CPU time and OAI's own times of its steps; why
runs did not live."""

from collections import Counter, defaultdict
from functools import partial
from typing import Callable, Iterator, NamedTuple, Sequence

from nrbench.judge import Ratio, typical
from nrbench.radio.capacity import capacity, limits_of, ratio, verdict
from nrbench.radio.record import SIDES, Cell, RadioRun, Side, SideName
from nrbench.radio.watch import SAMPLE_CLOCKS
from nrbench.render import Table, grouped
from nrbench.sweep.tables import NOTHING, number

CAPACITY = (
    "capacity: the timescale at which half of the runs live; 1 is real time. In brackets: the 95 % "
    "interval, with … where the runs do not bound it. ÷ OAI's: ratio to the row with OAI's pool on both "
    "sides. faster: the whole interval of the ratio is above 1."
)
COST = (
    "late slots: slots that were written too late, of a million. CPUs: CPU time ÷ wall time, of all threads "
    "but the radio's sample clock. Medians over the runs that came to their end; in brackets: the 95 % "
    "interval, from 5 runs on."
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


def by_cell(runs: Sequence[RadioRun]) -> dict[Cell, list[RadioRun]]:
    """OAI's pool first."""
    found: dict[Cell, list[RadioRun]] = defaultdict(list)
    for run in runs:
        found[run.cell].append(run)
    cells = sorted(found, key=lambda of: (of.gnb == "new", of.ue == "new", of.spin != "off", of.spin))
    cells.sort(key=lambda cell: (str(cell.version), cell.prb))
    return {cell: found[cell] for cell in cells}


def names_of(cells: Sequence[Cell]) -> dict[Cell, str]:
    """With those facts in which they differ beside their pools."""
    facts = {cell: (cell.version or "unknown version", f"{cell.prb} PRB") for cell in cells}
    differ = [len(set(values)) > 1 for values in zip(*facts.values())]
    return {
        cell: ", ".join([cell.pools, *(fact for fact, differs in zip(of, differ) if differs)])
        for cell, of in facts.items()
    }


def capacity_table(runs: Sequence[RadioRun]) -> Table:
    cells, limits = by_cell(runs), limits_of(runs)
    names, rows = names_of([*cells]), []
    for cell, of_cell in cells.items():
        old = cells.get(cell.old) if cell != cell.old else None
        against = ratio(of_cell, old, limits) if old else None
        words = [str(against), verdict(against)] if against else [NOTHING, NOTHING]
        lived = sum(run.lives for run in of_cell)
        rows.append([names[cell], str(len(of_cell)), str(lived), str(capacity(of_cell, limits)), *words])
    heads = ["variant", "runs", "lived", "capacity", "÷ OAI's", "verdict"]
    return Table("Capacity", heads, rows, [CAPACITY])


class Figure(NamedTuple):
    """A column: the median over the runs."""

    side: SideName
    name: str
    of: Callable[[Side, RadioRun], float | None]
    form: Callable[[Ratio], str] = lambda median: number(median.value)

    def cell(self, runs: Sequence[RadioRun]) -> str:
        found = (self.of(run.sides.get(self.side, Side()), run) for run in runs)
        median = typical([value for value in found if value is not None])
        return self.form(median) if median else NOTHING


def _whole(median: Ratio) -> str:
    return median.text("{:.0f}".format)


def _late(side: Side, _: RadioRun) -> float | None:
    return 1e6 * side.steady.tx_late if side.steady else None


def _cpus(side: Side, run: RadioRun) -> float | None:
    """The sample clock busy-polls, whatever the gNB does."""
    seconds = [s for name, s in side.cpu_s.items() if name not in SAMPLE_CLOCKS]
    return sum(seconds) / run.steady_s if seconds and run.steady_s else None


def _step(name: str, side: Side, _: RadioRun) -> float | None:
    return side.steps[name].us_mean if name in side.steps else None


def _at_equal(title: str, runs: Sequence[RadioRun], figures: Sequence[Figure], note: str) -> Iterator[Table]:
    """A row a cell, at a timescale at which all that it is compared with have runs."""
    cells, at = by_cell(runs), defaultdict[Cell, list[set[float]]](list)
    for cell, of_cell in cells.items():
        at[cell.old].append({run.timescale for run in of_cell})
    names, rows, before = names_of([*cells]), [], None
    for timescale in sorted({run.timescale for run in runs}):
        for cell in (cell for cell in cells if timescale in set.intersection(*at[cell.old])):
            there = [run for run in cells[cell] if run.timescale == timescale]
            first = f"{timescale:g}" if timescale != before else ""
            rows.append([first, names[cell], str(len(there)), *(figure.cell(there) for figure in figures)])
            before = timescale
    heads = ["timescale", "variant", "runs"]
    heads += grouped((SIDES[figure.side], figure.name) for figure in figures)
    if any(text != NOTHING for row in rows for text in row[3:]):
        yield Table(f"{title} at equal timescale", heads, rows, [note])


def dead_table(runs: Sequence[RadioRun]) -> Table:
    cells = by_cell(runs)
    names = names_of([*cells])
    causes = Counter((names[cell], run.cause) for cell in cells for run in cells[cell] if not run.lives)
    rows = [[name, str(count), cause] for (name, cause), count in causes.items()]
    title = f"{causes.total()} of {len(runs)} runs did not live"
    return Table(title, ["variant", "runs", "cause"], rows, [])


def tables(runs: Sequence[RadioRun]) -> Iterator[Table]:
    if len({run.timescale for run in runs}) > 1:
        yield capacity_table(runs)
    costs, times = list[Figure](), list[Figure]()
    for side, steps in STEPS.items():
        costs += [Figure(side, "late slots", _late, _whole), Figure(side, "CPUs", _cpus)]
        times += [Figure(side, column, partial(_step, name)) for column, name in steps.items()]
    yield from _at_equal("Late slots and CPU time", runs, costs, COST)
    yield from _at_equal("Mean times", runs, times, TIMES)
    if not all(run.lives for run in runs):
        yield dead_table(runs)
