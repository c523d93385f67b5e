# SPDX-License-Identifier: BSD-3-Clause
"""A process's page of shared memory: its layout, a reader, and requests. ws_page.h of the pool defines it.

Runs with Debian's python3-minimal from 3.9 on: no ctypes, mmap, json, statistics, dataclasses, shutil.

    change = parse_change(["spin=off", "cap=2"])       LiveError: not a setting
    page.pools()          what the pools do now
    page.now(pool)        what that pool does now; LiveError: it has ended
    page.lives()          False: the process has ended, is another program, or has made the page anew
    with page.ask("tpool-ws set", wait_s=1.0) as asker:         LiveError: another program asks, who that is
        pool = asker.change(pool, change, answer_s=1.0)         LiveError: it refuses, or gives no answer
        pool = asker.change(pool, change, answer_s=1.0, hold=True)   until the end of this `with`, or program

A request that gets no answer in time is withdrawn before the error is raised. When the program of a hold is
gone, however it ended, the pool sets back by itself what was in force before it.
"""

from __future__ import annotations

import errno
import fcntl
import math
import os
import pwd
import re
import struct
import time
from contextlib import contextmanager, suppress
from typing import Any, Iterator, NamedTuple, Sequence

VERSION, MAGIC = 4, 0x67507357
MODES = ("off", "fixed", "auto", "hot")
SPIN, SPIN_CPU_MAX, CAP, DEADLINE, RECORD, HOLD = 1, 2, 4, 8, 16, 32
DEADLINE_AUTO = 2**64 - 1
US = r"\d{1,5}(?:\.\d{1,3})?"
SPINS = rf"spin=(off|auto|hot|fixed:({US}))"
SETTING = re.compile(rf"{SPINS}|(spin_cpu_max|cap|record)=(\d{{1,9}})|deadline_us=(auto|{US})")
VALID = "spin=off, spin=auto, spin=fixed:<us>, spin=hot, spin_cpu_max=<percent>, "
VALID += "cap=<workers; 0: as CPUs allow>, deadline_us=<auto, or us; 0: none>, record=1"
WAKES = "task spread hint stuck timer all cap enough".split()
TIMERS = ("in time", "late", "for nothing")
TO_DO = {  # about each cause of a late burst, in the order of ws_cause_t; docs/tracing.md has the same words
    "slow wake": "pre-wake, idle states (doctor)",
    "called late": "report it: it is the pool's own decision",
    "no CPU": "isolate CPUs, real-time class, a smaller load",
    "asleep in a task": "take the lock, the blocking call or the sleep out of the task",
    "no CPU or asleep": "as the two above",
    "quota": "raise cpu.max, or fewer threads",
    "long task": "its input, or its code",
    "longer work": "the input; slower CPUs (doctor)",
    "more work": "a longer deadline, more threads",
    "too few threads": "more threads or CPUs, or a longer deadline",
    "other burst": "priorities, a pool for each",
    "other pool": "if tasks wait for it, more threads there; else fewer, or other CPUs",
    "serial time": "its code, more pushes at once",
    "started late": "the code before it",
    "unknown": "a trace",
    (UNSEEN := "not examined"): "look a second later; a free CPU for the scribe; a trace",
}
CAUSES = [*TO_DO]
FIRST_OCTAVE, SPLIT_BITS = 7, 3  # of a histogram
POOLS, WORKERS = 1024, 128
REQUEST_AT, PARTS_AT, PART_BYTES, ID_AT = 88, 4096, 31040, 8
ASKER, TAKE = 0, 1  # bytes that are locked
TAKE_S = 1.0  # a pool that has TAKE for longer has stopped in the middle of a request


class LiveError(Exception):
    """That the user can mend."""


class Layout:
    """A structure of C. Fields: a type of the module struct and names, and so on. Several values: "8Q"."""

    def __init__(self, *fields: str) -> None:
        kinds = [(kind, name) for kind, names in zip(fields[::2], fields[1::2]) for name in names.split()]
        self.places: list[tuple[str, int, int]] = []  # name, first value, number of values
        for kind, name in kinds:
            count = 1 if kind[-1] == "s" else int(kind[:-1] or 1)
            first = self.places[-1][1] + self.places[-1][2] if self.places else 0
            self.places.append((name, first, count))
        self.struct = struct.Struct("@" + "".join(kind for kind, _ in kinds))

    def read(self, data: bytes, at: int = 0) -> dict[str, Any]:
        found = self.struct.unpack_from(data, at)
        return {name: found[i] if n == 1 else found[i : i + n] for name, i, n in self.places}


HEAD = Layout("I", "magic version", "Q", "pid", "I", "pools unseen", "64s", "unseen_name")
SETTINGS = struct.Struct("@IIQQII")
REQUEST = struct.Struct("@QIIQ32sI60s")
PART = Layout(
    "I", "sequence room", "Q", "id written_ns real_ns", "64s", "name", "I", "answered held",
    "32s", "was is", "80s", "reason", "64Q", "ledger", "184Q", "starts ends",
)  # fmt: skip
STATS = Layout(
    "I", "workers workers_requested workers_pinned workers_realtime workers_active workers_awake",
    "I", "cpus lanes_used", "Q", "queued_tasks queue_bytes guard_looks starved_searches",
    "Q", "spared_wakes cancelled_tasks skipped_tasks", f"{len(WAKES)}Q", "decided",
)  # fmt: skip
PREWAKE = Layout(
    "Q", "bursts expected_bursts absent_bursts period_ns", "I", "period_bursts pattern",
    "Q", "locks", "I", "level",
    "Q", "level_changes hits lates misses unused lead_p50_ns lead_p99_ns spin_ns capped_spins",
    "Q", "preempted_spins throttled_looks", "30Q", "wake",
    "Q", "started_bursts late_ns_p90",
)  # fmt: skip
WORKER = Layout(
    "Q", "run_tasks stolen_tasks inline_tasks parks wakes_sent spins spin_ns growths",
    "Q", "high_water_tasks placements stopped_callers", "i", "pinned_cpu", "?", "realtime",
    "I", "state", "Q", "sleeps_ns looks_ns works_ns futile_wakes", "56s", "room", "i", "tid cpu",
)  # fmt: skip
STATS_AT = PART.struct.size
PREWAKE_AT = STATS_AT + 512
WORKERS_AT, WORKER_BYTES = PREWAKE_AT + 1024, WORKER.struct.size
assert WORKERS_AT + (WORKERS + 1) * WORKER_BYTES == PART_BYTES


class Settings(NamedTuple):
    spin: int = 0
    spin_cpu_max: int = 0
    lead_ns: int = 0
    deadline_ns: int = 0
    cap: int = 0
    record: int = 0

    def __str__(self) -> str:
        lead = f":{self.lead_ns / 1000:g}" if self.spin == MODES.index("fixed") else ""
        mode = f"spin={MODES[self.spin % len(MODES)]}{lead} spin_cpu_max={self.spin_cpu_max}"
        deadline = "auto" if self.deadline_ns == DEADLINE_AUTO else f"{self.deadline_ns / 1000:g}"
        cap, deadline = f" cap={self.cap}", f" deadline_us={deadline}"
        return mode + (cap if self.cap else "") + (deadline if self.deadline_ns else "")


class Change(NamedTuple):
    what: int = 0
    wanted: Settings = Settings()


def parse_change(words: Sequence[str]) -> Change:
    what, wanted = 0, dict[str, int]()
    for word in words:
        if not (found := SETTING.fullmatch(word.lower())):
            raise LiveError(f'"{word}": no setting that can be changed ({VALID})')
        mode, lead, name, number, deadline = found.groups()
        if mode:
            what |= SPIN
            wanted |= {"spin": MODES.index(mode.split(":")[0]), "lead_ns": round(float(lead or 0) * 1000)}
        elif deadline:
            what |= DEADLINE
            wanted["deadline_ns"] = DEADLINE_AUTO if deadline == "auto" else round(float(deadline) * 1000)
        else:
            what |= {"spin_cpu_max": SPIN_CPU_MAX, "cap": CAP, "record": RECORD}[name]
            wanted[name] = int(number)
    return Change(what, Settings(**wanted))


def of_kind(counts: dict[str, int], kind: str) -> dict[str, int]:
    return {name[len(kind) :]: count for name, count in counts.items() if name.startswith(kind)}


def bucket_end_s(bucket: int) -> float:
    """The first time that is too long for the bucket of a histogram."""
    octave, part = divmod(bucket, 1 << SPLIT_BITS)
    return math.ldexp((1 << SPLIT_BITS) + part + 1, FIRST_OCTAVE + octave - SPLIT_BITS) / 1e9


def printable(text: bytes) -> str:
    """Of a page or /proc, for a terminal."""
    letters = text.partition(b"\0")[0].decode(errors="replace").rstrip("\n")
    return "".join(letter for letter in letters if letter.isprintable())


def lock(file: int, byte: int, free: bool = False) -> bool:
    """Of the open file description. @return False: another one has it"""
    kind = fcntl.F_UNLCK if free else fcntl.F_WRLCK
    try:
        fcntl.fcntl(file, 37, struct.pack("@hhqqi4x", kind, os.SEEK_SET, byte, 1, 0))  # F_OFD_SETLK
    except (BlockingIOError, PermissionError):  # the same, in other systems' words
        return False
    return True


class Pool:
    """A pool as its watchdog thread has last written it. In counts "burst:long task" has kind and cause.
    starts, ends: histograms of the times from a burst's first push to its first task on a worker, and of late
    bursts over their limits. held: a program that asked for that is there, and then the pool sets back."""

    def __init__(self, place: int, data: bytes) -> None:
        part, stats, prewake = PART.read(data), STATS.read(data, STATS_AT), PREWAKE.read(data, PREWAKE_AT)
        self.place, self.id = place, int(part["id"])
        self.name, self.refusal = printable(part["name"]), printable(part["reason"])
        self.was, self.settings = (Settings(*SETTINGS.unpack(part[name])) for name in ("was", "is"))
        self.answered, self.held = part["answered"], bool(part["held"])
        self.written_ns, self.real_ns = part["written_ns"], part["real_ns"]
        self.starts, self.ends = part["starts"], part["ends"]
        count = min(stats["workers"], WORKERS)
        places = [WORKERS_AT + i * WORKER_BYTES for i in [*range(count), WORKERS]]
        *self.workers, outside = [WORKER.read(data, place) for place in places]
        for worker in self.workers:
            del worker["room"]
            worker["realtime"] = int(worker["realtime"])
        plain = {name: n for name, n in {**stats, **prewake}.items() if isinstance(n, int)}
        self.counts: dict[str, int] = {
            **plain,
            "judged_bursts": part["ledger"][0],
            "left_out": part["ledger"][2 + 3 * len(CAUSES)],
        }
        timers = [self.counts[name] for name in ("hits", "lates", "misses")]
        by = (WAKES, stats["decided"]), (CAUSES, part["ledger"][2::3]), (TIMERS, timers)
        for kind, (names, counts) in zip(("wake", "burst", "timer"), by):
            self.counts.update((f"{kind}:{name}", count) for name, count in zip(names, counts))
        for name in ("run_tasks", "stolen_tasks", "inline_tasks", "parks"):
            self.counts[name] = sum(one[name] for one in (*self.workers, outside))

    def __str__(self) -> str:
        return f"pool {self.name} ({self.id})"

    @property
    def silent_s(self) -> float:
        return time.time() - float(self.real_ns) / 1e9


def is_held(file: int) -> bool:
    """Whether a process has the lock of the file (ws_held_file.h)."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


class Page:
    """Of a process that lives when it is made. Not mapped: another user may shorten the file.

    path, key      where it was found; device and inode
    uid, user      who owns the file
    own_pid        the process's number as it sees itself
    pid, program   as seen from here (processes.py); 0 and "" = the process is not visible, but lives
    hidden         pools that have no part of the page: their number, and the name of one. By pools()"""

    def __init__(self, path: str) -> None:
        self.path, self.pid, self.program, self.hidden = path, 0, "", (0, "")
        self.file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        stat = os.fstat(self.file)
        self.key, self.uid = (stat.st_dev, stat.st_ino), stat.st_uid
        self.own_pid = self._head()["pid"]

    def __del__(self) -> None:
        if hasattr(self, "file"):
            os.close(self.file)

    @property
    def user(self) -> str:
        with suppress(KeyError):
            return pwd.getpwuid(self.uid).pw_name
        return str(self.uid)

    def _head(self) -> dict[str, Any]:
        data = os.pread(self.file, HEAD.struct.size, 0).ljust(HEAD.struct.size, b"\0")
        if not any(data):
            raise OSError(errno.ENODATA, "its process makes it just now", self.path)
        head = HEAD.read(data)
        if head["magic"] != MAGIC:
            raise LiveError(f"{self.path}: no page of thread_pool_ws")
        if head["version"] != VERSION:
            what = f"version {head['version']}; this tpool-ws reads version {VERSION}"
            raise LiveError(f"{self.path}: the process's page has {what}: use that of its thread_pool_ws")
        return head

    def lives(self) -> bool:
        """Whether a process has its lock. False: it has ended, is another program, or has made it anew."""
        return is_held(self.file)

    def pool(self, place: int) -> Pool | None:
        """None: there is none at this place, or none any more."""
        at = PARTS_AT + place * PART_BYTES
        if not any(os.pread(self.file, 8, at + ID_AT)):
            return None
        for _ in range(200):
            before, data, after = (os.pread(self.file, size, at) for size in (4, PART_BYTES, 4))
            whole = before == after and before[0] % 2 == 0
            if len(data) < PART_BYTES or not (whole or self.lives()):
                return None
            if whole:
                break
            time.sleep(0.001)
        pool = Pool(place, data)  # if its watchdog thread gets no CPU for 0.2 s: as it is
        return pool if pool.id else None

    def now(self, was: Pool) -> Pool:
        """The same pool. LiveError: it has ended"""
        pool, lives = self.pool(was.place), self.lives()
        if pool and pool.id == was.id and lives:
            return pool
        process = f"process {self.pid or self.own_pid} has ended, or has made its page anew"
        raise LiveError(f"{was} has ended" if lives else process)

    def pools(self) -> list[Pool]:
        head = self._head()
        self.hidden = head["unseen"], printable(head["unseen_name"])
        return [pool for pool in map(self.pool, range(min(head["pools"], POOLS))) if pool]

    def asked_by(self) -> str:
        """Who asks, or holds, as it has written."""
        data = os.pread(self.file, REQUEST.size, REQUEST_AT).ljust(REQUEST.size, b"\0")
        *_, pid, who = REQUEST.unpack(data)
        return f"process {pid} ({printable(who)})"

    @contextmanager
    def ask(self, who: str, wait_s: float) -> Iterator[Asker]:
        """@param who  the program, and its user, for people: in the pool's log, and for others that ask"""
        file = os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not os.path.samestat(os.fstat(file), os.fstat(self.file)):
                raise LiveError(f"{self.path}: the process has made its page anew; try again")
            yield Asker(self, file, who, wait_s)
        finally:
            os.close(file)  # and the locks go


class Asker:
    """The one program that may ask the process's pools, until Page.ask() ends."""

    def __init__(self, page: Page, file: int, who: str, wait_s: float) -> None:
        self.page, self.file, self.who = page, file, who.encode()
        self.session, end_s = time.time_ns(), time.monotonic() + wait_s
        while True:
            with self._take(end_s) as taken:
                if taken and lock(file, ASKER):
                    return self._write(0, 0, Change())
            if time.monotonic() > end_s:
                raise LiveError(f"{page.asked_by()} changes pools of this process now: wait for its end")
            time.sleep(0.01)

    @contextmanager
    def _take(self, end_s: float) -> Iterator[bool]:
        """No other program, nor the pool, has a request meanwhile. False: the pool has it for longer"""
        while not (taken := lock(self.file, TAKE)) and time.monotonic() < end_s:
            time.sleep(0.002)
        yield taken
        lock(self.file, TAKE, free=True)

    def _write(self, number: int, pool: int, change: Change) -> None:
        wanted, pid = SETTINGS.pack(*change.wanted), os.getpid()
        words = REQUEST.pack(self.session, number, change.what, pool, wanted, pid, self.who[:59])
        os.pwrite(self.file, words, REQUEST_AT)

    def change(self, pool: Pool, change: Change, answer_s: float, hold: bool = False) -> Pool:
        """@return the pool when it has done so"""
        page, end_s = self.page, time.monotonic() + answer_s
        number = page.now(pool).answered % (2**32 - 1) + 1
        change = change._replace(what=change.what | (HOLD if hold else 0))
        with self._take(end_s) as taken:
            if taken:
                self._write(number, pool.id, change)
        while (now := page.now(pool)).answered != number and time.monotonic() < end_s:
            time.sleep(0.01)
        if now.answered != number:
            with self._take(time.monotonic() + TAKE_S) as taken:
                if (now := page.now(pool)).answered != number:
                    self._write(0, 0, Change())
        if now.answered != number:
            ran = f"its watchdog thread last ran {now.silent_s:.1f} s ago (stopped, or it gets no CPU)"
            done = "the request is withdrawn" if taken else "it stopped in the middle, and may do it later"
            raise LiveError(f"{pool} has not answered within {answer_s:g} s: {ran}; {done}")
        if now.refusal:
            raise LiveError(f"{pool} refuses: {now.refusal}")
        return now
