# SPDX-License-Identifier: BSD-3-Clause
"""A process's page of shared memory: its layout, a reader, and requests. ws_page.h of the pool defines it."""

import fcntl
import math
import os
import re
import time
from contextlib import suppress
from ctypes import Structure, c_bool, c_char, c_int32, c_uint32, c_uint64, sizeof
from pathlib import Path
from typing import Any, BinaryIO, Iterator, Sequence

VERSION, MAGIC = 1, 0x67507357
MODES = ("off", "fixed", "auto", "hot")
SPIN, SPIN_CPU_MAX, CAP, DEADLINE, RECORD = 1, 2, 4, 8, 16
BITS = {"spin_cpu_max": SPIN_CPU_MAX, "cap": CAP, "deadline_us": DEADLINE, "record": RECORD}
SETTING = re.compile(
    r"spin=(off|auto|fixed(?=:))(?:(?<=fixed):(\d{1,5}(?:\.\d{1,3})?))?"
    r"|(spin_cpu_max|cap|deadline_us|record)=(\d{1,9})"
)
VALID = "spin=off, spin=auto, spin=fixed:<us>, spin_cpu_max=<percent>, cap=<workers; 0: as CPUs allow>, "
VALID += "deadline_us=<us; 0: learnt>, record=1"
WAKES = "task spread hint stuck timer all cap enough".split()
LATE_STARTS = (
    "burst early,burst later than seen,gave up early,after a pause,not expected,pre-wake off,"
    "no place among the awake,no CPU time left,timer late,woke on the pushing thread's CPU,CPU taken,"
    "called late,woken by the push"
).split(",")
TIMERS = ("in time", "late", "for nothing")
CAUSES = "slow wake,no CPU,quota,long task,too few threads,serial time,other pool,unknown".split(",")
FIRST_OCTAVE, SPLIT_BITS = 7, 3  # of a histogram


class LiveError(Exception):
    """That the user can mend."""


def fields(*kinds: Any) -> list[tuple[str, Any]]:
    """@param kinds  a type, the names of fields that have it, and so on"""
    return [(name, kind) for kind, names in zip(kinds[::2], kinds[1::2]) for name in names.split()]


class Fields(Structure):
    def numbers(self) -> dict[str, int]:
        """Without arrays."""
        found = {name: getattr(self, name) for name, *_ in self._fields_}
        return {name: int(value) for name, value in found.items() if isinstance(value, int)}


class Settings(Fields):
    _fields_ = fields(c_uint32, "spin spin_cpu_max", c_uint64, "lead_ns deadline_ns", c_uint32, "cap record")

    def __str__(self) -> str:
        lead = f":{self.lead_ns / 1000:g}" if self.spin == MODES.index("fixed") else ""
        mode = f"spin={MODES[self.spin % len(MODES)]}{lead} spin_cpu_max={self.spin_cpu_max}"
        cap, deadline_us = f" cap={self.cap}", f" deadline_us={self.deadline_ns / 1000:g}"
        return mode + (cap if self.cap else "") + (deadline_us if self.deadline_ns else "")


class Request(Fields):
    _fields_ = fields(c_uint32, "what by", Settings, "wanted")


class Known(Fields):
    _fields_ = fields(
        c_uint64, "id written_ns", c_char * 64, "name", c_uint32, "answered", Settings, "was settings",
        c_char * 76, "refusal",
    )  # fmt: skip


class Stats(Fields):
    _fields_ = fields(
        c_uint32, "workers workers_requested workers_pinned workers_realtime workers_active workers_awake",
        c_uint32, "cpus lanes_used", c_uint64, "queued_tasks queue_bytes guard_looks starved_searches",
        c_uint64, "spared_wakes cancelled_tasks skipped_tasks", c_uint64 * len(WAKES), "decided",
    )  # fmt: skip


class Prewake(Fields):
    _fields_ = fields(
        c_uint64, "bursts expected_bursts absent_bursts period_ns", c_uint32, "period_bursts pattern",
        c_uint64, "locks", c_uint32, "level",
        c_uint64, "level_changes hits lates misses unused lead_p50_ns lead_p99_ns spin_ns capped_spins",
        c_uint64, "preempted_spins throttled_looks", c_uint64 * 30, "wake",
        c_uint64, "started_bursts late_ns_p90", c_uint64 * len(LATE_STARTS), "late_by",
    )  # fmt: skip


class Worker(Fields):
    _fields_ = fields(
        c_uint64, "run_tasks stolen_tasks inline_tasks parks wakes_sent spins spin_ns growths",
        c_uint64, "high_water_tasks placements stopped_callers", c_int32, "pinned_cpu", c_bool, "realtime",
        c_uint32, "state", c_uint64, "sleeps_ns looks_ns works_ns futile_wakes", c_char * 56, "room",
        c_int32, "tid cpu",
    )  # fmt: skip


class Part(Fields):
    _fields_ = fields(
        c_uint32, "sequence request", Request, "asked", Known, "known", c_uint64 * 32, "ledger",
        c_uint32 * 184, "starts ends", Stats, "stats", c_char * (512 - sizeof(Stats)), "stats_room",
        Prewake, "prewake", c_char * (1024 - sizeof(Prewake)), "prewake_room", Worker * 129, "workers",
    )  # fmt: skip


class Head(Fields):
    _fields_ = fields(
        c_uint32, "magic version bytes ended", c_uint64, "pid began", c_char * 88, "room", c_uint64, "end"
    )


class File(Fields):
    _fields_ = fields(Head, "head", Part * 8, "parts")


def parse_change(words: Sequence[str]) -> Request:
    asked = Request(by=os.getpid())
    for word in words:
        if not (found := SETTING.fullmatch(word.lower())):
            raise LiveError(f'"{word}": no setting that can be changed ({VALID})')
        mode, lead, name, number = found.groups()
        asked.what |= BITS.get(name, SPIN)
        if mode:
            asked.wanted.spin, asked.wanted.lead_ns = MODES.index(mode), round(float(lead or 0) * 1000)
        elif name == "deadline_us":
            asked.wanted.deadline_ns = 1000 * int(number)
        else:
            setattr(asked.wanted, name, int(number))
    return asked


def of_kind(counts: dict[str, int], kind: str) -> dict[str, int]:
    return {name.removeprefix(kind): count for name, count in counts.items() if name.startswith(kind)}


def bucket_end_s(bucket: int) -> float:
    """The first time that is too long for the bucket of a histogram."""
    octave, part = divmod(bucket, 1 << SPLIT_BITS)
    return math.ldexp((1 << SPLIT_BITS) + part + 1, FIRST_OCTAVE + octave - SPLIT_BITS) / 1e9


def _shown(text: bytes) -> str:
    return "".join(letter for letter in text.decode(errors="replace") if letter.isprintable())


class Pool:
    """A pool as its watchdog thread has last written it. counts: names such as "start:timer late" have kind
    and cause. starts, ends: histograms of the times from a burst's first push to its first task on a worker,
    and of late bursts over their limits."""

    def __init__(self, place: int, part: Part) -> None:
        self.place, self.known = place, part.known
        self.name, self.id, self.settings = _shown(part.known.name), part.known.id, part.known.settings
        self.written_ns, self.starts, self.ends = part.known.written_ns, tuple(part.starts), tuple(part.ends)
        *workers, outside = [worker.numbers() for worker in part.workers]
        self.workers = workers[: part.stats.workers]
        self.counts = {**part.stats.numbers(), **part.prewake.numbers(), "judged_bursts": part.ledger[0]}
        timers = [self.counts[name] for name in ("hits", "lates", "misses")]
        by = (WAKES, part.stats.decided), (LATE_STARTS, part.prewake.late_by), (CAUSES, part.ledger[2::3])
        for kind, (names, counts) in zip(("wake", "start", "burst", "timer"), (*by, (TIMERS, timers))):
            self.counts |= {f"{kind}:{name}": count for name, count in zip(names, counts)}
        for name in ("run_tasks", "stolen_tasks", "inline_tasks", "parks"):
            self.counts[name] = sum(one[name] for one in (*self.workers, outside))

    @property
    def silent_s(self) -> float:
        return time.monotonic() - float(self.written_ns) / 1e9


class Page:
    """Of a process. Not mapped: another user may shorten the file."""

    def __init__(self, path: Path) -> None:
        self.path, self.program = path, "?"
        with self._open() as file:
            stat, head = os.fstat(file.fileno()), Head.from_buffer_copy(file.read(sizeof(Head)).ljust(128))
        self.inode, self.pid, self.began = stat.st_ino, head.pid, head.began
        if head.magic != MAGIC:
            raise LiveError(f"{path}: not complete, or no page of thread_pool_ws")
        if head.version != VERSION or stat.st_size < sizeof(File):
            what = f"version {head.version}, {stat.st_size} bytes; this tpool-ws reads version {VERSION}"
            raise LiveError(f"{path}: the process's page has {what}: use that of its thread_pool_ws")

    def _open(self, flags: int = os.O_RDONLY) -> BinaryIO:
        return os.fdopen(os.open(self.path, flags | os.O_NOFOLLOW | os.O_NONBLOCK), "rb", buffering=0)

    def _pool(self, file: BinaryIO, place: int) -> Pool | None:
        """None: there is none at this place, or none any more."""
        for _ in range(200):
            before, data, after = (
                os.pread(file.fileno(), size, File.parts.offset + place * sizeof(Part))
                for size in (4, sizeof(Part), 4)
            )
            if before == after and len(data) == sizeof(Part) and before[0] % 2 == 0:
                ended = os.pread(file.fileno(), 4, Head.ended.offset) != bytes(4)
                part = Part.from_buffer_copy(data)
                return Pool(place, part) if part.known.id and not ended else None
            time.sleep(0.001)
        raise LiveError(f"{self.path}: incomplete for 0.2 s: a pool's watchdog thread gets no CPU")

    def pools(self) -> Iterator[Pool]:
        with self._open() as file:
            yield from filter(
                None, (self._pool(file, place) for place in range(File.parts.size // sizeof(Part)))
            )

    def _lock(self, file: BinaryIO, end_s: float) -> None:
        """Until the file is closed."""
        while True:
            with suppress(BlockingIOError):
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if time.monotonic() > end_s:
                raise LiveError(f"{self.path}: another program holds its lock, to change a pool")
            time.sleep(0.01)

    def request(self, place: int, asked: Request, answer_s: float) -> Pool:
        """@return the pool when it has done so. An error: it refuses, or has not answered in that time"""
        at = File.parts.offset + place * sizeof(Part)
        with self._open(os.O_RDWR) as file:
            self._lock(file, time.monotonic() + answer_s)
            before = os.pread(file.fileno(), 4, at + Part.request.offset)
            number = (int.from_bytes(before, "little") + 1) % 2**32
            os.pwrite(file.fileno(), bytes(asked), at + Part.asked.offset)
            os.pwrite(file.fileno(), number.to_bytes(4, "little"), at + Part.request.offset)
            end_s = time.monotonic() + answer_s
            while (pool := self._pool(file, place)) and pool.known.answered != number:
                if time.monotonic() > end_s:
                    ran = f"its watchdog thread last ran {pool.silent_s:.1f} s ago"
                    why = f"has not answered within {answer_s:g} s: {ran} (stopped, or it gets no CPU)"
                    raise LiveError(f"pool {pool.name} {why}")
                time.sleep(0.01)
        if pool is None:
            raise LiveError(f"{self.path}: the pool has ended")
        if pool.known.refusal:
            raise LiveError(f"pool {pool.name} refuses: {_shown(pool.known.refusal)}")
        return pool
