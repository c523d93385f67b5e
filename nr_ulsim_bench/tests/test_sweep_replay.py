# SPDX-License-Identifier: BSD-3-Clause
"""Recorded slots on the built-in pools: what is asked of ws-bench, and what becomes of its answer."""

from pathlib import Path

import pytest

from nrbench.backends import BACKENDS, Present
from nrbench.sweep.figures import DECODING, RX, SYMBOLS
from nrbench.sweep.options import Options
from nrbench.sweep.replay import Phase, SlotFile, bounds_us, burst_figures, choose_files, make_settings, take

SLOTS = (
    (
        Phase(0, "channel_estimation", 0, (5000, 5000)),
        Phase(0, "channel_estimation", 1000, (7000,)),
        Phase(0, "symbol_processing", 2000, (6000,) * 4),
        Phase(0, "ulsch_decoding", 3000, (30000, 10000, 10000)),
    ),
)


@pytest.fixture
def slot_file(tmp_path):
    path = tmp_path / "made-up.slots"
    path.write_text("0,symbol_processing,0,1,6000\n")
    return SlotFile(path, SLOTS)


def pools(*names):
    return [
        Present(backend, "1.0", True, backend.name != "alone", True)
        for backend in BACKENDS
        if backend.name in names
    ]


def options(**changes):
    values = dict(program=Path("p"), data=Path("d"), out=Path("o"), threads=(1, 2), repeats=3)
    return Options(**{**values, **changes})


def made(files, of_pools, wanted):
    return list(make_settings(files, of_pools, wanted, 4))


class Answers:
    """Stands for ws-bench: keeps what it was asked."""

    def __init__(self, **answer):
        self.words = []
        self.answer = answer

    def __call__(self, program, words, limit_s):
        self.words.append(words)
        return [self.answer]


BURSTS = [5.5, 7.5, 13.0, 31.0]
FINE = {"burst_mean_us": BURSTS, "slots": 100, "wall_s": 0.1, "cpu_s": 0.05, "ctx_switches": 7}
TIMES = {"mean": 100.0, "p50": 99.0, "p99": 120.0, "max": 130.0}
FINE |= {f"makespan_{name}_us": us for name, us in TIMES.items()}


def test_bounds_are_the_longest_task_or_the_work_over_the_cpus_and_serial_work_only_in_the_whole(slot_file):
    two = bounds_us(slot_file, 2)
    assert two["symbol_processing_bound_us"] == pytest.approx(12)
    assert two["decoding_bound_us"] == pytest.approx(30)
    assert two["rx_bound_us"] == pytest.approx(5 + (1 + 7) + (2 + 12) + (3 + 30))
    assert bounds_us(slot_file, 1)["decoding_bound_us"] == pytest.approx(50)


def test_bursts_of_one_name_are_summed(slot_file):
    figures = burst_figures(slot_file, BURSTS)
    assert figures == {"channel_estimation_us": 13.0, SYMBOLS: 13.0, DECODING: 31.0}


def test_bursts_of_slots_that_are_not_alike_say_nothing(slot_file):
    other = SlotFile(slot_file.path, (*SLOTS, SLOTS[0][:2]))
    assert burst_figures(other, BURSTS) == {}


def test_other_slots_under_the_same_name_are_other_options(slot_file, tmp_path):
    (before,) = {s.options for s in made([slot_file], pools("alone"), options())}
    (tmp_path / "b").mkdir()
    path = tmp_path / "b" / "made-up.slots"
    path.write_text("0,symbol_processing,0,1,7000\n")
    (after,) = {s.options for s in made([SlotFile(path, SLOTS)], pools("alone"), options())}
    assert before != after and before[0] == after[0]


def test_each_mode_reaches_the_pool(slot_file, monkeypatch):
    settings = made(
        [slot_file], pools("ws", "alone"), options(spins=("off", "hot"), threads=(2,), sched_class="rr")
    )
    answers = Answers(**FINE)
    monkeypatch.setattr("nrbench.sweep.replay.ask", answers)
    taken = take(Path("p"), [slot_file], pools("ws", "alone"), 4, settings)
    inline, off, hot = answers.words
    assert "backend=alone" in inline and "workers=1" in inline
    assert {"backend=ws", "workers=2", "class=rr", "mode=default", "env=TPOOL_WS_SPIN=off"} <= set(off)
    assert {"mode=default", "env=TPOOL_WS_SPIN=hot"} <= set(hot)
    assert taken[1]["figures"][RX] == 100.0 and taken[1]["cpu_s"] == 0.05
    # three threads can compute with two workers; one inline; never more than there are cores
    assert taken[1]["figures"]["symbol_processing_bound_us"] == pytest.approx(24 / 3)
    assert taken[0]["figures"]["symbol_processing_bound_us"] == pytest.approx(24)
    (few,) = take(Path("p"), [slot_file], pools("ws", "alone"), 2, settings[1:2])
    assert few["figures"]["symbol_processing_bound_us"] == pytest.approx(12)


@pytest.mark.parametrize("error, status", [("no result within 3 s; killed", "hang"), ("no memory", "failed")])
def test_a_run_without_a_result_says_why(slot_file, error, status, monkeypatch):
    (setting, *_) = made([slot_file], pools("alone"), options())
    monkeypatch.setattr("nrbench.sweep.replay.ask", Answers(error=error))
    taken = take(Path("p"), [slot_file], pools("alone"), 2, [setting])
    assert taken == [{"status": status, "error": error}]


def test_a_short_sweep_takes_two_files_that_are_not_the_extremes():
    def of(task_us):
        return SlotFile(Path(f"f{task_us}.slots"), ((Phase(0, "a", 0, (task_us * 1000,) * 4),),))

    files = [of(task_us) for task_us in (60, 10, 30, 20, 50, 40)]
    assert [one.name for one in choose_files(files, None, short=True)] == ["f20", "f50"]
    assert len(choose_files(files, None, short=False)) == 6
    assert [one.name for one in choose_files(files, "f50, f10", short=True)] == ["f50", "f10"]
    with pytest.raises(ValueError, match="--cases: no recorded slots 'f7'; there are f60, f10"):
        choose_files(files, "f7", short=False)
