# SPDX-License-Identifier: BSD-3-Clause
"""The part latch: its plan, bounds and verdicts on made-up rounds; ws-latch itself."""

import random

import pytest
from part_runs import PROGRAMS, ask, host

from nrbench.driver import BenchError
from nrbench.engine import Request
from nrbench.parts import latch
from nrbench.parts.latch import (
    BOOST,
    DEEP,
    MANY,
    NONE,
    SOURCE,
    TITLES,
    Cell,
    Level,
    bound,
    bound_share,
    cells,
    of_cell,
    pays,
    report,
    spans_ms,
    verdicts,
)
from nrbench.stats import Results

needs_program = pytest.mark.program("ws-latch")
HOST = host(9, blocks=16, block_bytes=131072, missing={})
HELD = {"threads": 250e3, "tasks": 10e3, "fibers": 240e3}
FREE = {"threads": 500e3, "tasks": 500e3, "fibers": 497e3}
COSTS = {"yield_ns": 50, "hand_over_ns": 200, "spawn_ns": 300, "spawn_many_ns": 100, "sleep_cpu_ms": 200}
LATE = {"late_p50_us": 40, "late_p99_us": 90}
ALL = {**COSTS, **LATE}


def scan_line(level, how, number, per_s, **more):
    waits = 0 if level.writers == 0 else 2 if how.startswith("tasks") else 60
    return {
        "bench": "latch",
        "how": how,
        "round": number,
        "level": level._asdict(),
        "a_worker": MANY,
        "workers": 2,
        "work_us": 4.0,
        "cpu_s": 1.0,
        "block_count": per_s,
        "blocks_per_s": per_s,
        "starved": 0,
        "waits_under_way": waits,
        "wait_us": 600.0,
        "hold_us": float(level.hold_us),
        "scan_p50_us": 10.0,
        "scan_p99_us": 20.0,
        "scan_max_us": 30.0,
    } | more


def lines_of(held=None, free=None, costs=None, rounds=9, noise=0.005, **more):
    jitter = random.Random(1)

    def noisy(value):
        return value * (1 + noise * jitter.uniform(-1, 1))

    lines = []
    for number in range(rounds):
        for level, per_s in ((SOURCE, HELD | (held or {})), (NONE, FREE | (free or {}))):
            lines += [scan_line(level, how, number, noisy(value), **more) for how, value in per_s.items()]
        twice = {name: 2 * value for name, value in ALL.items()}
        for how, values in (("cost-ws", ALL | (costs or {})), ("cost-boost", twice)):
            about = {"bench": "latch", "how": how, "round": number, "version": "1", "sleepers": 10000}
            lines.append(about | {name: noisy(value) for name, value in values.items()})
    return [HOST, *lines]


def at_source(lines):
    return of_cell(Results(lines), Cell(SOURCE, MANY))


def words_of(lines):
    return [verdict.split()[0] for verdict in verdicts(Results(lines))]


def test_fibers_that_yield_reach_the_bound_and_cost_nothing_without_writers():
    assert set(words_of(lines_of())) == {"PASS"}


def test_fibers_that_are_slow_miss():
    slow = lines_of({"fibers": 90e3}, {"fibers": 450e3}, {name: 3 * value for name, value in ALL.items()})
    assert set(words_of(slow)) == {"MISS"}


def test_few_rounds_leave_everything_open():
    assert set(words_of(lines_of(rounds=3))) == {"OPEN"}


def test_the_bound_is_the_smaller_of_waits_and_cpus():
    """2 CPUs sum up a block in 4 µs: 500,000 a second. 32 clients a worker: 32 times as many as tasks."""
    few, more = (at_source(lines_of({"tasks": per_s}, rounds=1, noise=0)) for per_s in (10e3, 20e3))
    assert bound(few) == {0: 320e3} and bound(more) == {0: 500e3}
    assert bound_share(few).value == pytest.approx(0.75)
    assert bound(at_source([HOST])) == {} and bound_share(at_source([HOST])) is None


def test_where_yielding_does_not_pay_the_report_says_so():
    lines = lines_of(free={"fibers": 450e3})
    assert pays(at_source(lines)) == "PASS"
    assert pays(of_cell(Results(lines), Cell(NONE, MANY))) == "MISS"
    text = "\n".join(report(Results(lines)))
    assert "Yielding pays, (c) / (b):\n  I/O, 1 ms, 32 clients a worker: 2" in text
    assert "Yielding does not pay, (c) / (b):\n  no writers, 32 clients a worker: 0.9" in text


def test_the_report_has_waits_and_what_is_missing():
    lines = lines_of(starved=3)
    lines[0] = HOST | {"missing": {BOOST: "not built"}}
    text = "\n".join(report(Results(lines)))
    parts = ("(b) 2.0 of at most 2", "(c) 60.0 of at most 64", "missing: Boost.Fiber (not built)")
    for part in (*parts, "up to 3 clients got no block"):
        assert part in text


def test_many_cpus_get_no_more_threads_than_can_be_made():
    assert (SOURCE, DEEP) in cells(Request(cores=2))
    assert (SOURCE, DEEP) not in cells(Request(cores=64))


def test_tasks_that_block_have_time_for_two_scans_of_each_client():
    warm_ms, ms = spans_ms(Request(cores=2), Cell(SOURCE, DEEP))
    assert min(warm_ms, ms) >= 2 * DEEP * SOURCE.round_trip_us() / 1000 > latch.MS
    assert spans_ms(Request(cores=2), Cell(NONE, MANY)) == (latch.WARM_MS, latch.MS)


def test_levels_have_names():
    names = [level.name for level in latch.LEVELS]
    assert names[:2] == ["no writers", "I/O, 0.02 ms"] and names[-1] == "CPU, 1 ms"
    assert Level("sleep", 1000, 4) == SOURCE


@needs_program
@pytest.mark.parametrize("how", TITLES)
@pytest.mark.parametrize("hold", ["sleep", "work"])
def test_no_scan_sees_a_block_that_a_writer_holds(how, hold):
    """The sum of a block is wrong while a writer holds it, and the program reports a sum that is wrong."""
    small = ("scans=9", "workers=2", "tables=2", "blocks=3", "block_bytes=4096", "warm_ms=0", "ms=100")
    status, (answer,) = ask(
        "ws-latch", f"how={how}", *small, "writers=2", f"hold={hold}", "hold_us=5", "gap_us=20"
    )
    assert status == 0 and answer["workers"] == 2 and "blocks_per_s" in answer


@needs_program
def test_without_writers_nothing_waits():
    status, (answer,) = ask(
        "ws-latch", "how=fibers", "scans=9", "workers=3", "writers=0", "warm_ms=0", "ms=20"
    )
    assert status == 0 and answer["waits"] == 0 and answer["holds"] == 0


@needs_program
@pytest.mark.parametrize("how", latch.LIBRARIES)
def test_each_library_has_its_costs(how):
    if how == BOOST and not (PROGRAMS / "liblatch_boost.so").is_file():
        pytest.skip("Boost.Fiber was not built")
    status, (answer,) = ask("ws-latch", f"how={how}", "count=20000", "sleepers=50", "spread_ms=5")
    assert status == 0 and answer["yield_ns"] > 0
    assert set(ALL) <= answer.keys()


@needs_program
def test_ws_latch_wants_a_block_for_each_writer_and_something_to_count():
    _, (answer,) = ask("ws-latch", "how=fibers", "tables=1", "blocks=2", "writers=3")
    assert answer["error"].startswith("request: at least")
    _, (answer,) = ask("ws-latch", "how=cost-ws", "count=9")
    assert answer["error"] == "request: 'count' with value '9' is not understood"


def built(folder, *names):
    for name in names:
        (folder / name).touch()
    return Request(folder / "ws-bench", cores=2, rounds=20, seed=5)


def test_each_round_has_every_way_at_every_level_and_every_library(tmp_path):
    request = built(tmp_path, "ws-latch", "liblatch_boost.so")
    steps = latch.plan(request).steps
    for number in range(20):
        labels = [step.labels for step in steps if step.labels["round"] == number]
        scans = [(str(x["level"]), x["a_worker"], x["how"]) for x in labels if "level" in x]
        every = [(str(cell.level._asdict()), cell.a_worker, how) for cell in cells(request) for how in TITLES]
        assert sorted(scans) == sorted(every)
        assert sorted(x["how"] for x in labels if "level" not in x) == sorted(latch.LIBRARIES)


def test_boost_fiber_may_be_missing(tmp_path):
    plan = latch.plan(built(tmp_path, "ws-latch"))
    assert list(plan.about["missing"]) == [BOOST]
    assert all(step.labels["how"] != BOOST for step in plan.steps)


def test_ws_latch_may_be_missing(tmp_path):
    with pytest.raises(BenchError, match="libboost-context-dev"):
        latch.plan(built(tmp_path))
