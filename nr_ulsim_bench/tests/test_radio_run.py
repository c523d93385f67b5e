# SPDX-License-Identifier: BSD-3-Clause
"""One run of a gNB and a UE, with programs that stand for them: what is recorded, and what is left."""

import contextlib
import mmap
import operator
import os
from pathlib import Path

import pytest
from fake import a_build, apart
from made_up import HOST
from part_runs import until
from radio_runs import AUTO, OLD

from nrbench.radio import pair, parse, session, softmodem, watch
from nrbench.radio.pair import take
from nrbench.radio.record import RadioRun
from nrbench.radio.session import Step
from nrbench.radio.softmodem import Pair, find_softmodem
from nrbench.record import ResultsError
from nrbench.sweep.simulator import BuildError


@pytest.fixture(autouse=True)
def _quick(tmp_path, monkeypatch):
    """A wait ends not before each side has used a CPU and made another report."""
    apart(monkeypatch, tmp_path)
    pause = pair._Run.wait

    def wait(run, seconds):
        pids, said = [process.pid for process in run.programs.values()], reports(run)
        before = [watch.cpu_times(pid) for pid in pids]
        pause(run, seconds)
        assert run.until(lambda: all(map(operator.ne, said, reports(run))), 300)
        assert run.until(lambda: all(map(watch.cpu_s, before, map(watch.cpu_times, pids))), 300)

    monkeypatch.setattr(pair._Run, "wait", wait)


def reports(run):
    steps = (run.written(side, name) for side, name in parse.STEP_STATISTICS.items())
    return run.written("gnb", parse.MAC_STATISTICS), *steps


@pytest.fixture
def nothing_left(tmp_path):
    yield
    assert not list((tmp_path / "temporary").iterdir()) and not (tmp_path / "socket").exists()
    for name in (softmodem.CHANNEL, softmodem.OWN_CHANNEL):
        assert not (softmodem.SHARED_MEMORY / name).exists()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            line = path.read_bytes()
            assert str(tmp_path).encode() not in line or b"softmodem" not in line


def a_pair(folder, cell=OLD, behaviour=None):
    programs = {}
    for pool in ("old", "new"):
        build = a_build(folder / pool, pool, **behaviour or {})
        programs |= {(side, pool): find_softmodem(build, f"--{pool}", side) for side in ("gnb", "ue")}
    return Pair(programs, cell, 0.3, seconds=0.3)


def recorded(one):
    """As a session writes it."""
    step = Step(0, one.cell, one.timescale)
    fields = session.Campaign([], 1, 1, one.seconds, []).fields("0" * 12, HOST)
    (taken,) = session.take(one.programs, fields, step)
    return RadioRun.model_validate_json(taken.model_dump_json())


@pytest.mark.alone
@pytest.mark.parametrize("newer", [False, True], ids=["v2.3.0", "2025.w37"])
def test_a_run_tells_its_steady_stretch_from_its_start(tmp_path, nothing_left, newer):
    run = recorded(a_pair(tmp_path, behaviour={"newer": newer}))
    assert (run.outcome, run.error, run.cause) == ("ok", None, "") and run.steady_s >= 0.3
    assert run.ul.failed_after_attach == 0 and run.ul.blocks_after_attach > 0
    received, sent = run.sides["gnb"].steps["L1 Rx processing"], run.sides["ue"].steps["PHY_PROC_TX"]
    assert (received.us_mean, sent.us_mean) == (572.125, 174.25)
    assert received.count > 0 and sent.count > 0
    for side in run.sides.values():
        assert side.steady.tx_late == 0 and side.pool is None and side.cpu_s


@pytest.mark.alone
def test_only_new_pools_get_a_mode(tmp_path, nothing_left):
    sides = recorded(a_pair(tmp_path, AUTO._replace(ue="old"))).sides
    assert sides["gnb"].pool["line"].endswith("spin auto") and sides["ue"].pool is None


@pytest.mark.alone
@pytest.mark.parametrize(
    ("behaviour", "outcome", "error"),
    [
        ({"gnb": "crash"}, "gnb-died", "refused real-time threads"),
        ({"ue": "crash"}, "ue-died", "ended by SIGABRT; it gave up: the channel went away"),
        ({"ue": "deaf"}, "no-attach", "no uplink block"),
        ({"gnb": "empty"}, "no-report", "the counters of the radios"),
    ],
)
def test_a_run_that_fails_says_why_and_leaves_nothing(
    tmp_path, monkeypatch, nothing_left, behaviour, outcome, error
):
    monkeypatch.setattr(pair, "ATTACH_LIMIT_S", 1.0 if behaviour.get("ue") == "deaf" else 60.0)
    monkeypatch.setattr(pair, "ATTACH_LIMIT_SCALED_S", 0.0)
    run = recorded(a_pair(tmp_path, behaviour=behaviour))
    assert run.outcome == outcome and error in run.error and run.cause.startswith(outcome)


@pytest.mark.alone
def test_an_interrupted_run_leaves_nothing(tmp_path, monkeypatch, nothing_left):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pair._Run, "moment", interrupt)
    with pytest.raises(KeyboardInterrupt):
        take(a_pair(tmp_path))


@pytest.mark.alone
def test_what_a_run_that_was_killed_left_goes(tmp_path, nothing_left):
    (softmodem.SHARED_MEMORY / softmodem.CHANNEL).touch()
    assert take(a_pair(tmp_path))["outcome"] == "ok"


@pytest.mark.alone
def test_another_gnb_is_left_alone(tmp_path):
    one = a_pair(tmp_path)
    library = tmp_path / "old" / "libvrtsim.so"
    with library.open() as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        with pytest.raises(ResultsError, match=f"process {os.getpid()} is on vrtsim already"):
            take(one)


def test_builds_that_cannot_run_a_cell(tmp_path):
    folder = a_build(tmp_path / "a", knows="nothing")
    with pytest.raises(BuildError, match=r"--new .*nr-softmodem: does not know the parameter 'Active_gNBs'"):
        find_softmodem(folder, "--new", "gnb")
    (folder / "libvrtsim.so").unlink()
    with pytest.raises(BuildError, match=r"libvrtsim.so is not beside it; build it: cmake .* vrtsim"):
        find_softmodem(folder, "--new", "gnb")


def test_threads_of_a_process():
    before = watch.cpu_times(os.getpid())
    until(lambda: sum(watch.cpu_s(before, watch.cpu_times(os.getpid())).values()) > 0.04)


def test_the_sample_clock_is_told_from_the_gnb(tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "PROC", tmp_path)
    names = {"8": "nr-softmodem", "9": "ru_thread", "10": "ru_thread", "11": "Tpool0_-1", "12": "Tpool3_-1"}
    for task, name in names.items():
        (tmp_path / "7" / "task" / task).mkdir(parents=True)
        (tmp_path / "7" / "task" / task / "comm").write_text(f"{name}\n")
        (tmp_path / "7" / "task" / task / "schedstat").write_text(f"{task}000000000 2 3\n")
    found = watch.cpu_s({}, watch.cpu_times(7))
    assert found == {"Tpool": 23, "sample clock": 10, "ru_thread": 9, "nr-softmodem": 8}
