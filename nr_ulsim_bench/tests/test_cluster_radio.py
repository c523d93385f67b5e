# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench radio --cluster`: each host takes the whole plan, by itself."""

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from cluster_tools import lab, nrbench  # noqa: E402
from fake import a_build  # noqa: E402

from nrbench.cluster import lanes  # noqa: E402
from nrbench.radio import cell, session  # noqa: E402
from nrbench.radio.builds import MARK  # noqa: E402
from nrbench.radio.record import RUNS, read_runs  # noqa: E402

pytestmark = pytest.mark.alone
KNOWS = cell.gnb_text(106) + cell.ue_text()
PRELOAD = ("--preload", Path(__file__).parent / "cluster_radio_preload.py")
POOLS = ("--pools", "old-old,new-new", "--spin", "auto")


@pytest.fixture
def builds(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "report", lambda *_: None)
    monkeypatch.setattr(lanes, "LOOK_S", 0.2)
    a_build(tmp_path / "old", knows=KNOWS)
    a_build(tmp_path / "new", knows=f"{KNOWS}{MARK.decode()}\n")
    return "--old", tmp_path / "old", "--new", tmp_path / "new", "--oai", "v2.3.0", "--out", tmp_path / "out"


def test_each_host_takes_the_whole_plan_once(builds, tmp_path):
    with lab(tmp_path) as made:
        for name in ("a", "b"):
            made.worker(name, *map(str, PRELOAD))
        made.wait_for_workers(2)
        words = ("radio", *builds, *POOLS, "--timescale", "0.2,0.3", "--cluster", made.address)
        for runs in (1, 2):
            answer = nrbench(*words, "--runs", runs)
            assert answer.exit_code == 0, answer.output
            there = read_runs(tmp_path / "out" / RUNS)
            each = Counter((run.host.label[0], run.gnb, run.timescale) for run in there)
            assert len(each) == 8 and set(each.values()) == {runs}
        assert "nothing left to do" in nrbench(*words, "--runs", 2).output
        assert "radio.ndjson: 16 runs" in nrbench("status", tmp_path / "out").output


def test_a_search_goes_on_from_a_hosts_own_runs(builds, tmp_path):
    with lab(tmp_path) as made:
        for name in ("a", "b"):
            made.worker(name, *map(str, PRELOAD))
        made.wait_for_workers(2)
        words = ("radio", *builds, *POOLS, "--capacity", "--runs", "4", "--cluster", made.address)
        answer = nrbench(*words, "--per", "any")
        assert answer.exit_code == 0, answer.output
        there = read_runs(tmp_path / "out" / RUNS)
        assert Counter(run.gnb for run in there) == {"old": 4, "new": 4}
        assert len({run.host.id for run in there}) == 1
        by_pool = {pool: [run.timescale for run in there if run.gnb == pool] for pool in ("old", "new")}
        assert all(len(set(timescales)) > 1 for timescales in by_pool.values())
