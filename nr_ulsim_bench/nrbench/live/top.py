# SPDX-License-Identifier: BSD-3-Clause
"""tpool-ws top: what the pools of running processes do, twice a second."""

import json
import time
from contextlib import nullcontext, suppress
from typing import Any, Iterator, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table

from nrbench.live.page import Page, Pool, of_kind
from nrbench.live.processes import find
from nrbench.live.rates import Span, quantile_us, span
from nrbench.render import number

COLUMNS, EVERY_S, SPAN_S, WORKERS_SHOWN = 80, 0.5, 1.0, 16
STATES, PATTERNS = ("sleeps", "looks", "works"), ("none", "uncertain", "locked")


class Row(NamedTuple):
    """A pool, and what it did in the last second."""

    page: Page
    before: Pool
    pool: Pool
    done: Span

    def json(self) -> dict[str, Any]:
        pool = self.pool
        return {
            "pid": self.page.pid, "program": self.page.program, "pool": pool.id, "name": pool.name,
            "settings": pool.settings.numbers(), "counts": pool.counts, "last": self.done.json(),
            "workers": pool.workers,
        }  # fmt: skip


class Watch:
    """Keeps what was seen in the last second."""

    def __init__(self, pid: int | None) -> None:
        self.pid = pid
        self.seen: dict[tuple[int, int], list[Pool]] = {}
        self.rows: list[Row] = []
        self.errors: list[str] = []

    def look(self) -> None:
        pages, self.errors = find(self.pid)
        before, self.seen, self.rows = self.seen, {}, []
        for page, pool in ((page, pool) for page, pools in pages for pool in pools):
            key = (page.inode, pool.id)
            history = self.seen[key] = [*before.get(key, []), pool]
            while len(history) > 2 and pool.written_ns - history[1].written_ns >= SPAN_S * 1e9:
                del history[0]
            self.rows.append(Row(page, history[0], pool, span(history[0], pool)))


def _most(done: Span, kind: str) -> str:
    found = sorted(((n, name) for name, n in of_kind(done.counts, kind).items() if n), reverse=True)
    return ", ".join(f"{name} {n}" for n, name in found[:3]) or "none"


def _about(row: Row) -> Iterator[tuple[str, str]]:
    counts, done = row.pool.counts, row.done
    workers = f"{counts['workers']} on {counts['cpus']} CPUs, {counts['workers_awake']} awake"
    yield "workers", f"{workers}, {counts['workers_active']} at work; {counts['queued_tasks']} tasks wait"
    yield "settings", f"{row.pool.settings}; level {counts['level']} of 2"
    yield "a second", f"{done.per_s('run_tasks'):.0f} tasks, {done.per_s('bursts'):.0f} bursts"
    period = f": {counts['period_bursts']} bursts in {counts['period_ns'] / 1e6:.3f} ms"
    yield "pattern", PATTERNS[counts["pattern"] % 3] + (period if counts["period_bursts"] else "")
    p50, p99 = (number(quantile_us(done.starts, share)) or "-" for share in (0.5, 0.99))
    yield "starts", f"p50 {p50} us, p99 {p99} us; late: {_most(done, 'start:')}"
    yield "pre-wake", ", ".join(f"{name} {n}" for name, n in of_kind(done.counts, "timer:").items())
    if counts["judged_bursts"]:
        yield "late bursts", _most(done, "burst:")
    if row.pool.silent_s > SPAN_S:
        yield "NOT WRITTEN", f"for {row.pool.silent_s:.0f} s: stopped, or its watchdog thread gets no CPU"


def _tables(row: Row) -> Iterator[RenderableType]:
    yield f"{row.page.program} {row.page.pid}, pool {row.pool.name}"
    about = Table(box=None, show_header=False)
    for name, text in _about(row):
        about.add_row(name, text)
    yield about
    table = Table("worker", "CPU", "class", "does", "tasks/s", "works %", "looks %", "spins %", box=None)
    seconds = max(row.done.seconds, 1e-9)
    for index, (before, now) in enumerate(zip(row.before.workers, row.pool.workers[:WORKERS_SHOWN])):
        names = ("run_tasks", "works_ns", "looks_ns", "spin_ns")
        tasks, *times_ns = ((now[name] - before[name]) / seconds for name in names)
        cpu, of_class = max(now["pinned_cpu"], now["cpu"]), "real-time" if now["realtime"] else ""
        shares = (number(time_ns / 1e7) for time_ns in times_ns)
        table.add_row(str(index), str(cpu), of_class, STATES[now["state"] % 3], f"{tasks:.0f}", *shares)
    yield table
    if (hidden := len(row.pool.workers) - WORKERS_SHOWN) > 0:
        yield f"{hidden} more workers: --json"


def shown(watch: Watch) -> Group:
    tables = [table for row in watch.rows for table in _tables(row)]
    none = [] if watch.rows else ["no process of this user has a pool with TPOOL_WS_LIVE=1"]
    return Group(*tables, *watch.errors, *none)


def run(pid: int | None, as_json: bool, once: bool) -> int:
    watch, console = Watch(pid), Console(width=COLUMNS, highlight=False, markup=False)
    watch.look()
    screen = Live(console=console, screen=console.is_terminal, auto_refresh=False)
    with suppress(KeyboardInterrupt), nullcontext() if as_json or once else screen:
        while True:
            time.sleep(SPAN_S if once else EVERY_S)
            watch.look()
            if as_json:
                print(json.dumps([row.json() for row in watch.rows]), flush=True)
            elif once:
                console.print(shown(watch))
            else:
                screen.update(shown(watch), refresh=True)
            if once:
                break
    return 0
