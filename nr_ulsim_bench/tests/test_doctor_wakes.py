# SPDX-License-Identifier: BSD-3-Clause
"""What the doctor makes of measured wakes; and ws-wakes itself, where WS_BENCH_BUILD names a build folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import machine_tree
import pytest
from typer import Typer
from typer.testing import CliRunner

from nrbench.doctor import cli, wakes
from nrbench.doctor.finding import Level, Target
from nrbench.system import System, parse_cpus

BUILD = os.environ.get("WS_BENCH_BUILD", "")
PROGRAM = Path(BUILD) / "nr_ulsim_bench" / "bin" / "ws-wakes"
needs_program = pytest.mark.skipif(
    not (BUILD and PROGRAM.is_file()), reason="WS_BENCH_BUILD names no build of ws-wakes"
)


def line(kind="futex", p50_us=20.0, p99_us=60.0, gap_us=1000, hold=False, **more):
    about = {"kind": kind, "class": "fifo", "gap_us": gap_us, "hold": hold, "cpu": 1, "samples": 100}
    called = {"call_p50_us": 7.5} if kind == "futex" else {}
    return about | {"awake": 0, "p50_us": p50_us, "p99_us": p99_us, "max_us": 90.0} | called | more


def judge(*lines):
    return list(wakes.judge(wakes.parse("\n".join(map(json.dumps, lines)))))


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
    assert "Pre-wake can gain up to 40.0 us a burst" in finding.why
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


HISTOGRAM = """\
# /dev/cpu_dma_latency set to 0us
# Histogram
000000 000000
000002 000010
000003 000085
000009 000004
# Total: 000000099
# Min Latencies: 00002
# Avg Latencies: 00003
# Max Latencies: 05000
# Histogram Overflows: 00001
# Histogram Overflow at cycle number:
# Thread 0: 00042
"""


def test_cyclictests_histogram_is_read():
    cycles = wakes.parse_cyclictest(HISTOGRAM)
    assert (cycles.samples, cycles.p50_us, cycles.p99_us, cycles.max_us) == (100, 3, 9, 5000)


def test_a_cyclictest_that_says_nothing_is_an_error():
    with pytest.raises(wakes.WakesError, match="no histogram"):
        wakes.parse_cyclictest("unable to change scheduling policy!\n")


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """A folder that alone is searched for programs; returns what makes one."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    def make(name, text):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{sys.executable}\n{text}\n")
        path.chmod(0o755)
        return path

    return make


def test_programs_that_are_missing_are_said_and_no_error(commands):
    target = Target(System(), System().affinity())
    findings = wakes.examine(target, Path("not there/ws-wakes"))
    assert [(finding.check, finding.checked) for finding in findings] == [
        ("wake latency", False),
        ("cyclictest", False),
    ]
    assert "not there/ws-wakes is not built" in findings[0].seen


def test_cyclictest_runs_with_idle_states_as_they_are_and_as_it_comes(commands, tmp_path, monkeypatch):
    log = tmp_path / "calls"
    program = (
        "import sys",
        f"open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')",
        f"text = {HISTOGRAM!r}",
        "print(text if '--latency=1000000' in sys.argv else text.replace('000003 0', '000001 0'))",
    )
    commands("cyclictest", "\n".join(program))
    monkeypatch.setattr(wakes.os, "access", lambda *args: True)
    (finding,) = wakes.cyclictest(Target(System(), parse_cpus("1")), realtime=True)
    first, second = log.read_text().splitlines()
    assert "--latency=1000000" in first and "--latency" not in second
    assert "-p 97" in first and "-a 1" in first
    assert "idle states as they are: 3 us" in finding.seen and "as it comes: 1 us" in finding.seen


def test_a_cyclictest_that_fails_is_said(commands):
    commands("cyclictest", "import sys; sys.exit('no permission')")
    (finding,) = wakes.cyclictest(Target(System(), parse_cpus("1")), realtime=True)
    assert not finding.checked and "cyclictest: no permission" in finding.seen


@needs_program
@pytest.mark.parametrize("kind", ["futex", "timer", "look"])
def test_ws_wakes_measures_what_it_is_asked_for(kind):
    words = [f"kind={kind}", "gaps_us=250,500", "samples=12", "class=all", "hold=all"]
    lines = list(map(json.loads, subprocess.check_output([PROGRAM, *words], text=True).splitlines()))
    wanted = {(c, g, h) for c in ("other", "fifo") for g in (250, 500) for h in (False, True)}
    if kind == "look":  # of the first gap; it does not sleep
        wanted = {("other", 250, False), ("fifo", 250, False)}
    assert {(answer["class"], answer["gap_us"], answer["hold"]) for answer in lines} == wanted
    for answer in (answer for answer in lines if "skipped" not in answer):
        assert answer["kind"] == kind and answer["samples"] + answer["awake"] == 12
        assert 0 < answer["p50_us"] <= answer["p99_us"] <= answer["max_us"]
        assert ("call_p50_us" in answer) == (kind == "futex")


@needs_program
@pytest.mark.parametrize("word", ["gaps_us=0", "gaps_us=1,", "samples=0", "cpu=100000", "kind=x", "x"])
def test_ws_wakes_explains_what_it_does_not_understand(word):
    answer = subprocess.run([PROGRAM, word], capture_output=True, text=True, check=False)
    assert answer.returncode == 1 and json.loads(answer.stdout)["error"].startswith("request: ")


@needs_program
def test_ws_wakes_says_where_there_is_no_such_cpu():
    words = ["kind=timer", "class=other", "hold=no", "gaps_us=250", "samples=10", "cpu=1023"]
    (answer,) = map(json.loads, subprocess.check_output([PROGRAM, *words], text=True).splitlines())
    assert answer["skipped"]


@needs_program
def test_the_doctor_judges_what_ws_wakes_says(commands, monkeypatch):
    monkeypatch.setattr(wakes, "SAMPLES", 10)
    monkeypatch.setattr(wakes, "MEASURE_MS", 10)
    system = System()
    findings = wakes.examine(Target(system, system.affinity()), PROGRAM)
    assert "cyclictest" in {finding.check for finding in findings}
    assert all(finding.seen for finding in findings)


def examine(*words):
    app = Typer()
    app.command()(cli.doctor)
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.mark.parametrize(
    "changes, status, worst", [({}, 0, "note"), ({"/sys/fs/cgroup/user.slice/cpu.max": "9 10"}, 1, "bad")]
)
def test_the_exit_status_says_whether_something_is_bad(tmp_path, changes, status, worst):
    system = machine_tree.tuned(tmp_path, changes)
    answer = examine("--root", system.root, "--quick", "--cpus", "2-5", "--json")
    about = json.loads(answer.output)
    assert answer.exit_code == status and about["worst"] == worst and about["cpus"] == "2-5"
    assert about["host"]["cpu"] == "Some CPU" and len(about["findings"]) > 20
    assert set(about["findings"][0]) == {"area", "check", "level", "checked", "seen", "why", "remedies"}


def test_the_report_is_plain_text_where_there_is_no_terminal(tmp_path):
    changes = {"/proc/sys/vm/stat_interval": "1", "/proc/cmdline": None}
    system = machine_tree.tuned(tmp_path, changes)
    text = examine("--root", system.root, "--quick", "--cpus", "2-5").output
    assert text.startswith("Some CPU, 8 CPUs, Linux 6.8.0-rt. CPUs of the workers: 2-5\n")
    assert "note vm.stat_interval: 1 s\n     So often" in text
    assert "     do: sysctl -w vm.stat_interval=120   (until the next boot)\n" in text
    assert "?    isolcpus: cannot be checked here: /proc/cmdline is not readable\n" in text
    assert "\x1b" not in text and not any(row.endswith(" ") for row in text.splitlines())
    assert text.splitlines()[-1].startswith("0 bad, 0 warn, ")


def test_the_module_runs_by_itself(tmp_path):
    words = [
        sys.executable,
        "-m",
        "nrbench.doctor",
        "--root",
        str(machine_tree.tuned(tmp_path).root),
        "--quick",
    ]
    folder = Path(__file__).resolve().parent.parent
    answer = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False)
    assert answer.returncode in (0, 1) and "could not be checked" in answer.stdout
