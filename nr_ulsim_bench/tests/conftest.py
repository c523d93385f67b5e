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
