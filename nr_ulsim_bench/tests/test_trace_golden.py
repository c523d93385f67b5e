# SPDX-License-Identifier: BSD-3-Clause
"""What `tpool-ws-trace report` prints of small traces: tests/trace/<case>.log, as babeltrace2 prints it."""

import json
import re
from pathlib import Path

import pytest
from trace_log import Log, LogTrace

from nrbench.trace import cli, report
from nrbench.trace.events import KINDS, LOST

FOLDER = Path(__file__).parent / "trace"
CASES = sorted(path.stem for path in FOLDER.glob("*.log"))
VALUE = r'"(?:[^"\\]|\\.)*"|[^ ,}]+'
TIME = r"\[(\d+)\.(\d+)\]"


def plain(text: str) -> object:
    return json.loads(text) if text[0] == '"' else int(text, 0)


def read(path: Path) -> Log:
    log = Log()
    for line in path.read_text().splitlines():
        times = [int("".join(pair)) for pair in re.findall(TIME, line)]
        if lost := re.match(r"WARNING: Tracer (?:may have )?discarded (\d*) ?(event|packet)", line):
            count = int(lost[1]) if lost[1] else None
            log.lost(*times, *((count, 0) if lost[2] == "event" else (0, count)))
            continue
        name = re.search(r"\w+:\w+", line)[0]
        if name not in KINDS:
            continue
        context, payload = re.findall(r"\{ (.*?) \}(?=,|$)", line)[1:]
        pid, tid = (int(text) for text in re.findall(r"= (\d+)", context))
        fields = dict(re.findall(rf"(\w+) = ({VALUE})", payload))
        phase = [KINDS[name].phase] if KINDS[name].phase else []
        values = [plain(fields[field]) for field in KINDS[name].fields]
        log.events.append((KINDS[name].number, times[0], pid, tid, *phase, *values))
    return log


@pytest.fixture
def printed(monkeypatch, capsys, tmp_path):
    def run(case: str, *words: str) -> str:
        about = FOLDER / f"{case}.about.json"
        (tmp_path / "recorded.json").write_text(about.read_text() if about.exists() else "{}")
        monkeypatch.setattr(report, "Trace", lambda _: LogTrace(read(FOLDER / f"{case}.log")))
        assert cli.main(["report", str(tmp_path), *words]) == 0
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("case", CASES)
def test_the_report_is_that_of_before(printed, case):
    assert printed(case) == (FOLDER / f"{case}.txt").read_text(encoding="utf-8")
    assert json.loads(printed(case, "--json")) == json.loads((FOLDER / f"{case}.json").read_text())


# Worked out by hand. Times in us; a time of 600 ns is 0.6.
BY_HAND = {
    "woken_worker": {  # the slot is 1000..1600; both tasks are pushed at 1100 and 1150
        "phases.0.duration.max_us": 0.6,
        "phases.0.start_lag.max_us": 0.23,  # 1100 to 1330, on the woken worker
        "phases.0.task_time.mean_us": (0.19 + 0.2) / 2,
        "phases.0.wake_latency.max_us": 0.2,  # 1110 to 1310
        "phases.0.steal_share": 0.5,
        "phases.0.idle_share": 1 - (190 + 200 + 240) / 1200,  # tasks; 1000..1200 and 1560..1600; two CPUs
        "phases.0.critical_path.mean_us.serial": 0.14,
        "phases.0.critical_path.mean_us.wake": 0.2,
        "phases.0.critical_path.mean_us.finish": 0.03,
        "pools.0.late.0.median_us": 60.0,
        "functions.0.name": "0x2000",
    },
    "path": {  # five slots: 40 + 10 + 300 + 10, 205, 310, 500 and 210 ns
        "phases.0.duration.mean_us": (360 + 205 + 310 + 500 + 210) / 5e3,
        "phases.0.critical_path.mean_us.wake": (80 + 90 + 100) / 5e3,  # a timer, and two wakes in a row
        "phases.0.critical_path.mean_us.run": (300 + 100 + 278 + 260 + 167) / 5e3,
        "phases.0.critical_path.mean_us.find": (10 + 20 + 12 + 30 + 23) / 5e3,
        "phases.0.by_own_timer": 2,
    },
    "nested": {  # a task pushes two and helps, until 130; a worker's task pushes one, until 80
        "phases.0.task_time.max_us": 0.1,
        "phases.0.tasks": 5,
        "phases.0.critical_path.mean_us.run": (20 + 50 + 10 + 10 + 25) / 2e3,
        "functions.0.total_us": (50 + 50 + 25 + 25 + 25) / 1e3,  # of no task what it waits or runs inside
    },
    "lost": {
        "phases.0.left_out": 1,  # the first slot: an event is missing at 1599
        "phases.1.left_out": 2,  # the push of 20010, and the burst across 50010..50020
        "lost_events": 10,
        "lost_packets": 3,
        "lost_stretches": 9,
        "lost_uncounted": 1,
        "tasks_without_push": 2,  # that of 50030, and that of 60000
    },
    "bursts": {
        "phases.0.count": 11,
        "phases.0.duration.max_us": 1.0,
        "phases.1.duration.mean_us": 0.06,
        "phases.2.duration.max_us": 0.074,  # of the other pool; the wait for its group ends at 80
        "phases.2.not_joined": 0,
    },
    "idle": {  # workers' tasks of 40 and 50, and what each thread does outside its wait, on two CPUs
        "phases.0.idle_share": 1 - (40 + 50 + 20 + 100 + 40 + 45) / 400,
        "phases.1.idle_share": 1 - (40 + 50 + 30) / 200,
    },
    "slots": {
        "slots": 8,
        "longest_slot.name": "1.2",  # 500..1010: its second phase begins 300 ns after the end of the first
        "longest_slot.duration_us": 0.51,
        "phases.1.unfinished": 1,
    },
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_the_numbers_are_those_of_a_calculation_by_hand(case):
    golden = json.loads((FOLDER / f"{case}.json").read_text())
    for path, expected in BY_HAND[case].items():
        value = golden
        for key in path.split("."):
            value = value[int(key) if key.isdigit() else key]
        assert value == (pytest.approx(expected) if isinstance(expected, float) else expected), path
