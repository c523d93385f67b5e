# SPDX-License-Identifier: BSD-3-Clause
"""What processes leave in the folder of TPOOL_WS_RECORD: journals (ws_journal.h, ws_journal_write.h), records
and windows of these (ws_file.h, ws_rings.h). The names of causes are page.CAUSES.

All files are taken as hostile. LiveError: it is no regular file of this user or root, or not of this version.
Entries that are missing or damaged are left out."""

from __future__ import annotations

import os
import re
import stat
import struct
from contextlib import contextmanager, suppress
from functools import lru_cache
from types import SimpleNamespace
from typing import Callable, Iterator, NamedTuple, TypeVar

from nrbench.live.page import CAUSES, Layout, LiveError, printable

JOURNAL_MAGIC, JOURNAL_HEAD = b"WSJRN002", struct.Struct("<8s2Q")
MINUTE = Layout("Q", "number real_ns bursts late examined worst_ns entries", "16Q", "part_ns")
BURST = Layout(
    "Q", "end_ns real_ns length_ns limit_ns key func task_ns",
    "I", "start_ns pid pool tid task_tid cpu cause minute life", "16H", "part", "4s", "padding",
)  # fmt: skip
ROWS, MINUTES, PLACES, MINUTE_NS = 10080, 1457, 180, 60 * 10**9
ROWS_AT, MINUTE_BYTES, BURST_BYTES = 4096, MINUTE.struct.size, BURST.struct.size
BURSTS_AT, MINUTE_AT = ROWS_AT + ROWS * MINUTE_BYTES, struct.calcsize("7Q7I")  # of bursts; in one

MAGIC, HEAD = b"WSREC005", struct.Struct("<8s2I4Q")
MAPS, RINGS_AT = 4096, 4096 + (1 << 17)
ENDED = (1 << 64) - 1  # an until_ns: the process has ended
RING, RINGS, EVENTS, EVENTS_AT = struct.Struct("<3Q16s"), 1024, 4096, 1024
RING_BYTES = EVENTS_AT + 16 * EVENTS
# ws_note_t:
(RUN, RAN, PUSH, JOIN, JOINED, PARK, UNPARK, WAKE, PHASE, PHASE_END, SLEEP, SLEPT, USED) = range(1, 14)
# Begin, end, mode, offset and file of memory, as in /proc/PID/maps.
MAPPED = re.compile(r"^(\w+)-(\w+) (\S+) (\w+) \S+ \d+ +(/.*)$", re.MULTILINE)
Read = Callable[[int, int], bytes]
T = TypeVar("T")


@contextmanager
def opened(path: str) -> Iterator[tuple[Read, os.stat_result]]:
    """@return what reads so many bytes at a place, with zeros for those that are not there"""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode) or about.st_uid not in (0, os.geteuid()):
                raise LiveError(f"{path}: of user {about.st_uid}: no regular file of this user or root")
            if about.st_size > RINGS_AT + RINGS * RING_BYTES:
                raise LiveError(f"{path}: size: {about.st_size} bytes, more than it can have")
            yield lambda size, at: os.pread(file, size, at).ljust(size, b"\0"), about
        finally:
            os.close(file)
    except OSError as error:
        raise LiveError(f"{path}: {error.strerror}") from None


def all_of(kind: Callable[[str], T], folder: str, like: str, wrong: list[str]) -> list[T]:
    """Of the files with such names those that can be read. @param wrong  gets warnings about the others"""
    found = []
    for name in sorted(os.listdir(folder)):
        if re.fullmatch(like, name):
            try:
                found.append(kind(os.path.join(folder, name)))
            except LiveError as error:
                wrong.append(f"{error}; this file is left out")
    return found


class Journal:
    """rows: its minutes, in order, with the fields of ws_journal_minute_t. program: as in records' names"""

    def __init__(self, path: str) -> None:
        self.path = path
        self.program = re.sub(r"^tpool-ws-|(\.\d+)?\.journal$", "", os.path.basename(path))
        with opened(path) as (read, _):
            magic, self.until_ns, self.removed = JOURNAL_HEAD.unpack(read(JOURNAL_HEAD.size, 0))
            table = read(ROWS * MINUTE_BYTES, ROWS_AT)
        if magic not in (JOURNAL_MAGIC, bytes(8)):  # 0: the disk was full
            raise LiveError(f"{path}: magic: {magic!r}; not a journal of this version, or damaged")
        numbers = (struct.unpack_from("<Q", table, row * MINUTE_BYTES)[0] for row in range(ROWS))
        its = sorted(n for row, n in enumerate(numbers) if n % ROWS == row and 0 < n < 1 << 32)
        self.rows = [SimpleNamespace(**MINUTE.read(table, n % ROWS * MINUTE_BYTES)) for n in its]

    def bursts(self, row: SimpleNamespace) -> list[SimpleNamespace]:
        """Of a minute, with the fields of ws_journal_burst_t, and over_ns and program."""
        size = min(row.entries, PLACES) * BURST_BYTES
        with opened(self.path) as (read, _):
            data = read(size, BURSTS_AT + row.number % MINUTES * PLACES * BURST_BYTES)
        found = []
        for at in range(0, size, BURST_BYTES):
            if struct.unpack_from("=I", data, at + MINUTE_AT)[0] == row.number:  # else it is overwritten
                burst = SimpleNamespace(**BURST.read(data, at), program=self.program)
                burst.over_ns = burst.length_ns - burst.limit_ns
                is_its = burst.real_ns // MINUTE_NS + 1 == row.number
                found += [burst] * (is_its and burst.cause < len(CAUSES) and burst.over_ns >= 0)
        return found


class Ring(NamedTuple):
    """cells: of its events, the oldest first: ns and what, 8 bytes each."""

    head: int
    who: int
    tid: int
    name: str
    cells: bytes

    def events(self) -> list[tuple[int, int]]:
        """Those after which none is lost: its thread may have overwritten the oldest with newer ones."""
        found, next_ns = [], 1 << 61
        for ns, what in reversed([*struct.iter_unpack("<2Q", self.cells)]):
            if not 0 < ns <= next_ns:  # 0: a window has not those that were before it
                break
            found.append((ns, what))
            next_ns = ns
        return found[::-1]


class Piece:
    """A record, or a window of one. Times are of CLOCK_MONOTONIC; offset_ns: from it to the epoch.

    life      what the names of a life's files begin with
    until_ns  of a record: until then it has all events that were not overwritten; ENDED"""

    def __init__(self, path: str) -> None:
        self.path, self.life = path, os.path.basename(path).partition(".record")[0]
        with opened(path) as (read, about):
            self.size, self.mtime, head = about.st_size, about.st_mtime, read(HEAD.size, 0)
            self.maps = read(RINGS_AT - MAPS, MAPS).partition(b"\0")[0].decode(errors="replace")
        magic, self.pid, self.asked, own_ns, real_ns, self.until_ns, self.since_ns = HEAD.unpack_from(head)
        for field, value, is_good in (
            ("size", self.size, self.size >= RINGS_AT), ("magic", magic, magic == MAGIC),
            ("own_ns", own_ns, 0 < own_ns < 1 << 60), ("real_ns", real_ns, 0 < real_ns < 1 << 61),
        ):  # fmt: skip
            if not is_good:
                raise self.wrong(f"{field}: {value!r}")
        self.own_ns, self.real_ns, self.offset_ns = int(own_ns), int(real_ns), int(real_ns - own_ns)
        self.rings_end = RINGS_AT + min(self.asked, RINGS) * RING_BYTES

    def wrong(self, what: str) -> LiveError:
        return LiveError(f"{self.path}: {what}; not a record of this version, or damaged")

    def rings(self, wanted: int | None = None) -> Iterator[Ring]:
        """@param wanted  only of this thread"""
        with opened(self.path) as (read, _):
            for at in range(RINGS_AT, min(self.size, self.rings_end) - RING_BYTES + 1, RING_BYTES):
                head, who, tid, name = RING.unpack(read(RING.size, at))
                if head >= 1 << 60:
                    raise self.wrong(f"ring at {at}: head: {head}")
                if head == 0 or tid == 0 or wanted not in (None, tid):
                    continue
                cells, newest = read(16 * EVENTS, at + EVENTS_AT), head % EVENTS * 16
                cells = cells[:newest] if head < EVENTS else cells[newest + 16 :] + cells[:newest]
                yield Ring(head, who, tid, printable(name), cells)

    def images(self) -> dict[str, tuple[int, int]]:
        """Files that the process had in memory: begin and end there."""
        found: dict[str, tuple[int, int]] = {}
        for begin, end, _, _, path in MAPPED.findall(self.maps):
            with suppress(ValueError):  # no number
                found[path] = found.get(path, (int(begin, 16), 0))[0], int(end, 16)
        return found


@lru_cache(None)
def function_at(path: str, base: int, address: int, recorded: float, maps: str = "") -> str | None:
    """The function at an address, of an ELF file that lies at @p base (Elf64_Ehdr, Elf64_Shdr, Elf64_Sym).
    None also if it is not the file in @p maps, or was put there since it was recorded: mtime may be older."""
    with suppress(OSError, OverflowError, struct.error, IndexError):
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", 0) as file:
            about = os.fstat(file.fileno())

            def read(size: int, at: int) -> bytes:
                return os.pread(file.fileno(), min(size, about.st_size), at)

            letters, kind, at, size, count = struct.unpack("<4s12xH22xQ10xHH2x", read(64, 0))
            if letters != b"\x7fELF" or not stat.S_ISREG(about.st_mode) or about.st_ctime > recorded:
                return None
            if maps and not re.search(rf" {about.st_ino} +{re.escape(path)}$", maps, re.MULTILINE):
                return None
            sections = [*struct.iter_unpack("<4xI16xQQI20x", read(size * count, at))]
            tables = sorted(of for of in sections if of[0] in (2, 11))  # of all symbols, of dynamic ones
            for _, at, size, names in tables:
                for name, info, value, length in struct.iter_unpack("<IB3xQQ", read(size, at)):
                    past = address - base * (kind != 2) - value  # ET_EXEC is not moved
                    if info & 15 == 2 and 0 <= past < max(length, 1):  # STT_FUNC
                        return printable(read(4096, sections[names][1] + name))
    return None
