# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench radio` from the command line: which builds are combined, and what cannot be done. test_commands.py
has the rest."""

from collections import Counter

import pytest
from fake import a_build
from made_up import nrbench
from radio_runs import take

from nrbench.radio import pair, session, softmodem
from nrbench.radio.record import RUNS, read_runs
from nrbench.sweep import simulator


@pytest.fixture
def builds(tmp_path, monkeypatch):
    """Their words. What is run is made up: a cell lives up to its capacity."""

    monkeypatch.setattr(pair, "take", take)
    monkeypatch.setattr(softmodem, "check_privileges", lambda _: None)
    monkeypatch.setattr(session, "report", lambda *_: None)
    a_build(tmp_path / "old", "old")
    a_build(tmp_path / "new", "new")
    return "--old", tmp_path / "old", "--new", tmp_path / "new", "--out", tmp_path / "out"


def radio(*words, status=0):
    return nrbench("radio", *words, "--timescale", "0.3", "--runs", "1", "--spin", "auto", status=status)


def taken(tmp_path):
    return Counter((run.gnb, run.ue, run.spin) for run in read_runs(tmp_path / "out" / RUNS))


def test_all_pairs_of_the_builds_run_or_those_that_are_chosen(builds, tmp_path):
    radio(*builds)
    mixed = {("old", "new", "auto"): 1, ("new", "old", "auto"): 1}
    assert taken(tmp_path) == {("old", "old", "none"): 1, ("new", "new", "auto"): 1, **mixed}
    radio(*builds, "--fresh", "--pools", "new-old")
    assert taken(tmp_path) == {("new", "old", "auto"): 1}


def test_a_variable_reaches_both_programs_and_stands_in_the_runs(builds, tmp_path):
    radio(*builds, "--env", "LUA_SCHED_UL=x.lua")
    runs = read_runs(tmp_path / "out" / RUNS)
    assert [run.environment for run in runs] == 4 * [{"LUA_SCHED_UL": "x.lua"}]


def test_two_builds_of_different_versions_are_compared_and_said_to_differ(builds, tmp_path, monkeypatch):
    versions = {"old": "v2.3.0", "new": "v2.3.0-dirty"}
    monkeypatch.setattr(simulator, "git", lambda sources, *words: versions[sources.name])
    monkeypatch.setattr(simulator, "_sources", lambda folder: folder)
    said = radio(*builds, "--pools", "old-old,new-new")
    assert "the builds are of different versions of OAI: v2.3.0, v2.3.0-dirty" in said
    assert {run.version for run in read_runs(tmp_path / "out" / RUNS)} == {"v2.3.0 and v2.3.0-dirty"}
    assert len(taken(tmp_path)) == 2


def test_a_build_with_the_other_pool_is_refused(builds, tmp_path):
    swapped = ("--old", tmp_path / "new", "--out", tmp_path / "out")
    said = radio(*swapped, status=2).replace("\n", "")
    assert f"{tmp_path}/new/nr-softmodem has thread_pool_ws: name it as --new" in said
    radio(*swapped, "--any-pool")


@pytest.mark.parametrize(
    "words, reason",
    [
        ((), "name build folders by --old and --new, or results by --report"),
        (("--old", "x"), "--timescale : give numbers from 0.02 to 4, such as 0.2,0.3"),
        (("--old", "x", "--timescale", "0.2;0.3"), "--timescale 0.2;0.3: give numbers from 0.02 to 4"),
        (("--old", "x", "--timescale", "0.3,5"), "--timescale 0.3,5: give numbers from 0.02 to 4"),
        (("--old", "x", "--capacity", "--timescale", "0.3"), "with --capacity LOW:HIGH, such as 0.1:1.0"),
        (("--old", "x", "--capacity", "--timescale", "0.3:0.2"), "with --capacity LOW:HIGH"),
        (("--old", "x", "--pools", "old"), "--pools old: gNB-UE, of old-old, old-new, new-old, new-new"),
        (("--old", "x", "--prb", "100"), "--prb 100: a carrier has 106 or 273 PRB"),
        (("--old", "x", "--spin", "on"), "a mode is off, auto, hot or fixed:MICROSECONDS"),
        (("--old", "x", "--report", "y"), "name build folders by --old and --new, or results by --report"),
        (("--old", "nowhere", "--timescale", "0.3"), "--old nowhere: no such file or folder"),
    ],
)
def test_what_cannot_be_done_is_named(words, reason):
    assert reason in nrbench("radio", *words, status=2)
