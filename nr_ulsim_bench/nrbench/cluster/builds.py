# SPDX-License-Identifier: BSD-3-Clause
"""Builds on the hosts: found by the path that they have here, or else sent once and kept by their content.

They are never built anew. On each host the content is checked by its hash before a session, and whether the
program finds its libraries and runs on that CPU."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from nrbench.programs import run
from nrbench.sweep.process import sha256_of_program
from nrbench.sweep.simulator import Simulator

CHUNK_BYTES = 4 << 20
Run = Callable[..., Any]


class HostBuildError(RuntimeError):
    """A host cannot run a build; says why."""


@dataclass(frozen=True)
class File:
    name: str
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """A program and the libraries beside it."""

    path: str  # of the program, on the client
    digest: str  # as in Build
    files: tuple[File, ...]  # the program first

    @property
    def key(self) -> str:
        text = "\n".join(f"{file.name} {file.sha256}" for file in self.files)
        return hashlib.sha256(text.encode()).hexdigest()


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(home) if home else Path.home() / ".cache") / "nrbench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        digest = hashlib.sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
        return digest.hexdigest()


def manifest_of(simulator: Simulator, beside_it: str = "*.so*") -> Manifest:
    """@param beside_it  names of the other files that belong to the build"""
    found = simulator.folder.glob(beside_it)
    beside = sorted(path for path in found if path.is_file() and path != simulator.program)
    files = tuple(File(path.name, _sha256(path)) for path in (simulator.program, *beside))
    return Manifest(str(simulator.program), simulator.build.sha256, files)


# On a host.


def _is_build(program: Path, digest: str) -> bool:
    with contextlib.suppress(OSError):
        return os.access(program, os.X_OK) and sha256_of_program(program) == digest
    return False


def _stored(sha256: str) -> Path:
    return cache_folder() / "files" / sha256


def _kept(manifest: Manifest) -> Path:
    """A name that names of folders with this build begin with. Hosts that share the cache may make several at
    the same time, and none of them is removed or replaced: programs of another host may run there."""
    return cache_folder() / "builds" / manifest.key


def find(manifest: Manifest) -> tuple[str | None, list[str]]:
    """@return the program's path here; or None and the hashes of files to send"""
    if _is_build(Path(manifest.path), manifest.digest):
        return manifest.path, []
    kept = _kept(manifest)
    for folder in sorted(kept.parent.glob(f"{kept.name}*")):
        program = folder / manifest.files[0].name
        if _is_build(program, manifest.digest):
            return str(program), []
    stored = {file.sha256: _stored(file.sha256) for file in manifest.files}
    return None, [sha256 for sha256, path in stored.items() if not path.is_file() or _sha256(path) != sha256]


def receive(sha256: str, token: str, chunk: bytes, is_last: bool) -> None:
    """@raise OSError         the disk is full, for one
    @raise HostBuildError  the content is not what was sent"""
    place = _stored(sha256)
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{sha256}.{token}")
    try:
        with open(part, "ab") as out:
            out.write(chunk)
        if is_last:
            if _sha256(part) != sha256:
                raise HostBuildError(f"a file of the build arrived damaged ({sha256[:12]})")
            part.replace(place)
    except (OSError, HostBuildError):
        part.unlink(missing_ok=True)
        raise


def assemble(manifest: Manifest) -> str:
    """From the files that are stored. @return the program's path"""
    kept = _kept(manifest)
    folder = kept.with_name(f"{kept.name}.{uuid.uuid4().hex[:8]}")
    fresh = folder.with_name(f".{folder.name}")  # where find() does not look
    fresh.mkdir(parents=True)
    try:
        for file in manifest.files:
            os.link(_stored(file.sha256), fresh / file.name)
            (fresh / file.name).chmod(0o755)
        program = manifest.files[0].name
        if not _is_build(fresh / program, manifest.digest):
            raise HostBuildError("the build in its cache is not what was sent")
        return str(fresh.rename(folder) / program)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def absent_libraries(program: Path, environment: Sequence[tuple[str, str]]) -> list[str]:
    """What ldd does not find for the program and the libraries beside it."""
    words = ["env", *(f"{name}={value}" for name, value in environment), "ldd", str(program)]
    _, text = run(*words, *map(str, sorted(program.parent.glob("*.so"))))
    lines = (line.strip() for line in text.splitlines() if "not found" in line)
    return list(dict.fromkeys(line.partition(" => ")[0].removesuffix(" not found") for line in lines))


# On the client.


def _chunks(path: Path) -> Iterator[tuple[bytes, bool]]:
    left = path.stat().st_size
    with open(path, "rb") as file:
        while True:
            chunk = file.read(CHUNK_BYTES)
            left -= len(chunk)
            yield chunk, left <= 0
            if left <= 0 or not chunk:
                return


def bring(simulator: Simulator, manifest: Manifest, run_there: Run) -> Simulator:
    """
    Makes sure that a host has the build.

    @param run_there  runs a function on the host and waits for its result
    @return           the build as it is there
    """
    program, lacking = run_there(find, manifest)
    if program is None:
        folder = simulator.folder
        for file in {file.sha256: file for file in manifest.files if file.sha256 in lacking}.values():
            token = uuid.uuid4().hex[:8]
            for chunk, is_last in _chunks(folder / file.name):
                run_there(receive, file.sha256, token, chunk, is_last)
        program = run_there(assemble, manifest)
    there = Path(program)
    moved = str(there) != manifest.path
    return replace(
        simulator, program=there, environment=(("LD_LIBRARY_PATH", str(there.parent)),) if moved else ()
    )
