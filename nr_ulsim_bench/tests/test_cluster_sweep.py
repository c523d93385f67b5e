# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench sweep --cluster` on a real scheduler and workers, with programs that stand for nr_ulsim."""

from collections import Counter
from pathlib import Path

import pytest
from sweep_tools import a_program
from typer.testing import CliRunner

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from cluster_tools import lab  # noqa: E402

from nrbench import cli  # noqa: E402
from nrbench.sweep import session  # noqa: E402
from nrbench.sweep.record import identity, read_runs  # noqa: E402

OUTPUTS = Path(__file__).parent / "outputs"
CASES = ("--cases", "quick:prb106-mcs9", "--threads", "1,2", "--spin", "auto")


def nrbench(*words):
    return CliRunner().invoke(cli.app, [str(word) for word in words])


@pytest.fixture
def builds(tmp_path):
    """Each prints a recorded output, and first does what the file `before` beside it says."""
    for pool in ("old", "new"):
        output = OUTPUTS / f"v2.1.0-{pool}-2-threads.txt"
        before = tmp_path / f"{pool}.py"
        before.touch()
        body = f"exec(open({str(before)!r}).read())\n"
        a_program(tmp_path / pool, f"{body}sys.stdout.write(open({str(output)!r}, errors='replace').read())")
    return "--old", tmp_path / "old", "--new", tmp_path / "new", "--out", tmp_path / "out"


def runs_of(tmp_path):
    return read_runs(tmp_path / "out" / "runs.ndjson")


@pytest.fixture
def no_report(monkeypatch):
    """It takes seconds, and test_sweep_command.py has it."""
    monkeypatch.setattr(session, "_report", lambda *_: None)


def test_every_host_takes_all_runs_and_does_nothing_twice(builds, tmp_path, no_report):
    with lab(tmp_path, "a", "b") as made:
        words = ("sweep", *builds, *CASES, "--cluster", made.address)
        answer = nrbench(*words, "--repeats", "2")
        assert answer.exit_code == 0, answer.output
        runs = runs_of(tmp_path)
        each = {("inline", 0): 4}
        each |= {(variant, threads): 2 for variant in ("old", "new auto") for threads in (1, 2)}
        for host in ("a: ", "b: "):
            own = [run for run in runs if run.host.label.startswith(host)]
            assert Counter((run.variant, run.threads) for run in own) == each
        assert all(run.status == "ok" for run in runs)
        assert "2 hosts, 1 classes" in answer.output
        again = nrbench(*words, "--repeats", "3")
        assert again.exit_code == 0, again.output
        assert_nothing_doubled(runs_of(tmp_path), 3 * len(runs) // 2)
        status = nrbench("status", tmp_path / "out")
        assert status.exit_code == 0 and "36 runs" in status.output and "a      6 runs" in status.output


def assert_nothing_doubled(runs, count):
    keys = [(run.host.id, *identity(run, run.repeat)) for run in runs if run.status == "ok"]
    assert len(keys) == len(set(keys)) == count


def test_old_and_new_of_a_round_run_on_one_host_side_by_side(builds, tmp_path, no_report):
    with lab(tmp_path, "a", "b") as made:
        words = ("sweep", *builds, *CASES, "--cluster", made.address, "--per", "any", "--repeats", "3")
        assert nrbench(*words).exit_code == 0
        runs = runs_of(tmp_path)
        assert_nothing_doubled(runs, 18)
        assert len({run.host.id for run in runs}) == 1  # of one case
        runs.sort(key=lambda run: run.time)
        pairs = [(run.threads, run.repeat) for run in runs if run.threads]
        assert all(pairs[n] == pairs[n + 1] for n in range(0, len(pairs), 2))
        assert len({run.pool for run in [run for run in runs if run.threads][::2]}) == 2  # in a drawn order
        assert "nothing left" in nrbench(*words).output
