# SPDX-License-Identifier: BSD-3-Clause
"""Builds on the machines: found by the path that they have here, or else sent once and kept by their content.

They are never built anew. On each machine the content is checked by its hash before a session."""

import contextlib
import io
import os
import shutil
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

from nrbench.session import MachineLost
from nrbench.sweep.process import sha256_of_program
from nrbench.sweep.simulator import Simulator


def archive_of(simulator: Simulator) -> bytes:
    """A tar file of the program and the libraries beside it."""
    found = {path for path in simulator.program.parent.glob("*.so*") if path.is_file()} | {simulator.program}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as out:
        for path in sorted(found):
            about = out.gettarinfo(path.resolve(), path.name)  # a link becomes the file that it names
            about.uid = about.gid = 0
            about.uname = about.gname = ""
            with open(path, "rb") as file:
                out.addfile(about, file)
    return archive.getvalue()


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


def find(path: str, digest: str) -> str | None:
    """@return the program's path here; None: it is to be sent"""
    kept = sorted(cache_folder().glob(f"{digest}.*"))
    every = (Path(path), *(folder / Path(path).name for folder in kept))
    return next((str(program) for program in every if _is_build(program, digest)), None)


def keep(archive: bytes, path: str, digest: str) -> str:
    """Machines that share the cache may do it at the same time: no folder is removed or replaced, for
    programs of another machine may run there. @return the program's path"""
    fresh = Path(tempfile.mkdtemp(prefix=".", dir=cache_folder()))  # where find() does not look
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(fresh)  # the client made it, and may run anything here
        if not _is_build(fresh / Path(path).name, digest):
            raise MachineLost(f"the build arrived damaged ({digest})")
        return str(fresh.rename(cache_folder() / f"{digest}{fresh.name}") / Path(path).name)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


# On the client.


def bring(simulator: Simulator, archive: bytes, run_there: Callable[..., Any]) -> Simulator:
    """
    Makes sure that a machine has the build.

    @param run_there  runs a function on the machine and waits for its result
    @return           the build as it is there
    """
    key = str(simulator.program), simulator.build.sha256
    there = Path(run_there(find, *key) or run_there(keep, archive, *key))
    libraries = (("LD_LIBRARY_PATH", str(there.parent)),) if there != simulator.program else ()
    return replace(simulator, program=there, environment=libraries)
