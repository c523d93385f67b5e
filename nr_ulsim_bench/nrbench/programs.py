# SPDX-License-Identifier: BSD-3-Clause
"""Programs of this machine, and what they answer. ci/oai-preflight uses this module, too."""

import os
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

SECONDS_MAX, ASKED_SECONDS_MAX = 20.0, 5.0
COMPILERS = ("cc", "gcc", "clang")


def run(*command: str, seconds: float = SECONDS_MAX, errors: bool = True) -> tuple[int, str]:
    """Exit status and all output, or only standard output; 127 and the reason when it cannot be run."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if errors else subprocess.DEVNULL, text=True, errors="replace",
            check=False, timeout=seconds, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return done.returncode, done.stdout


@contextmanager
def handled(numbers: Iterable[int], handler: Callable[[int, Any], Any]) -> Iterator[None]:
    """Signals, in this program, until the block ends."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, own in before.items():
            signal.signal(number, own)


def answer(*command: str) -> str:
    """Standard output, whatever the exit status; empty when the program cannot be run."""
    status, text = run(*command, seconds=ASKED_SECONDS_MAX, errors=False)
    return text if status != 127 else ""


def git(folder: Path | None, *words: str) -> str | None:
    """None: no folder, or no answer, as of a copy inside another checkout."""
    if folder is None:
        return None
    ceiling = f"GIT_CEILING_DIRECTORIES={folder.resolve().parent}"
    status, text = run("env", ceiling, "git", "-C", str(folder), *words, errors=False)
    return text.strip() or None if status == 0 else None


def which(*names: str) -> str | None:
    """The first of these programs that there is."""
    return next((path for name in names if (path := shutil.which(name))), None)


def compiler(variable: str, *names: str) -> str | None:
    """As CMake looks for it: the environment's, then the usual names."""
    wanted = os.environ.get(variable, "").split()
    return which(wanted[0]) if wanted else which(*names)
