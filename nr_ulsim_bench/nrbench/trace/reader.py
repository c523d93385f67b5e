# SPDX-License-Identifier: BSD-3-Clause
"""A recorded trace as a table of events. babeltrace2 reads it, and prints an event in a line."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from itertools import islice
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, Iterable, Iterator, NamedTuple

import numpy as np
import pandas as pd

from nrbench.trace.record import PROVIDER, STATEDUMP, TraceError

COMMAND = ("babeltrace2", "--clock-seconds", "--no-delta", "--names=context,payload")
NOT_INSTALLED = "babeltrace2 is not installed: Debian and Ubuntu package babeltrace2"
NO_CONTEXT = "the events do not name their threads: lttng add-context --userspace --type=vpid --type=vtid"
TIME = r"\[(\d+)\.(\d+)\]"
CONTEXT = r"(?:\{ .*?vpid = (\d+), .*?vtid = (\d+).*? \}, )?"
EVENT = re.compile(rf"{TIME} .*?(\w+:\w+): (?:\{{ cpu_id = \d+ \}}, )?{CONTEXT}\{{ (.*) \}}\n")
FIELD = re.compile(r'\b(\w+) = ("(?:[^"\\]|\\.)*"|[^ ,]+)')
DISCARDED = re.compile(rf"Tracer (?:may have )?discarded (\d*) ?(event|packet)s? between {TIME} and {TIME}")
METADATA_MAGIC = 0x75D11D57.to_bytes(4, sys.byteorder)
CHUNK = 100_000  # events

Event = dict[str, Any]  # kind, time (ns of the epoch), pid, tid, text, and the numbers among its fields
PHASES = ("symbol_processing", "ulsch_decoding")  # their events are phase_begin and phase_end, named by text
# The fields that are read of each event.
FIELDS = {
    f"{provider}:{event}": fields.split()
    for provider, events, fields in (
        (PROVIDER, "pool_start", "pool name workers cpus worker_cpus"),
        (PROVIDER, "pool_stop steal", "pool"),
        (PROVIDER, "push", "pool func arg group"),
        (PROVIDER, "wake park prewake", "pool worker"),
        (PROVIDER, "unpark", "pool worker by_timer"),
        (PROVIDER, "late", "pool cause late_ns"),
        (PROVIDER, "run_begin", "pool worker func arg group"),
        (PROVIDER, "run_as", "func"),
        (PROVIDER, "run_end", "arg"),
        (PROVIDER, "complete", "group"),
        (PROVIDER, "join_begin join_end", "pool group"),
        (PROVIDER, "symbol_processing_begin ulsch_decoding_begin", "frame slot id"),
        (PROVIDER, "symbol_processing_end ulsch_decoding_end", "frame slot id tasks"),
        (STATEDUMP, "procname", "procname"),
        (STATEDUMP, "bin_info", "baddr memsz path is_pic"),
    )
    for event in events.split()
}
TEXTS = {"name", "cause", "procname", "path"}
NUMBERS = dict.fromkeys(field for fields in FIELDS.values() for field in fields if field not in TEXTS)
COLUMNS = ["kind", "time", "pid", "tid", "text", *NUMBERS]


class Lost(NamedTuple):
    """A stretch of time in which events are missing."""

    begin_ns: int
    end_ns: int
    number: int | None  # None = unknown
    what: str  # event or packet


class Trace:
    """A recorded trace. Raises TraceError if a folder holds none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.event_count = 0  # of all kinds
        self.lost: list[Lost] = []
        self.warnings: list[str] = []
        self._folders = find(path)
        # When the recorder saw a program for the last time, in s of the epoch, by the dates of the files.
        self.recorded = max((folder / "metadata").stat().st_mtime for folder in self._folders)

    def table(self) -> pd.DataFrame:
        """A row for each event, and its COLUMNS: 0 where it has no such field. Between events of the same
        `epoch` nothing was lost."""
        events, frames = self.events(), [pd.DataFrame(columns=COLUMNS)]
        for chunk in iter(lambda: [*islice(events, CHUNK)], []):
            values = [[event.get(name, 0) for name in COLUMNS] for event in chunk]
            frames.append(pd.DataFrame(values, columns=COLUMNS))
        table: pd.DataFrame = pd.concat(frames[1:] or frames, ignore_index=True)
        table["epoch"] = epochs(table.time.to_numpy(dtype=np.int64), self.lost)
        return table

    def events(self) -> Iterator[Event]:
        """Those that the report uses, in order of time. An error in the middle adds a warning and ends
        them."""
        words = [*COMMAND, *map(str, self._folders)]
        with tempfile.TemporaryFile("w+", errors="replace") as errors:
            try:
                process = Popen(words, stdout=PIPE, stderr=errors, encoding="utf-8", errors="replace")
            except FileNotFoundError:
                raise TraceError(NOT_INSTALLED) from None
            with process:
                for line in process.stdout or ():
                    if match := EVENT.fullmatch(line):
                        self.event_count += 1
                        if match[3] in FIELDS:  # the report uses no others
                            yield _event(*match.groups())
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


def rows(table: pd.DataFrame) -> Iterator[Any]:
    """With a field for each column, of whatever type."""
    return iter(table.itertuples())


def epochs(times: np.ndarray, lost: Iterable[Lost]) -> np.ndarray:
    """Numbers that are the same for two times if nothing was lost between them, both included."""
    stretches = np.array([(-1, -1), *sorted((one.begin_ns, one.end_ns) for one in lost)])
    begun = np.searchsorted(stretches[:, 0], times, "right")
    is_inside = np.maximum.accumulate(stretches[:, 1])[begun - 1] >= times
    return np.where(is_inside, -1 - np.arange(len(times)), begun)


def _event(seconds: str, ns: str, name: str, pid: str | None, tid: str | None, payload: str) -> Event:
    if pid is None or tid is None:
        raise TraceError(NO_CONTEXT)
    found, wanted = dict(FIELD.findall(payload)), FIELDS[name]
    if not found.keys() >= set(wanted):
        raise TraceError(f"{name} has not the fields {', '.join(wanted)}: {payload}")
    kind = name.partition(":")[2]
    phase, _, part = kind.rpartition("_")
    kind, text = (f"phase_{part}", phase) if phase in PHASES else (kind, "")
    event = {"kind": kind, "time": int(seconds + ns), "pid": int(pid), "tid": int(tid), "text": text}
    for field in wanted:
        if field in TEXTS:
            event["text"] = re.sub(r"\\(.)", r"\1", found[field][1:-1])
        else:
            event[field] = _signed(int(found[field], 0))
    return event


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
