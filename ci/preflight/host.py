# SPDX-License-Identifier: BSD-3-Clause
"""What this machine has: headers, libraries, versions. Asks, writes nothing, downloads nothing."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

from nrbench.programs import run, which
from nrbench.system import System

SYSTEM = System(Path(os.environ.get("NRBENCH_SYSTEM_ROOT", "/")))  # for tests: below a made-up root


def distribution() -> str:
    """As OAI's scripts write it: debian12, ubuntu24.04."""
    text = SYSTEM.text("/etc/os-release") or ""
    found = dict(re.findall(r'^(ID|VERSION_ID)="?([^"\n]*)', text, re.MULTILINE))
    return found.get("ID", "") + found.get("VERSION_ID", "")


def has_avx512() -> bool:
    return "avx512" in (SYSTEM.text("/proc/cpuinfo") or "")


def version_of(program: str) -> tuple[int, ...]:
    _, text = run(program, "--version")
    found = re.search(r"\b(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in found.groups() if part) if found else ()


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version) or "?"


def pkg_config(module: str) -> bool:
    """Whether pkg-config knows the module; it may bear a version, as in pkg_check_modules()."""
    program = os.environ.get("PKG_CONFIG") or which("pkg-config", "pkgconf")
    spaced = re.sub(r"\s*(>=|<=|=|>|<)\s*", r" \1 ", module)
    return program is not None and run(program, "--exists", spaced)[0] == 0


@functools.cache
def include_folders(cc: str | None) -> tuple[Path, ...]:
    """Where the compiler looks for headers."""
    folders = ["/usr/local/include", "/usr/include"]
    if cc:
        _, text = run(cc, "-E", "-v", "-x", "c", os.devnull)
        between = re.search(r"<\.\.\.> search starts here:\n(.*?)\nEnd of search list", text, re.DOTALL)
        folders = between[1].split("\n") if between else folders
    return tuple(Path(folder.strip()) for folder in folders)


def has_header(cc: str | None, name: str) -> bool:
    return any((folder / name).is_file() for folder in include_folders(cc))


def headers_have(cc: str | None, names: str, word: str) -> bool:
    """Whether one of the headers, named by a pattern, has the word."""
    found = (path for folder in include_folders(cc) for path in folder.glob(names))
    return any(word in path.read_text(errors="replace") for path in found)


def library(cc: str | None, name: str) -> str | None:
    """The file that the linker would take for -l<name>."""
    for file in (f"lib{name}.so", f"lib{name}.a"):
        path = run(cc, f"-print-file-name={file}")[1].strip() if cc else file
        if path != file and Path(path).exists():
            return path
    return None


def cmake_package(cc: str | None, name: str) -> bool:
    """Whether the host has the package's configuration for find_package(), or pkg-config knows its name."""
    roots = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share", "/usr/local/share"]
    triple = run(cc, "-dumpmachine")[1].strip() if cc else ""
    if triple:
        roots += [f"/usr/lib/{triple.replace('-pc-', '-')}", f"/usr/lib/{triple}"]
    folders = [Path(root, "cmake", name) for root in roots]
    return any(folder.is_dir() for folder in folders) or pkg_config(name)
