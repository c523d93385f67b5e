# SPDX-License-Identifier: BSD-3-Clause
"""A recorded trace as a table of events. babeltrace2 reads it, and prints an event in a line."""

from __future__ import annotations

import re
import resource
import signal
import struct
import subprocess
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple

import pandas as pd

from nrbench.trace.events import KINDS, LOST, Event, TraceError
from nrbench.trace.record import RECORD_FILE, files_below, trace_folders

COMMAND = ("babeltrace2", "--clock-seconds", "--no-delta", "--names=context,payload")
NOT_INSTALLED = "babeltrace2 is not installed: Debian and Ubuntu package babeltrace2"
NO_CONTEXT = (
    "the events do not name their threads; record with 'tpool-ws-trace record', or add the contexts:"
    " lttng add-context -u -t vpid -t vtid"
)
DATA_BYTES = 4 << 30  # a damaged length makes babeltrace2 ask for any amount
TIME = r"\[(\d+)\.(\d+)\]"
CONTEXT = r"(?:\{ .*?vpid = (\d+), .*?vtid = (\d+).*? \}, )?"
EVENT = re.compile(rf"{TIME} .*?(\w+:\w+): (?:\{{ cpu_id = \d+ \}}, )?{CONTEXT}\{{ (.*) \}}\n")
DISCARDED = re.compile(rf"Tracer (?:may have )?discarded (\d*) ?(event|packet)s? between {TIME} and {TIME}")
VALUE = r'("(?:[^"\\]|\\.)*"|[^ ,]+)'
PATTERNS = {
    name: re.compile("".join(rf".*?\b{field} = {VALUE}" for field in kind.fields))
    for name, kind in KINDS.items()
}
METADATA_MAGIC, SIZE_AT = struct.pack("I", 0x75D11D57), 28  # of a packet: bytes before its size in bits
CHUNK = 100_000  # events
VALUES = ["a", "b", "c", "d", "e"]
COLUMNS = ["text", "kind", "time", "pid", "tid", *VALUES]
TEXTS = ("name", "cause", "procname", "path")  # fields
NUMBERS = {kind.number: [field for field in kind.fields if field not in TEXTS] for kind in KINDS.values()}


class Table(NamedTuple):
    events: pd.DataFrame  # in order of time, with COLUMNS: the field that is text, the others in their order
    lost: list[Event]


def table(stream: Iterator[Event]) -> Table:
    frames, lost = [pd.DataFrame(columns=COLUMNS)], []
    for chunk in iter(lambda: [*islice(stream, CHUNK)], []):
        lost += [event for event in chunk if event[0] == LOST]
        frames.append(pd.DataFrame([_row(event) for event in chunk if event[0] != LOST], columns=COLUMNS))
    return Table(pd.concat(frames[1:] or frames, ignore_index=True), lost)


def _row(event: Event) -> tuple[object, ...]:
    text = next((field for field in event if type(field) is str), "")
    numbers = [field for field in event if type(field) is not str]
    return (text, *numbers, *[0] * (len(COLUMNS) - 1 - len(numbers)))


def of(events: pd.DataFrame, kind: int) -> pd.DataFrame:
    """The events of a kind, with the names of its fields."""
    names = dict(zip(VALUES, NUMBERS[kind]))
    found: pd.DataFrame = events[events.kind == kind].rename(columns=names)
    return found


class Trace:
    """A recorded trace. Raises TraceError if a folder holds none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.warnings: list[str] = []
        self.event_count = 0  # of all kinds, of the last reading
        self._folders = find(path)

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def recorded(self) -> float:
        """When the recorder saw a program for the last time, in s of the epoch, by the dates of the files."""
        return max((folder / "metadata").stat().st_mtime for folder in self._folders)

    def events(self) -> Iterator[Event]:
        """The events that the report uses in order of time, then the stretches in which events were lost.

        An error in the middle adds a warning and ends the events.
        """
        self.event_count = 0
        words = [*COMMAND, *map(str, self._folders)]
        decoded: dict[str, Any] = {"encoding": "utf-8", "errors": "replace", "preexec_fn": _limit_memory}
        with tempfile.TemporaryFile("w+", errors="replace") as errors:
            try:
                process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, **decoded)
            except FileNotFoundError:
                raise TraceError(NOT_INSTALLED) from None
            with process:
                try:
                    yield from self._parsed(process.stdout or ())
                except BaseException:  # also when the caller has stopped early
                    process.kill()
                    raise
            errors.seek(0)
            text = errors.read()
        yield from map(_lost, DISCARDED.finditer(text))
        if process.returncode:
            reason = _reason(process.returncode, text)
            if self.event_count == 0:
                raise TraceError(
                    f"{self.path}: babeltrace2 cannot read it: {reason}. If that names the file of a CPU, "
                    "which was cut off, move this file away to read the others"
                )
            stopped = f"damaged: babeltrace2 stopped after {self.event_count} events"
            self.warnings.append(f"{self.path}: {stopped}: {reason}")

    def _parsed(self, lines: Iterable[str]) -> Iterator[Event]:
        for line in lines:
            if match := EVENT.fullmatch(line):
                self.event_count += 1
                if match[3] in KINDS:  # the report uses no others
                    yield _event(*match.groups())


def _event(seconds: str, ns: str, name: str, pid: str | None, tid: str | None, payload: str) -> Event:
    if pid is None or tid is None:
        raise TraceError(NO_CONTEXT)
    kind, found = KINDS[name], PATTERNS[name].match(payload)
    if found is None:
        raise TraceError(f"{name} has not the fields {', '.join(kind.fields)}: {payload}")
    phase = (kind.phase,) if kind.phase else ()
    return (kind.number, int(seconds + ns), int(pid), int(tid), *phase, *map(_value, found.groups()))


def _value(text: str) -> int | str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] == '"' else _signed(int(text, 0))


def _signed(value: int) -> int:
    """Addresses fit into the table's columns; LTTng counts modulo 2^64, and corrects a count that was too
    high by a negative one."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _lost(match: re.Match[str]) -> Event:
    begin, end = int(match[3] + match[4]), int(match[5] + match[6])
    count = _signed(int(match[1])) if match[1] else None
    return (LOST, begin, 0, 0, end, *((count, 0) if match[2] == "event" else (0, count)))


def _reason(status: int, text: str) -> str:
    """The last cause that babeltrace2 names, in one line."""
    if status < 0:
        return f"it ended by {signal.Signals(-status).name}"
    cause = text.rpartition("CAUSED BY ")[2].partition("\n")[2] or f"exit status {status}"
    return " ".join(cause.split())


def _limit_memory() -> None:
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES if most < 0 else min(DATA_BYTES, most), most))


def find(top: Path) -> list[Path]:
    """The folders that hold a trace; an error names the reason why there is none."""
    if not top.is_dir():
        why = "is a file; name the folder of the recording" if top.exists() else "no such folder"
        raise TraceError(f"{top}: {why}")
    folders = trace_folders(top)
    if not folders and {file.name for file in files_below(top)} <= {RECORD_FILE}:
        raise TraceError(f"{top}: nothing was recorded into this folder: no traced program ran")
    if not folders:
        raise TraceError(f"{top}: not a trace: no file 'metadata' in it or below; copy the whole folder")
    for folder in folders:
        check_metadata(folder / "metadata")
    return folders


def check_metadata(path: Path) -> None:
    """babeltrace2 waits forever for the rest of metadata that are cut off in the middle of a packet."""
    data, at = path.read_bytes(), 0
    if not data:
        raise TraceError(f"{path}: is empty: no traced program ran, the disk was full, or LTTng was killed")
    while data.startswith(METADATA_MAGIC, at) and at + SIZE_AT + 4 <= len(data):
        at += max(struct.unpack_from("I", data, at + SIZE_AT)[0] // 8, 1)
    if at != len(data) and data.startswith(METADATA_MAGIC):
        raise TraceError(
            f"{path}: is cut off after {len(data)} bytes; the trace cannot be read without the rest"
        )
