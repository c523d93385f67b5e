# SPDX-License-Identifier: BSD-3-Clause
"""A recorded trace as a stream of event tuples, by Babeltrace 2.

Babeltrace trusts every length in a damaged trace, and aborts when it gets no memory. So it reads in a process
of its own (`apart`).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Iterator

from nrbench.trace import apart, ctf_files
from nrbench.trace.events import LOST, Event, TraceError

NO_BT2 = (
    "the Python bindings of Babeltrace 2 are missing: Debian and Ubuntu package python3-bt2, for the system's"
    " Python (a virtual environment needs --system-site-packages)"
)
FOREVER = 2**63
BATCH = 512  # events


class Trace:
    """A recorded trace. A context manager: a cut trace is repaired in a temporary folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.warnings: list[str] = []
        self.event_count = 0  # of all kinds, of the last reading
        self._cut: list[Event] = []
        self._epoch_ns = 0  # of the trace's clock
        self._temporary = tempfile.TemporaryDirectory(prefix="tpool-ws-trace-")
        try:
            import bt2
        except ImportError as error:
            raise TraceError(f"{NO_BT2}. ({error})") from error
        self._bt2: Any = bt2
        self._folders = [
            self._usable(folder, str(number)) for number, folder in enumerate(ctf_files.find(path))
        ]

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self._temporary.cleanup()

    def _usable(self, folder: Path, number: str) -> Path:
        ctf_files.check_metadata(folder)
        cuts = ctf_files.cut_streams(folder)
        if not cuts:
            return folder
        for cut in cuts:
            self.warnings.append(
                f"{cut.file}: is cut off or damaged: {cut.good_bytes} of {cut.all_bytes} bytes can be read;"
                " what happened on that CPU afterwards is missing"
            )
            self._cut.append((LOST, cut.end_ns, 0, 0, FOREVER, None, 0))
        return ctf_files.repaired(folder, cuts, Path(self._temporary.name) / number)

    def events(self, begin_ns: int | None = None, end_ns: int | None = None) -> Iterator[Event]:
        """The events that the report uses, in order of time. An error in the middle adds a warning and ends
        it.

        With times: those between them and up to a second more at either side. Requires that the whole trace
        has been read before.
        """
        self.event_count = 0
        limits = {}
        if begin_ns is not None and end_ns is not None:
            limits = {"begin": self._second(begin_ns), "end": self._second(end_ns) + 1}
        yield from self._cut
        try:
            for events, count, epoch_ns in apart.items(lambda: self._batches(limits)):
                self.event_count, self._epoch_ns = count, epoch_ns
                yield from events
        except apart.Died as error:
            if self.event_count == 0:
                raise TraceError(f"{self.path}: Babeltrace cannot read it: {error}") from None
            self.warnings.append(
                f"{self.path}: damaged: Babeltrace stopped after {self.event_count} events: {error}"
            )

    @property
    def recorded(self) -> float:
        """When the recorder saw a program for the last time, in s of the epoch, by the dates of the files."""
        return max((folder / "metadata").stat().st_mtime for folder in self._folders)

    def _sources(self) -> list[Any]:
        """Names their format: Babeltrace aborts at some damaged files when it has to detect it."""
        spec = self._bt2.ComponentSpec.from_named_plugin_and_component_class
        return [spec("ctf", "fs", {"inputs": [str(folder)]}) for folder in self._folders]

    def _second(self, time_ns: int) -> int:
        """The second, of the calendar's time, in which a time of the trace lies."""
        return (time_ns + self._epoch_ns) // 10**9

    def _batches(self, limits: dict[str, int]) -> Iterator[tuple[list[Event], int, int]]:
        """In the reading process: events, the number of all events so far, and the epoch of the clock."""
        events: list[Event] = []
        try:
            messages = self._bt2.TraceCollectionMessageIterator(self._sources(), **limits)
            for event in self._decoded(messages):
                events.append(event)
                if len(events) == BATCH:
                    yield events, self.event_count, self._epoch_ns
                    events = []
        except (self._bt2._Error, RuntimeError, ValueError, OSError) as error:
            yield events, self.event_count, self._epoch_ns
            raise apart.Died(_reason(error)) from error
        yield events, self.event_count, self._epoch_ns

    def _decoded(self, messages: Any) -> Iterator[Event]:
        from nrbench.trace.decode import Decoder

        decode = Decoder()
        is_event = self._bt2._EventMessageConst
        for message in messages:
            if type(message) is is_event:
                if self.event_count == 0:
                    clock = message.default_clock_snapshot
                    self._epoch_ns = clock.ns_from_origin - clock.value
                self.event_count += 1
                event = decode(message)
            else:
                event = self._lost(message)
            if event is not None:
                yield event

    def _lost(self, message: Any) -> Event | None:
        bt2 = self._bt2
        is_events = type(message) is bt2._DiscardedEventsMessageConst
        if not is_events and type(message) is not bt2._DiscardedPacketsMessageConst:
            return None
        begin = message.beginning_default_clock_snapshot.value
        end = message.end_default_clock_snapshot.value
        count = None if message.count is None else _signed(int(message.count))
        return (LOST, begin, 0, 0, end, *((count, 0) if is_events else (0, count)))


def _signed(count: int) -> int:
    """LTTng counts modulo 2^64, and corrects a count that was too high by a later negative one."""
    return count - (1 << 64) if count >= 1 << 63 else count


def _reason(error: BaseException) -> str:
    """The first cause that Babeltrace names, in one line."""
    causes = [cause.message for cause in error] if hasattr(error, "__iter__") else [str(error)]
    return " ".join(causes[0].split()) if causes else str(error)
