# SPDX-License-Identifier: BSD-3-Clause
"""The built programs of the parts, where WS_BENCH_BUILD names a build folder. No figure is judged."""

import os
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import dropwhile
from pathlib import Path

import pytest
from part_runs import PROGRAMS, ask, children, is_gone, until
from trace_tools import events_of

from nrbench import driver
from nrbench import host as machine
from nrbench.engine import Request
from nrbench.parts import latch, pi, tracecost
from nrbench.parts.scan import MIB, WAYS
from nrbench.parts.tail import HISTOGRAM, quantiles_us
from nrbench.trace.reader import Trace
from nrbench.trace.record import WANTED

ws_bench = pytest.mark.program("ws-bench")

SLOTS = ["bench=slot", "backend=alone", "bursts=1x1", "limit_s=600"]
EVERY_NOISE = ["hog=1", "noise=normal:1000:0", "noise=lowest:2000:2000", "noise=session:2000:2000"]


@pytest.fixture
def start(start):
    return partial(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


NOISES = ("x:1:1", "lowest", "lowest:1", "lowest:0:1", "lowest:1:1x", "lowest:1:10000001", "host:1:0")
NOT_UNDERSTOOD = [  # the last word of each
    *(("ws-bench", *SLOTS, f"noise={noise}") for noise in NOISES),
    ("ws-bench", "bench=slot", "bursts=12*6"),
    ("ws-bench", "bench=wake", "idle=3"),
    ("ws-bench", "nonsense"),
    ("ws-bench", "bench=pi", "backend=ws", "intervals=10"),
    ("ws-latch", "how=cost-ws", "count=9"),
    ("ws-prewake", "modes=off,fixed"),
    ("ws-prewake", "pattern=DD"),
    ("ws-prewake", "period_us=500"),
    ("ws-prewake", "workers=0"),
    ("ws-trace-cost", "nonsense"),
    ("ws-trace-cost", "events=-1"),
    *(("ws-wakes", word) for word in ("gap_us=0", "gap_us=1,", "samples=0", "kind=x", "cpu=100000", "x")),
]
EXPLAINED = {
    ("ws-bench", "bench=slot", "backend=alone"): "request: bench=slot needs bursts=NxD, for example bursts=",
    ("ws-bench", "bench=stream", "bursts=2x1"): "request: bench=stream needs bursts=1xD and period_ns=N",
    ("ws-bench", "bench=pi", "backend=none"): "backend 'none'",
    ("ws-bench", "bench=pi", "backend=../x"): "backend '../x': not a name",
    ("ws-bench", "bench=pi", "backend=alone"): "n/a: this pool has no reduction",
    ("ws-bench", "bench=pi", "backend=alone", "mode=pinned"): "n/a: this pool does not pin its workers",
    ("ws-prewake", "file=none.slots"): "none.slots: No such file or directory",
    ("ws-ticks", "cpu=1023"): "cannot run on CPU 1023",
}
for *words, wrong in NOT_UNDERSTOOD:
    name, _, value = wrong.partition("=")
    EXPLAINED[(*words, wrong)] = f"request: '{name}' with value '{value}' is not understood"


@pytest.mark.parametrize(
    "words, error",
    [pytest.param(*of, marks=pytest.mark.program(of[0][0]), id=" ".join(of[0])) for of in EXPLAINED.items()],
)
def test_a_request_that_makes_no_sense_is_explained(words, error):
    status, (answer,) = ask(*words)
    assert answer["error"].startswith(error) and status == (words[-1] != "file=none.slots")


@ws_bench
def test_noise_ends_with_its_life():
    status, (answer,) = ask("ws-bench", *SLOTS, "slots=5", *EVERY_NOISE)
    assert status == 0 and answer["slots"] == 5


@ws_bench
def test_stopped_callers_are_of_this_pool_only():
    words = ["bench=slot", "bursts=2x5", "slots=5", "workers=2", "limit_s=60"]
    (own,), (other,) = (ask("ws-bench", *words, f"backend={name}")[1] for name in ("ws", "alone"))
    assert own["stopped_callers"] >= 0 and "stopped_callers" not in other


@ws_bench
def test_each_noise_has_its_class_and_session(start):
    process = start(PROGRAMS / "ws-bench", *SLOTS, "slots=1000000", *EVERY_NOISE)
    until(lambda: len(children(process.pid)) == 5)
    *noise, _ = children(process.pid)
    until(lambda: sorted(os.getpriority(os.PRIO_PROCESS, one) for one in noise)[-2:] == [19, 19])
    until(lambda: [os.getsid(one) for one in noise] == [process.pid] * 3 + noise[3:])
    assert {os.sched_getscheduler(one) for one in noise} == {os.SCHED_OTHER}


@ws_bench
def test_a_host_is_a_process_on_each_cpu_above_all_classes(start):
    if not machine.realtime_allowed(99):
        pytest.skip("no permission for real-time classes with priority 99")
    cpus = sorted(os.sched_getaffinity(0))
    process = start(PROGRAMS / "ws-bench", *SLOTS, "slots=1000000", "noise=host:100:10000")
    until(lambda: len(children(process.pid)) == len(cpus) + 1)
    *noise, _ = every = children(process.pid)
    until(lambda: [os.sched_getscheduler(one) for one in noise] == [os.SCHED_FIFO] * len(cpus))
    assert [os.sched_getparam(one).sched_priority for one in noise] == [99] * len(cpus)
    assert sorted(map(list, map(os.sched_getaffinity, noise))) == [[cpu] for cpu in cpus]
    process.kill()
    process.wait()
    until(lambda: all(is_gone(one) for one in every))


@ws_bench
@pytest.mark.parametrize("kind, priority", [("realtime", 10), ("host", 99)])
def test_a_real_time_noise_that_is_not_allowed_is_an_error(kind, priority):
    words = [*SLOTS, "slots=20", f"noise={kind}:100:10000"]
    status, (answer,) = ask("ws-bench", *words)
    allowed = machine.realtime_allowed(priority)
    assert status == 0 and ("error" not in answer if allowed else "no process beside" in answer["error"])


@ws_bench
@pytest.mark.parametrize("killed", ["the program", "its parent"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_noise_outlives_what_started_it(start, killed, number):
    """The parent stands for nrbench."""
    heed = "import signal, subprocess, sys; signal.signal(signal.SIGINT, signal.SIG_DFL)"
    words = [*SLOTS, "slots=1000000", *EVERY_NOISE]
    parent = start(
        sys.executable, "-c", f"{heed}; subprocess.run(sys.argv[1:])", PROGRAMS / "ws-bench", *words
    )
    (program,) = until(lambda: children(parent.pid))
    until(lambda: len(children(program)) == 5)
    every = [program, *children(program)]
    os.kill(program if killed == "the program" else parent.pid, number)
    until(lambda: all(is_gone(one) for one in every))


@ws_bench
def test_a_histogram_has_each_slot_and_its_bins_are_narrow():
    words = ["bench=slot", "backend=alone", "bursts=3x1+2x5", "slots=300", "limit_s=600"]
    status, (answer,) = ask("ws-bench", *words, "histogram=1")
    ends, counts = answer[HISTOGRAM][::2], answer[HISTOGRAM][1::2]
    assert status == 0 and sum(counts) == 300 and ends == sorted(set(ends))
    assert answer["makespan_max_us"] * 1e3 <= ends[-1] < answer["makespan_max_us"] * 1e3 * (1 + 1 / 64)
    assert quantiles_us([answer], [0.5])[0] == pytest.approx(answer["makespan_p50_us"], rel=1 / 32)
    assert HISTOGRAM not in ask("ws-bench", *words)[1][0]


@ws_bench
@pytest.mark.parametrize("name", list(pi.TITLES))
@pytest.mark.parametrize("workers", [0, 3])
def test_each_library_computes_pi(name, workers):
    words = ["backend=ws", "mode=pinned"] if name in (pi.PINNED, pi.PINNED_OFF) else [f"backend={name}"]
    words += ["pin_first=1", "pin_step=2"] if name == pi.PINNED_OFF else []
    if not (PROGRAMS / f"libbench_{words[0].partition('=')[2]}.so").is_file():
        pytest.skip(f"{name} was not built")
    status, (answer,) = ask(
        "ws-bench", "bench=pi", *words, "intervals=1000000", "warm=1", f"workers={workers}"
    )
    assert status == 0 and answer["pi_error"] < 1e-10 and answer["threads"] == workers + 1


@ws_bench
def test_the_tasks_of_the_contest_repeat_by_a_seed():
    words = ["bench=coliseum", "backend=alone", "work=fib19x1-3", "tasks=300", "limit_s=600"]
    answers = [ask("ws-bench", *words, f"seed={seed}")[1][0] for seed in (1, 1, 2, 3)]
    assert all("ctx_switches" in of and (of.get("ipc") or of["counters_missing"]) for of in answers)
    found = [answer["repeats"] for answer in answers]
    assert found[0] == found[1] and len({*found}) > 1 and all(300 < of < 900 for of in found)


@ws_bench
@pytest.mark.parametrize("backend", ["libuv", "cthreadpool", "barrier", "condition"])
def test_a_plain_back_end_runs_each_task_once(backend):
    """ws-bench counts them."""
    if not (PROGRAMS / f"libbench_{backend}.so").is_file():
        pytest.skip(f"{backend} was not built")
    words = [f"backend={backend}", "workers=3", "limit_s=600"]
    for bench in (["bench=coliseum", "work=fib17-19", "tasks=1000"], ["bench=idle", "idle_us=100"]):
        assert ask("ws-bench", *bench, *words)[1][0]["wall_s"] > 0


@pytest.mark.program("ws-ticks")
def test_each_run_of_fib_is_in_the_histogram():
    status, (answer,) = ask("ws-ticks", f"cpu={min(os.sched_getaffinity(0))}", "count=2000")
    assert status == 0 and sum(answer["histogram"][1::2]) == answer["runs"] == 2000


@pytest.mark.program("ws-scan")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("workers", [0, 3])
def test_ws_scan_reads_each_block(way, workers):
    """It reports a sum that is wrong."""
    status, (answer,) = ask("ws-scan", f"how={way}", f"bytes={7 * MIB}", "passes=2", f"workers={workers}")
    assert status == 0 and answer["gb_per_s"] > 0 and answer["threads"] == workers + 1


@pytest.mark.program("ws-latch")
@pytest.mark.parametrize("how", latch.TITLES)
@pytest.mark.parametrize("hold_us", [0, 5])
def test_no_scan_sees_a_block_that_a_writer_holds(how, hold_us):
    """The sum of a block is wrong while a writer holds it, and the program reports a sum that is wrong."""
    words = ("clients=9", "workers=2", "warm_ms=0", "ms=100", f"hold_us={hold_us}")
    status, (answer,) = ask("ws-latch", f"how={how}", *words)
    assert status == 0 and answer["workers"] == 2 and answer["blocks_per_s"] > 0
    assert (answer["hold_us"] > 0) == (hold_us > 0)


@pytest.mark.program("ws-latch")
@pytest.mark.parametrize("how", latch.LIBRARIES)
def test_each_library_has_its_costs(how):
    status, (answer,) = ask("ws-latch", f"how={how}", "count=20000")
    if answer.get("error", "").startswith("not built"):
        pytest.skip("Boost.Fiber was not built")
    assert status == 0 and answer["yield_ns"] > 0 and answer["sleepers"] == 200
    assert set(latch.COSTS) <= answer.keys()


def ask_for(*words):
    return ask("ws-prewake", "warm_ms=5", "measure_ms=20", "block_ms=4", *words)[1]


@pytest.mark.program("ws-prewake")
def test_each_mode_gives_one_answer_and_one_named_twice_has_twice_the_slots():
    answers = ask_for("modes=off,auto,fixed:20,auto", "bursts=12x6+3x20", "pattern=DU")
    assert [a["mode"] for a in answers] == ["off", "auto", "fixed:20"]
    slots = [a["slots"] for a in answers]
    assert slots[0] > 0 and slots == [slots[0], 2 * slots[0], slots[0]]
    assert all(a["work_us"] == pytest.approx(132) for a in answers)
    assert all(len(a["round_cost_us"]) == len(answers[0]["round_cost_us"]) for a in answers)


@pytest.mark.program("ws-prewake")
def test_recorded_slots_are_work_too():
    (answer,) = ask_for("modes=auto", f"file={Path(__file__).parent / 'synthetic.slots'}")
    assert answer["slots"] > 0 and answer["work_us"] > 0


@pytest.mark.program("ws-prewake")
@pytest.mark.parametrize(
    "words",
    [
        ("quota_percent=100", "hog=1"),
        ("dma_latency=0", "slack_ns=1"),
        ("class=rrall",),
        ("pin=1", "inject_us=50", "bimodal=50"),
    ],
)
def test_an_environment_is_had_or_the_reason_is_told(words):
    for answer in ask_for("modes=off", *words):
        assert answer.get("slots") or answer["error"]


@pytest.mark.program("ws-prewake")
def test_each_step_has_an_answer():
    answers = ask_for("bench=step", "pattern=DU", "next_pattern=UUD", "inject_us=30", "measure_ms=200")
    assert len(answers) == 5 and answers[0]["mode"] == "a new pool"
    assert all(len(a["window_lateness_us"]) == 2 for a in answers)


@pytest.mark.program("ws-trace-cost")
def test_each_kind_of_event_is_measured():
    _, lines = ask("ws-trace-cost", "events=8000", "pause_us=0")
    assert [line["what"] for line in lines] == ["loop", "phase", "run_begin"]
    assert all(line["events"] == 8000 and 0 <= line["ns_min"] <= line["ns_p50"] for line in lines)


@pytest.mark.program("ws-trace-cost")
@pytest.mark.parametrize("backend", ["ws", "ws-untraced"])
def test_both_builds_of_the_pool_run_slots_and_report_the_mean(backend):
    words = ["bench=slot", f"backend={backend}", "bursts=12x6", "workers=1", "slots=5"]
    (answer,) = driver.ask(PROGRAMS / "ws-bench", words, 60)
    assert "error" not in answer and answer["makespan_mean_us"] > 0


@pytest.mark.program("ws-trace-cost")
def test_a_recorded_slot_has_its_phases_and_every_task():
    request = Request(PROGRAMS / "ws-bench")
    if reason := tracecost.why_none(request):
        pytest.skip(reason)
    words = ["bench=slot", "backend=ws", "bursts=12x6+5x9", "workers=1", "slots=25", "warm=0"]
    with tracecost.recording():
        assert tracecost.look(request)["recorded"]
    with tracecost.recording() as recording:
        (answer,) = driver.ask(PROGRAMS / "ws-bench", words, 600, **WANTED)
        recording.stop()
        events = events_of(Trace(recording.out))
    assert "error" not in answer and not tracecost.look(request)["recorded"]
    if recording.lost.get("lost_events"):
        pytest.skip("the buffers were full: the machine is busy")
    of_slots = list(dropwhile(lambda event: event["kind"] != "symbol_processing_begin", events))
    counts = Counter(event["kind"] for event in of_slots)
    slots = counts["symbol_processing_begin"]
    assert slots == counts["ulsch_decoding_begin"] >= 25
    assert counts["push"] == counts["run_begin"] == counts["run_end"] == 17 * slots
    ends = [event for event in events if event["kind"] == "symbol_processing_end"]
    assert all(event["worker"] == 12 for event in ends)  # a phase's columns: reader.ALSO
    assert (ends[-1]["func"], ends[-1]["arg"]) == (1, 4)
    assert not recording.out.exists()
