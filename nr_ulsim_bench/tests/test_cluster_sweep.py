# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench sweep --cluster` on a real scheduler and workers, with programs that stand for nr_ulsim."""

from collections import Counter

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from cluster_tools import CASES, assert_nothing_doubled, lab, make_builds, nrbench, runs_of  # noqa: E402

from nrbench.sweep import session  # noqa: E402

pytestmark = pytest.mark.alone


@pytest.fixture
def builds(tmp_path):
    return make_builds(tmp_path)


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
        assert "hosts: 2, classes: 1; " in answer.output
        again = nrbench(*words, "--repeats", "3")
        assert again.exit_code == 0, again.output
        assert_nothing_doubled(runs_of(tmp_path), 3 * len(runs) // 2)
        status = nrbench("status", tmp_path / "out")
        assert status.exit_code == 0 and "36 runs" in status.output and "a      6 runs" in status.output


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
