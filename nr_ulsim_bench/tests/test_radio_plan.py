# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of a session, one that is interrupted and goes on, and the command around it."""

import pytest
from radio_runs import AUTO, CELLS, OFF, OLD, by_power, run

from nrbench.radio import session as radio_session
from nrbench.radio.capacity import Limits
from nrbench.radio.plan import Plan
from nrbench.radio.record import RUNS, read_runs
from nrbench.radio.session import Session, carry_out, dry_run
from nrbench.record import ResultsError

ID = "a" * 12
FIXED = Plan(CELLS, 3, 1, 60.0, timescales=(0.2, 0.3))
SEARCH = Plan(CELLS, 6, 1, 60.0, limits=Limits(0.1, 1.0))


class Machine:
    """Takes made-up runs."""

    def __init__(self, ends_after=None):
        """@param ends_after  so many runs, then the user interrupts"""
        self.steps, self.ends_after = [], ends_after

    def take(self, step):
        if len(self.steps) == self.ends_after:
            raise KeyboardInterrupt
        self.steps.append(step)
        return by_power(step.cell, step.timescale, step.round)


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    monkeypatch.setattr(radio_session, "report", lambda *_: None)


def taken(plan, out, ends_after=None):
    machine = Machine(ends_after)
    status = carry_out(Session(ID, plan, machine.take), out)
    return status, machine.steps


def test_each_round_has_every_cell_at_every_timescale_in_an_order_of_its_own(tmp_path):
    status, steps = taken(FIXED, tmp_path)
    assert status == 0
    rounds = [[(s.cell, s.timescale) for s in steps if s.round == number] for number in range(3)]
    assert rounds[0] + rounds[1] + rounds[2] == [(s.cell, s.timescale) for s in steps]
    assert len(set(rounds[0])) == 6 and set(rounds[0]) == set(rounds[1]) == set(rounds[2])
    assert rounds[0] != rounds[1]


@pytest.mark.parametrize("plan", [FIXED, SEARCH], ids=["fixed", "search"])
def test_an_interrupted_session_goes_on_as_if_it_had_not_been(plan, tmp_path, capsys):
    _, whole = taken(plan, tmp_path / "whole")
    status, first = taken(plan, tmp_path / "cut", ends_after=7)
    assert status == 130
    assert (
        f"interrupted: 7 of {len(whole)} runs taken; the same command takes the rest"
        in capsys.readouterr().err
    )
    status, rest = taken(plan, tmp_path / "cut")
    assert status == 0
    assert first + rest == whole
    assert read_runs(tmp_path / "cut" / RUNS) == read_runs(tmp_path / "whole" / RUNS)
    assert taken(plan, tmp_path / "cut") == (0, [])


def test_a_search_takes_each_cell_once_a_round_and_closes_in_on_its_capacity(tmp_path):
    _, steps = taken(SEARCH, tmp_path)
    assert all(len({s.cell for s in steps if s.round == number}) == 3 for number in range(6))
    last = {s.cell: s.timescale for s in steps}
    assert last[OLD] < last[OFF] < last[AUTO]


def test_a_run_that_the_softmodems_report_as_interrupted_is_no_result(tmp_path):
    def take(step):
        return run(step.cell, step.timescale, step.round, outcome="interrupted")

    assert carry_out(Session(ID, FIXED, take), tmp_path) == 130
    assert read_runs(tmp_path / RUNS) == []


def test_runs_of_another_session_are_not_continued(tmp_path):
    taken(FIXED, tmp_path)
    with pytest.raises(ResultsError, match="--fresh puts these results aside"):
        carry_out(Session("b" * 12, FIXED, Machine().take), tmp_path)
    assert carry_out(Session("b" * 12, FIXED, Machine(1).take), tmp_path, fresh=True) == 130
    assert len(read_runs(tmp_path / "radio.1.ndjson")) == 18


def test_a_session_without_a_single_good_run_fails_and_names_the_reason(tmp_path, capsys):
    def take(step):
        return run(
            step.cell, step.timescale, step.round, outcome="gnb-died", error="ended by SIGSEGV", sides={}
        )

    assert carry_out(Session(ID, FIXED, take), tmp_path) == 1
    assert "gnb-died: ended by SIGSEGV (18 times)" in capsys.readouterr().err


def test_a_dry_run_shows_what_is_left_and_changes_nothing(tmp_path, capsys):
    taken(FIXED, tmp_path, ends_after=16)
    before = (tmp_path / RUNS).read_bytes()
    assert dry_run(Session(ID, FIXED, Machine(0).take), tmp_path, fresh=False) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert (tmp_path / RUNS).read_bytes() == before
