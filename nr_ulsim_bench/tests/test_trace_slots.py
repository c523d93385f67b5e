# SPDX-License-Identifier: BSD-3-Clause
"""Which slot is which, and which is the longest."""

import pytest
from trace_log import MAIN, Log, analyse, burst

from nrbench.trace.events import SYMBOL_PROCESSING, ULSCH_DECODING, TraceError
from nrbench.trace.slots import SlotName, parse_name


def slot(log: Log, at: int, frame: int, slot: int, lengths=(10, 20), id: int = 0, tid: int = MAIN) -> int:
    """Two phases without tasks, 5 apart. @return when it is over"""
    for name, length in zip((SYMBOL_PROCESSING, ULSCH_DECODING), lengths):
        log.begin(at, name, frame, slot, id, tid)
        log.end(at + length, 0, name, frame, slot, id, tid)
        at += length + 5
    return at - 5


def test_a_slot_is_from_the_first_begin_to_the_last_end():
    log = Log()
    slot(log, 1000, 1, 2)
    slot(log, 2000, 1, 3, (10, 70))
    slot(log, 3000, 1, 4)
    slots = analyse(log).ledger.slots
    assert len(slots.slots) == 3
    assert slots.longest[:4] == (SlotName(1, 3, 0), 1, 2000, 2085)


def test_users_of_a_slot_one_after_another_are_one_slot():
    log = Log()
    end = slot(log, 1000, 1, 2, id=0)
    end = slot(log, end + 5, 1, 2, id=1)
    slots = analyse(log).ledger.slots
    assert len(slots.slots) == 1 and slots.longest.end_ns == end


def test_slots_that_overlap_in_two_threads():
    log = Log()
    log.begin(100, ULSCH_DECODING, 1, 2, tid=7)
    log.begin(150, SYMBOL_PROCESSING, 1, 3)
    log.end(300, 0, ULSCH_DECODING, 1, 2, tid=7)
    log.end(320, 0, SYMBOL_PROCESSING, 1, 3)
    assert analyse(log).ledger.slots.longest[:4] == (SlotName(1, 2, 0), 1, 100, 300)


def test_a_simulator_that_repeats_one_slot():
    log = Log()
    for at in (0, 100, 200):
        slot(log, at, 0, 8)
    analysis = analyse(log)
    assert len(analysis.ledger.slots.slots) == 3
    assert analysis.ledger.slots.chosen(SlotName(0, 8, 2))[:4] == (SlotName(0, 8, 2), 1, 200, 235)


def test_a_phase_that_never_ends_does_not_swallow_later_slots():
    log = Log()
    slot(log, 0, 0, 8)
    log.begin(5, "other", 0, 8, tid=7)  # its end never comes
    for at in (100, 200, 300):
        slot(log, at, 0, 8, (10, at // 10))
    slots = analyse(log).ledger.slots
    assert len(slots.slots) == 4
    assert slots.chosen(SlotName(0, 8, 3)) == slots.longest == (SlotName(0, 8, 3), 1, 300, 345, True)


def test_a_slot_with_a_phase_that_never_ends_is_not_the_longest():
    log = Log()
    slot(log, 1000, 1, 2, (10, 500))
    log.begin(1001, "other", 1, 2, tid=7)
    slot(log, 3000, 1, 3)
    slots = analyse(log).ledger.slots
    assert len(slots.slots) == 2
    assert slots.longest[:4] == (SlotName(1, 3, 0), 1, 3000, 3035)
    assert slots.chosen(SlotName(1, 2, 0))[:4] == (SlotName(1, 2, 0), 1, 1000, 1515)


def test_slots_given_up_because_too_many_are_open(monkeypatch):
    monkeypatch.setattr("nrbench.trace.ledger.OPEN_MAX", 4)
    log = Log()
    for i in range(10):
        slot(log, 100 * i, 0, 8)
        log.begin(100 * i + 1, "other", 0, 8, tid=1000 + i)
    analysis = analyse(log)
    assert analysis.figures[1, "other"].unfinished == 10
    assert len(analysis.ledger.slots.slots) == 10 and analysis.ledger.slots.longest is None


def test_a_simulator_whose_repeated_slots_overlap():
    log = Log()
    for at, tid in ((0, 7), (100, 8)):
        log.begin(at, SYMBOL_PROCESSING, 0, 8)
        log.end(at + 10, 0, SYMBOL_PROCESSING, 0, 8)
        log.begin(at + 20, ULSCH_DECODING, 0, 8, tid=tid)
        log.end(at + 130, 0, ULSCH_DECODING, 0, 8, tid=tid)
    slots = analyse(log).ledger.slots
    assert len(slots.slots) == 2
    assert slots.longest[:4] == (SlotName(0, 8, 0), 1, 0, 130)
    assert slots.chosen(SlotName(0, 8, 1))[:4] == (SlotName(0, 8, 1), 1, 100, 230)


def test_frames_that_wrap():
    log = Log()
    period, slots_per_frame = 500_000, 20
    for number in range(1023 * slots_per_frame, 1023 * slots_per_frame + 40):
        slot(log, number * period, number // slots_per_frame % 1024, number % slots_per_frame)
    later = (2 * 1024 - 1) * slots_per_frame * period
    slot(log, later, 1023, 0, (10, 90))
    slots = analyse(log).ledger.slots
    assert len(slots.slots) == 41
    assert slots.chosen(parse_name("1023.0#1")).begin_ns == later
    assert slots.longest.name == SlotName(1023, 0, 1)


def test_a_slot_with_lost_events_is_not_the_longest():
    log = Log()
    slot(log, 1000, 1, 2, (10, 500))
    slot(log, 3000, 1, 3)
    log.lost(1400, 1410)
    assert analyse(log).ledger.slots.longest.name == SlotName(1, 3, 0)


def test_without_phases_bursts_are_counted():
    log = Log()
    end = burst(log, at=10)
    second = burst(log, at=end + 10, tasks=5)
    slots = analyse(log).ledger.slots
    assert slots.longest[:4] == (SlotName(-1, -1, 1), 1, end + 10, second)
    assert slots.chosen(parse_name("#0"))[:4] == (SlotName(-1, -1, 0), 1, 10, end)


@pytest.mark.parametrize(
    "text, name", [("12.3", (12, 3, 0)), ("0.0#4", (0, 0, 4)), ("#5", (-1, -1, 5)), (" 1.2 ", (1, 2, 0))]
)
def test_names(text, name):
    assert parse_name(text) == name


@pytest.mark.parametrize("text", ["", "1", "1.", "1.2#", "a.b", "#", "-1.2", "1.2.3"])
def test_names_that_are_none(text):
    with pytest.raises(TraceError, match="expected FRAME.SLOT"):
        parse_name(text)


@pytest.mark.parametrize(
    "wanted, said",
    [
        ("9.9", "no such slot; there are 1 others: 1.2"),
        ("1.2#1", "there are 1 slots of that name, #0 to #0"),
        ("#7", "there are no bursts outside phases"),
    ],
)
def test_what_is_not_there_is_explained(wanted, said):
    log = Log()
    slot(log, 0, 1, 2)
    with pytest.raises(TraceError, match=said):
        analyse(log).ledger.slots.chosen(parse_name(wanted))


def two_processes() -> tuple[Log, Log]:
    """Both have slot 1.2, the first earlier and twice; the second has the longer bursts."""
    first, second = Log(pid=1), Log(pid=2)
    slot(first, 1000, 1, 2)
    slot(first, 2000, 3, 4)
    slot(first, 5000, 1, 2)
    burst(first, at=6000)
    slot(second, 3000, 1, 2, (10, 40))
    burst(second, at=7000, tasks=5)
    burst(second, at=8000, tasks=3)
    return first, second


@pytest.mark.parametrize(
    "wanted, pids, window",
    [
        ("1.2", {2}, (SlotName(1, 2, 0), 2, 3000, 3055)),
        ("1.2", {1}, (SlotName(1, 2, 0), 1, 1000, 1035)),
        ("1.2", {1, 2}, (SlotName(1, 2, 0), 1, 1000, 1035)),  # the earliest
        ("1.2#1", {1}, (SlotName(1, 2, 1), 1, 5000, 5035)),
        ("#0", {2}, (SlotName(-1, -1, 0), 2, 7000, 7510)),
        ("#1", {2}, (SlotName(-1, -1, 1), 2, 8000, 8308)),
    ],
)
def test_a_slot_or_burst_of_one_of_two_processes(wanted, pids, window):
    analysis = analyse(*two_processes())
    analysis.keep(pids)
    assert analysis.ledger.slots.chosen(parse_name(wanted))[:4] == window


@pytest.mark.parametrize(
    "wanted, pids, said",
    [
        ("1.2#1", {2}, "there are 1 slots of that name, #0 to #0"),
        ("1.2#7", {1, 2}, "process 1 has 2 slots of that name, #0 to #1; process 2 has 1 slots"),
        ("3.4", {2}, "there are 1 others: 1.2 "),
        ("#1", {1}, "there are 1 bursts outside phases, #0 to #0"),
        ("#9", {1, 2}, "process 1 has 1 bursts outside phases, #0 to #0; process 2 has 2 bursts"),
    ],
)
def test_what_is_not_in_one_of_two_processes_is_explained(wanted, pids, said):
    analysis = analyse(*two_processes())
    analysis.keep(pids)
    with pytest.raises(TraceError, match=said):
        analysis.ledger.slots.chosen(parse_name(wanted))
