# SPDX-License-Identifier: BSD-3-Clause
"""What the doctor makes of measured wakes."""

import json
import shutil
import subprocess
from pathlib import Path

import machine_tree
import pytest
from test_doctor import cores, second, stat, thread

from nrbench.doctor import wakes
from nrbench.doctor.target import Level, Target, Unseen
from nrbench.system import CPU, parse_cpus

GOOD, NOTE, WARN = Level.GOOD, Level.NOTE, Level.WARN


def line(kind="futex", p50_us=20.0, p99_us=60.0, **more):
    about = {"kind": kind, "class": "fifo", "hold": False, "samples": 100, "max_us": 90.0}
    return about | {"p50_us": p50_us, "p99_us": p99_us, "call_p50_us": 7.5} | more


LOOK = line("look", 0.1)


def judge(*lines):
    return wakes.judge(wakes.parse("\n".join(map(json.dumps, lines))))


@pytest.mark.parametrize(
    "asleep, level, seen",
    [
        (
            {"p50_us": 40.1},
            NOTE,
            "slept 1 ms starts 40.1 µs after the call that wakes it (p99 60.0 µs, most 90",
        ),
        ({"p50_us": 5.0}, GOOD, "starts 5.0 µs"),  # less than 5 us to gain
        ({"p50_us": 5.0, "p99_us": 900.0}, WARN, "(p99 900 µs"),
        ({"p99_us": 99.0}, NOTE, "p99 99.0 µs"),  # a tenth of a slot is late
        ({"p99_us": 100.0}, WARN, "p99 100 µs"),
    ],
)
def test_how_late_a_worker_starts(asleep, level, seen):
    found = judge(line(**asleep), LOOK)
    assert found.level is level and seen in found.text
    assert "costs its caller 7.5 µs; a worker that is awake sees work in 0.10 µs" in found.text


@pytest.mark.parametrize(
    "held_us, said",
    [
        (39.5, "gains nothing that so short a measurement shows"),
        (0.1, "gains 100 % of that"),
        (20.0, "gains 50 % of that"),
        (60.0, "gains nothing that so short"),
    ],
)
def test_whether_held_idle_states_gain_as_much(held_us, said):
    found = judge(line(p50_us=40.0), LOOK, line(p50_us=held_us, hold=True))
    assert said in found.values["about"] and found.values["gain"] == "39.9 µs"


def test_the_class_of_oais_workers_is_judged_where_it_was_measured():
    normal = [line(p50_us=60.0) | {"class": "other"}, line("look", 0.2) | {"class": "other"}]
    both = [*normal, line(p50_us=30.0), LOOK]
    for lines, us, said in (both, 30, "real-time"), (normal, 60, "normal"):
        found = judge(*lines)
        assert f"starts {us}.0 µs" in found.text and f"{said} class" in found.text


def test_a_late_timer_is_a_warning():
    found = judge(line(p50_us=40.0), LOOK, line("timer", 5.0, 200.0))
    assert found.level is WARN and "a timer of its own wakes it 5.0 µs late (p99 200 µs" in found.text


def test_the_reason_of_series_that_were_skipped_is_named_once():
    skipped = [line(kind, hold=True, skipped="EPERM") for kind in ("futex", "timer")]
    assert judge(line(), LOOK, *skipped).text.endswith("; in part not measured: EPERM")
    with pytest.raises(Unseen, match="^EPERM$"):
        judge(*skipped)


@pytest.mark.parametrize(
    "text, error",
    [('{"error":"no"}', "no"), ("x", "'x'"), ("[]", r"\[\]"), ('{"kind":"futex"}', "kind")],
)
def test_answers_that_are_none_are_named(text, error):
    with pytest.raises(Unseen, match=error):
        wakes.parse(text)


def nodes(*groups):
    return {f"/sys/devices/system/node/node{n}/cpulist": group for n, group in enumerate(groups)}


@pytest.mark.parametrize(
    "cpus, changes, caller",
    [
        ("2-5", {}, 4),
        ("2-5", cores("4-5"), 3),
        ("4-5", cores("4-5"), 7),
        ("2,5", nodes("0-3", "4-7"), 7),
        ("2,5", nodes("0-3", "4-7") | cores("4,6-7") | {f"{CPU}/online": "0-2,5"}, 2),
        ("5", {f"{CPU}/online": "5"}, None),
    ],
    ids=["a worker", "not its sibling", "no worker but a core", "its node", "another node", "alone"],
)
def test_another_core_of_the_same_node_wakes_the_last_worker(tmp_path, cpus, changes, caller):
    words = wakes.chosen_cpus(Target(machine_tree.tuned(tmp_path, changes), parse_cpus(cpus)))
    assert words == ["cpu=5"] + ([f"caller_cpu={caller}"] if caller is not None else [])


@pytest.mark.parametrize(
    "now, sched_class",
    [
        (thread(12), "other"),
        (thread(12, policy=2), "other"),
        (thread(11), "all"),  # idle
        (thread(90, policy=0), "all"),  # normal
        (thread(90, flags=0x00200000), "all"),  # of the kernel
    ],
)
def test_beside_a_real_time_program_the_normal_class_is_measured(tmp_path, monkeypatch, now, sched_class):
    words, answer = [], "\n".join(map(json.dumps, (line(), LOOK)))
    monkeypatch.setattr(wakes, "_output", lambda *given: words.extend(given) or answer)
    monkeypatch.setattr("os.access", lambda *args: True)
    found = wakes.wake_latency(second(tmp_path, monkeypatch, thread(10), now | stat()))
    assert f"class={sched_class}" in words
    assert ("real-time class, which would delay gnb" in found.text) == (sched_class == "other")


def test_ws_wakes_is_compiled_where_it_is_not_built(monkeypatch, tmp_path):
    lists = (Path(wakes.__file__).resolve().parents[2] / "CMakeLists.txt").read_text()
    assert f"add_executable(ws-wakes {' '.join(wakes.SOURCES)})" in lists
    monkeypatch.setattr(wakes, "PROGRAM", tmp_path / "ws-wakes")
    if not any(map(shutil.which, wakes.COMPILERS)):
        pytest.skip("there is no C compiler")
    with wakes.ready(wakes.PROGRAM) as program:
        said = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
        assert "usage: ws-wakes" in said.stdout + said.stderr
    assert not program.exists() and not wakes.PROGRAM.exists()


def test_where_ws_wakes_cannot_be_made_the_reason_is_named(monkeypatch, tmp_path):
    with pytest.raises(Unseen, match="x is not there"), wakes.ready(tmp_path / "x"):
        pass
    monkeypatch.setattr(wakes, "PROGRAM", tmp_path / "ws-wakes")
    monkeypatch.setattr(wakes, "COMPILERS", ())
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(Unseen, match="build it with ci/bench, or name another one: --wakes"):
        with wakes.ready(wakes.PROGRAM):
            pass
