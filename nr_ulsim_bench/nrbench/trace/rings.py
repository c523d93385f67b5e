# SPDX-License-Identifier: BSD-3-Clause
"""A record as a trace: the rings of a process's threads (thread_pool_ws/record/ws_rings.h), with the same
events, and windows, which have those around late bursts. Events between them are lost. A ring has
less than a trace: tasks that are pushed one after the other are one event, and which of them a thread has run
is told by their order."""

import struct
from collections import defaultdict, deque
from contextlib import suppress
from pathlib import Path
from typing import Iterator, NamedTuple

import numpy as np
import pandas as pd

from nrbench.live.page import CAUSES, is_held
from nrbench.trace.reader import COLUMNS, FOREVER, KINDS, Event, Events, Lost, Stretch, Trace, epochs
from nrbench.trace.record import MAPPED, PHASES, TraceError

MAGIC = b"WSREC005"
BEGIN, MAPS, RINGS_AT = struct.Struct("<8s2I4Q"), 4096, 4096 + (1 << 17)  # ws_file_head_t
ENDED = (1 << 64) - 1  # its until_ns
RING, RINGS = struct.Struct("<3Q16s"), 1024  # ws_event_ring_t
EVENTS, EVENTS_AT = 4096, 1024
BYTES = EVENTS_AT + 16 * EVENTS
JOURNAL = struct.Struct("<8s8xQ")
PART_TID, PART_AGO = 1022, 1023  # of PART, beside causes
(RUN, RAN, PUSH, JOIN, JOINED, PARK, UNPARK, WAKE, PHASE, PHASE_END, LATE, PART) = range(1, 13)
NAMES = {RUN: "run_begin", RAN: "run_end", PUSH: "push", JOIN: "join_begin", JOINED: "join_end",
         PARK: "park", UNPARK: "unpark", WAKE: "wake"}  # fmt: skip


class LateBurst(NamedTuple):
    """As the pool has judged it. Times in ns of the epoch."""

    life: int  # number of the process, in order of the names of its files
    tid: int
    begin_ns: int
    end_ns: int
    over: dict[str, int]  # ns by cause

    @property
    def over_ns(self) -> int:
        return sum(self.over.values())


class Ring(NamedTuple):
    is_whole: bool  # nothing was overwritten
    who: int
    tid: int
    name: str
    time: np.ndarray  # of its events, in ns of the epoch
    what: np.ndarray


class Piece:
    """A file: the rings, or a window of them."""

    def __init__(self, path: Path) -> None:
        self.path, self.life, data = path, path.name.partition(".record")[0], path.read_bytes()
        if len(data) < RINGS_AT:
            raise self.wrong("size", f"{len(data)} bytes, shorter than a header")
        magic, self.pid, asked, own_ns, real_ns, self.until_ns, self.since_ns = BEGIN.unpack_from(data)
        if magic != MAGIC:
            raise self.wrong("magic", repr(magic))
        if not 0 < own_ns < 1 << 60:
            raise self.wrong("own_ns", str(own_ns))
        if not 0 < real_ns < 1 << 61:
            raise self.wrong("real_ns", str(real_ns))
        self.own_ns, self.offset_ns, self.without = own_ns, real_ns - own_ns, max(asked - RINGS, 0)
        self.maps = data[MAPS:RINGS_AT].split(b"\0")[0].decode(errors="replace")
        end = RINGS_AT + min(asked, RINGS) * BYTES
        self.is_cut = len(data) < end
        places = range(RINGS_AT, min(len(data), end) - BYTES + 1, BYTES)
        self.rings = [ring for at in places for ring in self._ring(data, at) if len(ring.time)]
        overwritten = [ring.time[0] for ring in self.rings if not ring.is_whole]
        # From when on each ring has all events.
        since = [self.since_ns + self.offset_ns] if self.since_ns else []
        first = min((ring.time[0] for ring in self.rings), default=FOREVER)
        begin = max(since + overwritten, default=first)
        self.begin_ns, self.is_whole = int(begin), not overwritten
        self.end_ns = int(max((ring.time[-1] for ring in self.rings), default=0))

    def move(self, offset_ns: int) -> None:
        """Have times of the epoch as the process's clock says them with another offset."""
        by, self.offset_ns = offset_ns - self.offset_ns, offset_ns
        self.rings = [ring._replace(time=ring.time + by) for ring in self.rings]
        self.begin_ns, self.end_ns = self.begin_ns + by, self.end_ns + by

    def wrong(self, field: str, why: str) -> TraceError:
        return TraceError(f"{self.path}: {field}: {why}; not a record of this version, or damaged")

    def _ring(self, data: bytes, at: int) -> Iterator[Ring]:
        head, who, tid, name = RING.unpack_from(data, at)
        if tid == 0 or head == 0:
            return
        if head >= 1 << 60:
            raise self.wrong(f"ring at {at}: head", str(head))
        words = np.frombuffer(data, "<u8", 2 * EVENTS, at + EVENTS_AT).reshape(-1, 2)
        words = words[np.arange(max(0, head - EVENTS + 1), head) % EVENTS]
        is_whole = head < EVENTS or not words[0, 0]
        words = words[words[:, 0] != 0]  # a window lacks those before it
        if not len(words):
            return
        # Its thread may have gone on: the oldest may be overwritten by some that are newer than the newest.
        words = words[words[:, 0] <= min(words[-1, 0], 1 << 61)]
        words = words[words[:, 0] >= np.maximum.accumulate(words[:, 0])].astype("i8")
        text = name.split(b"\0")[0].decode(errors="replace")
        yield Ring(is_whole, who, tid, text, words[:, 0] + self.offset_ns, words[:, 1])


def lives(path: Path) -> bool:
    with path.open("rb") as file:
        return is_held(file.fileno())


def is_record(path: Path) -> bool:
    return path.is_dir() and any(path.glob("*.record"))


def removed_files(path: Path) -> dict[str, int]:
    """By journal: how many files of earlier lives went, as all took more than their bound."""
    found = {}
    for journal in sorted(path.glob("*.journal")):
        with suppress(OSError), journal.open("rb") as file:  # ws_journal_head_t
            magic, removed = JOURNAL.unpack(file.read(JOURNAL.size).ljust(JOURNAL.size, b"\0"))
            if magic == b"WSJRN002" and removed:
                found[journal.name] = removed
    return found


def open_trace(path: Path, part: Stretch | None = None) -> Trace:
    """Of whatever kind the folder is."""
    return Record(path, part) if is_record(path) else Trace(path, part)


class Record(Trace):
    """Has what a Trace has. A file that cannot be read is named in a warning, or if there is no other in a
    TraceError."""

    kind_of_namespace = "life"  # in a container each may be process 1

    def __init__(self, path: Path, part: Stretch | None = None) -> None:
        self.path, self.part, self.has_state, self.late = path, part, False, list[LateBurst]()
        self.lost, self.warnings, self.about = [], [], {"images": {}, "threads": {}}
        self._records: dict[str, list[Piece]] = defaultdict(list)  # by their lives, the oldest piece first
        pieces = []
        for file in sorted(path.glob("*.record*")):
            try:
                pieces.append(Piece(file))
            except (TraceError, OSError) as error:
                why = f"{file}: {error.strerror}" if isinstance(error, OSError) else error
                self.warnings.append(f"{why}; this file is left out")
        for piece in pieces:
            if piece.is_cut:
                self.warnings.append(f"{piece.path}: is cut off: what is not there is left out")
            if piece.without:
                missing = f"{piece.without} threads had no ring: their events are not there"
                self.warnings.append(f"{piece.path}: {missing}")
        pieces = [piece for piece in pieces if piece.rings]
        if not pieces:
            raise TraceError(". ".join([*self.warnings, f"{path}: there is no event in its records"]))
        for piece in sorted(pieces, key=lambda piece: piece.own_ns):
            self._records[piece.life].append(piece)
        for life in self._records.values():  # all pieces have one clock, also if the wall clock was set
            for piece in life:
                piece.move(life[-1].offset_ns)
            life.sort(key=lambda piece: piece.begin_ns)
        pieces.sort(key=lambda piece: piece.begin_ns)
        self.first_ns = min(piece.begin_ns for piece in pieces)
        for piece in pieces:
            if piece.until_ns != ENDED and piece.path.suffix == ".record" and not lives(piece.path):
                until_s = (piece.until_ns + piece.offset_ns - self.first_ns) / 1e9
                killed = f"its process was killed: of each thread it has the events until {until_s:.6f} s"
                self.warnings.append(f"{piece.path}: {killed}; later ones, mostly of 0.2 s at most, are lost")
        self.last_ns = max(piece.end_ns for piece in pieces)
        self.offset_ns = pieces[-1].offset_ns
        self.recorded = max(piece.path.stat().st_mtime for piece in pieces)
        self.event_count = sum(len(ring.time) for piece in pieces for ring in piece.rings)
        for number, own in enumerate(sorted(self._records), 1):
            for piece in self._records[own]:
                names = {f"{number}:{piece.pid}:{ring.tid}": ring.name for ring in piece.rings}
                self.about["threads"] |= names

    def processes(self) -> list[Events]:
        """In order of their first events."""
        self.lost, self.late = [], []
        found = [self._process(life, self._records[of]) for life, of in enumerate(sorted(self._records), 1)]
        return sorted((of for of in found if len(of.table)), key=lambda of: int(of.table.time.iloc[0]))

    def _process(self, life: int, pieces: list[Piece]) -> Events:
        rows, until_ns, pid = list[list[int]](), 0, pieces[-1].pid
        begin_ns, end_ns = self.part or (0, FOREVER)
        for piece in pieces:
            if until_ns and piece.begin_ns > until_ns:
                self.lost.append(Lost(until_ns + 1, piece.begin_ns - 1, None, "event"))
            for ring in piece.rings:
                rows += self._rows(life, ring, max(piece.begin_ns, until_ns + 1, begin_ns), end_ns)
            until_ns = max(until_ns, piece.end_ns)
        rows.sort(key=lambda row: row[0])
        match(rows)
        names = ["time", "kind", "tid", "pool", "worker", "by_timer", "func", "arg", "group"]
        table = pd.DataFrame(np.array(rows, "i8").reshape(-1, len(names)), columns=names)
        table = table.astype({column: COLUMNS[column] for column in names[3:]} | {"kind": "i1", "tid": "i4"})
        table["cpu"] = np.zeros(len(table), "i2")
        table["epoch"] = epochs(table.time.to_numpy(), self.lost)
        return Events(pid, life, table, self._names(pieces[-1]), not self.part and pieces[0].is_whole)

    def _rows(self, life: int, ring: Ring, begin_ns: int, end_ns: int) -> Iterator[list[int]]:
        """Time, kind, thread, pool, worker, by_timer, func, arg, group. An arg is a task's number."""
        running: list[list[int]] = []
        pool, worker = (ring.who >> 16, ring.who & 0xFFFF) if ring.who else (0, -1)
        chosen = (ring.time >= begin_ns) & (ring.time <= end_ns)
        for time, what in zip(ring.time[chosen].tolist(), ring.what[chosen].tolist()):
            kind, small, address = what & 31, what >> 6 & 0x3FF, what >> 16
            if kind == LATE:
                self.late.append(LateBurst(life, ring.tid, time - address, time, {}))
            elif kind == PART and self.late:
                self._part(small, address)
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
            elif kind == RAN:
                if not running:
                    continue  # it began before
                run = running.pop()
                row[3], row[7], run[8] = small, run[7], address
            elif kind == PUSH:
                for _ in range(small):
                    yield [*row[:3], 0, -1, 0, 0, 0, address]
                continue
            elif kind in (JOIN, JOINED):
                row[3], row[8] = small, address
            elif kind == WAKE:
                row[3], row[4] = address >> 16, address & 0xFFFF
            elif kind == UNPARK:
                row[5] = small
            yield row

    def _part(self, small: int, address: int) -> None:
        """Of the last late burst, as the scribe notes it later, in its own ring."""
        late = self.late[-1]
        if small == PART_TID:
            self.late[-1] = late._replace(tid=address)
        elif small == PART_AGO:
            self.late[-1] = late._replace(begin_ns=late.begin_ns - address, end_ns=late.end_ns - address)
        elif small < len(CAUSES):
            late.over[CAUSES[small]] = address

    def _names(self, file: Piece) -> list[Event]:
        """What the process and the files in it are called."""
        images: dict[str, list[int]] = {}
        for begin, end, _, _, path in MAPPED.findall(file.maps):
            images.setdefault(path, [int(begin, 16), 0])[1] = int(end, 16)
        base: Event = {"place": 0, "time": self.first_ns, "vpid": file.pid}
        notes = [base | {"kind": "procname", "text": Path(next(iter(images), "")).name}]
        for path, (begin, end) in images.items():
            kind = b""
            with suppress(OSError), open(path, "rb") as image:
                kind = image.read(18)[16:]
            about = {"baddr": begin, "memsz": end - begin, "text": path, "is_pic": int(kind != b"\2\0")}
            notes.append(base | {"kind": "bin_info"} | about)
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
