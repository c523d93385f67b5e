# SPDX-License-Identifier: BSD-3-Clause
"""What the doctor reports of the made-up machines in doctor/machines.toml: whole reports as files, which
NRBENCH_GOLDEN=write writes anew, and levels that were worked out by hand."""

import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import machine_tree
import pytest
from fake import executable
from machine_tree import of_cpus
from typer.testing import CliRunner

from nrbench import toml
from nrbench.cli import app
from nrbench.record import Host

FOLDER = Path(__file__).parent / "doctor"
MACHINES = toml.loads((FOLDER / "machines.toml").read_text(encoding="utf-8"))
WAKE = {"class": "fifo", "hold": False, "samples": 300}
WAKE |= {"p99_us": 60.0, "max_us": 90.0, "call_p50_us": 7.5}


def doctor(*words):
    return CliRunner().invoke(app, ["doctor", *map(str, words)])


def tree(root, machine):
    """The files of a machine."""
    bare = dict.fromkeys(machine_tree.everything()) if machine.get("bare") else {}
    changes = bare | of_cpus(machine["files"])
    if "dma_latency_us" in machine:
        changes["/dev/cpu_dma_latency"] = machine["dma_latency_us"].to_bytes(4, "little")
    system = machine_tree.tuned(root, changes)
    for irq in machine.get("fixed", []):
        system.path(f"/proc/irq/{irq}/smp_affinity_list").chmod(0o444)
    return system


def is_golden(name, text):
    path = FOLDER / name
    if os.environ.get("NRBENCH_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.fixture(params=MACHINES)
def machine(request, tmp_path, monkeypatch):
    """A machine's name, its description, and what runs the doctor on it with these options."""
    about = MACHINES[request.param]

    def room(path):
        if "free_mib" not in about or not os.fspath(path).endswith("/dev/shm"):
            raise FileNotFoundError(path)
        return SimpleNamespace(f_bavail=about["free_mib"] << 8, f_frsize=4096)

    def run(*words):
        return doctor("--root", tree(tmp_path / "root", about).root, "--cpus", about["cpus"], *wakes, *words)

    monkeypatch.setattr(sys, "argv", ["/opt/a b/nrbench", *sys.argv[1:]])
    lines = "\n".join(json.dumps(line if "error" in line else WAKE | line) for line in about.get("wakes", []))
    program = executable(tmp_path / "ws-wakes", f"#!{sys.executable}\nprint({lines!r})\n")
    wakes = ["--wakes", program] if lines else []
    second = of_cpus(about.get("second", {}))
    monkeypatch.setattr(time, "sleep", lambda seconds: machine_tree.write(tmp_path / "root", second))
    monkeypatch.setattr(os, "statvfs", room)
    return request.param, about, run


def test_the_whole_report(machine):
    name, about, run = machine
    found = run()
    assert found.exit_code == about.get("status", 0), found.output
    is_golden(f"{name}.txt", found.output)


def test_the_findings_for_machines(machine):
    _, about, run = machine
    found = json.loads(run("--json").output)
    assert (found["doctor"], found["cpus"]) == (2, about["cpus"])
    assert found["host"].keys() == Host.model_fields.keys() and found["quiet"].keys() == {"answer", "reasons"}
    for finding in found["findings"]:
        assert finding.keys() == {"area", "check", "level", "seen", "why", "do"} and finding["seen"]
        assert bool(finding["why"]) == (finding["level"] in ("bad", "warn", "note"))
    levels = {(finding["level"], finding["check"]) for finding in found["findings"]}
    for level, checks in about["levels"].items():  # by hand
        assert {(level, check) for check in checks.split(", ")} - levels == set()
