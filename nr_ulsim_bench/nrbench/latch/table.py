# SPDX-License-Identifier: BSD-3-Clause
"""The figures as text."""

from __future__ import annotations

from typing import Iterator

from nrbench.claims import Rounds, round_ratio
from nrbench.latch.judge import COST_NAMES, Cell, Results, bound_share, median, pays, verdicts
from nrbench.latch.plan import BOOST, COSTS, FIBERS, HINTS, HOWS, JUMP, SAME, TASKS, THREADS, WS
from nrbench.table import busy_lines, failure_lines, host_line, layout

TITLES = {
    THREADS: "(a) a thread a client, pthread_rwlock_t",
    TASKS: "(b) tasks that block, pthread_rwlock_t",
    SAME: "(b') tasks that block, latch of (c)",
    FIBERS: "(c) fibers that yield",
    HINTS: "(d) fibers that yield, node hints",
}
COST_TITLES = {WS: "this project", JUMP: "jump_fcontext alone", BOOST: "Boost.Fiber"}
HEAD = ["blocks/s", "CPU µs a block", "scan p50", "p99", "max, ms", "waits at once", "ratio to (b) [95 %]"]


def _number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _cpu_us(results: Results, cell: Cell, how: str) -> Rounds:
    """Of all but the writers."""
    cpu_s, blocks = (results.rounds(cell, how, name) for name in ("cpu_s", "block_count"))
    return {number: 1e6 * cpu_s[number] / blocks[number] for number in cpu_s if blocks.get(number)}


def _row(results: Results, cell: Cell, how: str) -> list[str]:
    times = [median(results.rounds(cell, how, f"scan_{name}_us")) for name in ("p50", "p99", "max")]
    ratio = results.ratio(cell, how) if how != TASKS else None
    return [
        TITLES[how],
        _number(median(results.rounds(cell, how)), 0),
        _number(median(_cpu_us(results, cell, how)), 2),
        *(_number(None if time is None else time / 1000, 2) for time in times),
        _number(median(results.rounds(cell, how, "waits_under_way"))),
        str(ratio or ""),
    ]


def _little(results: Results, cell: Cell) -> Iterator[str]:
    """Where the ratio comes from."""
    waits = {how: median(results.rounds(cell, how, "waits_under_way")) for how in (TASKS, FIBERS)}
    wait_us = {how: median(results.rounds(cell, how, "wait_us")) for how in (TASKS, FIBERS)}
    share = bound_share(results, cell)
    if cell.level.writers == 0 or share is None or None in (*waits.values(), *wait_us.values()):
        return
    clients = cell.a_worker * results.workers
    yield (
        f"Waits under way, until the scan goes on: (b) {waits[TASKS]:.1f} of at most {results.workers}, of"
        f" {wait_us[TASKS]:.0f} µs each; (c) {waits[FIBERS]:.1f} of at most {clients}, of"
        f" {wait_us[FIBERS]:.0f} µs each."
    )
    yield (
        "By Little's law scans get on as fast as waits under way / time of a wait. So (c) / (b) is at most"
        f" {cell.a_worker}, and (c) at most what the CPUs sum up. (c) / the smaller bound = {share}"
    )


def _cell(results: Results, cell: Cell) -> Iterator[str]:
    hows = [how for how in HOWS if results.rounds(cell, how)]
    if not hows:
        return
    hold_us = median(results.rounds(cell, hows[-1], "hold_us"))
    work_us = median(results.rounds(cell, hows[-1], "work_us"))
    level = cell.level
    held = f"; a writer holds a block for {hold_us:.0f} µs, measured" if hold_us else ""
    yield ""
    clients = cell.a_worker * results.workers
    title = f"{level.name}: {clients} clients; a block takes {_number(work_us, 2)} µs"
    yield f"{title}{held}"
    yield from layout([["", *HEAD], *(_row(results, cell, how) for how in hows)])
    yield from _little(results, cell)
    starved = {how: max(results.rounds(cell, how, "starved").values(), default=0) for how in hows}
    for how, count in starved.items():
        if count:
            yield f"note: {TITLES[how]}: up to {count:.0f} clients got no block in a measurement"


def _costs(results: Results) -> Iterator[str]:
    hows = [how for how in COSTS if how in results.costs]
    if not hows:
        return
    rows = []
    for name, title in COST_NAMES.items():
        cells = [_number(median(results.cost(how, name))) for how in hows]
        ratio = round_ratio(results.cost(WS, name), results.cost(BOOST, name))
        rows.append([title, *cells, str(ratio or "")])
    yield from ["", f"What fibers cost, on one thread; {results.sleepers} sleepers"]
    heads = [
        f"{COST_TITLES[how]} {results.versions[how]}" if how == BOOST else COST_TITLES[how] for how in hows
    ]
    yield from layout([["", *heads, "ratio to Boost.Fiber [95 %]"], *rows])


def _where_it_pays(results: Results) -> Iterator[str]:
    words = {"PASS": "Yielding pays", "MISS": "Yielding does not pay", "OPEN": "The rounds do not tell"}
    for word, title in words.items():
        cells = [cell for cell in _ordered(results) if pays(results, cell) == word]
        if cells:
            yield f"{title}, (c) / (b):"
            yield from (f"  {c.level.name}, {c.a_worker} clients a worker: {results.ratio(c)}" for c in cells)


def _ordered(results: Results) -> list[Cell]:
    return sorted(results.cells, key=lambda cell: (cell.a_worker, cell.level.hold, cell.level.hold_us))


def notes(results: Results) -> Iterator[str]:
    yield from busy_lines(results.host)
    for name, reason in results.host["missing"].items():
        yield f"missing: {COST_TITLES[name]} ({reason})"
    yield from failure_lines(results.errors)


def report(results: Results) -> Iterator[str]:
    host = results.host
    yield host_line(host)
    yield (
        f"{results.workers} tables of {host['blocks']} blocks of {host['block_bytes'] / 1024:g} KiB on"
        f" {results.nodes} NUMA node{'s' if results.nodes > 1 else ''}; {results.workers} workers;"
        " each client asks for one scan after the other; medians over the rounds"
    )
    for cell in _ordered(results):
        yield from _cell(results, cell)
    yield from ["", *_where_it_pays(results)]
    yield from _costs(results)
    yield from ["", "Verdicts:", *(f"  {verdict}" for verdict in verdicts(results)), *notes(results)]
