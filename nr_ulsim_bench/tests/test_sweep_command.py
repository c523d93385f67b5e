# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench sweep` from the command line: on programs that stand for nr_ulsim, and on the built benchmark."""

from collections import Counter
from pathlib import Path

import pytest
from fake import a_program
from part_runs import PROGRAMS
from sweep_runs import HOST
from typer.testing import CliRunner

from nrbench import cli
from nrbench.sweep import nr_ulsim, session
from nrbench.sweep.record import INLINE, read_runs
from nrbench.sweep.simulator import Simulate
from nrbench.system import System

pytestmark = pytest.mark.usefixtures("no_pictures")
OUTPUTS = Path(__file__).parent / "outputs"


def nrbench(*words):
    return CliRunner().invoke(cli.app, [str(word) for word in words])


@pytest.fixture
def builds(tmp_path, monkeypatch):
    """Each prints a recorded output; the new one falls with 4 threads and the environment FALL. As on a
    machine with one CPU, where no runs go side by side."""
    monkeypatch.setattr(nr_ulsim, "at_once", lambda *_: 1)
    old, new = OUTPUTS / "v2.1.0-old-2-threads.txt", OUTPUTS / "v2.1.0-new-2-threads.txt"
    fall = "if threads == 4 and 'TPOOL_WS_FALL' in os.environ: os.abort()\n"
    show = "sys.stdout.write(open({!r}, errors='replace').read())"
    a_program(tmp_path / "old", show.format(str(old)))
    a_program(tmp_path / "new", fall + show.format(str(new)))
    return "--old", tmp_path / "old", "--new", tmp_path / "new", "--out", tmp_path / "out"


@pytest.fixture
def no_report(monkeypatch):
    monkeypatch.setattr(session, "_report", lambda *_: None)


def test_a_sweep_writes_runs_tables_plots_and_a_page_and_does_nothing_twice(builds, tmp_path):
    words = ("sweep", *builds, "--cases", "quick:prb273-mcs25", "--threads", "2,1", "--spin", "off,auto")
    answer = nrbench(*words, "--repeats", "2", "--noise-seed", "7", "--label", "bench <1>")
    assert answer.exit_code == 0, answer.output
    runs = read_runs(tmp_path / "out" / "runs.ndjson")
    assert Counter((run.variant, run.threads) for run in runs) == {
        ("inline", 0): 4,
        **{(variant, threads): 2 for variant in ("old", "new off", "new auto") for threads in (1, 2)},
    }
    assert {run.host.label for run in runs} == {"bench <1>"}
    assert {run.environment["OAI_RNGSEED"] for run in runs} == {"7"}
    spins = {(run.spin, run.environment.get("TPOOL_WS_SPIN")) for run in runs}
    assert spins == {(None, None), ("off", "off"), ("auto", "auto")}
    assert all(run.options[-1] == f"-C{run.threads}" and run.status == "ok" for run in runs)
    for name in ("report.html", "report.txt", "results.csv"):
        assert (tmp_path / "out" / name).stat().st_size > 500
    assert {path.suffix for path in (tmp_path / "out").iterdir()} >= {".png", ".svg"}
    again = nrbench(*words, "--repeats", "3", "--noise-seed", "7", "--label", "bench <1>")
    assert again.exit_code == 0 and "16 of them there from before" in again.output
    assert len(read_runs(tmp_path / "out" / "runs.ndjson")) == 24


def test_inline_runs_go_side_by_side_and_are_continued(builds, tmp_path, monkeypatch, no_report):
    words = ("sweep", *builds, "--cases", "quick:prb273-mcs25", "--threads", "1", "--spin", "auto")
    assert nrbench(*words, "--repeats", "1").exit_code == 0  # as an earlier version did
    monkeypatch.setattr(nr_ulsim, "at_once", lambda *_: 2)
    monkeypatch.setattr(Simulate, "_one_each", lambda _, count: [None] * count)
    answer = nrbench(*words, "--repeats", "2")
    assert answer.exit_code == 0 and "4 of them there from before" in answer.output
    runs = read_runs(tmp_path / "out" / "runs.ndjson")
    assert Counter(run.variant for run in runs) == {"inline": 4, "inline ×2": 4, "old": 2, "new auto": 2}
    beside = [run for run in runs if run.at_once == 2]
    assert all(run.status == "ok" and run.pool == INLINE and run.threads == 0 for run in beside)
    alone = {run.program: run for run in runs if run.pool == INLINE and run.at_once is None}
    for run in beside:
        assert run.figures == pytest.approx(alone[run.program].figures)
        assert run.trials == 2 * alone[run.program].trials
    assert "nothing left to do" in nrbench(*words, "--repeats", "2").output


@pytest.mark.parametrize(
    ("free", "count"),
    [("8388608 kB", 4), ("3000000 kB", 1), ("", 4)],
    ids=["enough", "too little", "unknown"],
)
def test_as_many_runs_go_side_by_side_as_there_are_cores_and_memory_for(tmp_path, free, count):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text(f"MemAvailable: {free}\n")
    assert nr_ulsim.at_once(HOST, None, System(tmp_path)) == count
    assert nr_ulsim.at_once(HOST, "3", System(tmp_path)) == 1


def test_runs_that_fail_are_named_the_rest_goes_on_and_the_exit_status_says_so(builds, tmp_path):
    words = ("sweep", *builds, "--cases", "quick:prb106-mcs9", "--threads", "2,4", "--repeats", "3")
    answer = nrbench(*words, "--spin", "auto", "--env", "TPOOL_WS_FALL=1")
    assert answer.exit_code == 1
    assert "quick:prb106-mcs9 new auto 4 threads: crash: ended by SIGABRT" in answer.output
    assert "3 of 18 runs gave no figures" in answer.output
    states = Counter(run.status for run in read_runs(tmp_path / "out" / "runs.ndjson"))
    assert states == {"ok": 15, "crash": 2, "missing": 1}


@pytest.mark.parametrize(
    "words, error",
    [
        (("--cases", "none"), "none: neither a file nor a scenario; there are: "),
        (("--cases", "quick:none"), "quick: has no case 'none'; there are: prb106-mcs9"),
        (("--threads", "1,x"), "--threads 1,x: 'x' is no number from 1 to 1024"),
        (("--spin", "warm"), "--spin warm: a mode is off, auto or fixed:MICROSECONDS"),
        (("--spin", "hot"), "--spin hot: OAI's settings have no such mode"),
        (("--env", "A"), "--env A: not NAME=VALUE"),
        (("--cpus", "4095"), "CPUs [4095]: Invalid argument"),
        (("--backends", "ws"), "--backends is only for sweeps without builds"),
    ],
)
def test_wrong_words_are_explained_in_one_line(builds, words, error):
    answer = nrbench("sweep", *builds, "--repeats", "1", *words)
    assert answer.exit_code == 2 and f"nrbench: {error}" in answer.output
    assert "Traceback" not in answer.output


def test_results_of_a_rebuilt_pool_are_not_mixed_with_those_before(builds, tmp_path, no_report):
    words = ("sweep", *builds, "--cases", "quick:prb106-mcs9", "--threads", "1", "--repeats", "1")
    assert nrbench(*words).exit_code == 0
    (tmp_path / "new" / "libldpc.so").write_bytes(b"rebuilt")
    answer = nrbench(*words)
    assert answer.exit_code == 2
    assert "--fresh puts these results aside and begins anew" in answer.output
    answer = nrbench(*words, "--fresh")
    assert answer.exit_code == 0 and "are now runs.1.ndjson" in answer.output
    before, after = (read_runs(tmp_path / "out" / name) for name in ("runs.1.ndjson", "runs.ndjson"))
    assert len(before) == len(after) > 0
    assert {run.sweep for run in before}.isdisjoint(run.sweep for run in after)


def test_runs_that_were_taken_in_another_way_are_not_mixed_in(builds, no_report):
    words = ("sweep", *builds, "--cases", "quick:prb106-mcs9", "--threads", "1", "--repeats", "1")
    assert nrbench(*words).exit_code == 0
    for more in ("--env TPOOL_WS_SPIN_CPU_MAX=5", "--noise-seed 3", "--trials 9", "--cpus 0"):
        answer = nrbench(*words, *more.split())
        assert answer.exit_code == 2 and "--out names another folder" in answer.output, more


def test_what_would_be_run_can_be_seen_first(builds, tmp_path):
    words = ("--cases", "slides", "--repeats", "1", "--dry-run", "--trials", "9")
    answer = nrbench("sweep", *builds, *words)
    assert answer.exit_code == 0 and "-n9 -R273 -r273 -m25" in answer.output
    assert not (tmp_path / "out").exists()


@pytest.mark.program("ws-bench")
def test_recorded_slots_make_the_same_report_without_oai(tmp_path):
    data = Path(__file__).parent
    words = (
        "sweep",
        "--program",
        PROGRAMS / "ws-bench",
        "--data",
        data,
        "--out",
        tmp_path,
        "--backends",
        "ws,mutex-per-worker",
    )
    answer = nrbench(*words, "--threads", "1,2", "--spin", "off", "--repeats", "2")
    assert answer.exit_code == 0, answer.output
    runs = read_runs(tmp_path / "runs.ndjson")
    assert Counter((run.variant, run.threads) for run in runs) == {
        ("inline", 0): 2,
        **{(variant, threads): 2 for variant in ("ws off", "mutex-per-worker") for threads in (1, 2)},
    }
    assert all(run.kind == "replay" and run.figures["rx_us"] > 0 for run in runs)
    assert "Summary" in answer.output and (tmp_path / "report.html").is_file()
    assert "none.slots" in nrbench(*words, "--cases", "none.slots").output
