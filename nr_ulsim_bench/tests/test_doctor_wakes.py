# SPDX-License-Identifier: BSD-3-Clause
"""What the doctor makes of measured wakes."""

import json
import shutil
import subprocess
from pathlib import Path

import machine_tree
import pytest

from nrbench.doctor import latency, wakes
from nrbench.doctor.finding import Level, Target
from nrbench.system import CPU, parse_cpus


def line(kind="futex", p50_us=20.0, p99_us=60.0, gap_us=1000, hold=False, **more):
    about = {"kind": kind, "class": "fifo", "gap_us": gap_us, "hold": hold, "cpu": 1, "samples": 100}
    called = {"call_p50_us": 7.5} if kind == "futex" else {}
    return about | {"awake": 0, "p50_us": p50_us, "p99_us": p99_us, "max_us": 90.0} | called | more


def judge(*lines, **held):
    return list(latency.judge(wakes.parse("\n".join(map(json.dumps, lines))), **held))


def test_a_line_is_read():
    found = wakes.parse(json.dumps(line())).find("futex", "fifo", 1000)
    assert (found.samples, found.p50_us, found.p99_us, found.max_us, found.call_us) == (100, 20, 60, 90, 7.5)


def test_series_that_were_skipped_are_said_once_each_with_the_reason():
    skipped = [line(gap_us=gap_us, hold=True, skipped="Permission denied") for gap_us in (250, 1000)]
    findings = judge(*skipped)
    assert [finding.seen for finding in findings] == [
        "cannot be checked here: futex, fifo, idle states held off: Permission denied"
    ]
    assert not findings[0].checked


@pytest.mark.parametrize(
    "text, error",
    [('{"error":"no"}', "ws-wakes: no"), ("x", "'x'"), ("[]", r"\[\]"), ('{"kind":"futex"}', "kind")],
)
def test_answers_that_are_none_are_named(text, error):
    with pytest.raises(wakes.WakesError, match=error):
        wakes.parse(text)


def test_the_gain_is_what_a_worker_that_is_awake_saves():
    finding, *_ = judge(line(p50_us=40.1), line("look", 0.1))
    assert "a worker that slept 1 ms starts 40.1 us after" in finding.seen
    assert "costs its caller 7.5 us" in finding.seen and "sees work in 0.10 us" in finding.seen
    assert "Pre-wake can typically gain 40.0 us a burst" in finding.why
    assert "could not be measured" in finding.why and finding.level is Level.NOTE


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
    finding, *_ = judge(line(p50_us=40.0), line("look", 0.1), line(p50_us=held_us, hold=True))
    assert said in finding.why


def test_a_machine_that_wakes_at_once_needs_no_prewake():
    finding, *_ = judge(line(p50_us=3.0), line("look", 0.1))
    assert finding.level is Level.GOOD and "next to nothing" in finding.why


def test_late_timers_and_wakes_are_warned_of():
    findings = judge(line(p99_us=400.0), line("look", 0.1), line("timer", p99_us=400.0))
    assert [(finding.check, finding.level) for finding in findings] == [
        ("wake latency", Level.WARN),
        ("own timer", Level.WARN),
    ]


def test_the_gap_nearest_to_a_slot_is_judged_and_all_are_listed():
    findings = judge(line(gap_us=250, p50_us=15), line(gap_us=5000, p50_us=30), line("look", 0.1, gap_us=250))
    assert "slept 0.25 ms" in findings[0].seen
    assert findings[-1].seen == "p50 15.0 us after 0.25 ms, 30.0 us after 5 ms"


def test_late_wakes_are_no_good_machine_however_short_most_are():
    finding, *_ = judge(line(p50_us=3.0, p99_us=900.0), line("look", 0.1))
    assert finding.level is Level.WARN and "But some wakes are late" in finding.why


@pytest.mark.parametrize("p99_us, level", [(99.0, Level.NOTE), (100.0, Level.WARN)])
def test_a_tenth_of_a_slot_is_late(p99_us, level):
    finding, *_ = judge(line(p99_us=p99_us), line("look", 0.1))
    assert finding.level is level


def test_few_samples_have_no_percentile_99():
    few = line(p99_us=777.0, max_us=90.0, samples=99)
    finding, timer, *_ = judge(
        few, line("look", 0.1), line("timer", p99_us=777.0, samples=99), few | {"hold": True}
    )
    assert "p99" not in finding.seen + finding.why + timer.seen and "most 90.0 us" in finding.seen
    assert (finding.level, timer.level) == (Level.NOTE, Level.NOTE)
    finding, *_ = judge(line(p99_us=60.0, samples=100), line("look", 0.1))
    assert "(p99 60.0 us, most 90.0 us; 100 wakes" in finding.seen


@pytest.mark.parametrize("p50_us", [3.0, 40.0], ids=["nothing to gain", "much to gain"])
def test_idle_states_that_were_held_already_are_said(p50_us):
    finding, *_ = judge(line(p50_us=p50_us), line("look", 0.1), held_us=2, holders="tuned")
    assert "was already held at 2 us by tuned: this is the gain in that state" in finding.why
    finding, *_ = judge(line(p50_us=p50_us), line("look", 0.1))
    assert "already" not in finding.why


def test_the_class_of_oais_workers_is_judged_where_it_was_measured():
    normal = [line(p50_us=60.0) | {"class": "other"}, line("look", 0.2) | {"class": "other"}]
    finding, *_ = judge(*normal, line(p50_us=30.0), line("look", 0.1))
    assert "real-time class" in finding.seen and "starts 30.0 us after" in finding.seen
    finding, *_ = judge(*normal)
    assert "normal class" in finding.seen and "starts 60.0 us after" in finding.seen


def _cores(*groups):
    return {
        f"{CPU}/cpu{cpu}/topology/thread_siblings_list": group
        for group in groups
        for cpu in parse_cpus(group)
    }


def _nodes(*groups):
    return {f"/sys/devices/system/node/node{n}/cpulist": group for n, group in enumerate(groups)}


@pytest.mark.parametrize(
    "cpus, changes, caller",
    [
        ("2-5", {}, 4),
        ("2-5", _cores("4-5"), 3),
        ("4-5", _cores("4-5"), 7),
        ("2,5", _nodes("0-3", "4-7"), 7),
        ("2,5", _nodes("0-3", "4-7") | _cores("4,6-7") | {f"{CPU}/online": "0-2,5"}, 2),
        ("5", {f"{CPU}/online": "5"}, None),
    ],
    ids=["a worker", "not its sibling", "no worker but a core", "its node", "another node", "alone"],
)
def test_another_core_of_the_same_node_wakes_the_last_worker(tmp_path, cpus, changes, caller):
    words = wakes.chosen_cpus(Target(machine_tree.tuned(tmp_path, changes), parse_cpus(cpus)))
    assert words == ["cpu=5"] + ([f"caller_cpu={caller}"] if caller is not None else [])


def _thread(ticks, policy=1, flags=0, name="a b) c"):
    fields = ["0"] * 50
    fields[0], fields[6], fields[11], fields[38] = "S", str(flags), str(ticks), str(policy)
    return f"7 ({name}) " + " ".join(fields) + "\n"


@pytest.mark.parametrize(
    "policy, flags, ticks, busy",
    [(1, 0, 12, ["gnb"]), (2, 0, 12, ["gnb"]), (1, 0, 11, []), (0, 0, 90, []), (1, 0x00200000, 90, [])],
    ids=["fifo", "rr", "idle", "normal", "of the kernel"],
)
def test_real_time_programs_that_work_are_not_disturbed(tmp_path, policy, flags, ticks, busy):
    stat = "/proc/70/task/71/stat"
    system = machine_tree.tuned(tmp_path, {"/proc/70/comm": "gnb", stat: _thread(10, policy, flags)})

    def wait(seconds):
        machine_tree.write(tmp_path, {stat: _thread(ticks, policy, flags)})

    assert wakes.busy_realtime(Target(system, parse_cpus("5"), wait)) == busy


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


def test_where_ws_wakes_cannot_be_made_the_reason_is_said(monkeypatch, tmp_path):
    with pytest.raises(wakes.WakesError, match="--wakes .*: no such program"), wakes.ready(tmp_path / "x"):
        pass
    monkeypatch.setattr(wakes, "PROGRAM", tmp_path / "ws-wakes")
    monkeypatch.setattr(wakes, "COMPILERS", ())
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(wakes.WakesError, match="no C compiler .*; build it with ci/bench"):
        with wakes.ready(wakes.PROGRAM):
            pass


@pytest.mark.parametrize("busy, sched_class", [([], "all"), (["gnb"], "other")])
def test_beside_a_real_time_program_only_the_normal_class_is_measured(
    tmp_path, monkeypatch, busy, sched_class
):
    measured = []
    monkeypatch.setattr(latency, "busy_realtime", lambda target: busy)
    monkeypatch.setattr(latency, "measure", lambda *args: measured.append(args[2]) or wakes.Wakes((), ()))
    monkeypatch.setattr(latency, "cyclictest", lambda target, realtime: [])
    findings = latency.examine(Target(machine_tree.tuned(tmp_path), parse_cpus("5")), Path("x"))
    assert measured == [sched_class]
    assert ["gnb would be delayed" in finding.seen for finding in findings] == [True] * len(busy)
