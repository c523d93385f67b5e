# SPDX-License-Identifier: BSD-3-Clause
"""Hosts, schedulers and clients that die or hang: the others go on, and nothing is lost or counted twice."""

import os
import signal
import subprocess
import sys
import threading

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from cluster_tools import (  # noqa: E402
    CASES,
    WAIT_S,
    assert_nothing_doubled,
    lab,
    make_builds,
    meanwhile,
    nrbench,
    runs_of,
    until,
)

from nrbench.cluster import lanes  # noqa: E402
from nrbench.sweep import session  # noqa: E402

pytestmark = pytest.mark.alone


@pytest.fixture
def builds(tmp_path):
    return make_builds(tmp_path)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(session, "_report", lambda *_: None)
    monkeypatch.setattr(lanes, "LOOK_S", 0.2)


def gate(folder, condition):
    """The new build stops in a run for which the condition holds, until the file `open` is there."""
    text = f"""
if {condition} and not os.path.exists({str(folder / "open")!r}):
    import time
    print("last words of", host, flush=True)
    open({str(folder / "reached")!r} + "." + host, "w").close()
    while not os.path.exists({str(folder / "open")!r}):
        time.sleep(0.05)
"""
    (folder / "new.py").write_text(text)


MEASURES = "'-n2' not in options and threads == 2"  # and does not only try the build


def test_a_worker_that_is_killed_comes_back_and_its_run_is_taken_again(builds, tmp_path):
    gate(tmp_path, f"host == 'b' and {MEASURES}")
    with lab(tmp_path, "a", "b") as made:

        def kill():
            until((tmp_path / "reached.b").exists, "a run on b")
            until(lambda: sum(r.host.label[0] == "a" for r in runs_of(tmp_path)) == 12, "a has gone on alone")
            made.kill(made.workers["b"])
            (tmp_path / "open").touch()
            made.worker("b")

        with meanwhile(kill):
            answer = nrbench("sweep", *builds, *CASES, "--repeats", "2", "--cluster", made.address)
        assert answer.exit_code == 0, answer.output
        runs = runs_of(tmp_path)
        assert_nothing_doubled(runs, 24)
        (lost,) = [run for run in runs if run.status != "ok"]
        assert lost.status == "crash" and lost.error.startswith("its host was lost during the run")
        assert "last words of b" in lost.error and "b: lost: " in answer.output


def test_a_cell_that_kills_its_host_three_times_is_set_aside_with_its_output(builds, tmp_path):
    (tmp_path / "new.py").write_text(
        f"if {MEASURES}:\n    print('boom', flush=True)\n    import time\n"
        "    os.kill(os.getppid(), 9)\n    time.sleep(9)\n"
    )
    over = threading.Event()
    with lab(tmp_path, "a") as made:

        def supervise():
            while not over.is_set():
                if made.workers["a"].poll() is not None:
                    made.worker("a")
                over.wait(0.05)

        with meanwhile(supervise):
            answer = nrbench("sweep", *builds, *CASES, "--repeats", "5", "--cluster", made.address)
            over.set()
        assert answer.exit_code == 1, answer.output
        runs = runs_of(tmp_path)
        assert_nothing_doubled(runs, 25)
        lost = [run for run in runs if run.status == "crash"]
        assert len(lost) == 3 and all("boom" in run.error for run in lost)
        aside = [run for run in runs if run.status == "missing"]
        assert aside and all("set aside" in run.error and run.threads == 2 for run in aside)
        assert {run.variant for run in [*lost, *aside]} == {"new auto"}


def test_after_the_schedulers_death_the_same_command_goes_on(builds, tmp_path):
    gate(tmp_path, f"host == 'b' and {MEASURES}")
    words = ("sweep", *builds, *CASES, "--repeats", "2", "--cluster")
    with lab(tmp_path, "a", "b") as made:

        def kill():
            until((tmp_path / "reached.b").exists, "a run on b")
            until(lambda: sum(r.host.label[0] == "a" for r in runs_of(tmp_path)) == 12, "the runs on a")
            made.kill(made.processes[0])

        with meanwhile(kill):
            answer = nrbench(*words, made.address)
        assert answer.exit_code == 1 and "the scheduler is gone" in answer.output, answer.output
        assert "the same command takes the rest" in answer.output
    (tmp_path / "open").touch()
    with lab(tmp_path, "a", "b") as made:
        answer = nrbench(*words, made.address)
        assert answer.exit_code == 0, answer.output
        assert_nothing_doubled(runs_of(tmp_path), 24)


def test_a_host_that_hangs_stops_no_other_and_its_runs_are_left(builds, tmp_path, monkeypatch):
    """The limits count once all others have done their work: their own slowness plays no part."""
    gate(tmp_path, f"host == 'b' and {MEASURES}")
    words = ("sweep", *builds, *CASES, "--repeats", "2", "--cluster")
    with lab(tmp_path, "a", "b") as made:

        def hang():
            until((tmp_path / "reached.b").exists, "a run on b")
            made.kill(made.workers["b"], signal.SIGSTOP)
            until(lambda: sum(run.host.label[0] == "a" for run in runs_of(tmp_path)) == 12, "the runs on a")
            monkeypatch.setattr(lanes, "RETURN_S", 1)
            monkeypatch.setattr(lanes, "SILENT_S", 2)

        with meanwhile(hang):
            answer = nrbench(*words, made.address)
        assert answer.exit_code == 1, answer.output
        assert "b: left out: no sign of life for" in answer.output
        assert "runs are left: these hosts could not take them: b" in answer.output
        assert sum(run.host.label[0] == "a" for run in runs_of(tmp_path)) == 12
        (tmp_path / "open").touch()
        made.kill(made.workers["b"], signal.SIGCONT)
        monkeypatch.setattr(lanes, "RETURN_S", WAIT_S)
        monkeypatch.setattr(lanes, "SILENT_S", WAIT_S)
        answer = nrbench(*words, made.address)
        assert answer.exit_code == 0, answer.output
        assert_nothing_doubled(runs_of(tmp_path), 24)


def test_a_run_that_does_not_end_costs_its_host_and_another_takes_the_case(builds, tmp_path, monkeypatch):
    """The other host has nothing to do meanwhile: the limit is short until the first is left out."""
    leave_out = lanes.Lanes._leave_out

    def left_out(self, lane, why, may_return=True):
        monkeypatch.setattr(lanes, "GRACE_S", WAIT_S)
        leave_out(self, lane, why, may_return)

    def shorten():
        until(lambda: [*tmp_path.glob("reached.*")], "a run that does not end")
        monkeypatch.setattr(lanes, "GRACE_S", -119)  # of a limit of 120 s

    monkeypatch.setattr(lanes.Lanes, "_leave_out", left_out)
    (tmp_path / "new.py").write_text(
        f"import glob, time\nown = {str(tmp_path / 'reached')!r} + '.' + host\n"
        f"if {MEASURES} and glob.glob({str(tmp_path / 'reached')!r} + '.*') in ([], [own]):\n"
        f"    open(own, 'w').close()\n"
        f"    while not os.path.exists({str(tmp_path / 'open')!r}):\n        time.sleep(0.05)\n"
    )
    with lab(tmp_path, "a", "b") as made:
        words = ("sweep", *builds, *CASES, "--repeats", "2", "--cluster", made.address, "--per", "any")
        with meanwhile(shorten):
            answer = nrbench(*words)
        (tmp_path / "open").touch()
    assert "left out: it hangs: no end of quick:prb106-mcs9 new auto 2 threads" in answer.output
    runs = [run for run in runs_of(tmp_path) if run.status == "ok"]
    (reached,) = tmp_path.glob("reached.*")
    other = [run for run in runs if run.host.label[0] != reached.suffix[1:]]
    assert_nothing_doubled(other, 12)
    assert_nothing_doubled(runs, len(runs))


def _client(made, *words):
    command = [sys.executable, "-m", "nrbench", *map(str, words)]
    return subprocess.Popen(
        command,
        env=made.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def test_after_the_clients_death_the_same_command_goes_on(builds, tmp_path):
    gate(tmp_path, f"host == 'b' and {MEASURES}")
    with lab(tmp_path, "a", "b") as made:
        words = ("sweep", *builds, *CASES, "--repeats", "2", "--cluster", made.address)
        client = _client(made, *words)
        until((tmp_path / "reached.b").exists, "a run on b")
        until(lambda: len(runs_of(tmp_path)) > 2, "some runs")
        client.kill()
        client.communicate()
        (tmp_path / "open").touch()
        answer = nrbench(*words)
        assert answer.exit_code == 0, answer.output
        assert_nothing_doubled(runs_of(tmp_path), 24)


def test_two_clusters_never_measure_on_a_machine_at_once(builds, tmp_path):
    log = tmp_path / "log"
    (tmp_path / "new.py").write_text(
        f"import time\nlog = os.open({str(log)!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
        "os.write(log, b'begin\\n')\ntime.sleep(0.1)\nos.write(log, b'end\\n')\n"
    )
    with lab(tmp_path) as first, lab(tmp_path / "other") as second:
        first.worker("a")
        second.worker("a", lock=tmp_path / "machines" / "a" / "lock")
        for made in (first, second):
            made.wait_for_workers(1)
        words = ("sweep", "--old", tmp_path / "old", "--new", tmp_path / "new", *CASES, "--repeats", "4")
        both = [
            _client(made, *words, "--out", made.folder / "results", "--cluster", made.address)
            for made in (first, second)
        ]
        for client in both:
            text = client.communicate(timeout=WAIT_S)[0].decode()
            assert client.returncode == 0, text
    lines = log.read_text().split()
    assert len(lines) >= 2 * 2 * 8 and lines == ["begin", "end"] * (len(lines) // 2)


@pytest.mark.skipif(os.getuid() != 0, reason="a file system of its own needs root")
def test_a_full_disk_is_told_and_the_same_command_goes_on(builds, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12k", "none", str(out)], check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        with lab(tmp_path, "a") as made:
            words = ("sweep", *builds, *CASES, "--repeats", "3", "--cluster", made.address)
            answer = nrbench(*words)
            assert answer.exit_code == 2 and "runs.ndjson: No space left on device" in answer.output
            assert "the same command goes on" in answer.output and "Traceback" not in answer.output
            before = len(runs_of(tmp_path))
            subprocess.run(["mount", "-o", "remount,size=1m", str(out)], check=True)
            answer = nrbench(*words)
            assert answer.exit_code == 0, answer.output
            assert 0 < before < 18
            assert_nothing_doubled(runs_of(tmp_path), 18)
    finally:
        subprocess.run(["umount", str(out)], check=True)
