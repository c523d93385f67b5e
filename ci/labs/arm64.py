# SPDX-License-Identifier: BSD-3-Clause
"""64-bit ARM, emulated: Debian's kernel and user land, all tests by a cross compiler. "lse" has atomic
instructions, "llsc" exclusive loads and stores. Two CPUs: with more than this machine has, the owner of a
lock often has none. The pool is linked statically; test_*_shared and "live" have it as a shared library."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from labs.kind import LAB, ROOT, TESTS, Kind, Machine, Missing, call

SYSROOT = LAB / "arm64-root"
PACKAGES = "linux-image-cloud-arm64 busybox-static libcunit1-dev libboost-context-dev liblttng-ust-dev"
PACKAGES += " lttng-tools babeltrace2 python3-minimal"
CROSS = f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake_targets/cross.cmake -DWS_CROSS=aarch64"
OPTIONS = "-G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWS_LTTNG=ON -DWS_FIBER=ON"
SETUP = """mkdir -p /run /var /tmp/record; mount -t tmpfs run /run; ln -s /run /var/run; ifconfig lo up
echo root:x:0:0::/tmp:/bin/sh >/etc/passwd"""


class Arm64(Kind):
    def fetch_kernel(self, packages: tuple[str, ...]) -> Path:
        fetch = f". {ROOT}/ci/steps/common.sh; . /etc/os-release; bare_root $0 arm64 $VERSION_CODENAME $1"
        if call(self.folder, "bash", "-c", fetch, str(SYSROOT), ",".join(packages)):
            raise Missing("apt could not fetch Debian's packages for arm64")
        return next(SYSROOT.glob("boot/vmlinuz-*"))

    def build(self, sources: Path) -> None:
        super().build(sources)
        pool, program = f"{self.folder}/build/{TESTS}/..", f"{sources}/examples/tutorial/3_slots.c"
        compiler = ("aarch64-linux-gnu-gcc", f"-I{sources}/{TESTS}/../include", program, f"-L{pool}", "-o")
        call(self.folder, *compiler, "slots_static", "-l:libthread_pool_ws.a")
        call(self.folder, *compiler, "slots_shared", "-lthread_pool_ws")
        listed = ["ctest", "--test-dir", f"{self.folder}/build", "--show-only=json-v1"]
        commands = json.loads(subprocess.run(listed, capture_output=True, check=True).stdout)["tests"]
        tests = (" ".join(Path(word).name for word in one["command"]) for one in commands)
        [lse, llsc] = self.machines
        self.machines = (replace(lse, tests=("traced", "recorded", "live", *tests)), llsc)

    def fill_root(self, root: Path) -> None:
        leave = shutil.ignore_patterns("*.a", "gcc*", "perl*", "share", "include", "modules", "CMakeFiles")
        shutil.copytree(SYSROOT / "usr", root / "usr", symlinks=True, ignore=leave)
        # Without it LTTng's daemon does not start.
        shutil.copytree(SYSROOT / "usr/share/xml", root / "usr/share/xml")
        (root / "lib").symlink_to("usr/lib")
        (root / "etc").mkdir()
        shutil.copy(SYSROOT / "usr/bin/busybox", root / "bin")
        shutil.copy(ROOT / "ci/labs/arm64.sh", root / "tests")
        for path in (*(self.folder / "build").rglob("*"), *self.folder.glob("slots_*")):
            if path.is_file() and "CMakeFiles" not in path.parts and path.stat().st_mode & 0o111:
                shutil.copy(path, root / "tests")


def machine(name: str, cpu: str, *tests: str) -> Machine:
    qemu = "-cpu", cpu, "-smp", "2", "-m", "2048"
    return Machine(name, tests, qemu, setup=SETUP, each=". /tests/arm64.sh")


KIND = Arm64(
    "arm64",
    (machine("lse", "max,pauth-impdef=on"), machine("llsc", "cortex-a72", "test_core", "test_stress_joins")),
    programs=("all",),
    kernels=tuple(PACKAGES.split()),
    tools=("mmdebstrap", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "ctest"),
    cmake=(*OPTIONS.split(), *CROSS.split(), f"-DWS_CROSS_ROOT={SYSROOT}"),
    architecture="aarch64",
    qemu=("-machine", "virt"),
    console="ttyAMA0",
    emulator="tcg",
)
