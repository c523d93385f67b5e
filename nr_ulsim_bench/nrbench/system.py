# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel says of itself in /proc and /sys, below a root folder, so that tests can make one up."""

import contextlib
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

STATUS = "/proc/self/status"
CPU = "/sys/devices/system/cpu"
CAP_SYS_NICE = 23
CAP_IPC_LOCK = 14
SPLIT = re.compile(r"(\d+)").split  # the numbers of a text from the rest
CPU_MAX = 65535  # eight times as many as any kernel can be built for

Cpus = frozenset[int]


def mask_cpus(text: str) -> Cpus:
    """Of hexadecimal bits. @raise ValueError  it is no mask"""
    bits = int(text.replace(",", ""), 16)
    return frozenset(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def parse_cpus(text: str) -> Cpus:
    """A list as the kernel writes it: 0-3,8."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last <= CPU_MAX:
            raise ValueError(f"'{text}' is no list of CPUs such as 0-3,8")
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


def format_cpus(cpus: Iterable[int]) -> str:
    """0-3,8"""
    spans: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


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
        """Hexadecimal, a comma after every 32 bits."""
        with contextlib.suppress(ValueError):
            return mask_cpus(self.text(name) or "")
        return None

    def names(self, folder: str) -> list[str]:
        """What is in a folder; numbers in their order."""
        try:
            found = os.listdir(self.path(folder))
        except OSError:
            return []
        return sorted(found, key=lambda name: [int(p) if p.isdigit() else p for p in SPLIT(name)])

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
        lines = re.findall(r"^([^:\n]*?)[ \t]*:[ \t]*(.*?)[ \t]*$", self.text(name) or "", re.MULTILINE)
        return dict(reversed(lines))

    def boot_parameter(self, name: str) -> str | None:
        """Of the kernel's command line, the last one of that name; "" where it has no value."""
        words = (self.text("/proc/cmdline") or "").split()
        of_kernel = itertools.takewhile(lambda word: word != "--", words)  # what follows is for init
        pairs = (word.partition("=") for word in of_kernel)
        return {key.replace("-", "_"): value for key, _, value in pairs}.get(name)

    def online(self) -> Cpus:
        """Also those of the affinity mask: in a container the list may count from 0 (lxcfs), or be hidden."""
        listed = self.cpus(f"{CPU}/online") or frozenset(range(os.cpu_count() or 1))
        return listed | self.affinity() if self.is_real else listed

    def possible(self) -> Cpus:
        """Those that this kernel has room for, online or not."""
        return self.cpus(f"{CPU}/possible") or self.online()

    def affinity(self) -> Cpus:
        """CPUs that this process may use."""
        if self.is_real:
            return frozenset(os.sched_getaffinity(0))
        with contextlib.suppress(ValueError):
            return parse_cpus(self.fields(STATUS).get("Cpus_allowed_list", "")) & self.online()
        return self.online()

    def has_capability(self, bit: int) -> bool | None:
        mask = self.fields(STATUS).get("CapEff", "")
        return bool(int(mask, 16) >> bit & 1) if re.fullmatch(r"[\da-f]+", mask) else None

    def limit(self, title: str) -> int | None:
        """A soft limit by its title in /proc/self/limits; -1 = unlimited."""
        found = re.search(rf"^{title} +(unlimited|\d+)", self.text("/proc/self/limits") or "", re.MULTILINE)
        return int(found[1].replace("unlimited", "-1")) if found else None

    def processes(self) -> dict[str, str]:
        """Names of all processes that can be seen, by process id."""
        pids = filter(str.isdigit, self.names("/proc"))
        return {pid: name for pid in pids if (name := self.process_name(pid))}

    def process_name(self, pid: object) -> str | None:
        return self.text(f"/proc/{pid}/comm")


class Quota(NamedTuple):
    """What a control group grants: CPU time in each period; then all threads stop until the next one."""

    cpus: float
    period_us: int
    group: str


MOUNT = re.compile(r"^\S+ \S+ \S+ (\S+) (\S+) .* - (cgroup2?) \S+ (\S+)$", re.MULTILINE)


def groups(system: System, controller: str) -> Iterator[str]:
    """Folders of this process's control group with a controller, and of those above it, as far as they are
    mounted. Of version 1 or of version 2: a controller is in one of them. A mount that begins above the
    process's namespace (/..) does not tell which of its folders is the process's."""
    lines = re.findall(r"^\d+:(.*?):(.*)$", system.text("/proc/self/cgroup") or "", re.MULTILINE)
    names = {name: group for controllers, group in lines for name in controllers.split(",")}
    group = names.get(controller, names.get(""))
    for top, mount, kind, options in MOUNT.findall(system.text("/proc/self/mountinfo") or ""):
        has_it = controller in options.split(",") if controller in names else kind == "cgroup2"
        if group is not None and has_it and not top.startswith("/.."):
            folder = PurePosixPath(mount, os.path.relpath(group, top))  # a container's mount is not the top
            yield from (str(one) for one in (folder, *folder.parents) if one.is_relative_to(mount))


def quota(system: System) -> Quota | None:
    """The tightest of those that bound this process."""
    found = []
    for folder in groups(system, "cpu"):
        of_v1 = [system.text(f"{folder}/cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
        with contextlib.suppress(ValueError):
            quota_us, period_us = map(int, (system.text(f"{folder}/cpu.max") or " ".join(of_v1)).split())
            if quota_us > 0 and period_us > 0:
                found.append(Quota(quota_us / period_us, period_us, folder))
    return min(found, default=None)
