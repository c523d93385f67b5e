# SPDX-License-Identifier: BSD-3-Clause
import signal
import sys
from pathlib import Path

import pytest
from part_runs import PROGRAMS

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it; tests send it

PATIENCE_S = 600


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Before -m selects. A test of a built program is `alone`; where there is none it is skipped."""
    for item in items:
        for mark in item.iter_markers("program"):
            item.add_marker("alone")
            if not (PROGRAMS / mark.args[0]).is_file():
                item.add_marker(pytest.mark.skip(reason=f"WS_BENCH_BUILD names no build of {mark.args[0]}"))


@pytest.fixture(autouse=True)
def patient(request, monkeypatch):
    """On a loaded machine a host or a scheduler may answer late: that is no failure of a test of clusters."""
    if "cluster" in request.node.name or request.node.path.stem == "test_cluster":
        for name in ("CONNECT_S", "JOIN_S", "OTHERS_S", "ANSWER_S"):
            monkeypatch.setattr(f"nrbench.cluster.ways.{name}", PATIENCE_S)


@pytest.fixture
def no_pictures(monkeypatch):
    """Their files hold none: drawing takes most of a report's time, and tests of pictures have it."""
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda _, path, **__: path.write_bytes(b"none"))


@pytest.fixture
def tool(tmp_path, monkeypatch, capsys):
    """tpool-ws-trace, for traces that are made up."""
    from trace_tools import Tool

    return Tool(tmp_path, monkeypatch, capsys)


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Makes a program that stands in for ws-bench, of its text, on two CPUs that allow all classes."""

    def make(text):
        monkeypatch.setattr("nrbench.host.realtime_allowed", lambda *_: True)
        monkeypatch.setattr("nrbench.host.cores", lambda: 2)
        program = tmp_path / "ws-bench"
        program.write_text(text)
        program.chmod(0o755)
        return program

    return make
