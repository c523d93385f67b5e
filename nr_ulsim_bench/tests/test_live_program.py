# SPDX-License-Identifier: BSD-3-Clause
"""tpool-ws beside a program with a pool: WS_LIVE_PROGRAM, which runs as many slots as its argument says. The
layout of the page, containers, a full /dev/shm, and a Prometheus that asks what examples/live asks."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES, TOOL = ROOT / "examples/live", [sys.executable, "-m", "nrbench.live"]
PROGRAM = os.environ.get("WS_LIVE_PROGRAM", "")
CONTAINER = "unshare --pid --mount --fork --mount-proc --propagation private".split()
pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not PROGRAM, reason="WS_LIVE_PROGRAM is not set: ci/test live"),
]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes namespaces")


ENVIRONMENT = {**os.environ, "TPOOL_WS_LIVE": "1", "PYTHONPATH": str(ROOT / "nr_ulsim_bench")}


@pytest.fixture
def start():
    """Begins a program, which is killed at the end, and its page removed."""
    started, before = [], set(Path("/dev/shm").glob("thread_pool_ws.*"))

    def begin(*words, **pipes):
        options = {"env": ENVIRONMENT, "start_new_session": True, "text": True, **pipes}
        started.append(subprocess.Popen([*map(str, words)], **options))
        return started[-1]

    yield begin
    for process in started:
        with process, suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    for path in set(Path("/dev/shm").glob("thread_pool_ws.*")) - before:
        path.unlink()


@pytest.fixture
def tool(start):
    return lambda *words, before=(): start(*before, *TOOL, *words, stdout=-1).communicate(timeout=300)[0]


def until(find):
    for _ in range(600):
        if found := find():
            return found
        time.sleep(0.2)
    raise AssertionError("it did not come")


def running(tool, **options):
    """The one pool, when it has run tasks for a second."""
    top = ("top", "--once", "--json")
    return until(lambda: [r for r in json.loads(tool(*top, **options)) if r["last"]["tasks_per_s"] > 0])[0]


def test_a_running_pool_is_seen_and_changed(start, tool):
    pid, row = start(PROGRAM, "10000000").pid, running(tool)
    counts, workers = row["counts"], row["workers"]
    assert (row["pid"], row["name"], len(workers)) == (pid, "slot-", counts["workers"])
    assert counts["run_tasks"] >= counts["stolen_tasks"] > 0 and counts["level"] <= 2
    assert workers[0]["tid"] > pid
    out = tool("set", "--pid", pid, "spin=fixed:40", "spin_cpu_max=20", "cap=1")
    assert out.endswith("-> spin=fixed:40 spin_cpu_max=20 cap=1\n")
    out = tool("ab", "--pid", pid, *"--every 500ms --for 6s spin=off spin=auto".split())
    assert out.startswith("6 rounds, ")
    process = start(
        *TOOL, "ab", "--pid", str(pid), *"--every 1s --for 1m spin=off spin=auto".split(), stdout=-1
    )
    until(lambda: running(tool)["settings"]["spin"] != 1)
    process.terminate()
    assert "stopped by a signal" in process.communicate()[0] and process.returncode == 130
    assert list(running(tool)["settings"].values()) == [1, 20, 40000, 0, 1, 0]


@as_root
@pytest.mark.parametrize("mount", ["mount -t tmpfs tmpfs /dev/shm &&", ""])
def test_a_container(start, tool, mount):
    """Its /dev/shm is its own, seen by /proc/PID/root; or the host's, also seen in a second container."""
    start(*CONTAINER, "sh", "-c", f'{mount} exec "$@"', "sh", PROGRAM, "10000000")
    row = running(tool)
    assert row["pid"] > 1 and "-> spin=off" in tool("set", "--pid", row["pid"], "spin=off")
    if not mount:
        row = running(tool, before=CONTAINER)
        assert (row["pid"], row["program"]) == (1, "?")


@as_root
@pytest.mark.parametrize("options", ["size=4k", "ro"])
def test_a_full_or_read_only_shm(start, options):
    command = f'mount -t tmpfs -o {options} tmpfs /dev/shm && exec "$@"'
    out, error = start(
        *CONTAINER, "sh", "-c", command, "sh", PROGRAM, "20", stdout=-1, stderr=-1
    ).communicate()
    assert "20 slots" in out and error.count("tpool-ws does not see pool slot-") == 1


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.skipif(not shutil.which("prometheus"), reason="no prometheus: apt install prometheus")
def test_prometheus_asks_what_the_examples_ask(start, tmp_path):
    exporter, port = free_port(), free_port()
    text = (EXAMPLES / "prometheus.yml").read_text().replace(": 5s", ": 1s").replace("9477", str(exporter))
    (tmp_path / "prometheus.yml").write_text(text)
    rules = Path(shutil.copy(EXAMPLES / "alerts.yml", tmp_path)).read_text()
    start(PROGRAM, "10000000")
    start(*TOOL, "export", "--listen", f"127.0.0.1:{exporter}")
    where = [f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address=127.0.0.1:{port}"]
    start("prometheus", f"--config.file={tmp_path}/prometheus.yml", *where, stderr=subprocess.DEVNULL)

    def ask(path):
        with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/api/v1/{path}", timeout=10) as answer:
            return json.load(answer)["data"]

    panels = json.loads((EXAMPLES / "dashboard.json").read_text())["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    queries += re.findall(r"expr: (?:>-\n)?(.*?)(?: [<>=]+ \S+)?\n +(?:for|annotations):", rules, re.S)
    assert len(queries) == 15
    for query in queries:  # of a rule what stands before its limit
        until(lambda query=query: (ask(f"query?query={quote(query)}") or {}).get("result"))
    groups = until(lambda: [group for group in (ask("rules") or {}).get("groups", []) if group["rules"]])
    assert {rule["health"] for rule in groups[0]["rules"]} <= {"ok", "unknown"}
