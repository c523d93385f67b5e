# SPDX-License-Identifier: BSD-3-Clause
"""A record, made up: it reads as a trace does, and what is wrong with it is named."""

import fcntl
import re
import struct

import pytest

from nrbench.live.record import ENDED, EVENTS, EVENTS_AT, HEAD, MAGIC, RING, RING_BYTES, RINGS_AT
from nrbench.trace.process import read
from nrbench.trace.reader import KINDS
from nrbench.trace.record import TraceError
from nrbench.trace.rings import BEFORE_NS, Record

POOL, GROUP, FUNC, REAL_NS = 1, 0x1000, 0x401000, 10**18
FIELDS = {"magic": MAGIC, "pid": 7, "rings": 2, "own_ns": 500, "real_ns": REAL_NS,
          "until_ns": ENDED, "since_ns": 0}  # fmt: skip
RUN, RAN, PUSH, JOIN, JOINED, PARK, UNPARK, WAKE, PHASE, PHASE_END, SLEEP, SLEPT = range(1, 13)
JOINER = [(1000, PHASE, 1, 5 << 32 | 3 << 16), (1010, PUSH, 2, GROUP), (1012, WAKE, 0, POOL << 16),
          (1020, JOIN, POOL, GROUP), (1022, RUN, POOL, FUNC), (1100, RAN, POOL, GROUP),
          (1200, JOINED, POOL, GROUP), (1210, PHASE_END, 1, 5 << 32 | 3 << 16 | 2)]  # fmt: skip
WORKER = [(900, PARK, 0, 0), (1030, UNPARK, 0, 9), (1032, RUN, POOL, FUNC), (1190, RAN, POOL, GROUP)]


def ring(events, tid, who=0, head=None):
    """Of (ns, kind, small, address), the newest ones."""
    head = len(events) if head is None else head
    if len(events) == EVENTS:
        events = events[-head % EVENTS :] + events[: -head % EVENTS]
    cells = b"".join(
        struct.pack("<2Q", at, kind | small << 6 | where << 16) for at, kind, small, where in events
    )
    begin = RING.pack(head, who, tid, b"gnb")
    return (begin.ljust(EVENTS_AT, b"\0") + cells).ljust(RING_BYTES, b"\0")


def record(folder, *rings, name="tpool-ws-7-1.record", **fields):
    data = HEAD.pack(*(FIELDS | fields).values()).ljust(RINGS_AT, b"\0") + b"".join(rings)
    (folder / name).write_bytes(data.ljust(RINGS_AT + 2 * RING_BYTES, b"\0"))
    return folder


@pytest.fixture
def folder(tmp_path):
    return record(tmp_path, ring(JOINER, 7), ring(WORKER, 8, POOL << 16))


def test_it_has_a_traces_events(folder):
    ((pid, _, table, notes, *_),) = Record(folder).processes()
    names = [KINDS[kind] for kind in table.kind]
    assert pid == 7 and names.count("push") == names.count("run_begin") == 2
    assert names[:2] == ["park", "ulsch_decoding_begin"]
    tasks = table[table.kind.isin([KINDS.index("push"), KINDS.index("run_begin")])]
    assert set(tasks.func) == {FUNC} and set(tasks.pool) == {POOL} and all(tasks.groupby("arg").size() == 2)
    assert table.time.min() == REAL_NS + 400
    assert {note["kind"] for note in notes} == {"procname"}


def test_a_life_for_each_process_with_a_number(tmp_path, tool):
    """A gNB in a container is process 1 in each of its lives."""
    for life in range(2):
        record(tmp_path, ring(JOINER, 7), name=f"tpool-ws-7-{life}.record", real_ns=REAL_NS + life * 10**9)
    status, out, err = tool.run("report", tmp_path)
    assert status == 0 and "[7] of life 1 " in out and "[7] of life 2 " in out, err


def test_between_copies_events_are_lost_and_none_is_twice(tmp_path):
    later = [(at + 10**6 + 1000 * i, *rest) for i in range(400) for at, *rest in JOINER]
    record(tmp_path, ring(JOINER, 7), name="tpool-ws-7-1.record.0")
    record(tmp_path, ring(later[-EVENTS:], 7, head=len(later)))
    trace = Record(tmp_path)
    ((*_, table, _, _, _),) = trace.processes()
    assert len(trace.lost) == 1 and table.epoch.nunique() == 2
    assert not table[table.kind != KINDS.index("push")].duplicated().any()


def test_a_window_has_all_events_since_its_begin(tmp_path):
    """Also of a thread whose first event in it is later than others'; what is before it is left out."""
    none = [(0, 0, 0, 0)] * (EVENTS - len(JOINER))
    rings = ring(none + JOINER, 7, head=9 * EVENTS + 5), ring(WORKER, 8, POOL << 16)
    record(tmp_path, *rings, name="tpool-ws-7-1.record.24", since_ns=800)
    trace = Record(tmp_path)
    ((*_, table, _, _, _),) = trace.processes()
    assert not trace.lost and len(table) == len(JOINER) + len(WORKER) + 1 and table.whole.nunique() == 1
    assert list(table.kind).count(KINDS.index("push")) == 2
    assert set(table.epoch[table.tid == 7]) == {2} and set(table.epoch[table.tid == 8]) == {1}


def test_a_step_of_the_wall_clock_makes_no_event_twice(tmp_path):
    second = [(at + 10**4, *rest) for at, *rest in JOINER]
    record(tmp_path, ring(JOINER, 7), name="tpool-ws-7-1.record.0")
    record(tmp_path, ring([*JOINER, *second], 7), own_ns=600, real_ns=REAL_NS + 37 * 10**9)
    ((*_, table, _, _, _),) = Record(tmp_path).processes()
    assert list(table.kind).count(KINDS.index("run_begin")) == 2


def test_repeated_slots_are_whole_also_if_the_first_event_is_in_one(tmp_path):
    """The decoding of one is none of the next, which has the same numbers."""
    slot = [(at + of, kind, phase, 5 << 32 | 3 << 16) for phase, of in ((0, 0), (1, 50))
            for at, kind in ((10**7, PHASE), (10**7 + 10, PHASE_END))]  # fmt: skip
    events = [(at + 100 * i, *rest) for i in range(5) for at, *rest in slot]
    record(tmp_path, ring([(0, 0, 0, 0)] * (EVENTS + 2 - len(events)) + events[2:], 7, head=EVENTS + 9))
    (process,) = read(Record(tmp_path), None)
    assert [window.duration_ns for window in process.windows if window.kind == "slot"] == 4 * [60]
    begin = slot[1:]  # a window begins after that of its symbol processing
    record(
        tmp_path,
        ring([(0, 0, 0, 0)] * (EVENTS - 3) + begin, 7, head=EVENTS + 9),
        since_ns=10**7 + 50 - BEFORE_NS,
    )
    (process,) = read(Record(tmp_path), None)
    assert {window.kind: window.is_valid for window in process.windows} == {"slot": False, "phase": True}


def test_of_a_killed_process_it_says_until_when_it_has_events(tmp_path):
    record(tmp_path, ring(JOINER, 7), until_ns=2 * 10**9 + 1000)
    record(tmp_path, ring(JOINER, 7), until_ns=1, name="tpool-ws-7-1.record.0")  # a copy says nothing
    (warning,) = Record(tmp_path).warnings
    assert "the events until 2.000000 s; later" in warning
    with (tmp_path / "tpool-ws-7-1.record").open() as file:  # its process lives
        fcntl.flock(file, fcntl.LOCK_EX)
        assert not Record(tmp_path).warnings


@pytest.mark.parametrize("field, value", [
    ("magic", b"WSREC999"), ("own_ns", 0), ("own_ns", 1 << 63), ("real_ns", 0), ("real_ns", 1 << 63),
    ("head", 1 << 60)])  # fmt: skip
def test_a_wrong_field_is_named_and_does_not_hide_a_good_file(folder, tool, field, value):
    head = value if field == "head" else None
    wrong = {} if head else {field: value}
    record(folder, ring(JOINER, 7, head=head), name="tpool-ws-other-1-1.record", **wrong)
    status, out, err = tool.run("report", folder)
    assert status == 2 and "longest slot" in out and re.search(f"1-1.record: .*{field}: ", out), err


def test_without_a_good_file_the_error_says_why(tmp_path):
    with pytest.raises(TraceError, match="7-1.record: magic: .* there is no event in its records"):
        Record(record(tmp_path, magic=b""))
