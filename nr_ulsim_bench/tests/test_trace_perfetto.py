# SPDX-License-Identifier: BSD-3-Clause
"""`tpool-ws-trace export --perfetto`, read back with Perfetto's own classes."""

from collections import Counter, defaultdict
from typing import NamedTuple

import pytest
from trace_tools import CASES, line

pytest.importorskip("perfetto")
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent  # noqa: E402

BEGIN, END, INSTANT = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END, TrackEvent.TYPE_INSTANT


class Slice(NamedTuple):
    track: str
    name: str
    begin: int
    end: int | None
    depth: int


class Exported:
    """Requires that slices nest and that flows pair."""

    def __init__(self, tool, *words: object) -> None:
        file = tool.trace.parent / "trace.pftrace"
        status, _, self.error = tool.run("export", tool.trace, "--perfetto", file, *words)
        assert status == 0, self.error
        packets = Trace.FromString(file.read_bytes()).packet
        tracks = [packet.track_descriptor for packet in packets if packet.HasField("track_descriptor")]
        self.tracks = {track.uuid: track for track in tracks}
        self.slices: list[Slice] = []
        self.instants: list[tuple[str, str, int]] = []
        self.counters: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.flows: dict[int, list[tuple[str, str, int]]] = defaultdict(list)  # how, track, time
        open_slices: dict[str, list[tuple[str, int]]] = defaultdict(list)
        last_ns = 0
        (self.clock,) = (packet.clock_snapshot for packet in packets if packet.HasField("clock_snapshot"))
        self.arguments: set[tuple[str, tuple[tuple[str, int], ...]]] = set()
        for packet in packets:
            if not packet.HasField("track_event"):
                continue
            assert packet.timestamp >= last_ns and packet.trusted_packet_sequence_id
            assert packet.timestamp_clock_id == self.clock.primary_trace_clock == 3  # CLOCK_MONOTONIC
            now = last_ns = packet.timestamp
            event = packet.track_event
            track = self.name(event.track_uuid)
            within = open_slices[event.track_uuid]
            if event.type == BEGIN:
                within.append((event.name, now))
                about = tuple((one.name, one.int_value) for one in event.debug_annotations)
                self.arguments.add((event.name, about))
            elif event.type == END:
                name, begin = within.pop()  # there is one
                self.slices.append(Slice(track, name, begin, now, len(within)))
            elif event.type == INSTANT:
                self.instants.append((track, event.name, now))
            else:
                self.counters[track].append((now, event.counter_value))
            for flow in event.flow_ids:
                self.flows[flow].append(("leaves", track, now))
            for flow in event.terminating_flow_ids:
                self.flows[flow].append(("arrives", track, now))
        for uuid, left in open_slices.items():
            self.slices += [Slice(self.name(uuid), name, at, None, i) for i, (name, at) in enumerate(left)]
        for ends in self.flows.values():
            assert [how for how, _, _ in ends] == ["leaves", "arrives"] and ends[0][2] <= ends[1][2]

    def name(self, uuid: int) -> str:
        return self.tracks[uuid].name

    def of(self, track: str) -> list[tuple[str, int, int | None]]:
        return [one[1:4] for one in sorted(self.slices, key=lambda one: one.begin) if one.track == track]


def test_a_slot_with_a_woken_worker(tool):
    tool.take("woken_worker")
    found = Exported(tool)
    assert found.of("slots") == [("7.3", 1000, 1600)]
    assert found.of("symbol_processing") == [("symbol_processing 7.3", 1000, 1600)]
    assert found.of("thread 100") == [("wait", 1200, 1560), ("0x1000", 1210, 1400)]
    worker = [("asleep", 50, 1310), ("woken", 1110, 1310), ("0x2000", 1330, 1530)]
    assert found.of("p worker 0") == worker
    pushes = [(track, time) for track, name, time in found.instants if name == "push"]
    assert pushes == [("thread 100", 1100), ("thread 100", 1150)]
    ways = sorted((a[1:], b[1:]) for a, b in found.flows.values())
    assert ways == [
        (("thread 100", 1100), ("p worker 0", 1330)),
        (("thread 100", 1110), ("p worker 0", 1110)),  # the wake
        (("thread 100", 1150), ("thread 100", 1210)),
    ]
    assert found.counters["p: queued"] == [(1100, 1), (1150, 2), (1210, 1), (1330, 0)]
    assert found.counters["p: awake"] == [(50, 0), (1310, 1)]
    assert ("0x1000", (("cpu", 0),)) in found.arguments
    assert ("symbol_processing 7.3", (("frame", 7), ("slot", 3), ("id", 0))) in found.arguments


def test_threads_and_processes_are_described(tool):
    tool.take("two_processes")
    tracks = Exported(tool).tracks.values()
    processes = {(t.process.pid, t.process.process_name) for t in tracks if t.HasField("process")}
    assert processes == {(1, "process"), (2, "nr-uesoftmodem")}
    threads = {(t.thread.pid, t.thread.tid, t.thread.thread_name) for t in tracks if t.HasField("thread")}
    assert threads == {(1, 100, "thread 100"), (2, 100, "thread 100"), (2, 200, "p worker 0")}
    only = Exported(tool, "--process", "2").tracks.values()
    assert {track.process.pid for track in only if track.HasField("process")} == {2}


@pytest.mark.parametrize("case", sorted(path.stem for path in CASES.glob("*.log")))
def test_the_counts_are_those_of_the_table(tool, case):
    """And whatever is exported nests and pairs: see Exported."""
    tool.take(case)
    found, summary = Exported(tool), tool.summary()
    names = Counter(one.name for one in found.slices)
    runs = sum(pool["runs"] for pool in summary["pools"])
    others = {"wait", "asleep", "woken"}
    threads = {track.name for track in found.tracks.values() if track.HasField("thread")}
    assert sum(one.track in threads and one.name not in others for one in found.slices) == runs
    pushed = sum(pool["pushes"] for pool in summary["pools"])
    matched = sum(name == "push" for _, name, _ in found.instants)
    assert pushed >= matched >= runs - 2  # the push of some is not in the trace
    woken = names["woken"]
    assert len(found.flows) == matched + woken
    assert sum(pool["wake_latency"]["count"] for pool in summary["pools"]) == woken
    slots = sum(of["count"] for of in summary["slots"] if " in " not in of["name"])
    assert sum(track == "slots" for track, *_ in found.slices) == slots
    counts: Counter[str] = Counter()
    for phase in summary["phases"]:
        counts[phase["name"].split("] ")[-1]] += phase["count"]
    whole = Counter(one.track for one in found.slices)
    assert {kind: whole[kind] for kind in counts} == counts


def test_lost_events_are_marked_where_they_are_missing(tool):
    tool.take("lost")
    found = Exported(tool)
    assert not any(one.end is None for one in found.slices)
    lost = found.of("events lost")
    assert lost[0] == ("some events lost", 11_700, 12_000)
    assert lost[1] == ("3 packets lost", 20_020, 20_030) and len(lost) == 5
    assert [found for found in found.instants if "lost" in found[1]] == [
        ("events lost", "4 events lost", 1599)
    ]
    phases = found.of("symbol_processing")  # not the first one
    assert [name for name, _, _ in phases] == ["symbol_processing 7.3#1", "symbol_processing 8.3"]


def test_no_worker_sleeps_over_lost_events(tool):
    kinds = ((10, "park"), (20, "unpark"), (30, "park"), (90, "unpark"))
    text = [line(at, 7, kind, pool=1, worker=0, by_timer=1) for at, kind in kinds]
    text.append("WARNING: Tracer discarded 9 events between [0.000000040] and [0.000000050] in trace 't'\n")
    (tool.trace / "lines").write_text("".join(text))
    assert Exported(tool).of("pool 1 worker 0") == [("asleep", 10, 20)]


def test_ends_that_are_not_in_the_trace(tool):
    tool.take("broken")
    found = Exported(tool)
    cut = [one for one in found.slices if "its end is not" in one.name]
    assert [(one.track, one.begin, one.end) for one in cut] == [("p worker 0", 105, 110)]
    assert ("wait", 106, 235) in found.of("thread 100")  # up to the next event that says that it is outside


def test_slices_that_overlap_have_tracks_of_their_own(tool):
    tool.take("slots")
    found = Exported(tool)
    overlapping = [one for one in found.slices if one.track == "slots" and 400 < one.begin < 600]
    assert [(one.name, one.begin, one.end) for one in overlapping] == [("1.3", 550, 720), ("1.2", 500, 1010)]
    assert sum(track.name == "slots" for track in found.tracks.values()) == 2


def test_one_slot_alone(tool):
    tool.take("path")
    every, found = Exported(tool), Exported(tool, "--slot", "3.3")
    assert [name for name, _, _ in found.of("slots")] == ["1.3", "2.3", "3.3", "4.3"]  # 20 us around it
    first, last = 31_000 - 20_000, 31_310 + 20_000  # of what is shown
    cut = {
        one._replace(begin=max(one.begin, first), end=one.end and min(one.end, last)) for one in every.slices
    }
    assert 0 < len(found.slices) < len(every.slices) and set(found.slices) <= cut
    assert ("asleep", first, 11_080) in found.of("p worker 0")
    assert Exported(tool, "--slot", "3.3#0").slices == found.slices
    error = tool.error("export", tool.trace, "--perfetto", tool.trace / "x", "--slot", "9.9")
    assert "no such slot or burst; there are 0.3, 1.3, 2.3, 3.3, 4.3 ..." in error
    tool.take("bursts")
    (burst,) = [at for at in Exported(tool, "--slot", "#0.000011").of("0x1000 in p") if at[0] == "#0.000011"]
    assert burst[1:] == (11_000, 11_100)


def test_a_file_that_cannot_be_written(tool):
    tool.take("path")
    error = tool.error("export", tool.trace, "--perfetto", "/dev/null/x")
    assert error == "tpool-ws-trace: /dev/null/x: Not a directory\n"


def test_times_are_those_of_the_clock_of_a_kernel_trace(tool):
    """LTTng's metadata say by how much CLOCK_MONOTONIC lags behind the epoch."""
    tool.take("woken_worker")
    (tool.trace / "metadata").write_text("clock { name = monotonic; freq = 1000000000; offset = 1000; };")
    (tool.trace / "lines").write_text((tool.trace / "lines").read_text().replace("[0.00000", "[0.00001"))
    found = Exported(tool)
    assert found.of("slots") == [("7.3", 10_000, 10_600)]
    clocks = {one.clock_id: one.timestamp for one in found.clock.clocks}
    assert clocks[1] - clocks[3] == 1000
