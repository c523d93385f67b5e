# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench radio` from the command line, on programs that stand for nr-softmodem and nr-uesoftmodem."""

import os
import signal
from collections import Counter

import pytest
import test_radio_run
from fake import a_build, apart
from radio_runs import OLD, by_power
from test_sweep_command import nrbench

from nrbench.radio import cell, pair, session, softmodem
from nrbench.radio.builds import MARK
from nrbench.radio.plan import NO_SPIN
from nrbench.radio.record import RUNS, read_runs
from nrbench.sweep import simulator

pytestmark = pytest.mark.usefixtures("no_pictures")
MODES = ("off", "auto")
KNOWS = cell.gnb_text(106) + cell.ue_text()


nothing_left = test_radio_run.nothing_left


@pytest.fixture
def builds(tmp_path, monkeypatch):
    """What is run is made up: a cell lives up to its capacity."""

    def take(asked):
        spin = NO_SPIN if set(asked.pools.values()) == {"old"} else asked.spin
        cell = OLD._replace(**asked.pools, spin=spin)
        shared = ("outcome", "sides", "ul", "dl", "attach_s", "steady_s")
        return by_power(cell, asked.timescale).model_dump(include=set(shared))

    monkeypatch.setattr(pair, "take", take)
    monkeypatch.setattr(softmodem, "check_privileges", lambda _: None)
    a_build(tmp_path / "old", knows=KNOWS)
    a_build(tmp_path / "new", knows=f"{KNOWS}{MARK.decode()}\n")
    return "--old", tmp_path / "old", "--new", tmp_path / "new", "--oai", "v2.3.0", "--out", tmp_path / "out"


@pytest.fixture
def no_report(monkeypatch):
    monkeypatch.setattr(session, "report", lambda *_: None)


def radio(*words):
    return nrbench("radio", *words)


def taken(tmp_path):
    return Counter((run.gnb, run.ue, run.spin) for run in read_runs(tmp_path / "out" / RUNS))


def test_runs_at_given_timescales_are_taken_once_and_reported(builds, tmp_path):
    words = (
        *builds,
        "--pools",
        "old-old,new-new",
        "--timescale",
        "0.2,0.3",
        "--runs",
        "2",
        "--label",
        "A <1>",
    )
    answer = radio(*words)
    assert answer.exit_code == 0, answer.output
    counts = {("old", "old", "none"): 4, ("new", "new", "off"): 4, ("new", "new", "auto"): 4}
    assert taken(tmp_path) == counts
    assert {run.host.label for run in read_runs(tmp_path / "out" / RUNS)} == {"A <1>"}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "A &lt;1&gt;" in page and "times that of OAI&#39;s pool" in page
    before = (tmp_path / "out" / "report.txt").read_text()
    again = radio("--report", tmp_path / "out", "--out", tmp_path / "again")
    assert again.exit_code == 0 and (tmp_path / "again" / "report.txt").read_text() == before
    assert radio(*words, "--dry-run").output.count("timescale") == 0
    assert taken(tmp_path) == counts


def test_a_search_takes_all_combinations_of_pools(builds, tmp_path, no_report):
    assert radio(*builds, "--capacity", "--timescale", "0.2:0.8", "--runs", "6").exit_code == 0
    assert taken(tmp_path) == {
        ("old", "old", "none"): 6,
        **{(*pools, spin): 6 for pools in (("old", "new"), ("new", "old"), ("new", "new")) for spin in MODES},
    }
    assert all(0.2 <= run.timescale <= 0.8 for run in read_runs(tmp_path / "out" / RUNS))
    refused = radio(*builds, "--timescale", "0.3")
    assert refused.exit_code == 2 and "--fresh puts these results aside" in refused.output


def test_ues_of_other_builds_replace_those_of_old_and_new(builds, tmp_path, no_report):
    (tmp_path / "new" / "nr-uesoftmodem").unlink()
    words = ("--ue", tmp_path / "old", "--timescale", "0.3", "--runs", "1", "--spin", "auto")
    assert radio(*builds, *words).exit_code == 0
    assert taken(tmp_path) == {("old", "old", "none"): 1, ("new", "old", "auto"): 1}


def test_two_builds_of_different_versions_are_compared_and_said_to_differ(
    builds, tmp_path, monkeypatch, no_report
):
    versions = {"old": "v2.3.0", "new": "v2.3.0-dirty"}
    monkeypatch.setattr(simulator, "git", lambda sources, *words: versions[sources.name])
    monkeypatch.setattr(simulator, "_sources", lambda folder: folder)
    words = ("--timescale", "0.3", "--runs", "1", "--pools", "old-old,new-new", "--spin", "auto")
    answer = radio(*builds[:4], *builds[6:], *words)
    assert "the builds are of different versions of OAI: v2.3.0, v2.3.0-dirty" in answer.output
    assert {run.version for run in read_runs(tmp_path / "out" / RUNS)} == {"v2.3.0 and v2.3.0-dirty"}
    assert len(taken(tmp_path)) == 2


def test_a_build_with_the_other_pool_is_refused(builds, tmp_path, no_report):
    swapped = ("--old", tmp_path / "new", "--timescale", "0.3", "--runs", "1", "--out", tmp_path / "out")
    answer = radio(*swapped)
    assert answer.exit_code == 2
    assert f"{tmp_path}/new/nr-softmodem has thread_pool_ws: name it as --new" in answer.output.replace(
        "\n", ""
    )
    assert radio(*swapped, "--any-pool").exit_code == 0


def test_too_few_cpus_are_named_before_anything_runs(builds, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3})
    answer = radio(*builds, "--timescale", "0.3", "--placement", "floating,apart")
    assert answer.exit_code == 2 and "usable here: 2-3" in answer.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words, reason",
    [
        ((), "--old, --new: name at least one build folder, or --report the results"),
        (("--old", "x"), "--timescale: give timescales, such as 0.2,0.3, or --capacity"),
        (("--old", "x", "--timescale", "0.2;0.3"), "'0.2;0.3' is no number from 0.02 to 4"),
        (("--old", "x", "--capacity", "--timescale", "0.3"), "--capacity needs LOW:HIGH, such as 0.1:1.0"),
        (("--old", "x", "--capacity", "--timescale", "0.3:0.2"), "--capacity needs LOW:HIGH"),
        (("--old", "x", "--pools", "old"), "--pools old: gNB-UE, of old-old, old-new, new-old, new-new"),
        (("--old", "x", "--prb", "100"), "--prb 100: a carrier has 106 or 273 PRB"),
        (("--old", "x", "--placement", "near"), "--placement near: not floating or apart"),
        (("--old", "x", "--spin", "on"), "a mode is off, auto or fixed:MICROSECONDS"),
        (("--old", "x", "--report", "y"), "give no --old and no --new"),
        (("--old", "nowhere", "--timescale", "0.3"), "--old nowhere: no such file or folder"),
    ],
)
def test_what_cannot_be_done_is_named(words, reason):
    answer = radio(*words)
    assert answer.exit_code == 2 and reason in answer.output


@pytest.mark.alone
def test_a_session_that_is_ended_leaves_no_program_and_goes_on(
    tmp_path, monkeypatch, no_report, nothing_left
):
    monkeypatch.setattr(softmodem, "check_privileges", lambda _: None)
    apart(monkeypatch, tmp_path)
    for name in ("UP_LIMIT_S", "ATTACH_LIMIT_S", "END_LIMIT_S"):
        monkeypatch.setattr(pair, name, 600.0)  # turns "never" into a failure
    a_build(tmp_path / "old", knows=KNOWS)
    words = ("--old", tmp_path / "old", "--timescale", "0.3", "--runs", "2", "--seconds", "1")
    words = (*words, "--out", tmp_path / "out")
    steady, ends = pair._steady, iter([False, True])

    def ended_from_outside(*of_run):
        if next(ends, False):
            os.kill(os.getpid(), signal.SIGTERM)
        return steady(*of_run)

    monkeypatch.setattr(pair, "_steady", ended_from_outside)
    answer = radio(*words)
    assert answer.exit_code == 130, answer.output
    assert "interrupted: 1 of 2 runs taken; the same command takes the rest" in answer.output
    assert radio(*words).exit_code == 0
    runs = read_runs(tmp_path / "out" / RUNS)
    assert [(run.round, run.outcome) for run in runs] == [(0, "ok"), (1, "ok")]
