# SPDX-License-Identifier: BSD-3-Clause
"""What is shown of all hosts during a sweep: bars, log lines, and the file that `nrbench status` reads."""

import io
import json
import time

import pytest
from sweep_runs import HOST
from test_sweep_command import nrbench

pytest.importorskip("distributed")

from nrbench.cluster import display as shown  # noqa: E402
from nrbench.cluster.display import Display  # noqa: E402
from nrbench.cluster.hosts import ClusterHost  # noqa: E402
from nrbench.cluster.job import Job  # noqa: E402
from nrbench.cluster.lanes import BUSY, GONE, Lane  # noqa: E402
from nrbench.cluster.status import STATUS  # noqa: E402


class Terminal(io.StringIO):
    def isatty(self):
        return True


def some_lanes():
    names = ("left", "right", "far")
    lanes = {name: Lane(ClusterHost(name, name, HOST.model_dump(), {})) for name in names}
    lanes["left"].enter(BUSY)
    lanes["left"].job, lanes["left"].running = (
        Job("t", ("old 2 threads", "new 2 threads"), (9, 9), 1.0, str),
        1,
    )
    lanes["far"].enter(GONE, "its worker is gone")
    return lanes


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    display = Display(tmp_path, "http://127.0.0.1:1/status", Terminal())
    display.left, display.left_s = {"left": 3, "right": 4, "far": 5}, 12.0
    for good in (True, True, False):
        display.took("left", 1.0, good)
    return display


def test_a_terminal_has_a_bar_for_each_host_and_one_for_all(made):
    made.show(some_lanes())
    made.finish(some_lanes(), "over")
    text = made.out.getvalue()
    for words in ("all hosts", "3/15", "left", "3/6", "new 2 threads", "far", "is lost: its worker is gone"):
        assert words in text


@pytest.mark.parametrize(("kind", "term"), [(io.StringIO, "xterm"), (Terminal, "dumb")])
def test_a_log_has_a_line_now_and_then(tmp_path, monkeypatch, kind, term):
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(shown, "PERIOD_S", 0.0)
    out = kind()
    display = Display(tmp_path, None, out)
    for left in ({}, {"left": 2}):
        display.left, display._logged = left, -shown.LOG_PERIOD_S
        for _ in range(5):
            display.show(some_lanes())
    first, line = out.getvalue().splitlines()
    assert first.strip() == "hosts: 1 measuring, 1 in preparation, 1 lost"
    assert "0/2" in line and first.strip() in line


def test_status_shows_a_session_from_a_second_terminal(made, tmp_path):
    (tmp_path / "runs.ndjson").write_text("{}\n{}\n{}\n{cut")
    made.show(some_lanes())
    answer = nrbench("status", tmp_path)
    assert answer.exit_code == 0, answer.output
    lines = answer.output.splitlines()
    assert lines[0].endswith("runs.ndjson: 3 runs")
    assert lines[1].startswith("3 of 15 runs of this call taken, 1 failed; about ")
    assert lines[2] == "dashboard: http://127.0.0.1:1/status"
    assert lines[3].split(maxsplit=3) == ["left", "3", "runs", "new 2 threads"]
    status = json.loads((tmp_path / STATUS).read_text())
    (tmp_path / STATUS).write_text(json.dumps(status | {"written_s": time.time() - 3600}))
    assert "no news for 1:00:0" in nrbench("status", tmp_path / "runs.ndjson").output
    made.finish(some_lanes(), "interrupted")
    assert "interrupted, 0:0" in nrbench("status", tmp_path).output
    assert nrbench("status", tmp_path / "none").exit_code == 2
