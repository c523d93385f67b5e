# SPDX-License-Identifier: BSD-3-Clause
"""One run of a gNB and a UE, with programs that stand for them: what is recorded, and what is left."""

import contextlib
import os
import socket
from pathlib import Path

import pytest
from fake import a_build, apart
from part_runs import until
from sweep_runs import HOST

from nrbench.radio import pair, softmodem, watch
from nrbench.radio.pair import Pair, take
from nrbench.radio.record import RadioRun
from nrbench.radio.softmodem import BusyError, cpus_of, find_softmodem
from nrbench.sweep.simulator import BuildError

YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


@pytest.fixture(autouse=True)
def _quick(tmp_path, monkeypatch):
    apart(monkeypatch, tmp_path)


@pytest.fixture
def nothing_left(tmp_path):
    yield
    assert not list((tmp_path / "temporary").iterdir()) and not (tmp_path / "socket").exists()
    channels = (softmodem.CHANNEL, softmodem.OWN_CHANNEL)
    assert not any((softmodem.SHARED_MEMORY / name).exists() for name in channels)
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            lines.append(path.read_bytes())
    assert not any(str(tmp_path).encode() in line and b"softmodem" in line for line in lines)


def a_pair(folder, gnb="old", ue="old", behaviour=None):
    builds = {pool: a_build(folder / pool, pool, **behaviour or {}) for pool in ("old", "new")}
    programs = {
        "gnb": find_softmodem(builds[gnb], f"--{gnb}", "gnb"),
        "ue": find_softmodem(builds[ue], f"--{ue}", "ue"),
    }
    return Pair(programs, {"gnb": gnb, "ue": ue}, "auto", 106, 0.3, seconds=0.3)


def recorded(one, taken):
    """As a session writes it."""
    run = RadioRun(
        sweep="0" * 12,
        round=0,
        began="2026-01-02T03:04:05+00:00",
        host=HOST,
        spin=one.spin,
        prb=one.prb,
        timescale=one.timescale,
        seconds=one.seconds,
        **one.pools,
        **taken,
    )
    return RadioRun.model_validate_json(run.model_dump_json())


@pytest.mark.alone
@pytest.mark.parametrize("newer", [False, True], ids=["v2.3.0", "2025.w37"])
def test_a_run_tells_its_steady_stretch_from_its_start(tmp_path, nothing_left, newer):
    one = a_pair(tmp_path, behaviour={"newer": newer})
    run = recorded(one, take(one))
    assert (run.outcome, run.error) == ("ok", None)
    assert run.attach_s > 0 and run.steady_s >= 0.3
    for side in ("gnb", "ue"):
        assert run.sides[side].radio.tx_late > 0 and run.sides[side].radio.budget_us_mean == 2476.25
        assert run.sides[side].exit_code == 0 and run.sides[side].pool is None
    assert run.ul.errors == 104 and run.ul.failed_after_attach == 0 and run.ul.rounds[1:] == (5, 4, 3)
    assert run.dl.errors == 3 and run.dl.dtx == 0
    received, sent = run.sides["gnb"].steps["L1 Rx processing"], run.sides["ue"].steps["PHY_PROC_TX"]
    assert (received.us_mean, received.us_max, sent.us_mean, sent.us_max) == (
        572.125,
        5622.5,
        174.25,
        516.125,
    )
    assert received.count > 0 and sent.count > 0
    if YAMA.exists() and int(YAMA.read_text()) > 1:
        pytest.skip("this kernel lets no process read another one's memory")
    for side in ("gnb", "ue"):
        steady = run.sides[side].steady
        assert steady.tx_late == 0 and sum(steady.budget_bins) == steady.budget_bins[24]
    assert run.late == {"gnb": 0, "ue": 0}


@pytest.mark.alone
def test_only_new_pools_get_a_mode_and_report(tmp_path, nothing_left):
    taken = take(a_pair(tmp_path, gnb="new"))
    pool = taken["sides"]["gnb"].pool
    assert pool["line"].endswith("spin auto") and pool["bursts"] == 100 and pool["prewakes_late"] == 7
    assert taken["sides"]["ue"].pool is None


@pytest.mark.alone
@pytest.mark.parametrize(
    ("behaviour", "outcome", "error"),
    [
        ({"gnb": "crash"}, "gnb-died", "refused real-time threads"),
        ({"ue": "crash"}, "ue-died", "ended by SIGABRT; it gave up: the channel went away"),
        ({"ue": "deaf"}, "no-attach", "no uplink block"),
        ({"gnb": "silent"}, "no-report", "gnb: "),
        ({"ue": "stuck"}, "no-report", "ended by SIGKILL; last line"),
        ({"gnb": "leaves"}, "ok", ""),
    ],
)
def test_a_run_that_fails_says_why_and_leaves_nothing(
    tmp_path, monkeypatch, nothing_left, behaviour, outcome, error
):
    deaf, stuck = behaviour.get("ue") == "deaf", behaviour.get("ue") == "stuck"
    monkeypatch.setattr(pair, "ATTACH_LIMIT_S", 1.0 if deaf else 60.0)
    monkeypatch.setattr(pair, "ATTACH_LIMIT_SCALED_S", 0.0)
    monkeypatch.setattr(pair, "END_LIMIT_S", 0.2 if stuck else 60.0)
    one = a_pair(tmp_path, behaviour=behaviour)
    run = recorded(one, take(one))
    assert run.outcome == outcome and error in (run.error or "")
    assert not stuck or run.sides["ue"].exit_code == -9
    assert not deaf or run.sides["gnb"].radio is not None


@pytest.mark.alone
def test_an_interrupted_run_leaves_nothing(tmp_path, monkeypatch, nothing_left):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pair, "_steady", interrupt)
    with pytest.raises(KeyboardInterrupt):
        take(a_pair(tmp_path))


@pytest.mark.alone
def test_what_a_run_that_was_killed_left_goes(tmp_path, nothing_left):
    (tmp_path / "temporary" / "nrbench-run-radio-0").mkdir()
    (softmodem.SHARED_MEMORY / softmodem.CHANNEL).touch()
    assert take(a_pair(tmp_path))["outcome"] == "ok"


def test_another_gnb_is_left_alone(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(softmodem.SOCKET))
        with pytest.raises(BusyError, match="another gNB on vrtsim"):
            take(a_pair(tmp_path))
        assert softmodem.SOCKET.exists()


def test_builds_that_cannot_run_a_cell(tmp_path):
    folder = a_build(tmp_path / "a", knows="nothing")
    with pytest.raises(BuildError, match=r"--new .*nr-softmodem: does not know the parameter 'Active_gNBs'"):
        find_softmodem(folder, "--new", "gnb")
    (folder / "libvrtsim.so").unlink()
    with pytest.raises(BuildError, match=r"libvrtsim.so is not beside it; build it: cmake .* vrtsim"):
        find_softmodem(folder, "--new", "gnb")


def test_placement():
    assert cpus_of("gnb", "floating", {0, 1}) is None
    assert [cpus_of(side, "apart", {0, 2, 3, 5, 6}) for side in ("gnb", "ue")] == [[0, 2, 3], [5, 6]]
    with pytest.raises(ValueError, match="placement apart: the gNB needs 2 CPUs, .* usable here: 0-1"):
        cpus_of("gnb", "apart", {0, 1})


def test_jumps_of_the_sample_clock_are_not_booked_on_the_pool():
    """The clock stood still for 30 ms, and CLOCK_REALTIME was set 2 s forward."""
    times = [index * 0.01 for index in range(1000)]
    clocks = [int(1e6 * (t if not 5.0 <= t < 5.03 else 5.0)) for t in times]
    samples = [watch.Sample(t, t, 0.0, clock) for t, clock in zip(times, clocks)]
    found = watch.judge(samples)
    assert found.jumps_ms[0] == pytest.approx(20, abs=1) and not found.realtime_jumps_ms
    moved = [s._replace(monotonic_s=s.monotonic_s - 2 * (s.monotonic_s > 7)) for s in samples]
    assert watch.judge(moved).realtime_jumps_ms == (2000.0,)


def test_threads_of_a_process():
    before = watch.threads(os.getpid())
    until(lambda: sum(watch.spent(before, watch.threads(os.getpid()))["cpu_s"].values()) > 0.04)
    assert [watch.kind(name) for name in ("Tpool3_-1", "L1_rx_thread", "7")] == ["Tpool", "L1_rx_thread", "7"]


def test_the_sample_clock_is_told_from_the_gnb(tmp_path):
    for task in ("8", "9", "10"):
        (tmp_path / "7" / "task" / task).mkdir(parents=True)
        for file, text in {
            "comm": "ru_thread\n" if task != "8" else "nr-softmodem\n",
            "schedstat": f"{task}000000000 2 3\n",
            "status": "voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n",
        }.items():
            (tmp_path / "7" / "task" / task / file).write_text(text)
    spent = watch.spent({}, watch.threads(7, tmp_path))
    assert spent["cpu_s"] == {"sample clock": 10, "ru_thread": 9, "nr-softmodem": 8}
    assert (spent["voluntary"], spent["involuntary"]) == (15, 18)
