# SPDX-License-Identifier: BSD-3-Clause
"""ws-wakes itself, where WS_BENCH_BUILD names a build folder."""

import os
import struct
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest
from part_runs import PROGRAMS, ask, until

from nrbench import facts, host
from nrbench.doctor import wakes
from nrbench.doctor.target import Target
from nrbench.system import System, format_cpus

PROGRAM = PROGRAMS / "ws-wakes"
DMA_LATENCY = facts.DMA_LATENCY
pytestmark = pytest.mark.program("ws-wakes")


def _lines(*words):
    status, lines = ask("ws-wakes", *words)
    assert status == 0
    return lines


@pytest.mark.parametrize("kind", ["futex", "timer", "look"])
def test_ws_wakes_measures_what_it_is_asked_for(kind):
    words = [f"kind={kind}", "gap_us=500", "samples=12", "class=all", "hold=all"]
    lines = _lines(*words)
    held = (False,) if kind == "look" else (False, True)  # which does not sleep
    wanted = {(c, 500, h) for c in ("other", "fifo") for h in held}
    assert {(answer["class"], answer["gap_us"], answer["hold"]) for answer in lines} == wanted
    for answer in (answer for answer in lines if "skipped" not in answer):
        assert answer["kind"] == kind and answer["samples"] + answer["awake"] == 12
        assert 0 < answer["p50_us"] <= answer["p99_us"] <= answer["max_us"]
        assert ("call_p50_us" in answer) == (kind == "futex")


def test_without_a_gap_there_are_three():
    words = ["samples=10", "measure_ms=1", "class=other", "hold=no"]
    lines = _lines(*words)
    gaps = (250, 1000, 5000)
    assert {(line["kind"], line["gap_us"]) for line in lines} == {
        ("look", 250), *(("futex", gap) for gap in gaps), *(("timer", gap) for gap in gaps)
    }  # fmt: skip


def test_ws_wakes_says_where_there_is_no_such_cpu():
    words = ["kind=timer", "class=other", "hold=no", "gap_us=250", "samples=10", "cpu=1023"]
    (answer,) = _lines(*words)
    assert answer["skipped"]


def test_the_doctor_judges_what_ws_wakes_says(monkeypatch):
    monkeypatch.setattr(wakes, "SAMPLES", 10)
    monkeypatch.setattr(wakes, "MEASURE_MS", 10)
    system = System()
    assert wakes.wake_latency(Target(system, system.affinity(), PROGRAM)).text


@pytest.fixture
def start(start):
    """Starts a series that lasts until the test has looked at it."""
    long = ["samples=100000", "measure_ms=60000", "gap_us=20000"]
    return partial(start, PROGRAM, *long, stdout=subprocess.PIPE)


def _threads(process):
    """CPUs, policy and timer slack of the two threads that measure."""
    found = set()
    for thread in (name for name in os.listdir(f"/proc/{process.pid}/task") if name != str(process.pid)):
        task = f"/proc/{process.pid}/task/{thread}"
        priority, policy = Path(f"{task}/stat").read_text().rpartition(")")[2].split()[37:39]
        status = System().fields(f"{task}/status")
        slack_ns = Path(f"/proc/{thread}/timerslack_ns").read_text().strip()
        found.add((status["Cpus_allowed_list"], int(policy), int(priority), int(slack_ns)))
    return found


TWO = sorted(System().affinity())[:2]
needs_two_cpus = pytest.mark.skipif(len(TWO) < 2, reason="needs two CPUs")
ON_TWO = [f"cpu={TWO[-1]}", f"caller_cpu={TWO[0]}"]


@needs_two_cpus
@pytest.mark.parametrize(
    "name, policy, priority", [("other", os.SCHED_OTHER, 0), ("fifo", os.SCHED_FIFO, 97)]
)
def test_both_threads_have_the_class_and_the_cpu_that_were_asked_for(start, name, policy, priority):
    if name == "fifo" and not host.realtime_possible(System()):
        pytest.skip("the real-time class is refused here")
    process = start("kind=futex", f"class={name}", "hold=no", *ON_TWO)
    expected = {(format_cpus([cpu]), policy, priority) for cpu in TWO}
    until(lambda: {thread[:3] for thread in _threads(process)} == expected)


def test_timers_have_the_slack_of_the_pools_workers(start):
    process = start("kind=timer", "class=other", "hold=no")
    until(lambda: {thread[3] for thread in _threads(process)} == {1})


def _held_us():
    with open(DMA_LATENCY, "rb") as file:
        return struct.unpack("i", file.read(4))[0]


@pytest.mark.skipif(not os.access(DMA_LATENCY, os.R_OK | os.W_OK), reason=f"{DMA_LATENCY} is not accessible")
def test_idle_states_are_held_off_when_asked_for_only(start):
    before_us = _held_us()
    if before_us == 0:
        pytest.skip("another program holds them off")
    free = start("kind=timer", "class=other", "hold=no")
    until(lambda: _threads(free))
    assert _held_us() == before_us
    held = start("kind=timer", "class=other", "hold=yes")
    until(lambda: _held_us() == 0)
    held.kill()
    held.wait()
    until(lambda: _held_us() == before_us)


@needs_two_cpus
@pytest.mark.parametrize("kind", ["futex", "timer", "look"])
def test_the_thread_sleeps_for_the_whole_gap_each_time(kind):
    begin_s = time.monotonic()
    (answer,) = _lines(
        f"kind={kind}", "class=other", "hold=no", "gap_us=20000", "samples=12", "measure_ms=240"
    )
    assert answer["samples"] + answer["awake"] == 12
    assert time.monotonic() - begin_s >= 12 * 0.020


def test_the_kernel_kills_it_when_a_series_takes_too_long(start):
    """As when threads that spin at a high priority wait for one that gets no CPU."""
    process = start("kind=look", "class=other", "hold=no")
    path = f"/proc/{process.pid}/timers"
    if not os.path.exists(path):
        pytest.skip("this kernel does not show timers")
    until(lambda: "signal: 9/" in Path(path).read_text())
