# SPDX-License-Identifier: BSD-3-Clause
"""A recorded trace as a stream of event tuples, by Babeltrace 2.

Babeltrace believes every length that a damaged trace names, and aborts where it finds no memory. So it reads
in a process of its own (`apart`).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Iterator, NamedTuple

from nrbench.trace import apart, ctf_files
from nrbench.trace.errors import TraceError
from nrbench.trace.events import LOST, Event

NO_BT2 = (
    "the Python bindings of Babeltrace 2 are missing: Debian and Ubuntu package python3-bt2, for the system's"
    " Python (a virtual environment needs --system-site-packages)"
)
NO_CONTEXT = (
    "its events do not say which thread made them; record with 'tpool-ws-trace record', or add the contexts:"
    " lttng add-context -u -t vpid -t vtid"
)
FOR_EVER = 2**63
BATCH = 512  # events


class Batch(NamedTuple):
    """What the reading process has found since the last one. `error` ends the reading; `of_no_use` if what
    has been read before is of no use."""

    events: list[Event]
    total: int  # of all kinds, from the begin
    epoch_ns: int
    error: str | None = None
    of_no_use: bool = False


class Trace:
    """A folder that was recorded into. A context manager: a cut trace is repaired in a temporary folder."""

    def __init__(self, path: Path, fast: bool = True) -> None:
        self.path = path
        self.warnings: list[str] = []
        self.event_count = 0  # of all kinds, of the last reading
        self._fast = fast
        self._cut: list[Event] = []
        self._epoch_ns = 0  # of the trace's clock
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        try:
            import bt2
        except ModuleNotFoundError as error:
            raise TraceError(f"{NO_BT2}. ({error})") from error
        except ImportError as error:
            raise TraceError(f"the Python bindings of Babeltrace 2 cannot be loaded: {error}") from error
        self._bt2: Any = bt2
        try:
            self._folders = [self._usable(folder) for folder in ctf_files.find(path)]
        except OSError as error:
            raise TraceError(f"{error.filename or path}: {error.strerror}") from error

    def __enter__(self) -> Trace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def _usable(self, folder: Path) -> Path:
        ctf_files.check_metadata(folder)
        cuts = ctf_files.cut_streams(folder)
        if not cuts:
            return folder
        for cut in cuts:
            self.warnings.append(
                f"{cut.file}: is cut off or damaged: {cut.good_bytes} of {cut.all_bytes} bytes can be read;"
                " what happened on that CPU afterwards is missing"
            )
            self._cut.append((LOST, cut.end_ns, 0, 0, FOR_EVER, None, 0))
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="tpool-ws-trace-")
        number = len(list(Path(self._temporary.name).iterdir()))
        return ctf_files.repaired(folder, cuts, Path(self._temporary.name) / str(number))

    def events(self, begin_ns: int | None = None, end_ns: int | None = None) -> Iterator[Event]:
        """All that is of use, in order of time. An error in the middle ends it and adds a warning.

        With times, those between them and up to a second more at either side; only after a reading of the
        whole.
        """
        self.event_count = 0
        limits = {}
        if begin_ns is not None and end_ns is not None:
            limits = {"begin": self._second(begin_ns), "end": self._second(end_ns) + 1}
        yield from self._cut
        try:
            for item in apart.items(lambda: map(tuple, self._batches(limits))):
                batch = Batch(*item)
                self.event_count, self._epoch_ns = batch.total, batch.epoch_ns
                yield from batch.events
                if batch.error is not None:
                    self._stopped(batch.error, batch.of_no_use)
        except apart.Died as error:
            self._stopped(str(error))

    def _stopped(self, why: str, of_no_use: bool = False) -> None:
        if of_no_use or self.event_count == 0:
            raise TraceError(f"{self.path}: {why if of_no_use else f'Babeltrace cannot read it: {why}'}")
        self.warnings.append(
            f"{self.path}: damaged: Babeltrace stopped after {self.event_count} events: {why}"
        )

    @property
    def recorded(self) -> float:
        """When the last program was seen by the recorder, s of the epoch, by the files' dates."""
        return max((folder / "metadata").stat().st_mtime for folder in self._folders)

    def _sources(self) -> list[Any]:
        """Said outright what they are: when Babeltrace is to find out, it aborts at some damaged files."""
        spec = self._bt2.ComponentSpec.from_named_plugin_and_component_class
        return [spec("ctf", "fs", {"inputs": [str(folder)]}) for folder in self._folders]

    def _second(self, time_ns: int) -> int:
        """The second, of the calendar's time, in which a time of the trace lies."""
        return (time_ns + self._epoch_ns) // 10**9

    def _batches(self, limits: dict[str, int]) -> Iterator[Batch]:
        """In the reading process: the events, and at last why there are no more if that is an error."""
        from nrbench.trace.decode import NoContext

        events: list[Event] = []
        error, of_no_use = None, False
        try:
            messages = self._bt2.TraceCollectionMessageIterator(self._sources(), **limits)
            for event in self._decoded(messages):
                events.append(event)
                if len(events) == BATCH:
                    yield Batch(events, self.event_count, self._epoch_ns)
                    events = []
        except NoContext:
            error, of_no_use = NO_CONTEXT, True
        except (self._bt2._Error, RuntimeError, ValueError, OSError) as fault:
            error = _reason(fault)
        yield Batch(events, self.event_count, self._epoch_ns, error, of_no_use)

    def _decoded(self, messages: Any) -> Iterator[Event]:
        from nrbench.trace.decode import Decoder

        decode = Decoder(self._fast)
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
    """LTTng counts modulo 2^64, and its counter may go back: what was too many is taken off later."""
    return count - (1 << 64) if count >= 1 << 63 else count


def _reason(error: BaseException) -> str:
    """The first cause that Babeltrace names, in one line."""
    causes = [cause.message for cause in error] if hasattr(error, "__iter__") else [str(error)]
    return " ".join(causes[0].split()) if causes else str(error)
