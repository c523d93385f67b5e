# SPDX-License-Identifier: BSD-3-Clause
"""What tracing costs: what is measured in a session, and what a session of another program does to a run."""

import pytest
from fake import executable
from made_up import ran

from nrbench.parts import tracecost
from nrbench.stats import read_lines
from nrbench.trace.record import TraceError

pytestmark = pytest.mark.usefixtures("no_pictures")
CASES, ROUNDS = 6, 5
# A session is a file beside the programs: "own" is this run's, "foreign" another program's.
LOOK = """#!/bin/sh
cd "$(dirname "$0")"
own=false any=false
[ -e own ] && own=true
[ -e own ] || [ -e foreign ] && any=true
"""
COSTS = """for what in loop phase run_begin; do
  echo '{"what":"'$what'","lttng":true,"recorded":'$any',"ns_min":8,"ns_p50":9}'
done
"""
BENCH = """echo "$own" >>asked
[ "$(wc -l <asked)" = "$(cat comes)" ] && touch foreign
[ "$(wc -l <asked)" = "$(cat goes)" ] && rm foreign
echo '{"makespan_p50_us":40,"makespan_mean_us":41,"cpu_s":1,"inside":'$own'}'
"""


class FakeRecording:
    """Exists as a file; events that found no room are known only once it has stopped."""

    folder, missed, lost = None, 0, {}

    def __enter__(self):
        (self.folder / "own").touch()
        return self

    def __exit__(self, *_):
        self.lost = {"lost_events": self.missed}
        (self.folder / "own").unlink()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    executable(tmp_path / "ws-trace-cost", LOOK + COSTS)
    executable(tmp_path / "ws-bench", LOOK + BENCH)
    monkeypatch.setattr(FakeRecording, "folder", tmp_path)
    monkeypatch.setattr(tracecost, "recording", FakeRecording)
    return tmp_path


@pytest.fixture
def measured(folder):
    """The lines of a run, and what it says. @param comes, goes  with which slot a foreign session does"""

    def measure(comes=0, goes=0, status=0):
        (folder / "comes").write_text(str(comes))
        (folder / "goes").write_text(str(goes))
        words = ("run", "--only", "trace", "--quick", "--rounds", ROUNDS, "--program", folder / "ws-bench")
        said = ran(*words, "--out", folder / "out", status=status)
        return [] if status else read_lines(folder / "out" / "trace.ndjson"), said.output

    return measure


def test_what_is_recorded_runs_in_a_session_and_nothing_else_does(measured, folder):
    lines, said = measured()
    slots = [line for line in lines if line["bench"] == "trace"]
    assert len(slots) == CASES * len(tracecost.STATES) * ROUNDS
    assert all(line["inside"] == (line["state"] == "recorded") for line in slots)
    costs = [(line["round"], line["recorded"]) for line in lines if line.get("what") == "phase"]
    assert sorted(costs) == [(number, on) for number in range(ROUNDS) for on in (False, True)]
    assert not (folder / "own").exists() and "met  an event below 150 ns" in said


def test_events_that_found_no_room_are_said(measured, monkeypatch):
    monkeypatch.setattr(FakeRecording, "missed", 7)
    _, said = measured()
    assert f"{7 * (CASES + 3) * ROUNDS} events found no room" in said


def test_a_session_of_another_program_is_noticed_before_anything_is_measured(measured, folder):
    (folder / "foreign").touch()
    assert tracecost.FOREIGN in measured(status=2)[1]
    assert not (folder / "asked").exists()


def test_what_is_measured_beside_a_session_of_another_program_has_no_result(measured):
    """It begins with the fifth slot and ends with the eighth."""
    lines, said = measured(comes=5, goes=8)
    slots = ["error" in line for line in lines if line["bench"] == "trace"]
    assert slots[:9] == [False] * 4 + [True] * 4 + [False] and not any(slots[9:])
    assert f"without a result: 4 times: trace: {tracecost.FOREIGN}" in said


def test_a_session_that_cannot_begin_is_an_error_of_its_own(measured, monkeypatch):
    def refuse(self):
        raise TraceError("no room")

    monkeypatch.setattr(FakeRecording, "__enter__", refuse)
    lines, said = measured()
    assert {line.get("state") for line in lines[1:]} == {"untraced", "off"}
    assert "skipped: while a session records (no room)" in said


@pytest.mark.parametrize("body, reason", [("echo '{'", "that is not JSON"), ("exit 3", "exit status 3")])
def test_a_program_that_fails_is_no_build_without_tracing(measured, folder, body, reason):
    executable(folder / "ws-trace-cost", LOOK + body)
    assert "ws-trace-cost: " in (said := measured(status=2)[1]) and reason in said
