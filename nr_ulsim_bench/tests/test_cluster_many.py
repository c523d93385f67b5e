# SPDX-License-Identifier: BSD-3-Clause
"""Many hosts, and many runs: none is lost or counted twice. What a run costs beside itself is printed."""

import sys
import time
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from cluster_tools import CASES, assert_nothing_doubled, lab, make_builds, nrbench, runs_of  # noqa: E402

from nrbench.sweep import session  # noqa: E402

pytestmark = pytest.mark.alone
OVERHEAD_MAX_S = 2.0  # only a watchdog: the goal is 0.05 s on an idle machine


@pytest.fixture
def builds(tmp_path, monkeypatch):
    """Shell scripts: they take less than Python."""
    monkeypatch.setattr(session, "_report", lambda *_: None)
    words = make_builds(tmp_path)
    outputs = Path(__file__).parent / "outputs"
    for pool in ("old", "new"):
        path = tmp_path / pool / "nr_ulsim"
        path.write_text(f"#!/bin/sh\nexec cat '{outputs}/v2.1.0-{pool}-2-threads.txt'\n")
    return words


def _say(capsys, text):
    with capsys.disabled():
        print(f"\n{text}")


def test_10000_runs_none_lost_none_twice(builds, tmp_path, capsys):
    names, repeats = ("a", "b"), 840
    with lab(tmp_path, *names) as made:
        begin = time.monotonic()
        answer = nrbench("sweep", *builds, *CASES, "--repeats", repeats, "--cluster", made.address)
        wall_s = time.monotonic() - begin
    assert answer.exit_code == 0, answer.output
    runs = runs_of(tmp_path)
    count = len(names) * repeats * 6
    assert count >= 10_000
    assert_nothing_doubled(runs, count)
    overhead_s = (wall_s * len(names) - sum(run.wall_s for run in runs)) / count
    _say(
        capsys,
        f"{count} runs in {wall_s:.0f} s on {len(names)} workers: {1000 * overhead_s:.1f} ms a run beside it",
    )
    assert overhead_s < OVERHEAD_MAX_S


def test_100_hosts(builds, tmp_path, capsys):
    here = Path(__file__).parent
    with lab(tmp_path) as made:
        for first in (0, 25, 50, 75):
            words = [str(here / "cluster_many.py"), made.address, str(first), "25", str(tmp_path / "scratch")]
            (tmp_path / "scratch").mkdir(exist_ok=True)
            made.run([sys.executable, *words], f"many-{first}", NRBENCH_SYSTEM_ROOT=str(made.machine("many")))
        made.wait_for_workers(100)
        begin = time.monotonic()
        answer = nrbench("sweep", *builds, *CASES, "--repeats", "5", "--cluster", made.address)
        wall_s = time.monotonic() - begin
    assert answer.exit_code == 0, answer.output
    runs = runs_of(tmp_path)
    assert_nothing_doubled(runs, 100 * 5 * 6)
    assert set(Counter(run.host.label.partition(":")[0] for run in runs).values()) == {30}
    _say(capsys, f"{len(runs)} runs on 100 hosts in {wall_s:.0f} s")
