# SPDX-License-Identifier: BSD-3-Clause
"""tpool-ws (WS_TPOOL_WS) beside a program with a pool: WS_LIVE_PROGRAM, which runs as many slots as its
argument says. Containers, a full /dev/shm, and a Prometheus that asks what examples/live asks."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from part_runs import children, free_port, until

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/live"
TOOL = shlex.split(os.environ.get("WS_TPOOL_WS", str(ROOT / "nr_ulsim_bench/tpool-ws")))
PROGRAM = os.environ.get("WS_LIVE_PROGRAM", "")
CONTAINER = "unshare --pid --mount --fork --mount-proc --propagation private".split()
SHM = 'mount -t tmpfs -o {} tmpfs /dev/shm && exec "$@"'
pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not PROGRAM, reason="WS_LIVE_PROGRAM is not set: ci/test live"),
]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes namespaces")


ENVIRONMENT = {**os.environ, "TPOOL_WS_LIVE": "1"}


@pytest.fixture
def start(start):
    """With pages."""
    return partial(start, env=ENVIRONMENT, text=True)


@pytest.fixture
def tool(start):
    return lambda *words, before=(): start(*before, *TOOL, *words, stdout=-1).communicate(timeout=300)[0]


def running(tool, pid, **options):
    """Its one pool, when it has run tasks for half a second."""
    top = ("top", "--once", "--json", "--pid", pid)
    return until(lambda: [r for r in json.loads(tool(*top, **options)) if r["last"]["tasks_per_s"] > 0])[0]


def changed(tool, pid, words, **options):
    """Its pool; again, while it has no CPU for the tool's second."""
    return until(lambda: tool("set", "--pid", pid, *words.split(), **options))


@pytest.mark.gate
def test_a_running_pool_is_seen_and_changed(start, tool):
    row = running(tool, pid := start(PROGRAM, "10000000").pid)
    counts, workers = row["counts"], row["workers"]
    assert (row["pid"], row["name"], len(workers)) == (pid, "slot-", counts["workers"])
    assert counts["run_tasks"] >= counts["stolen_tasks"] > 0 and counts["level"] <= 2
    assert Path(f"/proc/{pid}/task/{workers[0]['tid']}").exists() and counts["judged_bursts"] == 0
    words = "spin=fixed:40 spin_cpu_max=20 cap=1 deadline_us=700.5"
    assert changed(tool, pid, words).endswith(f"-> {words}\n") and row["last"]["start_p50_us"] > 0
    until(lambda: running(tool, pid)["last"]["counts"]["judged_bursts"])
    out = tool("ab", "--pid", pid, *"--every 500ms --for 6s spin=off spin=auto".split())
    assert out.startswith("6 rounds, ")
    assert out.count("in force: spin=fixed:40") == out.count(", as before\n") == 1
    assert "usage: tpool-ws ab" in tool("ab", "--help") and tool("--version").startswith("tpool-ws ")


def ab(start, pid, **pipes):
    return start(
        *TOOL, "ab", "--pid", pid, *"--every 1s --for 1m spin=off spin=fixed:60".split(), stdout=-1, **pipes
    )


@pytest.mark.gate
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ab_that_is_ended_leaves_the_pool_as_it_was(start, tool, number):
    before = running(tool, pid := start(PROGRAM, "10000000").pid)["settings"]
    first = ab(start, pid)
    until(lambda: running(tool, pid)["settings"] != before)
    second = ab(start, pid, stderr=-1)
    out, error = second.communicate(timeout=300)
    assert out == "" and f"process {first.pid} (tpool-ws ab, user" in error and second.returncode == 2
    first.send_signal(number)
    out = first.communicate(timeout=300)[0]
    if number == signal.SIGTERM:
        assert out.startswith("stopped by SIGTERM after ") and out.endswith(", as before\n")
    until(lambda: running(tool, pid)["settings"] == before)


@pytest.mark.gate
def test_late_bursts_of_a_record(start, tool, tmp_path):
    record = {"TPOOL_WS_RECORD": str(tmp_path), "TPOOL_WS_DEADLINE_US": "1"}
    start(PROGRAM, "40", env={**ENVIRONMENT, **record}, stdout=-1).communicate(timeout=300)
    out = tool("late", tmp_path, "--worst", "180")
    assert "until the end of its process; 0 older" in out and "\n40 of 40 bursts were late, 0 of " in out
    assert "longest task: decode " in out and out.count("= task ") == 1 and out.count("-burst-") > 10


@as_root
def test_a_container_and_its_sidecar(start, tool):
    """Its /dev/shm is its own: seen by /proc/PID/root, and in a container beside it that has the same."""
    outer = start(*CONTAINER, "sh", "-c", SHM.format("size=1m"), "sh", PROGRAM, "10000000").pid
    (pid,) = until(lambda: children(outer))
    assert running(tool, pid)["program"] == "slots"
    assert "-> spin=off" in changed(tool, pid, "spin=off")
    beside = ("nsenter", f"--target={pid}", "--mount", *CONTAINER)
    assert running(tool, 1, before=beside)["program"] == "?"
    assert "-> spin=auto" in changed(tool, 1, "spin=auto", before=beside)


@as_root
@pytest.mark.parametrize("options", ["size=4k", "ro"])
def test_a_full_or_read_only_shm(start, options):
    words = (*CONTAINER, "sh", "-c", SHM.format(options), "sh", PROGRAM, "20")
    out, error = start(*words, stdout=-1, stderr=-1).communicate()
    assert "20 slots" in out and error.count("tpool-ws does not see pool slot-") == 1


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
    for query in {*queries, *re.findall(r"thread_pool_ws_\w+", rules)}:
        until(lambda query=query: (ask(f"query?query={quote(query)}") or {}).get("result"))
    groups = until(lambda: [group for group in (ask("rules") or {}).get("groups", []) if group["rules"]])
    with urlopen(f"http://127.0.0.1:{exporter}/metrics", timeout=60) as answer:
        subprocess.run(["promtool", "check", "metrics"], input=answer.read(), check=True)
    assert {rule["health"] for rule in groups[0]["rules"]} <= {"ok", "unknown"}
