# SPDX-License-Identifier: BSD-3-Clause
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from part_runs import PROGRAMS

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

SENT = signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP  # by tests; nohup ignores the first
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


@pytest.fixture(autouse=True)
def signals():
    """At first they do what they do in a terminal; afterwards what they did before."""
    handlers = {**dict.fromkeys(SENT, signal.SIG_DFL), signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


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
def start():
    """Begins a program, which is killed at the end with all of its session, and its page removed."""
    started = []

    def begin(*words, **more):
        started.append(subprocess.Popen([*map(str, words)], start_new_session=True, **more))
        return started[-1]

    yield begin
    for process in started:
        with process, suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for path in Path("/dev/shm").glob(f"thread_pool_ws.*.{process.pid}"):
            path.unlink()
