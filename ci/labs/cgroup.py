# SPDX-License-Identifier: BSD-3-Clause
"""A machine with control groups of version 2: limits that change while pools run, containers, their pages."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from labs.kind import ROOT, TESTS, Kind, Machine

STDLIB = Path(sysconfig.get_path("stdlib"))
IN_MACHINE = f"usr/lib/{STDLIB.name}"
UNUSED = ("test", "idlelib", "lib2to3", "distutils", "pydoc_data", "config-*", "*-packages", "*.opt-*")
SETUP = """
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /rootfs /groups /small /shared /sys/fs/cgroup/pod
mount --bind / /rootfs; mount --bind /sys/fs/cgroup /groups
mount -t tmpfs -o size=20k shm /small; mount -t tmpfs -o mode=1777 shm /shared
for group in /groups /groups/pod; do echo "+cpu +cpuset +memory +pids" >$group/cgroup.subtree_control; done
"""
EACH = "export WS_LAB_GROUP=/groups/pod/gnb PYTHONPATH=/nr WS_TEST_DEADLINE_S=60; mkdir -p $WS_LAB_GROUP"


class WithPython(Kind):
    """Its machine has the Python that runs this file."""

    def files(self) -> Iterator[tuple[Path, str]]:
        yield from super().files()
        yield Path(sys.executable).resolve(), "usr/bin/python3"
        yield ROOT / TESTS / "lab/container.py", "tests/container.py"
        for module in (STDLIB / "lib-dynload").glob("zlib.*"):  # else it is within the interpreter
            yield module, f"{IN_MACHINE}/lib-dynload/{module.name}"

    def fill_root(self, root: Path) -> None:
        shutil.copytree(STDLIB, root / IN_MACHINE, ignore=shutil.ignore_patterns(*UNUSED))
        shutil.copytree(ROOT / "nr_ulsim_bench/nrbench", root / "nr/nrbench")
        shutil.copy(ROOT / "nr_ulsim_bench/tpool-ws", root / "nr")
        (root / "usr/bin").mkdir()
        super().fill_root(root)


TESTS_OF_MACHINE = (
    "echo 0 >$WS_LAB_GROUP/cgroup.procs; lab_cgroup",
    "WS_LAB_SMALL=1 container.py run /small lab_cgroup",
    "WS_LAB_VIEWERS=1 WS_TEST_DEADLINE_S=400 container.py page",
    "container.py run /shared container.py layout",
)
KIND = WithPython(
    "cgroup",
    (Machine("groups", TESTS_OF_MACHINE, setup=SETUP, each=EACH),),
    programs=("lab_cgroup",),
    tools=("crun",),
    test_seconds_max=450,
)
