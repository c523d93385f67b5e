# SPDX-License-Identifier: BSD-3-Clause
"""A recorded trace as a stream of event tuples, by Babeltrace 2."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Iterator

from nrbench.trace import ctf_files
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
        except ImportError as error:
            raise TraceError(f"{NO_BT2}. ({error})") from error
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
        try:
            messages = self._bt2.TraceCollectionMessageIterator(self._sources(), **limits)
        except (self._bt2._Error, RuntimeError, ValueError, OSError) as error:
            raise TraceError(f"{self.path}: Babeltrace cannot read it: {_reason(error)}") from error
        try:
            yield from self._cut
            yield from self._decoded(messages)
        except self._bt2._Error as error:
            if self.event_count == 0:
                raise TraceError(f"{self.path}: Babeltrace cannot read it: {_reason(error)}") from error
            self.warnings.append(
                f"{self.path}: damaged: Babeltrace stopped after {self.event_count} events: {_reason(error)}"
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

    def _decoded(self, messages: Any) -> Iterator[Event]:
        from nrbench.trace.decode import Decoder, NoContext

        decode = Decoder(self._fast)
        is_event, count = self._bt2._EventMessageConst, 0
        try:
            for message in messages:
                if type(message) is is_event:
                    if count == 0:
                        clock = message.default_clock_snapshot
                        self._epoch_ns = clock.ns_from_origin - clock.value
                    count += 1
                    event = decode(message)
                    if event is not None:
                        yield event
                else:
                    lost = self._lost(message)
                    if lost is not None:
                        yield lost
        except NoContext:
            raise TraceError(f"{self.path}: {NO_CONTEXT}") from None
        finally:
            self.event_count = count

    def _lost(self, message: Any) -> Event | None:
        bt2 = self._bt2
        is_events = type(message) is bt2._DiscardedEventsMessageConst
        if not is_events and type(message) is not bt2._DiscardedPacketsMessageConst:
            return None
        begin = message.beginning_default_clock_snapshot.value
        end = message.end_default_clock_snapshot.value
        count = None if message.count is None else int(message.count)
        return (LOST, begin, 0, 0, end, *((count, 0) if is_events else (0, count)))


def _reason(error: BaseException) -> str:
    """The first cause that Babeltrace names, in one line."""
    causes = [cause.message for cause in error] if hasattr(error, "__iter__") else [str(error)]
    return " ".join(causes[0].split()) if causes else str(error)
