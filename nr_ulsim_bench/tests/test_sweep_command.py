# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench sweep` from the command line: what cannot be done, and what may not be mixed. test_commands.py has
the rest."""

import re

import pytest
from cluster_tools import make_builds, runs_of
from fake import a_program, printing
from made_up import HOST, NEW_POOL, nrbench

from nrbench.cluster.machines import ROOT_VARIABLE
from nrbench.sweep import nr_ulsim, session
from nrbench.sweep.record import read_runs


@pytest.fixture
def builds(tmp_path, monkeypatch):
    """The words of a sweep of one round, whose programs print recorded outputs. As on a machine with one CPU,
    where no runs go side by side."""
    monkeypatch.setattr(nr_ulsim, "at_once", lambda *_: 1)
    monkeypatch.setattr(session, "report", lambda *_: None)
    words = ("--repeats", "1", "--threads", "1", "--cases", "quick:prb106-mcs9")
    return ("sweep", *make_builds(tmp_path), *words)


@pytest.mark.parametrize(
    ("free", "count"),
    [("8388608 kB", 4), ("3000000 kB", 1), ("", 4)],
    ids=["enough", "too little", "unknown"],
)
def test_as_many_runs_go_side_by_side_as_there_are_cores_and_memory_for(tmp_path, monkeypatch, free, count):
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text(f"MemAvailable: {free}\n")
    assert nr_ulsim.at_once(HOST, None) == count
    assert nr_ulsim.at_once(HOST, "3") == 1


@pytest.mark.parametrize(
    "words, error",
    [
        (("--cases", "quick:none"), "quick: has no case 'none'; there are: prb106-mcs9"),
        (("--threads", "1,x"), "--threads 1,x: give numbers from 1 to 1024"),
        (("--spin", "warm"), "--spin warm: a mode is off, auto, hot or fixed:MICROSECONDS"),
        (("--env", "A"), "--env A: not NAME=VALUE"),
        (("--cpus", "4095"), "CPUs [4095]: Invalid argument"),
        (("--backends", "ws"), "--backends is only for sweeps without builds"),
    ],
)
def test_wrong_words_are_explained_in_one_line(builds, words, error):
    said = nrbench(*builds, *words, status=2)
    assert f"nrbench: {error}" in said and "Traceback" not in said


def test_results_of_a_rebuilt_pool_are_not_mixed_with_those_before(builds, tmp_path):
    nrbench(*builds)
    (tmp_path / "new" / "libldpc.so").write_bytes(b"rebuilt")
    assert "--fresh puts these results aside and begins anew" in nrbench(*builds, status=2)
    assert "are now runs.1.ndjson" in nrbench(*builds, "--fresh")
    before, after = (read_runs(tmp_path / "out" / name) for name in ("runs.1.ndjson", "runs.ndjson"))
    assert len(before) == len(after) > 0
    assert {run.sweep for run in before}.isdisjoint(run.sweep for run in after)


def test_runs_that_were_taken_in_another_way_are_not_mixed_in(builds):
    nrbench(*builds)
    for more in ("--env TPOOL_WS_SPIN_CPU_MAX=5", "--env OAI_RNGSEED=3", "--trials 9", "--cpus 0"):
        assert "--out names another folder" in nrbench(*builds, *more.split(), status=2), more


def test_a_patched_build_is_this_pool_with_hints(builds, tmp_path):
    words = ("--patched", tmp_path / "patched", "--spin", "off,auto")
    a_program(tmp_path / "patched", printing("v2.3.0-old-2-threads.txt"))
    assert f"--patched {tmp_path}/patched/nr_ulsim has OAI's own pool" in nrbench(*builds, *words, status=2)
    a_program(tmp_path / "patched", printing("v2.3.0-new-2-layers.txt"))
    nrbench(*builds, *words)
    modes = {(r.variant, r.environment.get("TPOOL_WS_SPIN")): r.program for r in runs_of(tmp_path)}
    hint, auto = modes["new hint", "auto"], modes["new auto", "auto"]
    assert hint != auto == modes["new off", "off"] and ("old", None) in modes


def test_figures_that_oai_publishes_stand_beside_those_of_both_simulators(builds, tmp_path, monkeypatch):
    """The variable reaches the runs of either pool, without which the programs end."""
    monkeypatch.undo()
    monkeypatch.setattr(nr_ulsim, "at_once", lambda *_: 1)
    monkeypatch.setattr("nrbench.host.cores", lambda: 2)
    needed = "os.environ['LUA_SCHED_UL']; "
    for name, pool in (("old", ""), ("new", f"print({NEW_POOL!r});")):
        down = needed + printing("v2.3.0-dl-2-threads.txt")
        a_program(tmp_path / name, f"{pool} # {name}\n{down}", "nr_dlsim")
        a_program(tmp_path / name, needed + printing(f"v2.1.0-{name}-2-threads.txt"))
    words = ("--cases", "kpi:ul-prb273,dl-prb273", "--env", "LUA_SCHED_UL=x.lua", "--threads", "8")
    said = nrbench(*builds, *words)
    assert re.search(r"/ ul-prb273 +8 +1624 +511 +170\n *kpi / dl-prb273 +8 +5590 +5590 +60.0", said), said
    assert "AMD EPYC 9575F with 64 cores" in said and "2 CPUs here, too few for 8 threads" in said
    runs = read_runs(tmp_path / "out" / "runs.ndjson")
    assert {run.environment["LUA_SCHED_UL"] for run in runs} == {"x.lua"}
    assert {run.options[-1] for run in runs} == {"-C0", "-Xn", "-C8", "-X" + ",".join(["-1"] * 8)}
    assert {run.pool for run in runs} == {"old", "new", "inline"}
