# SPDX-License-Identifier: BSD-3-Clause
"""A copy of a checkout whose files are changed and built anew, and the test programs in its builds."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from simulate.mutate import Edit, MutantError, ninja, read_files

MODULE = Path("common/utils/thread_pool_ws")
# A wait of a test may take so long. The watchdog ends a case after twice the time.
DEADLINE_S = "10"


class Tree:
    """The copy, and beside it its build: build-ci/kills of the checkout."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / "build-ci" / "kills"
        self.copy, self.build = self.folder / "tree", self.folder / "tests"
        self.edits: Iterable[Edit] | None = None
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lock = (self.folder / "lock").open("w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MutantError(f"{self.folder} is in use by another ci/simulate kills") from None

    def change(self, edits: Iterable[Edit]) -> None:
        """Make the copy the checkout with the edits. Ninja builds only the files that differ."""
        if edits == self.edits:
            return
        words = ["git", "-C", str(self.root), "ls-files", "-z", "-co", "--exclude-standard"]
        listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\0")
        texts = {name: (self.root / name).read_bytes() for name in listed if (self.root / name).is_file()}
        for edit in edits:
            name = str(MODULE / edit.file)
            texts[name] = edit.change(texts[name].decode()).encode()
        for path in self.copy.rglob("*"):
            if path.is_file() and str(path.relative_to(self.copy)) not in texts:
                path.unlink()
        for name, text in texts.items():
            path = self.copy / name
            if not path.exists() or path.read_bytes() != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
                shutil.copymode(self.root / name, path)
        self.edits = edits

    def configure(self) -> None:
        words = ["-DWS_LTTNG=OFF", "-DCMAKE_C_FLAGS_DEBUG=-O1", "-DCMAKE_CXX_FLAGS_DEBUG=-O1"]
        if shutil.which("ccache"):
            words += ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
        command = ["cmake", "--preset", "debug", "-B", str(self.build), *words]
        done = subprocess.run(command, cwd=self.copy, capture_output=True, text=True)
        if done.returncode != 0:
            raise MutantError(done.stderr.strip())

    def digest(self, objects: Iterable[list[Path]], edits: Iterable[Edit], text: str) -> str:
        """Of the text, the sources of tests, and all sources of objects that have an edited file."""
        edited = {MODULE / edit.file for edit in edits}
        read: set[Path] = set()
        for files in objects:
            if files and "tests" in files[0].parts:
                read.update(file for file in files if "tests" in file.parts)
            elif edited.intersection(files):
                read.update(files)
        found = hashlib.sha256(text.encode())
        for file in sorted(read, key=str):
            found.update((self.root / file).read_bytes())
        return found.hexdigest()[:8]


@cache
def files_of(build: Path, copy: Path, targets: tuple[str, ...]) -> list[list[Path]]:
    """Of each object of the targets: its source, then all headers, less those that are not the checkout's."""
    inputs = ninja(build, "-t", "inputs", *targets).splitlines() if targets else []
    files = [[Path(name) for name in read_files(build)[made]] for made in inputs if made in read_files(build)]
    return [[file.relative_to(copy) for file in of_object if copy in file.parents] for of_object in files]


@dataclass(frozen=True)
class Program:
    """A test of ctest, or another program. What ctest has not seen built has no command."""

    name: str
    labels: frozenset[str]
    command: tuple[str, ...]
    folder: Path
    environment: tuple[str, ...] = ()

    def targets(self, build: Path) -> list[str]:
        """Before a program with several tests is built, their labels have a target."""
        files = [str(Path(word).relative_to(build)) for word in self.command if word.startswith(f"{build}/")]
        of_labels = [f"ws_tests_{label}" for label in sorted(self.labels - {"unit"}) if "unit" in self.labels]
        return files if self.command else of_labels or [self.name]

    def run(self, limit_s: float) -> tuple[list[str], float]:
        """@return what has failed, and the seconds that the program took"""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("TPOOL_WS_", "WS_"))}
        added = dict(entry.split("=", 1) for entry in self.environment) | {"WS_TEST_DEADLINE_S": DEADLINE_S}
        began = time.monotonic()
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=kept | added,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            with suppress(subprocess.TimeoutExpired):
                process.wait(limit_s)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and what it has left behind
            status = process.wait()
            output.seek(0)
            return failures(self.name, output.read(), status), time.monotonic() - began


def failures(program: str, output: str, status: int) -> list[str]:
    """The cases of CUnit's output that failed, and the one in which the program ended: "suite: case"."""
    if findings := re.findall(r"^FINDING (.*)", output, re.MULTILINE):
        return findings[:1]
    if status in (0, 77):
        return []
    end = "crash" if status < 0 else f"exit {status}"
    if status == -signal.SIGKILL or "\nWATCHDOG: " in output:
        end = "hang"
    found, suite = [], program
    for part in re.split(r"\n(?=Suite: |  Test: )", output):
        head = re.match(r"(Suite|  Test): (\S+)", part)
        if head and head[1] == "Suite":
            suite = head[2]
        elif head:
            verdict = re.findall(r"(passed|FAILED)$", part, re.MULTILINE)[-1:]
            if verdict != ["passed"]:
                found.append(f"{suite}: {head[2]}" + ("" if verdict else f" ({end})"))
    return found or [f"{program} ({end})"]


def list_programs(build: Path) -> list[Program]:
    words = ["ctest", "--test-dir", str(build), "--show-only=json-v1"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = []
    for test in json.loads(listed)["tests"]:
        has = {entry["name"]: entry["value"] for entry in test["properties"]}
        labels, environment = frozenset(has.get("LABELS", ())), tuple(has.get("ENVIRONMENT", ()))
        command = tuple(test.get("command", ()))
        found.append(Program(test["name"], labels, command, Path(has["WORKING_DIRECTORY"]), environment))
    return found
