# SPDX-License-Identifier: BSD-3-Clause
"""The built program, where WS_BENCH_BUILD names a build folder. No figure is judged."""

from pathlib import Path

import pytest
from part_runs import PROGRAMS

from nrbench.backends import BACKENDS
from nrbench.driver import ask

PROGRAM = PROGRAMS / "ws-bench"
SYNTHETIC = Path(__file__).parent / "synthetic.slots"
pytestmark = pytest.mark.program("ws-bench")


def answer_of(words):
    return ask(PROGRAM, words, 60)[0]


@pytest.mark.parametrize("name", [backend.name for backend in BACKENDS])
def test_each_pool_runs_every_task_exactly_once(name):
    if not (PROGRAM.parent / f"libbench_{name}.so").exists():
        pytest.skip(f"{name} was not built")
    workers = 1 if name == "citor" else 2  # it has no more threads than there are physical cores
    head = [f"backend={name}", f"workers={workers}", "limit_s=20"]
    slot = answer_of([*head, "bench=slot", "bursts=12x6+3x20", "period_us=1000", "slots=5", "warm=1"])
    assert "error" not in slot and slot["slots"] == 5 and slot["bound_us"] > 0
    contest = answer_of([*head, "bench=coliseum", "work=fib17-19", "tasks=500"])
    assert "error" not in contest and contest["tasks"] == 500
    nested = answer_of([*head, "bench=coliseum", "work=nested", "tasks=5"])
    assert nested.get("error", "n/a").startswith("n/a")


def orphaned_registrations():
    """Of LLVM's OpenMP runtime: __KMP_REGISTERED_LIB_<process>_<user>, whose process has ended."""
    files = Path("/dev/shm").glob("__KMP_REGISTERED_LIB_*")
    return {file for file in files if not Path(f"/proc/{file.name.split('_')[-2]}").exists()}


def test_no_registration_of_an_openmp_runtime_stays():
    if not (PROGRAM.parent / "libbench_openmp-llvm.so").exists():
        pytest.skip("openmp-llvm was not built")
    words = ["backend=openmp-llvm", "workers=1", "bench=slot", "bursts=1x1"]
    before = orphaned_registrations()
    assert answer_of([*words, "slots=2"])["slots"] == 2
    assert "killed" in answer_of([*words, "slots=100000", "limit_s=0.2"])["error"]
    assert orphaned_registrations() <= before


def test_slots_may_come_by_chance_in_varied_sizes():
    words = ["bench=slot", "backend=alone", "bursts=20x5", "period_us=100", "slots=300", "limit_s=20"]
    work = {}
    for arrivals in ("regular", "exponential", "onoff", "first"):
        more = [f"arrivals={arrivals}", "varied=1", "seed=3"]
        answers = [answer_of([*words, *more]) for _ in range(2)]
        assert answers[0]["work_s"] == answers[1]["work_s"]  # of one seed
        work[arrivals] = answers[0]["work_s"] / 300 * 1e6
    assert all(abs(us - 62.5) < 4 for us in work.values())  # 5 to 20 tasks
    assert len(set(work.values())) > 1
    refused = answer_of([*words, "arrivals=first", "period_us=0"])
    assert refused["error"] == "request: irregular arrivals need period_us=N"


def test_slots_in_which_a_pool_settles_do_not_count():
    words = ["bench=slot", "backend=alone", "bursts=2x0.5", "warm=3", "slots=2", "limit_s=20"]
    answer = answer_of(words)
    assert answer["slots"] == 2 and answer["ratio_p99"] >= answer["ratio_p50"] >= 1
    assert answer["bound_us"] < 1.01 and answer["work_s"] == pytest.approx(2e-6)


STREAM = ["bench=stream", "workers=1", "bursts=1x2", "limit_s=20"]


@pytest.mark.parametrize("name", ["alone", "ws", "mutex-queue"])
def test_a_stream_is_pushed_in_full_and_never_joined_before_its_end(name):
    """Its tasks may push more."""
    words = [*STREAM, f"backend={name}", "warm=10", "slots=20"]
    answer = answer_of([*words, "period_ns=50000"])
    assert "error" not in answer and answer["slots"] == 20
    assert answer["overtaken"] == 0  # fewer than 128 come after any
    assert answer["lag_max_us"] >= answer["lag_p50_us"] >= 0
    answer = answer_of([*words, "period_ns=200000", "fan=8"])
    assert answer["work_s"] == pytest.approx(20 * 9 * 2e-6)
    assert answer["fan_lag_max_us"] >= answer["fan_lag_p50_us"] >= 0


def test_a_fan_needs_a_pool_whose_tasks_can_push():
    words = [*STREAM, "backend=mutex-per-worker", "period_ns=50000", "fan=2", "slots=5"]
    assert answer_of(words)["error"] == "n/a: a task of this pool cannot push"


def test_a_replay_sums_serial_work_and_tasks():
    words = ["bench=replay", "backend=alone", f"file={SYNTHETIC}", "slots=2", "warm=0", "tasks=3"]
    answer = answer_of(words)
    assert answer["work_s"] == pytest.approx((12 + 18 + 3 + 58 + 9 + 6 + 4) * 1e-6)


def test_a_replay_tells_the_time_of_each_burst(tmp_path):
    path = tmp_path / "two.slots"
    path.write_text("0,a,0,2,400000 400000\n0,b,900000,1,50000\n")
    words = ["bench=replay", "backend=alone", f"file={path}", "tasks=2"]
    words += ["slots=2", "warm=0", "period_us=3000"]
    answer = answer_of(words)
    first_us, second_us = answer["burst_mean_us"]
    assert first_us >= 800 and second_us >= 50
    assert first_us + second_us + 900 <= 1.001 * answer["makespan_mean_us"]  # serial work is in no burst


def test_a_broken_slot_file_is_named_with_its_line(tmp_path):
    path = tmp_path / "with a blank.slots"
    path.write_text("# comment\n0,a,1,2,5\n")
    answer = answer_of(["bench=replay", "backend=alone", f"file={path}"])
    assert answer["error"] == f"{path}:2: expected slot,phase,serial_before_ns,task_count,task_ns..."


def test_a_measurement_that_takes_too_long_is_killed_and_the_next_one_runs():
    answer = answer_of(["bench=slot", "backend=alone", "bursts=1x1", "slots=100000", "limit_s=0.2"])
    assert answer == {"error": "no result within 0.2 s; killed"}
    assert "error" not in answer_of(["bench=slot", "backend=alone", "bursts=1x1", "slots=2"])
