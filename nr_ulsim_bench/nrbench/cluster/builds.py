# SPDX-License-Identifier: BSD-3-Clause
"""Builds on the machines: found by the path that they have here, or else sent once and kept by their content.

They are never built anew. On each machine the content is checked by its hash before a session."""

import contextlib
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable

from nrbench.session import MachineLost
from nrbench.sweep.process import sha256_of_program
from nrbench.sweep.simulator import Simulator


@dataclass(frozen=True)
class Package:
    """A program and the libraries beside it."""

    simulator: Simulator
    archive: bytes  # tar
    sha256: str  # of the archive

    @property
    def key(self) -> tuple[str, str, str]:
        """What a machine needs to know of it."""
        return str(self.simulator.program), self.simulator.build.sha256, self.sha256


def package_of(simulator: Simulator) -> Package:
    found = {path for path in simulator.folder.glob("*.so*") if path.is_file()} | {simulator.program}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as out:
        for path in sorted(found):
            about = out.gettarinfo(path.resolve(), path.name)  # a link becomes the file that it names
            about.mtime = about.uid = about.gid = 0
            about.uname = about.gname = ""
            with open(path, "rb") as file:
                out.addfile(about, file)
    data = archive.getvalue()
    return Package(simulator, data, hashlib.sha256(data).hexdigest())


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


def keep(archive: bytes, path: str, digest: str, sha256: str) -> str:
    """Machines that share the cache may do it at the same time: no folder is removed or replaced, for
    programs of another machine may run there. @return the program's path"""
    if hashlib.sha256(archive).hexdigest() != sha256:
        raise MachineLost(f"the build arrived damaged ({sha256[:12]})")
    fresh = Path(tempfile.mkdtemp(prefix=".", dir=cache_folder()))  # where find() does not look
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(fresh)  # the hash is that of the client
        if not _is_build(fresh / Path(path).name, digest):
            raise MachineLost("the build in its cache is not what was sent")
        return str(fresh.rename(cache_folder() / f"{sha256}{fresh.name}") / Path(path).name)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


# On the client.


def bring(package: Package, run_there: Callable[..., Any]) -> Simulator:
    """
    Makes sure that a machine has the build.

    @param run_there  runs a function on the machine and waits for its result
    @return           the build as it is there
    """
    program = run_there(find, *package.key) or run_there(keep, package.archive, *package.key)
    there, simulator = Path(program), package.simulator
    moved = there != simulator.program
    libraries = (("LD_LIBRARY_PATH", str(there.parent)),) if moved else ()
    return replace(simulator, program=there, environment=libraries)
