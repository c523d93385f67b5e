# SPDX-License-Identifier: BSD-3-Clause
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it; tests send it

PATIENCE_S = 600


@pytest.fixture(autouse=True)
def patient(request, monkeypatch):
    """On a loaded machine a host or a scheduler may answer late: that is no failure of a test of clusters."""
    if request.node.path.name.startswith("test_cluster"):
        connect = ("CONNECT_S", "SCHEDULER_S", "JOIN_S", "OTHERS_S", "ANSWER_S")
        lanes = ("SILENT_S", "RETURN_S", "GRACE_S")
        for name in [f"connect.{name}" for name in connect] + [f"lanes.{name}" for name in lanes]:
            monkeypatch.setattr(f"nrbench.cluster.{name}", PATIENCE_S)


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
