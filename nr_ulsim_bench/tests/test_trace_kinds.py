# SPDX-License-Identifier: BSD-3-Clause
"""Which kinds of phases a report has, in which order, and what they and their pools are called."""

import pytest
from test_trace_analysis import phase_with_a_woken_worker
from trace_log import FUNC, MAIN, POOL, W0, Log, analyse, burst, summary_of

from nrbench.trace.events import SYMBOL_PROCESSING, ULSCH_DECODING
from nrbench.trace.ledger import KINDS_MAX
from nrbench.trace.summary import Names, kinds
from nrbench.trace.text import tables


def bursts_of_kinds(count: int, pid: int = 1, at: int = 0) -> Log:
    log = Log(pid)
    for number in range(count):
        begin = at + number * 1000
        log.push(begin, 1, func=FUNC + number)
        log.run(begin + 10, begin + 20, 1, W0, func=FUNC + number)
        log.join(begin + 5, begin + 30)
    return log


def later(log: Log, pid: int, by: int) -> Log:
    moved = Log(pid)
    moved.events = [(kind, now + by, pid, *rest) for kind, now, _, *rest in log.events]
    return moved


def names_of(summary) -> list[str]:
    return [phase["name"] for phase in summary["phases"]]


def test_phases_come_through_however_many_kinds_of_bursts_there_are():
    first = bursts_of_kinds(KINDS_MAX + 3, pid=1)
    second = later(phase_with_a_woken_worker(), pid=2, by=10**6)
    own = bursts_of_kinds(KINDS_MAX + 5, pid=3)
    own.events += later(phase_with_a_woken_worker(), pid=3, by=10**6).events
    analysis = analyse(first, second, own)
    for pid in (2, 3):
        assert analysis.figures[pid, SYMBOL_PROCESSING].durations.count == 1
    assert analysis.figures[1, "others"].durations.count == 3
    assert analysis.figures[3, "others"].durations.count == 5
    analysis.keep({2})
    assert list(analysis.figures) == [(2, SYMBOL_PROCESSING)]


def test_phases_take_no_room_of_bursts(monkeypatch):
    monkeypatch.setattr("nrbench.trace.ledger.KINDS_MAX", 2)
    log = Log()
    for at, name in enumerate((SYMBOL_PROCESSING, ULSCH_DECODING, "other")):
        log.begin(at * 10, name)
        log.end(at * 10 + 5, 0, name)
    log.events += bursts_of_kinds(3, at=1000).events
    assert list(analyse(log).figures)[3:] == [(1, (POOL, FUNC)), (1, (POOL, FUNC + 1)), (1, "others")]


def test_bursts_of_further_kinds_are_bursts(monkeypatch):
    monkeypatch.setattr("nrbench.trace.ledger.KINDS_MAX", 1)
    log = bursts_of_kinds(3, at=5000)
    log.events += phase_with_a_woken_worker().events
    summary = summary_of(log, wanted=["burst"])
    assert names_of(summary) == ["0x1000 in p", "other bursts"]
    assert [phase["kind"] for phase in summary["phases"]] == ["burst", "burst"]
    assert [phase["count"] for phase in summary["phases"]] == [1, 2]


def test_phases_come_before_bursts_process_by_process():
    first, second = Log(pid=2), phase_with_a_woken_worker()
    burst(first)
    first.begin(10**6, ULSCH_DECODING)
    first.end(10**6 + 5, 0, ULSCH_DECODING)
    burst(second, at=10**6)
    analysis = analyse(first, second)
    names = Names(analysis)
    assert kinds(analysis, names, ()) == [
        (1, SYMBOL_PROCESSING),
        (1, (POOL, FUNC)),
        (2, ULSCH_DECODING),
        (2, (POOL, FUNC)),
    ]
    assert kinds(analysis, names, ["burst", "symbol"]) == [
        (1, SYMBOL_PROCESSING),
        (1, (POOL, FUNC)),
        (2, (POOL, FUNC)),
    ]
    assert kinds(analysis, names, ["decoding"]) == [(2, ULSCH_DECODING)]
    assert kinds(analysis, names, ["bursts"]) == []


# Names of pools


def in_pools(*pools: tuple[int, str]) -> Log:
    log, at = Log(), 0
    for number, name in pools:
        if name:
            log.pool(now=at, pool=number, name=name)
        log.push(at + 1, 1, pool=number)
        log.run(at + 10, at + 20, 1, MAIN, pool=number)
        log.join(at + 5, at + 30, pool=number)
        at += 1000
    return log


@pytest.mark.parametrize(
    "pools, bursts, labels",
    [
        ([(1, "p"), (2, "q")], ["0x1000 in p", "0x1000 in q"], ["p", "q"]),
        (
            [(1, "p"), (2, "p"), (3, "q")],
            ["0x1000 in p (pool 1)", "0x1000 in p (pool 2)", "0x1000 in q"],
            ["p (pool 1)", "p (pool 2)", "q"],
        ),
        ([(1, ""), (2, "")], ["0x1000 in pool 1", "0x1000 in pool 2"], ["pool 1", "pool 2"]),
        ([(0, ""), (1, "p")], ["0x1000, inline", "0x1000 in p"], ["no pool", "p"]),
    ],
)
def test_pools_have_names_that_tell_which(pools, bursts, labels):
    summary = summary_of(in_pools(*pools))
    assert names_of(summary) == bursts
    assert [pool["name"] for pool in summary["pools"]] == labels
    shown = {table.title: [row[0] for row in table.all_rows[1:]] for table in tables(summary)}
    assert (shown["Phases"], shown["Pools"]) == (bursts, labels)


def test_pools_of_one_name_in_two_processes_need_no_number():
    first, second = in_pools((1, "p")), later(in_pools((1, "p")), pid=2, by=0)
    assert names_of(summary_of(first, second)) == ["process[1] 0x1000 in p", "process[2] 0x1000 in p"]


def test_a_pool_without_workers_is_described_all_the_same():
    """Tasks that run inline: no worker is woken, nothing is stolen, and the thread itself is busy."""
    summary = summary_of(in_pools((0, "")))
    (phase,), (pool,) = summary["phases"], summary["pools"]
    assert (pool["workers"], pool["cpus"], pool["pushes"], pool["runs"]) == (0, None, 1, 1)
    assert (phase["count"], phase["tasks"], phase["steal_share"]) == (1, 1, 0)
