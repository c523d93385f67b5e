# SPDX-License-Identifier: BSD-3-Clause
"""What tracing costs: which part runs inside a session, and what a foreign session does to a run."""

import contextlib
import stat

import pytest

from nrbench.driver import BenchError
from nrbench.engine import Measuring, Request, plain
from nrbench.parts import tracecost
from nrbench.parts import tracecost_session as session
from nrbench.stats import Results, read_lines
from nrbench.trace.record import Losses, TraceError

REASON = "another LTTng session records this user's programs: see `lttng list`"
VOID = [
    f"  no result  compiled in, no session, below 1 % of a slot's p50, all cases: {REASON}",
    f"  no result  an event below 150 ns while a session records: {REASON}",
]
ROUNDS = tracecost.COST_ROUNDS + 3

# A session is a file beside the programs: "own" is this run's, "foreign" another program's.
COST_PROGRAM = """#!/bin/sh
cd "$(dirname "$0")"
recorded=false
[ -e own ] || [ -e foreign ] && recorded=true
echo "$*" >>asked
for what in loop phase run_begin; do
  echo '{"bench":"trace-cost","what":"'$what'","lttng":true,"recorded":'$recorded',"ns_min":8,"ns_p50":9}'
done
"""
ANSWER = {"makespan_p50_us": 40.0, "makespan_mean_us": 41.0, "cpu_s": 0.1, "ns_per_task": 9.0}
BENCH_PROGRAM = """#!/bin/sh
while read -r words; do echo '{"makespan_p50_us":40,"makespan_mean_us":41,"cpu_s":1,"ns_per_task":9}'; done
"""


def install(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class FakeDriver:
    """Notes for each measurement whether this run's session was there; `on_ask` may change the world."""

    def __init__(self, folder):
        self.program = folder / "ws-bench"
        self.asked = []
        self.on_ask = lambda count: None

    def ask(self, words):
        if words[0] == "bench=info":
            return {"version": "1"}
        self.asked.append((words, (self.program.parent / "own").exists()))
        self.on_ask(len(self.asked))
        return ANSWER


class FakeRecording:
    """Exists as a file; events that found no room are known only once it has stopped."""

    folder = None  # where the programs are
    lost = 0

    losses = None

    def __enter__(self):
        (self.folder / "own").touch()
        return self

    def stop(self):
        self.losses = Losses(self.lost, 0)

    def __exit__(self, *_):
        (self.folder / "own").unlink()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    install(tmp_path / "ws-trace-cost", COST_PROGRAM)
    install(tmp_path / "ws-bench", BENCH_PROGRAM)
    monkeypatch.setattr(FakeRecording, "folder", tmp_path)
    monkeypatch.setattr(FakeRecording, "lost", 0)
    monkeypatch.setattr(session, "recording", FakeRecording)
    monkeypatch.setattr(tracecost.Measurement, "count_events", lambda self, sched_class: None)
    return tmp_path


class Runner:
    """A measurement with a driver that is made up."""

    def __init__(self, folder, closing):
        request = Request(folder / "ws-bench", out=folder, quick=True, rounds=ROUNDS, cores=2)
        measuring = Measuring(tracecost.PART, request, closing)
        self.made = tracecost.Measurement(measuring)
        self.made.driver = self.driver = FakeDriver(folder)
        measuring.begin({"rounds": ROUNDS, "cases": []})
        self.folder, self.request, self.lines = folder, request, []

    def run(self):
        self.made.run(("other",))
        self.lines = read_lines(self.folder / "trace.ndjson")

    def report(self):
        text = plain(list(tracecost.PART.items(Results(self.lines))))
        return [line for line in text.splitlines() if not line.startswith("note: load")]


@pytest.fixture
def runner(folder):
    with contextlib.ExitStack() as closing:
        yield Runner(folder, closing)


def benches(lines):
    return {line["bench"] for line in lines}


def test_what_is_recorded_runs_in_a_session_and_nothing_else_does(runner):
    runner.run()
    states = [line["state"] for line in runner.lines if "state" in line]
    inside = [inside for _, inside in runner.driver.asked]
    assert set(states) == set(tracecost.STATES) and len(states) == len(inside)
    assert inside == [state == "recorded" for state in states]
    assert not (runner.folder / "own").exists()


def test_an_event_is_priced_in_both_parts_of_the_first_rounds(runner):
    runner.run()
    costs = [line for line in runner.lines if line["bench"] == "trace-cost"]
    priced = [(line["round"], line["recorded"]) for line in costs if line["what"] == "phase"]
    wanted = [(number, on) for number in range(tracecost.COST_ROUNDS) for on in (False, True)]
    assert sorted(priced) == wanted
    asked = (runner.folder / "asked").read_text().splitlines()
    assert asked.count(f"events={tracecost.QUICK_COST_EVENTS}") == len(wanted)
    assert "trace-void" not in benches(runner.lines)
    assert "met  an event below 150 ns" in "\n".join(runner.report())


def test_events_that_found_no_room_are_written_and_said(runner, monkeypatch):
    monkeypatch.setattr(FakeRecording, "lost", 7)
    runner.run()
    lost = [line for line in runner.lines if line["bench"] == "trace-lost"]
    assert lost == [{"bench": "trace-lost", "discarded": 7}] * ROUNDS
    assert any(line.startswith(f"{7 * ROUNDS} events found no room") for line in runner.report())


def test_a_session_of_somebody_else_is_noticed_before_anything_is_measured(folder, capsys):
    (folder / "foreign").touch()
    out = folder / "out"
    assert tracecost.PART.run(Request(folder / "ws-bench", out=out, quick=True, cores=2)) == 0
    assert benches(read_lines(out / "trace.ndjson")) == {"host", "trace-void"}
    said = (out / "trace.txt").read_text().splitlines()
    assert [line for line in said if not line.startswith("note: load")][-2:] == VOID
    assert (folder / "asked").read_text() == "events=1 pause_us=0\n"
    assert "measurements, about" not in capsys.readouterr().err


@pytest.mark.parametrize("number", [1, ROUNDS - 1], ids=["where events are priced", "later"])
def test_a_session_that_comes_meanwhile_ends_the_run_and_no_verdict_is_given(runner, number):
    blocks = tracecost.make_blocks(runner.request)
    before = sum(len(this.steps) for this in blocks if this.number < number)
    foreign = runner.folder / "foreign"
    runner.driver.on_ask = lambda count: foreign.touch() if count == before + 1 else None
    runner.run()
    assert runner.lines[-1] == {"bench": "trace-void", "void": REASON}
    assert runner.lines[-2]["round"] == number
    text = runner.report()
    assert text[-2:] == VOID
    assert not any("met" in line or "missed" in line or "not known" in line for line in text)


def test_a_session_of_somebody_else_counts_where_this_run_can_make_none(runner, monkeypatch):
    def refuse(self):
        raise TraceError("no room")

    monkeypatch.setattr(FakeRecording, "__enter__", refuse)
    foreign = runner.folder / "foreign"
    runner.driver.on_ask = lambda count: foreign.touch()
    runner.run()
    assert runner.lines[-1] == {"bench": "trace-void", "void": REASON}
    assert runner.report()[-3:] == [*VOID, "skipped: while a session records: no room"]


def test_a_program_that_fails_is_no_build_without_tracing(runner):
    install(runner.folder / "ws-trace-cost", "#!/bin/sh\necho '{'\n")
    with pytest.raises(BenchError, match="ws-trace-cost: an answer that is not JSON"):
        runner.run()
    install(runner.folder / "ws-trace-cost", "#!/bin/sh\nexit 3\n")
    with pytest.raises(BenchError, match="ws-trace-cost: no answer: exit status 3"):
        runner.run()
