# SPDX-License-Identifier: BSD-3-Clause
"""A record as a trace: the rings of a process's threads (thread_pool_ws/record/ws_rings.h), with the same
events, and windows, which have those around late bursts. What a thread did between them is lost, for each
thread alone. A ring has less than a trace: tasks that are pushed one after the other are one event, and which
of them a thread has run is told by their order."""

from collections import defaultdict, deque
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pandas as pd

from nrbench.live import record as live
from nrbench.live.late import NAMED, life_of
from nrbench.live.page import CAUSES, is_held
from nrbench.trace.reader import COLUMNS, KINDS, Event, Events, Lost, Stretch, Trace, epochs
from nrbench.trace.record import PHASES, TraceError

NAMES = {
    live.RUN: "run_begin", live.RAN: "run_end", live.PUSH: "push", live.JOIN: "join_begin",
    live.JOINED: "join_end", live.PARK: "park", live.UNPARK: "unpark", live.WAKE: "wake",
}  # fmt: skip
ROW = ["time", "kind", "tid", "pool", "worker", "by_timer", "func", "arg", "group", "epoch"]
BEFORE_NS = 5_000_000  # of the begin of its late burst, in a window (ws_scribe.c)


class Piece(live.Piece):
    """rows: of each ring with events: the ring, when, what, and since when nothing is missing"""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.rows = list[tuple[live.Ring, np.ndarray, np.ndarray, int]]()
        for ring in self.rings():
            if events := ring.events():
                before = ring.cells[: -16 * len(events)]
                is_all = self.since_ns and before and not any(before[-16:-8])
                since_ns = self.since_ns if is_all else events[0][0]
                self.rows.append((ring._replace(cells=b""), *np.array(events, "u8").T.astype("i8"), since_ns))
        times = [(int(time[0]), int(time[-1])) for _, time, *_ in self.rows] or [(0, 0)]
        self.begin_ns, self.end_ns = min(times)[0], max(end for _, end in times)

    def real(self, own_ns: Any) -> Any:
        """Times of CLOCK_MONOTONIC in ns of the epoch. An array, or one."""
        return own_ns + self.offset_ns


def lives(path: str) -> bool:
    with open(path, "rb") as file:
        return is_held(file.fileno())


def open_trace(path: Path, part: Stretch | None = None) -> Trace:
    """Of whatever kind the folder is."""
    return Record(path, part) if any(path.glob("*.record")) else Trace(path, part)


class Record(Trace):
    """Has what a Trace has. A file that cannot be read is named in a warning, or if there is no other in a
    TraceError."""

    kind_of_namespace = "life"  # in a container each may be process 1

    def __init__(self, path: Path, part: Stretch | None = None) -> None:
        self.path, self.part, self.has_state = path, part, False
        self.lost, self.warnings, self.about = [], [], {"images": {}, "threads": {}}
        self._records: dict[str, list[Piece]] = defaultdict(list)  # by their lives, the oldest piece first
        pieces = live.all_of(Piece, str(path), r".*\.record.*", self.warnings)
        for piece in pieces:
            if piece.size < piece.rings_end:
                self.warnings.append(f"{piece.path}: is cut off: what is not there is left out")
            if (without := piece.asked - live.RINGS) > 0:
                missing = f"{without} threads had no ring: their events are not there"
                self.warnings.append(f"{piece.path}: {missing}")
        pieces = [piece for piece in pieces if piece.rows]
        if not pieces:
            raise TraceError(". ".join([*self.warnings, f"{path}: there is no event in its records"]))
        for piece in sorted(pieces, key=lambda piece: piece.own_ns):
            self._records[piece.life].append(piece)
        with_last = [(piece, life[-1]) for life in self._records.values() for piece in life]
        for piece, last in with_last:
            piece.offset_ns = last.offset_ns  # all pieces have one clock, also if the wall clock was set
        self.first_ns = min(last.real(piece.begin_ns) for piece, last in with_last)
        self.last_ns = max(last.real(piece.end_ns) for piece, last in with_last)
        for piece in pieces:
            if piece.until_ns != live.ENDED and piece.path.endswith(".record") and not lives(piece.path):
                until_s = (piece.real(piece.until_ns) - self.first_ns) / 1e9
                killed = f"its process was killed: of each thread it has the events until {until_s:.6f} s"
                self.warnings.append(f"{piece.path}: {killed}; later ones, mostly of 0.2 s at most, are lost")
        self.offset_ns = pieces[-1].offset_ns
        self.recorded = max(piece.mtime for piece in pieces)
        self.event_count = sum(len(time) for piece in pieces for _, time, *_ in piece.rows)
        for number, own in enumerate(sorted(self._records), 1):
            for piece in self._records[own]:
                names = {f"{number}:{piece.pid}:{ring.tid}": ring.name for ring, *_ in piece.rows}
                self.about["threads"] |= names
        self._journals = live.all_of(live.Journal, str(path), r".*\.journal", self.warnings)

    def processes(self) -> list[Events]:
        """In order of their first events."""
        self.lost = []
        found = [self._process(number, own) for number, own in enumerate(sorted(self._records), 1)]
        return sorted((of for of in found if len(of.table)), key=lambda of: int(of.table.time.iloc[0]))

    def _process(self, number: int, own: str) -> Events:
        pieces = self._records[own]
        real, rows, lost = pieces[-1].real, list[list[int]](), list[Lost]()
        begins = {piece.since_ns + BEFORE_NS for piece in pieces if piece.since_ns}
        known = dict[int, tuple[int, int, int]]()  # of a thread: events so far, until when, and its epoch
        stretches = dict[tuple[int, int], tuple[live.Ring, list[tuple[int, int]]]]()  # without a loss
        for piece in pieces:
            for ring, time, what, since_ns in piece.rows:
                has, until_ns, epoch = known.get(ring.tid, (0, 0, 1))
                first = ring.head - len(time)
                if not first <= has <= ring.head:  # or another thread has got its number
                    lost.append(Lost(until_ns, since_ns - 1, None, "event"))
                    has, epoch = first, epoch + 1
                known[ring.tid] = ring.head, piece.own_ns, epoch
                _, events = stretches.setdefault((ring.tid, epoch), (ring, []))
                if events and has > first:  # a push may count more since
                    events.pop()
                    has -= 1
                events += zip(time[has - first :].tolist(), what[has - first :].tolist())
        for (_, epoch), (ring, events) in stretches.items():
            rows += self._rows(ring, events, epoch, begins)
        rows.sort(key=lambda row: row[0])
        whole = epochs(np.array([row[0] for row in rows], "i8"), lost)
        match(rows, whole.tolist())
        end_ns = 0  # those of any thread are one, and what a ring had before its first event is none
        for begin, end in sorted(of[:2] for of in lost if of.begin_ns):
            if begin > end_ns:
                self.lost.append(Lost(real(begin), real(end), None, "event"))
            end_ns = max(end_ns, end)
            self.lost[-1] = self.lost[-1]._replace(end_ns=real(end_ns))
        table = pd.DataFrame(np.array(rows, "i8").reshape(-1, len(ROW)), columns=ROW)
        types = {column: COLUMNS[column] for column in ROW[3:-1]} | {"kind": "i1", "tid": "i4", "epoch": "i4"}
        table = table.astype(types).assign(whole=whole, cpu=np.zeros(len(table), "i2"))
        table["time"] = real(table.time)
        notes = [*self._names(pieces[-1]), *self._late(own, table)]
        return Events(pieces[-1].pid, number, table, notes, True, 0)

    @staticmethod
    def _rows(
        ring: live.Ring, events: list[tuple[int, int]], epoch: int, begins: set[int]
    ) -> Iterator[list[int]]:
        """Of ROW. An arg is a task's number, or of a wait 1 = outside tasks. by_timer of a push or phase: 1 =
        outside tasks, 2 = and a burst or phase began with it."""
        running: list[list[int]] = []
        pool, worker = (ring.who >> 16, ring.who & 0xFFFF) if ring.who else (0, -1)
        for time, what in events:
            kind, small, address, outside = what & 31, what >> 6 & 0x3FF, what >> 16, 1 - (what >> 5 & 1)
            how = outside * (1 + (time in begins))
            if kind in (live.PHASE, live.PHASE_END) and small < len(PHASES):
                frame, slot, number = address >> 32, address >> 16 & 0xFFFF, address & 0xFFFF
                end, tasks, id_ = ("begin", 0, number) if kind == live.PHASE else ("end", number, 0)
                of = KINDS.index(f"{PHASES[small]}_{end}")
                yield [time, of, ring.tid, 0, tasks, how, frame, slot, id_, epoch]
            if kind not in NAMES:
                continue
            row = [time, KINDS.index(NAMES[kind]), ring.tid, pool, worker, 0, 0, 0, 0, epoch]
            if kind == live.RUN:
                number, by = id(row) & (1 << 62) - 1, worker if small == pool else -1
                row[3:] = [small, by, 0, address, number, 0, epoch]
                running.append(row)
            elif kind == live.RAN:
                if not running:
                    continue  # it began before
                run = running.pop()
                row[3], row[7], run[8] = small, run[7], address
            elif kind == live.PUSH:
                for i in range(small):
                    yield [*row[:3], 0, -1, how if i == 0 else outside, 0, 0, address, epoch]
                continue
            elif kind in (live.JOIN, live.JOINED):
                row[3], row[7], row[8] = small, outside * (kind == live.JOINED), address
            elif kind == live.WAKE:
                row[3], row[4] = address >> 16, address & 0xFFFF
            elif kind == live.UNPARK:
                row[5] = small
            yield row

    def _names(self, file: Piece) -> list[Event]:
        """What the process and the files in it are called."""
        images = file.images()
        base: Event = {"place": 0, "time": self.first_ns, "vpid": file.pid}
        notes = [base | {"kind": "procname", "text": Path(next(iter(images), "")).name}]
        for path, (begin, end) in images.items():
            notes.append(base | {"kind": "bin_info", "baddr": begin, "memsz": end - begin, "text": path})
        return notes

    def _late(self, own: str, table: pd.DataFrame) -> Iterator[Event]:
        """Late bursts of the journal beside it whose end is in the record, as events of a trace."""
        ends = dict(zip(zip(table.tid.tolist(), table.time.tolist()), table.index))
        begun = (table.time // live.MINUTE_NS).unique()
        minutes = {int(minute) + more for minute in begun for more in (0, 1, 2)}
        named = {life: of for life, of in self._records.items() if NAMED.fullmatch(life)}
        rows = ((of, row) for of in self._journals for row in of.rows if row.number in minutes)
        for burst in (burst for journal, row in rows if own in named for burst in journal.bursts(row)):
            time_ns = self._records[own][-1].real(burst.end_ns)
            place = ends.get((burst.tid, time_ns))
            if place is not None and life_of(burst, named) is named[own]:
                yield {"kind": "late_burst", "text": CAUSES[burst.cause], "over_ns": burst.over_ns,
                       "time": time_ns, "place": place}  # fmt: skip


def match(rows: list[list[int]], whole: list[int]) -> None:
    """Give each push the task that ran next of its group, where no event was lost between the two."""
    push, run, before = KINDS.index("push"), KINDS.index("run_begin"), 1
    pushed: dict[int, deque[list[int]]] = defaultdict(deque)
    for row, epoch in zip(rows, whole):
        if epoch != before:
            pushed.clear()
            before = epoch
        if row[1] == push:
            pushed[row[8]].append(row)
        elif row[1] == run and pushed[row[8]]:
            of = pushed[row[8]].popleft()
            of[3], of[6], of[7] = row[3], row[6], row[7]
