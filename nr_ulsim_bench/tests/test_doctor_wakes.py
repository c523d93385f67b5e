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


def line(kind="futex", p50_us=20.0, p99_us=60.0, gap_us=1000, **more):
    about = {"kind": kind, "class": "fifo", "gap_us": gap_us, "hold": False, "samples": 100, "max_us": 90.0}
    return about | {"p50_us": p50_us, "p99_us": p99_us, "call_p50_us": 7.5} | more


LOOK = line("look", 0.1)


def judge(*lines):
    return list(wakes.judge(wakes.parse("\n".join(map(json.dumps, lines)))))


@pytest.mark.parametrize(
    "asleep, level, seen",
    [
        (
            {"p50_us": 40.1},
            NOTE,
            "slept 1 ms starts 40.1 us after the call that wakes it (p99 60.0 us, most 90",
        ),
        ({"p50_us": 5.0}, GOOD, "starts 5.0 us"),  # less than 5 us to gain
        ({"p50_us": 5.0, "p99_us": 900.0}, WARN, "(p99 900 us"),
        ({"p99_us": 99.0}, NOTE, "p99 99.0 us"),  # a tenth of a slot is late
        ({"p99_us": 100.0}, WARN, "p99 100 us"),
        ({"p99_us": 777.0, "samples": 99}, NOTE, "(most 90.0 us; 99 wakes, real-time class)"),
    ],
)
def test_how_late_a_worker_starts(asleep, level, seen):
    found, *_ = judge(line(**asleep), LOOK)
    assert found.level is level and seen in found.text
    assert "costs its caller 7.5 us; a worker that is awake sees work in 0.10 us" in found.text


@pytest.mark.parametrize(
    "held_us, said",
    [
        (39.5, "gains nothing that so short a measurement shows"),
        (2.0, "gains about as much"),
        (20.0, "gains 50 % of that"),
        (60.0, "makes it slower"),
    ],
)
def test_whether_held_idle_states_gain_as_much(held_us, said):
    found, *_ = judge(line(p50_us=40.0), LOOK, line(p50_us=held_us, hold=True))
    assert said in found.values["holding"] and found.values["gain"] == "39.9 us"


def test_the_pause_nearest_to_a_slot_is_judged_and_all_are_listed():
    findings = judge(line(gap_us=250, p50_us=15), line(gap_us=5000, p50_us=30), line("look", 0.1, gap_us=250))
    assert "slept 0.25 ms" in findings[0].text
    assert findings[-1].text == "p50 15.0 us after 0.25 ms, 30.0 us after 5 ms"


def test_the_class_of_oais_workers_is_judged_where_it_was_measured():
    normal = [line(p50_us=60.0) | {"class": "other"}, line("look", 0.2) | {"class": "other"}]
    for lines, said in ([*normal, line(p50_us=30.0), LOOK], "real-time"), (normal, "normal"):
        found, *_ = judge(*lines)
        assert (
            f"starts {30 if said == 'real-time' else 60}.0 us" in found.text and f"{said} class" in found.text
        )


def test_series_that_were_skipped_are_named_once_each():
    findings = judge(*(line(gap_us=gap_us, hold=True, skipped="EPERM") for gap_us in (250, 1000)))
    assert [found.text for found in findings] == [
        "cannot be checked here: futex, fifo, idle states held off: EPERM"
    ]


@pytest.mark.parametrize(
    "text, error",
    [('{"error":"no"}', "ws-wakes: no"), ("x", "'x'"), ("[]", r"\[\]"), ('{"kind":"futex"}', "kind")],
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
    words = []
    monkeypatch.setattr(wakes, "_output", lambda given: words.extend(given) or "")
    monkeypatch.setattr("os.access", lambda *args: True)
    target = second(tmp_path, monkeypatch, thread(10), now | stat())
    found = [finding.text for finding in wakes.wake_latency(target)]
    assert f"class={sched_class}" in words and len(found) == (sched_class == "other")
    assert all("gnb would be delayed" in text for text in found)


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
    with pytest.raises(Unseen, match="--wakes .*: no such program"), wakes.ready(tmp_path / "x"):
        pass
    monkeypatch.setattr(wakes, "PROGRAM", tmp_path / "ws-wakes")
    monkeypatch.setattr(wakes, "COMPILERS", ())
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(Unseen, match="no C compiler .*; build it with ci/bench"):
        with wakes.ready(wakes.PROGRAM):
            pass
