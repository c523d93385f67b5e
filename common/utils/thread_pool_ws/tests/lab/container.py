#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""For the machine of ci/lab cgroup: a container in the control group /pod/NAME, in a namespace of its own.

container.py run SHM PROGRAM...   runs a program in it, whose /dev/shm is SHM
container.py page                 tpool-ws changes a pool from the host, in its container, and from a sidecar
container.py layout               in a container: the doctor's layout is as docs/deployment.md asks
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from nrbench.doctor.layout import Layout
from nrbench.system import System

USER = 1000  # of the pool's process and of the sidecar
TOOL = ("python3", "/nr/tpool-ws")


def container(name: str, shm: str, user: int, *words: str) -> tuple[str, ...]:
    """@return the command that runs it"""
    folder = Path(tempfile.mkdtemp())
    subprocess.run(["crun", "spec"], cwd=folder, check=True)
    spec = json.loads((folder / "config.json").read_text())
    spec["process"] |= {"terminal": False, "args": words, "user": {"uid": user, "gid": user}}
    spec["process"]["env"] = [f"{key}={value}" for key, value in os.environ.items()]
    spec["root"]["path"] = "/rootfs"
    spec["linux"]["namespaces"].append({"type": "cgroup"})
    spec["linux"]["cgroupsPath"] = f"/pod/{name}"
    for place, source in (("/dev/shm", shm), ("/groups", "/groups")):
        spec["mounts"].append({"destination": place, "source": source, "options": ["bind", "rw"]})
    (folder / "config.json").write_text(json.dumps(spec))
    return "crun", "run", "--no-pivot", "-b", str(folder), name


def check_page() -> int:
    ways = {
        "spin=off": lambda *words: words,
        "spin_cpu_max=33": lambda *words: ("crun", "exec", "-u", f"{USER}:{USER}", "gnb", *words),
        "cap=4": lambda *words: container("sidecar", "/shared", USER, *words),
    }
    words = container("gnb", "/shared", USER, "lab_cgroup", "others_change_it")
    gnb = subprocess.Popen(words, stdin=subprocess.PIPE)
    for setting, way in ways.items():
        while not (pools := json.loads(subprocess.check_output(way(*TOOL, "top", "--once", "--json")))):
            pass  # its page is not there yet
        subprocess.run(way(*TOOL, "set", "--pid", str(pools[0]["pid"]), setting), check=True)
    gnb.communicate()  # it ends after its input, so that the last tool reads its answer
    return gnb.returncode


def check_layout() -> int:
    """In a set of CPUs, which has more of them than workers, threads float; with a quota, too."""
    expected = (
        ("cpuset.cpus", "2-7", {"--thread-pool -1,-1,-1,-1", "AllowedCPUs=2-7"}),
        ("cpu.max", "250000 100000", {"--thread-pool -1,-1", "AllowedCPUs=2-4", "CPUQuota="}),
    )
    missing = set[str]()
    for name, value, lines in expected:
        Path(os.environ["WS_LAB_GROUP"], name).write_text(value)
        missing |= lines - {line.line for line in Layout(System(), 4).lines()}
    print("missing:", *missing)
    return len(missing)


match sys.argv[1:]:
    case ["page"]:
        sys.exit(check_page())
    case ["layout"]:
        sys.exit(check_layout())
    case "run", shm, *words:
        sys.exit(subprocess.call(container("gnb", shm, 0, *words)))
