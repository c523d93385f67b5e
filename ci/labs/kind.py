# SPDX-License-Identifier: BSD-3-Clause
"""A kind of virtual machine: its kernel, its programs, its machines. Builds, boots, and reads the results.

The machine has no disk: all lies in an initramfs. Its first process is the shell script GUEST, which runs the
tests of one machine, says how each ended on the console, and switches the machine off."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "build-full" / "lab"
TESTS = "common/utils/thread_pool_ws/tests"
GUEST = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/tests:/bin:/sbin:/usr/bin:/usr/sbin LTTNG_UST_REGISTER_TIMEOUT=0 HOME=/tmp TERM=dumb
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm
cat /proc/version /proc/cmdline
. /machines/$machine.setup
number=0
while read -r test <&3; do
  echo "TEST $number $test"
  timeout $test_seconds_max sh -c ". /machines/$machine.setup.each; $test" 3<&- >/tmp/log 2>&1 </dev/null
  code=$?
  [ $code = 0 ] || cat /tmp/log
  echo "RESULT $number $code $(cut -d' ' -f1 /proc/uptime)"
  number=$((number + 1))
done 3</machines/$machine.tests
echo RESULTS COMPLETE
poweroff -f
"""


SILENT = "lab: the machine says nothing\n"


class Missing(Exception):
    """A program, a package or a machine that is not there."""


def say(text: str) -> None:
    print(f"lab: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Result:
    machine: str
    test: str
    result: str  # passed, skipped, FAILED, NOT BEGUN
    seconds: float
    output: str

    @property
    def is_bad(self) -> bool:
        return self.result not in ("passed", "skipped")


@dataclass(frozen=True)
class Machine:
    """A test is a line for the machine's shell, with the programs in its PATH: 0 passed, 77 skipped.
    setup: lines that run once before the tests. each: lines that run in the shell of each test."""

    name: str
    tests: tuple[str, ...]
    qemu: tuple[str, ...] = ("-smp", "8", "-m", "1024")
    kernel_options: str = ""
    setup: str = ""
    each: str = ""
    kernels: tuple[str, ...] = ()  # () = the kind's


@dataclass
class Kind:
    name: str
    machines: tuple[Machine, ...]
    programs: tuple[str, ...]  # targets of CMake in tests/
    tools: tuple[str, ...] = ()  # programs of this machine that the tests call
    # Packages, of which it takes the first that there is.
    kernels: tuple[str, ...] = ("linux-image-cloud-amd64", "linux-image-amd64")
    cmake: tuple[str, ...] = ("-DCMAKE_BUILD_TYPE=RelWithDebInfo",)
    silent_seconds_max: int = 900  # of a machine; a test that has its result writes
    test_seconds_max: int = 300
    architecture: str = "x86_64"
    qemu: tuple[str, ...] = ("-cpu", "max")
    console: str = "ttyS0"
    # While Linux rewrites x86-64's code, another thread of QEMU's may run what that was.
    emulator: str = "tcg,thread=single"
    folder: Path = field(default=LAB, init=False)
    accelerator: str = field(default="", init=False)
    until_failed: bool = field(default=False, init=False)  # the first test that fails ends it

    def run(self, sources: Path, folder: Path, only: str) -> list[Result]:
        """Run all machines, or one; write a JUnit file. @param folder  of all that is made"""
        names = [one.name for one in self.machines]
        if only not in ("", *names):
            raise Missing(f'{self.name} has no machine "{only}": {", ".join(names)}')
        self.folder = folder
        has_kvm = self.architecture == platform.machine() and os.access("/dev/kvm", os.W_OK)
        self.accelerator = "kvm" if has_kvm else self.emulator
        folder.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        self.check_tools()
        kernel = self.fetch_kernel(self.kernels)
        self.build(sources)
        # build() may have set their tests
        machines = [one for one in self.machines if only in ("", one.name)]
        self.make_initramfs()
        results: list[Result] = []
        for machine in machines:
            own = self.fetch_kernel(machine.kernels) if machine.kernels else kernel
            ends = self.until_failed and any(one.is_bad for one in results)
            results += [] if ends else self.run_machine(machine, own)
        write_junit(folder.with_suffix(".xml"), self.name, results)
        say(f"{self.name}: {time.monotonic() - began:.0f} s")
        return results

    def check_tools(self) -> None:
        for program in (f"qemu-system-{self.architecture}", "busybox", "apt-get", "dpkg-deb", *self.tools):
            if not shutil.which(program):
                raise Missing(f"{program} is missing; ci/setup full installs it")
        if self.architecture == "x86_64" != platform.machine():
            raise Missing("the machines are x86-64, and so must this one be")

    def fetch_kernel(self, packages: tuple[str, ...]) -> Path:
        """@return the kernel"""
        for package in packages:
            root = LAB / "kernels" / package
            if not root.exists():
                found = subprocess.run(["apt-cache", "depends", package], capture_output=True, text=True)
                image = re.search(r"^ *Depends: (linux-image-\S+)", found.stdout, re.MULTILINE)
                root.mkdir(parents=True)
                if not image or call(self.folder, "apt-get", "-q", "download", image[1]):
                    root.rmdir()
                    continue
                [archive] = self.folder.glob(f"{image[1]}_*.deb")
                call(self.folder, "dpkg-deb", "-x", str(archive), str(root))
                archive.unlink()
            for kernel in sorted(root.glob("boot/vmlinu[xz]-*")):
                return kernel
        raise Missing(f"apt knows no package {' or '.join(packages)}, or could not fetch it")

    def build(self, sources: Path) -> None:
        say(f"{self.name}: building (log: {self.folder}/log)")
        build = str(self.folder / "build")
        configure = ("cmake", "-S", str(sources), "-B", build, "-DWS_TESTS=ON", *self.cmake)
        make = ("cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target", *self.programs)
        if call(self.folder, *configure) or call(self.folder, *make):
            raise SystemExit("".join((self.folder / "log").open().readlines()[-30:]))

    def files(self) -> Iterator[tuple[Path, str]]:
        """Programs, and the place of each in the machine."""
        for tool in ("busybox", *self.tools):
            yield Path(shutil.which(tool) or tool), f"bin/{tool}"
        for program in self.programs:
            [path] = (one for one in (self.folder / "build").rglob(program) if one.is_file())
            yield path, f"tests/{program}"

    def fill_root(self, root: Path) -> None:
        """Programs, and the libraries that they are linked with."""
        for source, place in self.files():
            shutil.copy(source, root / place)
            linked = subprocess.run(["ldd", str(source)], capture_output=True, text=True).stdout
            for library in re.findall(r"(/\S+)", linked):
                copy = root / library.lstrip("/")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library, copy)

    def make_initramfs(self) -> None:
        root = self.folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        for name in ("bin", "proc", "sys", "dev", "tmp", "tests", "machines"):
            (root / name).mkdir(parents=True)
        self.fill_root(root)
        (root / "init").write_text(GUEST.replace("$test_seconds_max", str(self.test_seconds_max)))
        (root / "init").chmod(0o755)
        for machine in self.machines:
            (root / f"machines/{machine.name}.setup").write_text(f"{machine.setup}\n")
            (root / f"machines/{machine.name}.setup.each").write_text(f"{machine.each}\n")
            tests = "".join(f"{test}\n" for test in machine.tests)
            (root / f"machines/{machine.name}.tests").write_text(tests)
        pack = "find . | busybox cpio -o -H newc | gzip -1 > ../initramfs.gz"
        if call(root, "sh", "-c", pack):
            raise SystemExit(f"lab: no initramfs could be made in {self.folder}")

    def boot(self, machine: Machine, kernel: Path) -> str:
        """@return what it has said on its console"""
        words = [f"qemu-system-{self.architecture}", "-accel", self.accelerator, *self.qemu, *machine.qemu]
        words += ["-nographic", "-no-reboot", "-kernel", str(kernel)]
        words += ["-initrd", str(self.folder / "initramfs.gz"), "-append"]
        words += [f"console={self.console} quiet panic=-1 machine={machine.name} {machine.kernel_options}"]
        log, began, silent = self.folder / f"{machine.name}.log", time.monotonic(), False
        with (
            log.open("wb") as file,
            subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file) as qemu,
        ):
            while qemu.poll() is None:
                time.sleep(0.5)
                seconds, said = time.monotonic() - began, log.read_bytes()
                hangs = self.accelerator == "kvm" and seconds > 60 and b"TEST 0 " not in said
                silent = time.time() - log.stat().st_mtime > self.silent_seconds_max
                fails = self.until_failed and re.search(rb"^RESULT \d+ (?!0 |77 ).*\n", said, re.MULTILINE)
                if silent or hangs or fails or b"KVM internal error" in said:
                    qemu.kill()
        return log.read_bytes().decode(errors="replace").replace("\r", "") + SILENT * silent

    def run_machine(self, machine: Machine, kernel: Path) -> list[Result]:
        """With KVM where it works: it may be there and not boot, as in a virtual machine. A boot is tried
        twice. A machine that says nothing, in which no clock runs, is booted once more as well: its timeout
        ends a test earlier."""
        began, said = time.monotonic(), self.boot(machine, kernel)
        begins = re.search("^RESULT " if self.accelerator == "kvm" else "^TEST 0 ", said, re.MULTILINE)
        if not begins or said.endswith(SILENT):
            say(f"{machine.name}: {self.accelerator} does not run it; it boots once more:\n{said[-200:]}")
            self.accelerator = self.emulator
            said = self.boot(machine, kernel)
        results = list(read_results(machine, said))
        for one in results:
            print(f"{self.name:9} {machine.name:9} {one.test:60} {one.result}", flush=True)
            if one.is_bad:
                print(one.output, flush=True)
        say(f"{self.name}:{machine.name}: {time.monotonic() - began:.0f} s, {self.folder}/{machine.name}.log")
        return results


def call(folder: Path, *words: str) -> int:
    """Run a command. Its output is added to the folder's file "log". @return the exit status"""
    with (folder / "log").open("a") as log:
        return subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode


def read_results(machine: Machine, said: str) -> Iterator[Result]:
    """A test without a result has failed, if it has begun: the machine has come to no end."""
    end = 0.0
    for number, test in enumerate(machine.tests):
        whole = rf"^TEST {number} .*\n((?s:.*?))^RESULT {number} (\d+) ([\d.]+)$"
        found = re.search(whole, said, re.MULTILINE)
        if not found:
            result = "FAILED" if f"TEST {number} " in said else "NOT BEGUN"
            yield Result(machine.name, test, result, 0.0, "\n".join(said.splitlines()[-30:]))
            continue
        result = {"0": "passed", "77": "skipped"}.get(found[2], "FAILED")
        yield Result(machine.name, test, result, float(found[3]) - end, found[1])
        end = float(found[3])


def write_junit(path: Path, kind: str, results: list[Result]) -> None:
    failures = str(sum(one.is_bad for one in results))
    skipped = str(sum(one.result == "skipped" for one in results))
    about = {"name": f"lab {kind}", "tests": str(len(results)), "failures": failures, "skipped": skipped}
    suite = ElementTree.Element("testsuite", about)
    for one in results:
        place = {"classname": f"{kind}.{one.machine}", "name": one.test, "time": f"{one.seconds:.1f}"}
        case = ElementTree.SubElement(suite, "testcase", place)
        if one.result != "passed":
            ElementTree.SubElement(case, "failure" if one.is_bad else "skipped")
        printable = "".join(letter for letter in one.output if letter.isprintable() or letter in "\n\t")
        ElementTree.SubElement(case, "system-out").text = printable
    ElementTree.ElementTree(suite).write(path, encoding="unicode")
