# SPDX-License-Identifier: BSD-3-Clause
"""A record as a trace: the rings of a process's threads (thread_pool_ws/record/ws_rings.h), with the same
events, and windows, which have those around late bursts. Events between them are lost. A ring has
less than a trace: tasks that are pushed one after the other are one event, and which of them a thread has run
is told by their order."""

from collections import defaultdict, deque
from pathlib import Path
from typing import Iterable, Iterator

import numpy as np
import pandas as pd

from nrbench.live import record as live
from nrbench.live.page import is_held
from nrbench.live.record import ENDED, EVENTS, PHASE, PHASE_END, PUSH, RINGS, RUN
from nrbench.trace.reader import COLUMNS, FOREVER, KINDS, Event, Events, Lost, Stretch, Trace, epochs
from nrbench.trace.record import PHASES, TraceError

NAMES = {
    live.RUN: "run_begin", live.RAN: "run_end", live.PUSH: "push", live.JOIN: "join_begin",
    live.JOINED: "join_end", live.PARK: "park", live.UNPARK: "unpark", live.WAKE: "wake",
}  # fmt: skip


class Piece(live.Piece):
    """rows: of each ring with events: the ring, when, and what. first_ns: from then on each ring has all"""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.without, self.is_cut = max(self.asked - RINGS, 0), self.size < self.rings_end
        self.rows, overwritten = list[tuple[live.Ring, np.ndarray, np.ndarray]](), list[int]()
        for ring in self.rings():
            if events := ring.events():
                before = ring.cells[: -16 * len(events)]
                if any(before[-16:-8]) or (not before and ring.head >= EVENTS):
                    overwritten.append(events[0][0])
                self.rows.append((ring._replace(cells=b""), *np.array(events, "u8").T))
        begins = [int(time[0]) for _, time, _ in self.rows]
        since = [self.since_ns] if self.since_ns else []
        self.first_ns = max(since + overwritten, default=min(begins, default=FOREVER))
        self.is_whole = not overwritten

    @property
    def begin_ns(self) -> int:
        return self.first_ns + self.offset_ns

    @property
    def end_ns(self) -> int:
        return max(int(time[-1]) for _, time, _ in self.rows) + self.offset_ns


def lives(path: str) -> bool:
    with open(path, "rb") as file:
        return is_held(file.fileno())


def is_record(path: Path) -> bool:
    return path.is_dir() and any(path.glob("*.record"))


def open_trace(path: Path, part: Stretch | None = None) -> Trace:
    """Of whatever kind the folder is."""
    return Record(path, part) if is_record(path) else Trace(path, part)


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
            if piece.is_cut:
                self.warnings.append(f"{piece.path}: is cut off: what is not there is left out")
            if piece.without:
                missing = f"{piece.without} threads had no ring: their events are not there"
                self.warnings.append(f"{piece.path}: {missing}")
        pieces = [piece for piece in pieces if piece.rows]
        if not pieces:
            raise TraceError(". ".join([*self.warnings, f"{path}: there is no event in its records"]))
        for piece in sorted(pieces, key=lambda piece: piece.own_ns):
            self._records[piece.life].append(piece)
        for life in self._records.values():  # all pieces have one clock, also if the wall clock was set
            for piece in life:
                piece.offset_ns = life[-1].offset_ns
            life.sort(key=lambda piece: piece.begin_ns)
        pieces.sort(key=lambda piece: piece.begin_ns)
        self.first_ns = min(piece.begin_ns for piece in pieces)
        for piece in pieces:
            if piece.until_ns != ENDED and piece.path.endswith(".record") and not lives(piece.path):
                until_s = (piece.until_ns + piece.offset_ns - self.first_ns) / 1e9
                killed = f"its process was killed: of each thread it has the events until {until_s:.6f} s"
                self.warnings.append(f"{piece.path}: {killed}; later ones, mostly of 0.2 s at most, are lost")
        self.last_ns = max(piece.end_ns for piece in pieces)
        self.offset_ns = pieces[-1].offset_ns
        self.recorded = max(piece.mtime for piece in pieces)
        self.event_count = sum(len(time) for piece in pieces for _, time, _ in piece.rows)
        for number, own in enumerate(sorted(self._records), 1):
            for piece in self._records[own]:
                names = {f"{number}:{piece.pid}:{ring.tid}": ring.name for ring, *_ in piece.rows}
                self.about["threads"] |= names

    def processes(self) -> list[Events]:
        """In order of their first events."""
        self.lost = []
        found = [self._process(life, self._records[of]) for life, of in enumerate(sorted(self._records), 1)]
        return sorted((of for of in found if len(of.table)), key=lambda of: int(of.table.time.iloc[0]))

    def _process(self, life: int, pieces: list[Piece]) -> Events:
        rows, until_ns, pid = list[list[int]](), 0, pieces[-1].pid
        begin_ns, end_ns = self.part or (0, FOREVER)
        for piece in pieces:
            if until_ns and piece.begin_ns > until_ns:
                self.lost.append(Lost(until_ns + 1, piece.begin_ns - 1, None, "event"))
            for ring, time, what in piece.rows:
                time = time.astype("i8") + piece.offset_ns
                chosen = (time >= max(piece.begin_ns, until_ns + 1, begin_ns)) & (time <= end_ns)
                rows += self._rows(ring, zip(time[chosen].tolist(), what[chosen].tolist()))
            until_ns = max(until_ns, piece.end_ns)
        rows.sort(key=lambda row: row[0])
        match(rows)
        names = ["time", "kind", "tid", "pool", "worker", "by_timer", "func", "arg", "group"]
        table = pd.DataFrame(np.array(rows, "i8").reshape(-1, len(names)), columns=names)
        table = table.astype({column: COLUMNS[column] for column in names[3:]} | {"kind": "i1", "tid": "i4"})
        table["cpu"] = np.zeros(len(table), "i2")
        table["epoch"] = epochs(table.time.to_numpy(), self.lost)
        return Events(pid, life, table, self._names(pieces[-1]), not self.part and pieces[0].is_whole)

    @staticmethod
    def _rows(ring: live.Ring, events: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
        """Time, kind, thread, pool, worker, by_timer, func, arg, group. An arg is a task's number."""
        running: list[list[int]] = []
        pool, worker = (ring.who >> 16, ring.who & 0xFFFF) if ring.who else (0, -1)
        for time, what in events:
            kind, small, address = what & 31, what >> 6 & 0x3FF, what >> 16
            if kind in (PHASE, PHASE_END) and small < len(PHASES):
                of, numbers = f"{PHASES[small]}_{'begin' if kind == PHASE else 'end'}", address & 0xFFFF
                frame, slot, tasks = address >> 32, address >> 16 & 0xFFFF, numbers * (kind == PHASE_END)
                yield [time, KINDS.index(of), ring.tid, 0, tasks, 0, frame, slot, numbers * (kind == PHASE)]
            if kind not in NAMES:
                continue
            row = [time, KINDS.index(NAMES[kind]), ring.tid, pool, worker, 0, 0, 0, 0]
            if kind == RUN:
                row[3:] = [small, worker if small == pool else -1, 0, address, id(row) & FOREVER, 0]
                running.append(row)
            elif kind == live.RAN:
                if not running:
                    continue  # it began before
                run = running.pop()
                row[3], row[7], run[8] = small, run[7], address
            elif kind == PUSH:
                for _ in range(small):
                    yield [*row[:3], 0, -1, 0, 0, 0, address]
                continue
            elif kind in (live.JOIN, live.JOINED):
                row[3], row[8] = small, address
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


def match(rows: list[list[int]]) -> None:
    """Give each push the task that ran next of its group."""
    push, run = KINDS.index("push"), KINDS.index("run_begin")
    pushed: dict[int, deque[list[int]]] = defaultdict(deque)
    for row in rows:
        if row[1] == push:
            pushed[row[8]].append(row)
        elif row[1] == run and pushed[row[8]]:
            of = pushed[row[8]].popleft()
            of[3], of[6], of[7] = row[3], row[6], row[7]
