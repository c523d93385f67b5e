# SPDX-License-Identifier: BSD-3-Clause
"""Builds on the machines: found by the path that they have here, or else sent once and kept by their content.

They are never built anew. On each machine the content is checked by its hash before a session."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import tarfile
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from nrbench.programs import run
from nrbench.session import MachineLost
from nrbench.sweep.process import sha256_of_program
from nrbench.sweep.simulator import Simulator

CHUNK_BYTES = 4 << 20


@dataclass(frozen=True)
class Package:
    """A program and what lies beside it."""

    program: Path  # on the client
    digest: str  # as in Build
    archive: bytes  # tar
    sha256: str  # of the archive

    @property
    def key(self) -> tuple[str, str, str]:
        """What a machine needs to know of it."""
        return str(self.program), self.digest, self.sha256


def package_of(simulator: Simulator, beside_it: str) -> Package:
    """@param beside_it  pattern of the names of the other files that belong to the build"""
    found = {path for path in simulator.folder.glob(beside_it) if path.is_file()} | {simulator.program}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as out:
        for path in sorted(found):
            about = out.gettarinfo(path.resolve(), path.name)  # a link becomes the file that it names
            about.mtime = about.uid = about.gid = 0
            about.uname = about.gname = ""
            with open(path, "rb") as file:
                out.addfile(about, file)
    data = archive.getvalue()
    digest = simulator.build.sha256
    return Package(simulator.program, digest, data, hashlib.sha256(data).hexdigest())


# On a machine.


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(home) if home else Path.home() / ".cache") / "nrbench" / "builds"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _is_build(program: Path, digest: str) -> bool:
    with contextlib.suppress(OSError):
        return os.access(program, os.X_OK) and sha256_of_program(program) == digest
    return False


def find(path: str, digest: str, sha256: str) -> str | None:
    """@return the program's path here; None: it is to be sent"""
    kept = sorted(cache_folder().glob(f"{sha256}.*"))
    every = (Path(path), *(folder / Path(path).name for folder in kept))
    return next((str(program) for program in every if _is_build(program, digest)), None)


def receive(token: str, chunk: bytes) -> None:
    """@raise OSError  the disk is full, for one"""
    part = cache_folder() / f".{token}"
    try:
        with open(part, "ab") as out:
            out.write(chunk)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def unpack(token: str, path: str, digest: str, sha256: str) -> str:
    """Of what was received. Machines that share the cache may do it at the same time: no folder is removed or
    replaced, for programs of another machine may run there. @return the program's path"""
    part = cache_folder() / f".{token}"
    fresh = part.with_name(f".{token}.d")  # where find() does not look
    try:
        data = part.read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise MachineLost(f"the build arrived damaged ({sha256[:12]})")
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(fresh)  # the hash is that of the client
        if not _is_build(fresh / Path(path).name, digest):
            raise MachineLost("the build in its cache is not what was sent")
        return str(fresh.rename(cache_folder() / f"{sha256}.{token}") / Path(path).name)
    finally:
        part.unlink(missing_ok=True)
        shutil.rmtree(fresh, ignore_errors=True)


def absent_libraries(program: Path, environment: Sequence[tuple[str, str]]) -> list[str]:
    """What ldd does not find for the program and the libraries beside it."""
    words = ["env", *(f"{name}={value}" for name, value in environment), "ldd", str(program)]
    _, text = run(*words, *map(str, sorted(program.parent.glob("*.so"))))
    lines = (line.strip() for line in text.splitlines() if "not found" in line)
    return list(dict.fromkeys(line.partition(" => ")[0].removesuffix(" not found") for line in lines))


# On the client.


def _chunks(data: bytes) -> Iterator[bytes]:
    yield from (data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES))


def bring(simulator: Simulator, package: Package, run_there: Callable[..., Any]) -> Simulator:
    """
    Makes sure that a machine has the build, and that the build finds its libraries there.

    @param run_there  runs a function on the machine and waits for its result
    @return           the build as it is there
    """
    program = run_there(find, *package.key)
    if program is None:
        token = uuid.uuid4().hex[:8]
        for chunk in _chunks(package.archive):
            run_there(receive, token, chunk)
        program = run_there(unpack, token, *package.key)
    there = Path(program)
    moved = there != package.program
    found = replace(
        simulator, program=there, environment=(("LD_LIBRARY_PATH", str(there.parent)),) if moved else ()
    )
    absent = run_there(absent_libraries, found.program, found.environment)
    if absent:
        raise MachineLost(f"{found.program} does not find {', '.join(absent)}; install them there")
    return found
