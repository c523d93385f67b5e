# SPDX-License-Identifier: BSD-3-Clause
"""A build folder of OAI: which pool it is configured with, and which patches."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import realpath
from pathlib import Path

from preflight.tree import cached, read

VARIABLE = "CMAKE_PROJECT_OpenAirInterface_INCLUDE"
PATCHES = "THREAD_POOL_WS_PATCHES"
COPIES = Path("thread_pool_ws", "patched")  # in the build folder
# Below cmake_targets, where build_oai -d puts it; OAI's .gitignore lists cmake_targets/*/build/.
NAME = "ws"


def suggested(oai: Path) -> Path:
    return oai / "cmake_targets" / NAME / "build"


def name_for_build_oai(oai: Path, build_dir: Path) -> str | None:
    """What follows its -d, to build there; None: it builds into cmake_targets/<name>/build only."""
    within = build_dir.parent.parent == oai / "cmake_targets" and build_dir.name == "build"
    return build_dir.parent.name if within else None


def is_configured(build_dir: Path) -> bool:
    return bool(read(build_dir / "CMakeCache.txt"))


def has_build_files(build_dir: Path) -> bool:
    """False after a configuration that failed: it leaves a cache, and no files of a generator."""
    return any((build_dir / name).is_file() for name in ("build.ninja", "Makefile"))


def has_own_pool(build_dir: Path) -> bool:
    """Configured without the hook."""
    return is_configured(build_dir) and not cached(build_dir, VARIABLE)


def elsewhere(oai: Path, build_dir: Path) -> str:
    """Why CMake will refuse to configure this tree in this folder; empty when it will not."""
    source, folder = cached(build_dir, "CMAKE_HOME_DIRECTORY"), cached(build_dir, "CMAKE_CACHEFILE_DIR")
    if source and realpath(source) != realpath(oai):
        return f"{build_dir} is configured for another tree, {source}"
    if folder and realpath(folder) != realpath(build_dir):
        return f"{build_dir} is a copy of the build folder {folder}, or that folder was moved"
    return ""


def copies(build_dir: Path) -> list[str]:
    """Patched copies of OAI's files, by their paths in OAI's tree."""
    folder = build_dir / COPIES
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*.c"))


def patches_state(build_dir: Path) -> str:
    """Of a build folder that is configured with the hook."""
    value = cached(build_dir, PATCHES)
    if value is None or value.upper() in ("OFF", "NO", "FALSE", "0", "N"):
        return "patches: none"
    files = copies(build_dir)
    if not files:
        return f"patches: {PATCHES}={value}, but no file is patched"
    return f"patches: {PATCHES}={value}, patched files: {', '.join(files)}"


def states(build_dir: Path) -> Iterator[str]:
    """Lines of the report."""
    if not is_configured(build_dir):
        yield f"{build_dir} is not configured yet"
        return
    if not has_build_files(build_dir):
        yield f"{build_dir} has a cache and no build files: its configuration failed, or did not end"
    hook = cached(build_dir, VARIABLE)
    if hook:
        yield f"{build_dir} is configured with the hook {hook}"
        yield patches_state(build_dir)
        return
    yield f"{build_dir} is configured with OAI's own pool"
