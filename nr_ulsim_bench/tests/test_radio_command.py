# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench radio` from the command line: which builds are combined, and what cannot be done. test_commands.py
has the rest."""

import os
from collections import Counter

import pytest
from fake import a_build
from made_up import nrbench
from radio_runs import OLD, by_power

from nrbench.radio import cell, pair, session, softmodem
from nrbench.radio.builds import MARK
from nrbench.radio.plan import NO_SPIN
from nrbench.radio.record import RUNS, read_runs
from nrbench.sweep import simulator


@pytest.fixture
def builds(tmp_path, monkeypatch):
    """Their words. What is run is made up: a cell lives up to its capacity."""

    def take(asked):
        spin = NO_SPIN if set(asked.pools.values()) == {"old"} else asked.spin
        made = by_power(OLD._replace(**asked.pools, spin=spin), asked.timescale)
        return made.model_dump(include={"outcome", "sides", "ul", "dl", "attach_s", "steady_s"})

    monkeypatch.setattr(pair, "take", take)
    monkeypatch.setattr(softmodem, "check_privileges", lambda _: None)
    monkeypatch.setattr(session, "report", lambda *_: None)
    knows = cell.gnb_text(106) + cell.ue_text()
    a_build(tmp_path / "old", knows=knows)
    a_build(tmp_path / "new", knows=f"{knows}{MARK.decode()}\n")
    return "--old", tmp_path / "old", "--new", tmp_path / "new", "--out", tmp_path / "out"


def radio(*words, status=0):
    return nrbench("radio", *words, "--timescale", "0.3", "--runs", "1", "--spin", "auto", status=status)


def taken(tmp_path):
    return Counter((run.gnb, run.ue, run.spin) for run in read_runs(tmp_path / "out" / RUNS))


def test_ues_of_other_builds_replace_those_of_old_and_new(builds, tmp_path):
    (tmp_path / "new" / "nr-uesoftmodem").unlink()
    radio(*builds, "--ue", tmp_path / "old")
    assert taken(tmp_path) == {("old", "old", "none"): 1, ("new", "old", "auto"): 1}


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


def test_too_few_cpus_are_named_before_anything_runs(builds, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3})
    assert "usable here: 2-3" in radio(*builds, "--placement", "floating,apart", status=2)
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
    assert reason in nrbench("radio", *words, status=2)
