# SPDX-License-Identifier: BSD-3-Clause
"""tpool-ws top: what the pools of running processes do, twice a second."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import time
from contextlib import suppress
from typing import Any, Iterator, NamedTuple

from nrbench.live.page import Page, Pool, of_kind
from nrbench.live.processes import find
from nrbench.live.rates import Span, quantile_us, span
from nrbench.live.signals import Stopped, ignore_signals

EVERY_S, SPAN_S, WORKERS_SHOWN, NAMES = 0.5, 1.0, 16, 14  # NAMES: columns of the names at the left
STATES, PATTERNS = ("sleeps", "looks", "works"), ("none", "uncertain", "locked")
# The terminal's other screen, without a cursor, where long lines are cut; and back
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"


class Row(NamedTuple):
    """A pool, and what it did in the last second."""

    page: Page
    before: Pool
    pool: Pool
    done: Span

    def json(self) -> dict[str, Any]:
        page, pool = self.page, self.pool
        return {
            "pid": page.pid or page.own_pid, "program": page.program or "?", "pool": pool.id,
            "name": pool.name, "settings": pool.settings._asdict(), "counts": pool.counts,
            "last": self.done.json(), "workers": pool.workers,
        }  # fmt: skip


def json_text(value: Any) -> str:
    """python3-minimal has no json."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json_text(key)}: {json_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(json_text, value)) + "]"
    if isinstance(value, str):  # names have only letters that can be printed
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "null" if value is None else str(value).lower()


class Watch:
    """Keeps what was seen in the last second."""

    def __init__(self, pid: int | None) -> None:
        self.pid = pid
        self.seen: dict[tuple[object, int], list[Pool]] = {}
        self.pages: list[Page] = []
        self.rows: list[Row] = []
        self.errors: list[str] = []

    def look(self) -> None:
        found, self.errors = find(self.pid)
        before, self.seen, self.rows = self.seen, {}, []
        self.pages = [page for page, _ in found]
        for page, pool in ((page, pool) for page, pools in found for pool in pools):
            key = (page.key, pool.id)
            history = self.seen[key] = [*before.get(key, []), pool]
            while len(history) > 2 and pool.written_ns - history[1].written_ns >= SPAN_S * 1e9:
                del history[0]
            self.rows.append(Row(page, history[0], pool, span(history[0], pool)))


def _late(row: Row, of: int) -> str:
    """@param of  how many bursts were judged since the pool began"""

    def most(counts: dict[str, int]) -> str:
        found = sorted(((n, name) for name, n in of_kind(counts, "burst:").items() if n), reverse=True)
        return ", ".join(f"{name} {n}" for n, name in found[:3]) or "none"

    late = sum(of_kind(row.pool.counts, "burst:").values())
    now, ever = most(row.done.counts), most(row.pool.counts)
    return f"in the last {row.done.seconds:.1f} s: {now}; {late} of {of} since the pool began: {ever}"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _about(row: Row) -> Iterator[tuple[str, str]]:
    counts, done = row.pool.counts, row.done
    workers = f"{counts['workers']} on {counts['cpus']} CPUs, {counts['workers_awake']} awake"
    yield "workers", f"{workers}, {counts['workers_active']} at work; {counts['queued_tasks']} tasks wait"
    yield "settings", f"{row.pool.settings}; level {counts['level']} of 2"
    yield "a second", f"{done.per_s('run_tasks'):.0f} tasks, {done.per_s('bursts'):.0f} pushes after a pause"
    period = f": {counts['period_bursts']} bursts in {counts['period_ns'] / 1e6:.3f} ms"
    yield "pattern", PATTERNS[counts["pattern"] % 3] + (period if counts["period_bursts"] else "")
    p50, p99 = (number(quantile_us(done.starts, share)) for share in (0.5, 0.99))
    yield "starts", f"p50 {p50} us, p99 {p99} us after a burst's first push"
    yield "pre-wake", ", ".join(f"{name} {n}" for name, n in of_kind(done.counts, "timer:").items())
    if judged := counts["judged_bursts"]:
        yield "late bursts", _late(row, judged)
    if threads := counts["left_out"]:
        yield "NOT JUDGED", f"{threads} threads, for whose events there was no room"
    if row.pool.silent_s > SPAN_S:
        yield "NOT WRITTEN", f"for {row.pool.silent_s:.0f} s: stopped, or its watchdog thread gets no CPU"


def _workers(row: Row) -> Iterator[str]:
    table: list[tuple[str, ...]] = [
        ("worker", "CPU", "class", "does", "tasks/s", "works %", "looks %", "spins %")
    ]
    seconds = max(row.done.seconds, 1e-9)
    for index, (before, now) in enumerate(zip(row.before.workers, row.pool.workers[:WORKERS_SHOWN])):
        names = ("run_tasks", "works_ns", "looks_ns", "spin_ns")
        tasks, *times_ns = ((now[name] - before[name]) / seconds for name in names)
        cpu, of_class = max(now["pinned_cpu"], now["cpu"]), "real-time" if now["realtime"] else ""
        shares = (number(time_ns / 1e7) for time_ns in times_ns)
        table.append((str(index), str(cpu), of_class, STATES[now["state"] % 3], f"{tasks:.0f}", *shares))
    widths = [max(map(len, column)) for column in zip(*table)]
    for cells in table:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()
    if (hidden := len(row.pool.workers) - WORKERS_SHOWN) > 0:
        yield f"  {hidden} more workers: --json"


def title(page: Page) -> str:
    """Of a process in a container beside this one only the page is seen."""
    if page.pid:
        return f"{page.program or '?'} {page.pid}"
    return f"process {page.own_pid} of user {page.user} in another container"


def picture(watch: Watch, columns: int | None = None, with_workers: bool = True) -> Iterator[str]:
    """Lines. @param columns  of the terminal; None: as long as they are"""
    for row in watch.rows:
        yield f"{title(row.page)}, {row.pool}"
        for name, text in _about(row):
            parts = textwrap.wrap(text, max(columns - NAMES, 20)) if columns else [text]
            for first, part in zip((name, *[""] * len(parts)), parts):
                yield f"  {first.ljust(NAMES - 2)}{part}"
        yield from _workers(row) if with_workers else ()
    yield from _missing(watch)


def _missing(watch: Watch) -> Iterator[str]:
    """Why it has no more rows."""
    for page in watch.pages:
        hidden, name = page.hidden
        if hidden:
            yield f"{title(page)}: {hidden} more pools, such as {name}, are not shown: its log has the reason"
    yield from ("".join(filter(str.isprintable, error)) for error in watch.errors)  # they have names of files
    if not watch.rows:
        yield "no process of this user has a pool with TPOOL_WS_LIVE=1"


class Screen:
    """Pictures: on a terminal in place of each other, elsewhere one after the other."""

    def __init__(self, in_place: bool) -> None:
        self.in_place = in_place and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def __enter__(self) -> Screen:
        if self.in_place:
            self._write(ENTER)
            signal.signal(signal.SIGTSTP, self._pause)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if self.in_place:
            ignore_signals()
            with suppress(OSError):  # after SIGHUP there may be no terminal
                self._write(LEAVE)
        return isinstance(error, Stopped) and error.number == signal.SIGINT  # the way to end it

    def _pause(self, *_: object) -> None:
        """The terminal is the shell's until SIGCONT."""
        self._write(LEAVE)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        self.__enter__()

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def show(self, watch: Watch) -> None:
        if not self.in_place:
            return self._write("\n".join([*picture(watch), "", ""]))
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
        columns, rows = columns or 80, rows or 24  # 0: a terminal without a size
        lines = list(picture(watch, columns))
        if len(lines) > rows:
            lines = list(picture(watch, columns, with_workers=False))
        if (more := len(lines) - rows + 1) > 1:
            lines[rows - 1 :] = [f"{more} more lines: --pid N, --once, or a larger terminal"]
        self._write("\x1b[H" + "\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J")
        return None


def run(pid: int | None, as_json: bool, once: bool) -> int:
    watch, screen = Watch(pid), Screen(in_place=not as_json and not once)
    if as_json:  # in UTF-8, whatever the terminal has
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    watch.look()
    first, missing = watch.rows, list[str]()
    with screen:
        while True:
            time.sleep(EVERY_S)
            watch.look()
            if once:
                watch.rows = watch.rows or first  # the process has ended meanwhile
            if as_json:
                before, missing = missing, [*_missing(watch)]
                for line in missing:
                    if line not in before:
                        print(line, file=sys.stderr)
                print(json_text([row.json() for row in watch.rows]), flush=True)
            else:
                screen.show(watch)
            if once:
                break
    return 0
