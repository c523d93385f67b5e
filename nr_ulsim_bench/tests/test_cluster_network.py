# SPDX-License-Identifier: BSD-3-Clause
"""A host whose network is cut: two network namespaces, and the cable between them. The machine's own network
plays no part."""

import contextlib
import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from cluster_tools import (  # noqa: E402
    CASES,
    WAIT_S,
    Lab,
    assert_nothing_doubled,
    make_builds,
    runs_of,
    until,
)

pytestmark = pytest.mark.alone
ADDRESSES = {"near": "10.0.0.1", "far": "10.0.0.2"}
# Limits get short once the file "short" is there.
CLIENT = f"""
import os, sys, threading, time
from nrbench import cli
from nrbench.cluster import connect, lanes
from nrbench.sweep import session
session._report = lambda *_: None
connect.CONNECT_S = connect.JOIN_S = connect.ANSWER_S = lanes.SILENT_S = lanes.RETURN_S = {WAIT_S}
def shorten():
    while not os.path.exists("short"):
        time.sleep(0.05)
    lanes.SILENT_S, lanes.RETURN_S = 2, 1
threading.Thread(target=shorten, daemon=True).start()
cli.app()
"""


def _ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False)


@pytest.fixture
def cable():
    if os.getuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces need root and the program ip")
    spaces = {end: f"nrbench-{os.getpid()}-{end}" for end in ADDRESSES}
    with contextlib.ExitStack() as stack:
        for space in spaces.values():
            if _ip("netns", "add", space).returncode:
                pytest.skip("no network namespace can be made here")
            stack.callback(_ip, "netns", "del", space)
        near, far = spaces.values()
        made = _ip("-n", near, "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", far)
        if made.returncode:
            pytest.skip(f"no cable between network namespaces can be made here: {made.stderr.strip()}")
        for end, address in ADDRESSES.items():
            assert not _ip("-n", spaces[end], "address", "add", f"{address}/24", "dev", end).returncode
            assert not _ip("-n", spaces[end], "link", "set", "lo", "up").returncode
            assert not _ip("-n", spaces[end], "link", "set", end, "up").returncode
        yield Cable(spaces)


class Spaces(Lab):
    """Each process in the network namespace that `space` names."""

    space = ""

    def run(self, command, name, **variables):
        return super().run(["ip", "netns", "exec", self.space, *command], name, **variables)

    def wait_for_workers(self, count):
        """From where they are reached."""
        program = f"from distributed import Client; Client({self.address!r}).wait_for_workers({count})"
        assert self.run([sys.executable, "-c", program], "wait").wait(WAIT_S) == 0


class Cable:
    """Between two network namespaces."""

    def __init__(self, spaces):
        self.spaces = spaces

    def set(self, state):
        assert not _ip("-n", self.spaces["far"], "link", "set", "far", state).returncode


def _client(made, *words):
    """@return what waits for its end, and returns its exit status and what it printed"""
    place = made.folder / "client.log"
    place.unlink(missing_ok=True)
    process = made.run([sys.executable, "-c", CLIENT, *map(str, words)], "client")
    return lambda: (process.wait(WAIT_S), place.read_text())


def test_a_host_whose_network_is_cut_stops_no_other_and_takes_the_rest_when_it_is_back(tmp_path, cable):
    builds = make_builds(tmp_path)
    (tmp_path / "new.py").write_text(
        "if host == 'far' and '-n2' not in options and threads == 2:\n"
        f"    import time\n    open({str(tmp_path / 'reached')!r}, 'w').close()\n"
        f"    while not os.path.exists({str(tmp_path / 'open')!r}):\n        time.sleep(0.05)\n"
    )
    made = Spaces(tmp_path)
    try:
        made.space = cable.spaces["near"]
        made.scheduler(host=ADDRESSES["near"])
        made.worker("near")
        made.space = cable.spaces["far"]
        made.worker("far")
        made.space = cable.spaces["near"]
        made.wait_for_workers(2)
        words = ("sweep", *builds, *CASES, "--repeats", "2", "--cluster", made.address)
        end = _client(made, *words)
        until((tmp_path / "reached").exists, "a run on far")
        cable.set("down")
        until(lambda: sum(run.host.label[0] == "n" for run in runs_of(tmp_path)) == 12, "the runs on near")
        (tmp_path / "short").touch()
        code, text = end()
        assert code == 1 and "far: left out: no sign of life for" in text, text
        (tmp_path / "short").unlink()
        (tmp_path / "open").touch()
        cable.set("up")
        end = _client(made, *words)
        code, text = end()
        assert code == 0, text
        assert_nothing_doubled(runs_of(tmp_path), 24)
    finally:
        made.end()
