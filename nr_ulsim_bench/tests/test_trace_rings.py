# SPDX-License-Identifier: BSD-3-Clause
"""A record, made up: it reads as a trace does, and what is wrong with it is named."""

import fcntl
import random
import struct

import pytest

from nrbench.trace.reader import KINDS
from nrbench.trace.record import TraceError
from nrbench.trace.rings import (
    BEGIN,
    BYTES,
    ENDED,
    EVENTS,
    EVENTS_AT,
    JOURNAL,
    MAGIC,
    PART_AGO,
    PART_TID,
    RING,
    RINGS_AT,
    Record,
)

POOL, GROUP, FUNC, REAL_NS = 1, 0x1000, 0x401000, 10**18
FIELDS = {"magic": MAGIC, "pid": 7, "rings": 2, "own_ns": 500, "real_ns": REAL_NS,
          "until_ns": ENDED, "since_ns": 0}  # fmt: skip
RUN, RAN, PUSH, JOIN, JOINED, PARK, UNPARK, WAKE, PHASE, PHASE_END, LATE, PART = range(1, 13)
JOINER = [(1000, PHASE, 1, 5 << 32 | 3 << 16), (1010, PUSH, 2, GROUP), (1012, WAKE, 0, POOL << 16),
          (1020, JOIN, POOL, GROUP), (1022, RUN, POOL, FUNC), (1100, RAN, POOL, GROUP),
          (1200, JOINED, POOL, GROUP), (1210, PHASE_END, 1, 5 << 32 | 3 << 16 | 2), (1220, LATE, POOL, 105),
          (1220, PART, PART_TID, 7), (1220, PART, PART_AGO, 10), (1220, PART, 6, 40),
          (1220, PART, 0, 5)]  # fmt: skip
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
    return (begin.ljust(EVENTS_AT, b"\0") + cells).ljust(BYTES, b"\0")


def record(folder, *rings, name="tpool-ws-7-1.record", **fields):
    data = BEGIN.pack(*(FIELDS | fields).values()).ljust(RINGS_AT, b"\0") + b"".join(rings)
    (folder / name).write_bytes(data.ljust(RINGS_AT + 2 * BYTES, b"\0"))
    return folder


@pytest.fixture
def folder(tmp_path):
    return record(tmp_path, ring(JOINER, 7), ring(WORKER, 8, POOL << 16))


def test_it_has_a_traces_events(folder):
    ((pid, _, table, notes, _),) = Record(folder).processes()
    names = [KINDS[kind] for kind in table.kind]
    late = Record(folder)
    late.processes()
    assert [(one.tid, one.end_ns - REAL_NS, one.over_ns) for one in late.late] == [(7, 710, 45)]
    assert (
        pid == 7
        and names.count("push") == names.count("run_begin") == 2
        and names[:2] == ["park", "ulsch_decoding_begin"]
    )
    tasks = table[table.kind.isin([KINDS.index("push"), KINDS.index("run_begin")])]
    assert set(tasks.func) == {FUNC} and set(tasks.pool) == {POOL} and all(tasks.groupby("arg").size() == 2)
    assert table.time.min() == REAL_NS + 400
    assert {note["kind"] for note in notes} == {"procname"}


def test_the_report_and_the_worst_late_bursts(folder, tool):
    status, out, err = tool.run("report", folder, "--json")
    assert status == 0 and '"tasks": 2' in out, err
    status, out, err = tool.run("late", folder)
    assert (
        status == 0 and "long task 0.0, slow wake 0.0" in out and f"export {folder} --perfetto late-1" in out
    ), err
    assert "   gnb              |" in out and "longest task: 0x401000 0.2 us" in out
    assert "no file *.record is in it" in tool.error("late", folder.parent)


def test_two_lives_of_one_process_id(tmp_path, tool):
    """A gNB in a container is process 1 in each of its lives."""
    for life, func in enumerate((0x401000, 0x402000)):
        events = [(at, kind, small, func if kind == RUN else of) for at, kind, small, of in JOINER]
        worker = [(at, kind, small, func if kind == RUN else of) for at, kind, small, of in WORKER]
        rings = ring(events, 7), ring(worker, 8, POOL << 16)
        record(tmp_path, *rings, name=f"tpool-ws-7-{life}.record", real_ns=REAL_NS + life * 10**9)
    status, out, err = tool.run("late", tmp_path)
    assert status == 0 and "longest task: 0x401000" in out and "longest task: 0x402000" in out, err
    assert "[7] of life 1 at" in out and "[7] of life 2 at" in out


def test_between_copies_events_are_lost_and_none_is_twice(tmp_path):
    later = [(at + 10**6 + 1000 * i, *rest) for i in range(400) for at, *rest in JOINER]
    record(tmp_path, ring(JOINER, 7), name="tpool-ws-7-1.record.0")
    record(tmp_path, ring(later[-EVENTS:], 7, head=len(later)))
    trace = Record(tmp_path)
    ((*_, table, _, _),) = trace.processes()
    assert len(trace.lost) == 1 and len(trace.late) > 2 and table.epoch.nunique() == 2
    assert not table[table.kind != KINDS.index("push")].duplicated().any()


def test_a_window_has_all_events_since_its_begin(tmp_path):
    """Also of a thread whose first event in it is later than others'; what is before it is left out."""
    none = [(0, 0, 0, 0)] * (EVENTS - len(JOINER))
    rings = ring(none + JOINER, 7, head=9 * EVENTS + 5), ring(WORKER, 8, POOL << 16)
    record(tmp_path, *rings, name="tpool-ws-7-1.record.24", since_ns=800)
    trace = Record(tmp_path)
    ((*_, table, _, _),) = trace.processes()
    assert not trace.lost and trace.first_ns == REAL_NS + 300 and len(table) == len(JOINER) + len(WORKER) - 4
    assert list(table.kind).count(KINDS.index("push")) == 2


def test_what_went_for_the_bound_is_said(folder, tool):
    (folder / "tpool-ws-gnb.journal").write_bytes(JOURNAL.pack(b"WSJRN001", 12))
    (folder / "tpool-ws-other.journal").write_bytes(b"cut")
    _, out, _ = tool.run("late", folder)
    assert out.count("files were removed") == 1 and "tpool-ws-gnb.journal: 12 older files" in out


def test_a_step_of_the_wall_clock_makes_no_burst_twice(tmp_path):
    second = [(at + 10**4, *rest) for at, *rest in JOINER]
    record(tmp_path, ring(JOINER, 7), name="tpool-ws-7-1.record.0")
    record(tmp_path, ring([*JOINER, *second], 7), own_ns=600, real_ns=REAL_NS + 37 * 10**9)
    trace = Record(tmp_path)
    trace.processes()
    assert len(trace.late) == 2


def test_of_a_killed_process_it_says_until_when_it_has_events(tmp_path, tool):
    record(tmp_path, ring(JOINER, 7), until_ns=2 * 10**9 + 1000)
    record(tmp_path, ring(JOINER, 7), until_ns=1, name="tpool-ws-7-1.record.0")  # a copy says nothing
    status, out, _ = tool.run("late", tmp_path)
    assert status == 2 and out.count("WARNING: ") == 1 and "the events until 2.000000 s; later" in out
    with (tmp_path / "tpool-ws-7-1.record").open() as file:  # its process lives
        fcntl.flock(file, fcntl.LOCK_EX)
        assert not Record(tmp_path).warnings


@pytest.mark.parametrize("field, value", [
    ("magic", b"WSREC999"), ("own_ns", 0), ("own_ns", 1 << 63), ("real_ns", 0),
    ("real_ns", 1 << 63)])  # fmt: skip
def test_a_wrong_field_is_named(tmp_path, field, value):
    record(tmp_path, ring(JOINER, 7), **{field: value})
    with pytest.raises(TraceError, match=rf"tpool-ws-7-1.record: {field}: "):
        Record(tmp_path)


@pytest.mark.parametrize("kind", ["empty", "short", "of another version", "not a file"])
def test_a_bad_file_does_not_hide_a_good_one(folder, tool, kind):
    bad = folder / "tpool-ws-other-1-1.record"
    if kind == "not a file":
        bad.mkdir()
    elif kind == "of another version":
        record(folder, ring(JOINER, 7), name=bad.name, magic=b"WSREC003")
    else:
        bad.write_bytes(b"WSREC004" * 100 * (kind == "short"))
    status, out, err = tool.run("late", folder)
    assert status == 2 and "long task 0.0, slow wake 0.0" in out and f"WARNING: {bad}: " in out, err


def test_a_head_that_cannot_be_is_named(tmp_path):
    with pytest.raises(TraceError, match=rf"record: ring at {RINGS_AT}: head: "):
        Record(record(tmp_path, ring(JOINER, 7, head=1 << 60)))


def test_whatever_is_in_it_there_is_an_answer(tmp_path, tool):
    draw, good = random.Random(1), record(tmp_path, ring(JOINER, 7), ring(WORKER, 8, POOL << 16))
    data = (path := good / "tpool-ws-7-1.record").read_bytes()
    for _ in range(60):
        damaged = bytearray(data[: draw.choice([len(data), draw.randrange(len(data))])])
        for _ in range(draw.randrange(9)):
            places = draw.choice(
                [range(72), range(RINGS_AT, RINGS_AT + 64), range(RINGS_AT + EVENTS_AT, RINGS_AT + 2000)]
            )
            at = draw.choice(places)
            damaged[at : at + 1] = bytes([draw.randrange(256)]) if at < len(damaged) else b""
        path.write_bytes(damaged)
        status, out, err = tool.run("late", good)
        assert status in (0, 2) and (out or err.count("\n") == 1), err
