# SPDX-License-Identifier: BSD-3-Clause
"""A recorded trace as a table of events. babeltrace2 reads it, and prints an event in a line.

Of the ways to read a trace this is the fastest in Python: 1.3 us an event for the text and 2.5 for the table;
babeltrace2's own bindings take 15."""

import json
import os
import re
import struct
import sys
import tempfile
from array import array
from contextlib import contextmanager, suppress
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, Iterable, Iterator, NamedTuple

import numpy as np
import pandas as pd

from nrbench.trace.record import PHASES, PROVIDER, RECORD_FILE, STATE, STATEDUMP, TraceError

COMMAND = ("babeltrace2", "--clock-seconds", "--no-delta", "--names=context,payload")
NOT_INSTALLED = "babeltrace2 is not installed: Debian and Ubuntu package babeltrace2"
NO_CONTEXT = "the events do not name their threads: lttng add-context --userspace --type=vpid --type=vtid"
TIME = r"\[(\d+)\.(\d+)\]"
CONTEXTS = r"((?:\{ \w+ = -?\w+(?:, \w+ = -?\w+)* \}, )*)"
EVENT = re.compile(rf"{TIME} .*?(\w+:\w+): {CONTEXTS}\{{ (.*) \}}\n")
FIELD = re.compile(r'\b(\w+) = ("(?:[^"\\]|\\.)*"|[^ ,]+)')
DISCARDED = re.compile(rf"Tracer (?:may have )?discarded (\d*) ?(event|packet)s? between {TIME} and {TIME}")
METADATA_MAGIC = 0x75D11D57.to_bytes(4, sys.byteorder)
CHUNK = 100_000  # events

PHASE_KINDS = [f"{name}_{end}" for name in PHASES for end in ("begin", "end")]
# The fields that are read of each event.
FIELDS = {
    f"{provider}:{event}": dict.fromkeys(fields.split()).keys()
    for provider, events, fields in (
        (PROVIDER, "pool_start", "pool name workers cpus worker_cpus"),
        (PROVIDER, "pool_stop steal", "pool"),
        (PROVIDER, "push", "pool func arg group"),
        (PROVIDER, "wake park prewake", "pool worker"),
        (PROVIDER, "unpark", "pool worker by_timer"),
        (PROVIDER, "run_begin", "pool worker func arg group"),
        (PROVIDER, "run_as", "func"),
        (PROVIDER, "run_end", "arg"),
        (PROVIDER, "complete", "group"),
        (PROVIDER, "join_begin join_end", "pool group"),
        (PROVIDER, "late_burst", "pool cause over_ns"),
        (PROVIDER, "symbol_processing_begin ulsch_decoding_begin", "frame slot id"),
        (PROVIDER, "symbol_processing_end ulsch_decoding_end", "frame slot id tasks"),
        (STATEDUMP, "procname", "procname"),
        (STATEDUMP, "bin_info", "baddr memsz path"),
    )
    for event in events.split()
}
# Columns that hold other fields, too: those of phases; of join_end the number of its thread's wait, which
# recordings of 0.1.0 have not, 0 = in a task.
ALSO = {"frame": "func", "slot": "arg", "id": "group", "tasks": "worker", "waits": "arg"}
TEXTS = {"name", "procname", "path", "cause"}  # an event with one has a note with all its fields
# The columns of the table, in babeltrace2's words: 0 where an event has no such field.
COLUMNS = {"vpid": "i4", "vtid": "i4", "pid_ns": "i8", "cpu_id": "i2", "pool": "i4", "worker": "i4",
           "by_timer": "i1", "func": "i8", "arg": "i8", "group": "i8"}  # fmt: skip
KINDS = [name.partition(":")[2] for name in FIELDS]
NAMING = ("procname", "bin_info", "pool_start")
EVERYWHERE = (*NAMING, *PHASE_KINDS)  # read also outside of what is asked for: what names come from
MARGIN_NS = 10_000_000  # read before and after what is asked for: what its threads are in
FOREVER = (1 << 63) - 1  # a time after all others
Stretch = tuple[int, int]  # of time, in ns of the epoch; both included
NOTHING: Stretch = (-1 << 60, -1 << 60)
FIRST = [KINDS.index(kind) for kind in "pool_start push run_begin run_end join_begin join_end".split()]
Event = dict[str, Any]  # place in the table, kind, time, text, and the numbers among its fields
UNKNOWN: tuple[int, int, Any] = (-1, 0, None)


class Lost(NamedTuple):
    """A stretch of time in which events are missing."""

    begin_ns: int
    end_ns: int
    number: int | None  # None = unknown
    what: str  # event or packet


class Events(NamedTuple):
    """Those of a process."""

    pid: int
    namespace: int  # of process ids; 0: not recorded
    table: pd.DataFrame
    notes: list[Event]
    is_whole: bool  # False: what it begins with may have begun before
    lost_ns: int  # until then events of any thread may be lost


def progress(text: str) -> None:
    """A line that the next one replaces."""
    if sys.stderr.isatty():
        print(f"{text:<40}", end="\r", file=sys.stderr)


class Trace:
    """A recorded trace. Raises TraceError if a folder holds none.

    @param part, also  read only this stretch of time, and everywhere events of these kinds
    """

    kind_of_namespace = "PID namespace"

    def __init__(self, path: Path, part: Stretch | None = None, also: Iterable[str] = EVERYWHERE) -> None:
        self.path, self.part, self.also = path, part, [KINDS.index(kind) for kind in also]
        begin_ns, end_ns = part or (0, FOREVER)
        self._read = begin_ns - MARGIN_NS, min(end_ns, FOREVER - MARGIN_NS) + MARGIN_NS
        self.event_count = 0  # of all kinds
        self.lost: list[Lost] = []
        self.warnings: list[str] = []
        self._folders = find(path)
        self._notes: list[Event] = []
        self._processes: dict[tuple[int, ...], int] = {}  # by namespace and id: two containers may share ids
        # The clock's 0, in ns of the epoch.
        offset = re.search(rb"\boffset = (\d+);", (self._folders[0] / "metadata").read_bytes())
        self.offset_ns = int(offset[1]) if offset else 0
        indices = [index for folder in self._folders for index in folder.glob("index/*.idx")]
        self.has_state = any(index.name.startswith(f"{STATE}_") for index in indices)
        times = [packets(index)[:, 2:] for index in indices] or [np.zeros((1, 2), "i8")]
        # Of the whole recording; 0 without an index.
        ends = np.concatenate(times) + self.offset_ns
        self.first_ns, self.last_ns = int(ends.min()), int(ends.max())
        self.about: dict[str, Any] = {}  # what `record` has written beside it
        with suppress(OSError, ValueError):
            self.about = dict(json.loads((path / RECORD_FILE).read_text()))
        # When the recorder saw a program for the last time, in s of the epoch, by the dates of the files.
        self.recorded = max((folder / "metadata").stat().st_mtime for folder in self._folders)

    def noted(self, what: str, process: str) -> dict[str, Any]:
        """What the recorder has seen of a process in /proc, by the rest of its key."""
        found = self.about.get(what, {})
        found = found.items() if isinstance(found, dict) else ()
        return {key[len(process) :]: of for key, of in found if key.startswith(process)}

    def processes(self) -> list[Events]:
        """In order of their first events. Between events of the same `whole` nothing was lost; between those
        of a thread with the same `epoch` nothing of that thread."""
        chunks = [*self._chunks()]
        whole = {name: np.concatenate([chunk.pop(name) for chunk in chunks]) for name in [*chunks[0]]}
        begin_ns, end_ns = self._read
        self.lost = [one for one in self.lost if one.begin_ns <= end_ns and one.end_ns >= begin_ns]
        whole["epoch"] = whole["whole"] = epochs(whole["time"], self.lost)
        is_wanted = (whole["time"] >= begin_ns) & (whole["time"] <= end_ns)
        is_wanted |= np.isin(whole["kind"], self.also)
        lost_ns = max((one.end_ns for one in self.lost), default=0)
        numbers, found = np.where(is_wanted, whole.pop("process"), -1), []
        for (namespace, pid), number in self._processes.items():
            every = np.flatnonzero(numbers == number)
            noted = [of for of in self._notes if (of.get("pid_ns", 0), of["vpid"]) == (namespace, pid)]
            for at in np.split(every, new_lives(whole["kind"][every], whole["pool"][every])):
                if not len(at):
                    continue
                own_notes = (of for of in noted if is_wanted[of["place"]] and at[0] <= of["place"] <= at[-1])
                notes = [note | {"place": int(np.searchsorted(at, note["place"]))} for note in own_notes]
                is_all = len(at) == len(numbers)
                own = {name: column if is_all else column[at] for name, column in whole.items()}
                table = pd.DataFrame(own, copy=False)
                first = table.kind.isin(FIRST).idxmax()  # of a pool that began before the recording, or not
                is_whole = not self.part and table.kind[first] == FIRST[0]
                found.append((at[0], Events(pid, namespace, table, notes, is_whole, lost_ns)))
        return [events for _, events in sorted(found, key=itemgetter(0))]

    def _chunks(self) -> Iterator[dict[str, np.ndarray]]:
        """Columns of CHUNK events each, in order of time."""
        times, codes, values, read = array("q"), array("b"), array("q"), 0
        # Of a kind of event: its code, the number of words in its line, and what takes the columns from them.
        layouts: dict[bytes, tuple[int, int, Any]] = {}
        number = lru_cache(1 << 16)(lambda word: _signed(int(word, 0)))
        for line in self._lines():
            words = line.replace(b",", b"").split()
            words.append(b"0")
            code, count, picked = layouts.get(words[2], UNKNOWN) if len(words) > 3 else UNKNOWN
            if count == len(words):
                times.append(int(words[0][1:-1].replace(b".", b"")))
                codes.append(code)
                values.extend(map(number, picked(words)))
            elif code < 0:
                if (match := EVENT.fullmatch(line.decode(errors="replace"))) is None:
                    continue
                if (name := match[3]) in FIELDS:
                    event = _event(read + len(times), *match.groups())
                    times.append(event["time"])
                    codes.append(KINDS.index(event["kind"]))
                    values.extend(event.get(column, 0) for column in COLUMNS)
                    if FIELDS[name].isdisjoint(TEXTS):
                        layouts[words[2]] = (codes[-1], len(words), _picked(words))
                    else:
                        self._notes.append(event)
                else:  # the report uses no others
                    layouts[words[2]] = (len(KINDS), 0, None)
            self.event_count += 1
            if len(times) == CHUNK:
                yield self._columns(times, codes, values)
                times, codes, values, read = array("q"), array("b"), array("q"), read + CHUNK
                progress(f"{self.event_count / 1e6:.1f} million events read")
        yield self._columns(times, codes, values)

    def _columns(self, *arrays: Any) -> dict[str, np.ndarray]:
        times, codes, values = arrays
        wide = np.array(values, "i8").reshape(-1, len(COLUMNS))
        found = {name: wide[:, at].astype(size) for at, (name, size) in enumerate(COLUMNS.items())}
        pairs, of = np.unique([found.pop("pid_ns"), found.pop("vpid")], axis=1, return_inverse=True)
        numbers = [self._processes.setdefault((*pair,), len(self._processes)) for pair in pairs.T.tolist()]
        found["tid"], found["cpu"] = found.pop("vtid"), found.pop("cpu_id")
        found["process"] = np.array(numbers, "i2")[of.reshape(-1)]
        return found | {"time": np.array(times, "i8"), "kind": np.array(codes, "i1")}

    @contextmanager
    def _chosen(self) -> Iterator[list[Path]]:
        """Folders with what is asked for: of a part the packets that have events of it."""
        if self.part is None or not self.has_state:
            yield self._folders
            return
        first, last = (time_ns - self.offset_ns for time_ns in self._read)
        with tempfile.TemporaryDirectory(prefix="tpool-ws-trace-") as top:
            for number, folder in enumerate(self._folders):
                (copied := Path(top, str(number))).mkdir()
                (copied / "metadata").symlink_to((folder / "metadata").resolve())
                for index in folder.glob("index/*.idx"):
                    if index.name.startswith(f"{STATE}_"):
                        (copied / index.stem).symlink_to((folder / index.stem).resolve())
                    else:
                        of = packets(index)
                        of = of[(of[:, 2] <= last) & (of[:, 3] >= first)]
                        copy(folder / index.stem, copied / index.stem, of)
            yield sorted(Path(top).iterdir())

    def _lines(self) -> Iterator[bytes]:
        """Of events. An error in the middle adds a warning and ends them."""
        with tempfile.TemporaryFile("w+", errors="replace") as errors, self._chosen() as folders:
            words = [*COMMAND, *map(str, folders)]
            try:
                process = Popen(words, stdout=PIPE, stderr=errors)
            except FileNotFoundError:
                raise TraceError(NOT_INSTALLED) from None
            with process:
                yield from process.stdout or ()
            errors.seek(0)
            text = errors.read()
        for count, what, *times in DISCARDED.findall(text):
            begin_ns, end_ns = int(times[0] + times[1]), int(times[2] + times[3])
            self.lost.append(Lost(begin_ns, end_ns, _signed(int(count)) if count else None, what))
        if process.returncode:
            cause = text.rpartition("CAUSED BY ")[2].partition("\n")[2]  # the last that it names
            reason = " ".join(cause.split()) or f"exit status {process.returncode}"
            if self.event_count == 0:
                raise TraceError(
                    f"{self.path}: babeltrace2 cannot read it: {reason}. If that names the file of a CPU, "
                    "which was cut off, move this file away to read the others"
                )
            stopped = f"damaged: babeltrace2 stopped after {self.event_count} events"
            self.warnings.append(f"{self.path}: {stopped}: {reason}")


def packets(index: Path) -> np.ndarray:
    """Of a stream, a row each: offset and size in bytes, begin and end in ns of the trace's clock."""
    data = index.read_bytes()
    words = struct.unpack_from(">4I", data)[3] // 8 if len(data) >= 16 else 9
    found = np.frombuffer(data[16:][: (len(data) - 16) // (8 * words) * 8 * words], ">u8").reshape(-1, words)
    return found[:, [0, 1, 3, 4]].astype("i8") // (1, 8, 1, 1)


def copy(stream: Path, out: Path, chosen: np.ndarray) -> None:
    """Only these packets."""
    if len(chosen):
        with stream.open("rb") as source, out.open("wb") as target:
            for offset, size, *_ in chosen.tolist():
                source.seek(offset)
                target.write(source.read(size))


def epochs(times: np.ndarray, lost: Iterable[Lost]) -> np.ndarray:
    """Numbers that are the same for two times if nothing was lost between them, both included."""
    stretches = np.array([(-1, -1), *sorted((one.begin_ns, one.end_ns) for one in lost)])
    begun = np.searchsorted(stretches[:, 0], times, "right")
    is_inside = np.maximum.accumulate(stretches[:, 1])[begun - 1] >= times
    return np.where(is_inside, -1 - np.arange(len(times)), begun).astype("i4")


def new_lives(kinds: np.ndarray, pools: np.ndarray) -> list[int]:
    """Where another process with the id of an ended one begins, as in a container that starts again. Pools of
    one process have different numbers. Events that name a process come right before its first pool."""
    naming, found, seen, last = {KINDS.index(kind) for kind in NAMING}, list[int](), set[int](), 0
    for at in np.flatnonzero(kinds == FIRST[0]).tolist():
        seen.update(pd.unique(pools[last:at]).tolist())
        if pools[at] in seen:
            begin = at
            while kinds[begin - 1] in naming - {FIRST[0]}:
                begin -= 1
            found.append(begin)
            seen = set()
        last = at
    return found


def _event(place: int, seconds: str, ns: str, name: str, context: str, payload: str) -> Event:
    found, wanted = dict(FIELD.findall(context) + FIELD.findall(payload)), FIELDS[name]
    if not found.keys() >= {"vpid", "vtid"}:
        raise TraceError(NO_CONTEXT)
    if not found.keys() >= wanted:
        raise TraceError(f"{name} has not the fields {', '.join(wanted)}: {payload}")
    event: Event = {"place": place, "kind": name.partition(":")[2], "time": int(seconds + ns)}
    for field in found.keys() & {*wanted, *COLUMNS, *ALSO}:
        if field in TEXTS:
            event["text"] = re.sub(r"\\(.)", r"\1", found[field][1:-1])
        else:
            event[ALSO[field] if field in ALSO else field] = _signed(int(found[field], 0))
    return event


def _picked(words: list[bytes]) -> Any:
    """Takes the columns from the words of such a line; the last word is 0."""
    found = {name.decode(): at + 2 for at, (name, sign) in enumerate(zip(words, words[1:])) if sign == b"="}
    found |= {column: found[name] for name, column in ALSO.items() if name in found}
    return itemgetter(*(found.get(name, -1) for name in COLUMNS))


def _signed(value: int) -> int:
    """Addresses fit into the table's columns; LTTng counts modulo 2^64, and corrects a count that was too
    high by a negative one."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _fail(error: OSError) -> None:
    raise error


def find(top: Path) -> list[Path]:
    """The folders that hold a trace; an error names the reason why there is none."""
    if not top.is_dir():
        raise TraceError(f"{top}: no such folder")
    folders = sorted(Path(at) for at, _, names in os.walk(top, onerror=_fail) if "metadata" in names)
    if not folders:
        raise TraceError(
            f"{top}: not a trace, no file 'metadata' is in it or below: no traced program ran, or the folder "
            "was not copied whole"
        )
    for folder in folders:
        check_metadata(folder / "metadata")
    return folders


def check_metadata(path: Path) -> None:
    """babeltrace2 waits forever for the rest of metadata that are cut off in the middle of a packet."""
    data, at = path.read_bytes(), 0
    if not data:
        raise TraceError(f"{path}: is empty: no traced program ran, the disk was full, or LTTng was killed")
    while data.startswith(METADATA_MAGIC, at):
        at += max(int.from_bytes(data[at + 28 : at + 32], sys.byteorder) // 8, 1)  # its size, in bits
    if 0 < at != len(data):
        cut = f"is cut off after {len(data)} bytes; the trace cannot be read without the rest"
        raise TraceError(f"{path}: {cut}")
