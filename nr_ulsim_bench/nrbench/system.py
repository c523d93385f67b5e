# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel says of itself in /proc and /sys, below a root folder, so that tests can make one up."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

CPU = "/sys/devices/system/cpu"
CAP_SYS_NICE = 23
CAP_IPC_LOCK = 14
CPU_MAX = 65535  # eight times as many as any kernel can be built for

Cpus = frozenset[int]


def parse_cpus(text: str) -> Cpus:
    """A list as the kernel writes it: 0-3,8 or 0-31:2/4."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+)/(\d+))?)?", part.strip())
        if not match:
            raise ValueError(f"'{text}' is no list of CPUs such as 0-3,8")
        first, last, used, group = (int(value) if value else None for value in match.groups())
        assert first is not None
        if last is not None and last < first or group is not None and group < 1:
            raise ValueError(f"'{text}' is no list of CPUs such as 0-3,8: '{part.strip()}' is empty")
        if max(first, last or 0) > CPU_MAX:
            raise ValueError(f"'{text}' is no list of CPUs such as 0-3,8: '{part.strip()}' is too far up")
        span = range(first, (first if last is None else last) + 1)
        cpus.update(cpu for cpu in span if group is None or (cpu - first) % group < (used or 0))
    return frozenset(cpus)


def parse_mask(text: str) -> Cpus:
    """A mask as the kernel writes it: hexadecimal, a comma after every 32 bits."""
    bits = int(text.replace(",", ""), 16)
    return frozenset(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def format_cpus(cpus: Iterable[int]) -> str:
    """0-3,8"""
    spans: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def format_mask(cpus: Iterable[int]) -> str:
    """Hexadecimal, a comma after every 32 bits: what files named cpumask and smp_affinity take."""
    bits = sum(1 << cpu for cpu in set(cpus))
    words: list[int] = []
    while bits or not words:
        words.append(bits & 0xFFFFFFFF)
        bits >>= 32
    return ",".join([f"{words[-1]:x}", *(f"{word:08x}" for word in reversed(words[:-1]))])


@dataclass(frozen=True)
class System:
    """Files of a kernel below a root folder. What is missing or may not be read is None, or empty."""

    root: Path = Path("/")

    @property
    def is_real(self) -> bool:
        return self.root == Path("/")

    def path(self, name: str) -> Path:
        return self.root / name.lstrip("/")

    def text(self, name: str) -> str | None:
        try:
            return self.path(name).read_text(encoding="utf-8", errors="replace").strip("\0\n\t ")
        except OSError:
            return None

    def content(self, name: str) -> bytes | None:
        """Of a file that is no text."""
        with contextlib.suppress(OSError):
            return self.path(name).read_bytes()
        return None

    def number(self, name: str) -> int | None:
        try:
            return int(self.text(name) or "")
        except ValueError:
            return None

    def cpus(self, name: str) -> Cpus | None:
        """A list of CPUs. An empty file is an empty list; "(null)" too, as kernels without nohz_full say."""
        text = self.text(name)
        if text in (None, "", "(null)", "N/A"):
            return None if text is None else frozenset()
        with contextlib.suppress(ValueError):
            return parse_cpus(str(text))
        return None

    def mask(self, name: str) -> Cpus | None:
        with contextlib.suppress(ValueError):
            return parse_mask(self.text(name) or "")
        return None

    def names(self, folder: str) -> list[str]:
        """What is in a folder; numbers in their order."""
        try:
            found = os.listdir(self.path(folder))
        except OSError:
            return []
        return sorted(
            found, key=lambda name: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)]
        )

    def texts(self, folder: str) -> dict[str, str]:
        """Of the files in a folder, by their names."""
        texts = ((name, self.text(f"{folder}/{name}")) for name in self.names(folder))
        return {name: text for name, text in texts if text is not None}

    def folders(self, folder: str) -> list[str]:
        return [name for name in self.names(folder) if self.path(f"{folder}/{name}").is_dir()]

    def exists(self, name: str) -> bool:
        return self.path(name).exists()

    def is_writable(self, name: str) -> bool:
        """For a normal user. Root may open every file, and some of them refuse what is written."""
        try:
            return bool(self.path(name).stat().st_mode & 0o222)
        except OSError:
            return False

    def fields(self, name: str) -> dict[str, str]:
        """Lines `key: value` of a file such as /proc/self/status; of a repeated key the first."""
        found: dict[str, str] = {}
        for line in (self.text(name) or "").splitlines():
            key, colon, value = line.partition(":")
            if colon:
                found.setdefault(key.strip(), value.strip())
        return found

    def groups(self) -> str | None:
        """The control groups of this process, a line a hierarchy."""
        return self.text("/proc/self/cgroup")

    def command_line(self) -> str | None:
        """Of the kernel."""
        return self.text("/proc/cmdline")

    def status(self) -> dict[str, str]:
        """Of this process."""
        return self.fields("/proc/self/status")

    def boot_parameter(self, name: str) -> str | None:
        """Of the kernel's command line, the last one of that name; "" where it has no value."""
        found = None
        for word in (self.command_line() or "").split():
            if word == "--":  # what follows is for init
                break
            key, _, value = word.partition("=")
            if key.replace("-", "_") == name:
                found = value
        return found

    def online(self) -> Cpus:
        return self.cpus(f"{CPU}/online") or frozenset(range(os.cpu_count() or 1))

    def possible(self) -> Cpus:
        """Those that this kernel has room for, online or not."""
        return self.cpus(f"{CPU}/possible") or self.online()

    def affinity(self) -> Cpus:
        """CPUs that this process may use."""
        if self.is_real:
            return frozenset(os.sched_getaffinity(0))
        with contextlib.suppress(ValueError):
            return parse_cpus(self.status().get("Cpus_allowed_list", "")) & self.online()
        return self.online()

    def has_capability(self, bit: int) -> bool | None:
        try:
            return bool(int(self.status()["CapEff"], 16) >> bit & 1)
        except (KeyError, ValueError):
            return None

    def limit(self, title: str) -> int | None:
        """A soft limit by its title in /proc/self/limits; -1 = unlimited."""
        match = re.search(
            rf"^{re.escape(title)} +(unlimited|\d+)", self.text("/proc/self/limits") or "", re.MULTILINE
        )
        if not match:
            return None
        return -1 if match[1] == "unlimited" else int(match[1])

    def processes(self) -> dict[str, str]:
        """Names of all processes that can be seen, by process id."""
        pids = filter(str.isdigit, self.names("/proc"))
        return {pid: name for pid in pids if (name := self.process_name(pid))}

    def process_name(self, pid: object) -> str | None:
        return self.text(self.of_process(pid, "comm"))

    @staticmethod
    def of_process(pid: object, name: str) -> str:
        """The path of one of its files."""
        return f"/proc/{pid}/{name}"

    def shows_kernel_threads(self) -> bool:
        """A container shows only its own processes."""
        return self.process_name(2) == "kthreadd"


@dataclass(frozen=True)
class Quota:
    """What a control group grants: CPU time in each period; then all threads stop until the next one."""

    cpus: float
    period_us: int
    group: str
    stops: int = 0  # how often it has stopped the group


@dataclass(frozen=True)
class Hierarchy:
    """A mounted hierarchy of control groups that has a controller, and this process's group in it."""

    mount: str
    group: str
    unified: bool

    def folders(self) -> Iterator[str]:
        """Of the group and those above it, as far as they are mounted."""
        path = PurePosixPath(self.group)
        for folder in (path, *path.parents):
            yield str(PurePosixPath(self.mount) / str(folder).lstrip("/"))


def _groups(system: System) -> dict[str, str]:
    """Group of this process by controller; "" is the unified hierarchy."""
    groups = {}
    for line in (system.groups() or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        for controller in controllers.split(",") if number != "0" else [""]:
            groups[controller] = group
    return groups


def hierarchies(system: System, controller: str) -> Iterator[Hierarchy]:
    """Of version 1 and of version 2: a controller is in one of them."""
    groups = _groups(system)
    for line in (system.text("/proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        unified = kind[0] == "cgroup2"
        if not unified and (kind[0] != "cgroup" or controller not in kind[2].split(",")):
            continue
        group = groups.get("" if unified else controller)
        if group is not None:
            yield Hierarchy(fields[4], _below(group, fields[3]), unified)


def _below(group: str, mounted: str) -> str:
    """A group's path below the group that is mounted, which is not the top in a container."""
    try:
        return "/" + str(PurePosixPath(group).relative_to(mounted)).lstrip(".")
    except ValueError:
        return "/"


def quotas(system: System) -> Iterator[Quota]:
    """All that bound this process: its group's and those of the groups above."""
    for hierarchy in hierarchies(system, "cpu"):
        for folder in hierarchy.folders():
            if hierarchy.unified:
                words = (system.text(f"{folder}/cpu.max") or "").split()
            else:
                names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
                words = [system.text(f"{folder}/{name}") or "" for name in names]
            with contextlib.suppress(ValueError):
                quota_us, period_us = (int(word) for word in words)
                if quota_us > 0 and period_us > 0:
                    stops = re.search(r"^nr_throttled (\d+)", system.text(f"{folder}/cpu.stat") or "", re.M)
                    yield Quota(quota_us / period_us, period_us, folder, int(stops[1]) if stops else 0)


def quota(system: System) -> Quota | None:
    """The tightest."""
    return min(quotas(system), key=lambda found: found.cpus, default=None)
