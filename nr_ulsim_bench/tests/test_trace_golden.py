# SPDX-License-Identifier: BSD-3-Clause
"""What `tpool-ws-trace report` prints of small traces: tests/trace/<case>.log, as babeltrace2 prints it."""

import json

import golden_files
import pytest
from trace_tools import CASES


def flat(value, path: str = "") -> dict[str, object]:
    """Each plain value by the keys that lead to it: {"phases.0.count": 1}."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = {key: found for name, one in items for key, found in flat(one, f"{path}.{name}").items()}
    return inner or {path[1:]: "empty" if value in ([], {}) else value}


def golden(case: str) -> dict[str, object]:
    return flat(json.loads((CASES / f"{case}.json").read_text()))


@pytest.mark.parametrize("case", sorted(path.stem for path in CASES.glob("*.log")))
def test_the_figures_are_those_of_before(tool, case):
    tool.take(case)
    golden_files.check(f"../trace/{case}.json", tool.report("--json"))


@pytest.mark.parametrize("case", sorted(path.stem for path in CASES.glob("*.txt")))
def test_the_tables_are_those_of_before(tool, case):
    tool.take(case)
    golden_files.check(f"../trace/{case}.txt", tool.report())


# Worked out by hand. Times in us; a time of 600 ns is 0.6.
BY_HAND = {
    "woken_worker": {  # the slot is 1000..1600; both tasks are pushed at 1100 and 1150
        "phases.0.duration.max_us": 0.6,
        "phases.0.start_lag.max_us": 0.23,  # 1100 to 1330, on the woken worker
        "phases.0.task_time.mean_us": (0.19 + 0.2) / 2,
        "pools.0.wake_latency.max_us": 0.2,  # 1110 to 1310
        "phases.0.steal_share": 0.5,
        "phases.0.at_once": (190 + 200) / 600,
        "phases.0.critical_path.mean_us.serial": 0.14,
        "phases.0.critical_path.mean_us.wake": 0.2,
        "phases.0.critical_path.mean_us.finish": 0.03,
        "functions.0.name": "0x2000",
    },
    "path": {  # five slots: 40 + 10 + 300 + 10, 205, 310, 500 and 210 ns
        "phases.0.duration.mean_us": (360 + 205 + 310 + 500 + 210) / 5e3,
        "phases.0.critical_path.mean_us.wake": (80 + 90 + 100) / 5e3,  # a timer, and two wakes in a row
        "phases.0.critical_path.mean_us.run": (300 + 100 + 278 + 260 + 167) / 5e3,
        "phases.0.critical_path.mean_us.find": (10 + 20 + 12 + 30 + 23) / 5e3,
        "pools.0.unparks.by_own_timer": 2,
        "causes.0.name": "slow wake",
        "causes.0.over_us": 0.2,  # of two
        "causes.1.share": 1 / 3,
    },
    "nested": {  # a task pushes two and helps, until 130; a worker's task pushes one, until 80
        "phases.0.task_time.max_us": 0.1,
        "phases.0.tasks": 5,
        "phases.0.critical_path.mean_us.run": (20 + 50 + 10 + 10 + 25) / 2e3,
        "functions.0.total_us": (50 + 50 + 25 + 25 + 25) / 1e3,  # of no task what it waits or runs inside
    },
    "lost": {
        "phases.0.count": 2,  # those of 11000 and 11600; of 9.3 the begin may have been before the loss
        "phases.0.missing": 1,  # of the first slot an event is missing at 1599
        "slots.0.count": 1,  # another phase of 8.3 may be lost
        "slots.0.missing": 2,
        "phases.1.count": 1,  # at 30000; the thread may be in a phase or burst after each loss
        "lost_events": 7,
        "lost_packets": 3,
        "lost_unknown": 1,
        "lost_stretches": 6,
    },
    "bursts": {
        "phases.0.count": 11,
        "phases.0.duration.max_us": 1.0,
        "slots.0.histogram.22": 1,  # 25 ns: a wait of a FIFO ends the burst, though two tasks have not run
    },
    "idle": {  # its own tasks, of 40 and 40 in 200 ns, and of 50 in 100
        "phases.0.at_once": (40 + 40) / 200,
        "phases.1.at_once": 50 / 100,
    },
    "slots": {
        "slots.0.count": 6,  # of eight; of one an event is missing, one has only the first phase
        "slowest.0.name": "1.2",  # 500..1010: its second phase begins 300 ns after the end of the first
        "slowest.0.duration_us": 0.51,
        "phases.1.missing": 1,
    },
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_the_numbers_are_those_of_a_calculation_by_hand(case):
    found = golden(case)
    assert {key: found[key] for key in BY_HAND[case]} == pytest.approx(BY_HAND[case])
