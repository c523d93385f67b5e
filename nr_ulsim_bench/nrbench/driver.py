# SPDX-License-Identifier: BSD-3-Clause
"""Talks to ws-bench: one request line, one answer line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import IO, Any, Sequence

from nrbench.backends import BACKENDS, Present
from nrbench.plan import Calibration


class BenchError(RuntimeError):
    """ws-bench itself is missing or broken."""


def quiet_environment() -> dict[str, str]:
    """The caller's, without settings of pool and noise: a measurement sets its own."""
    own = ("TPOOL_WS_", "OAI_RNGSEED")
    return {name: value for name, value in os.environ.items() if not name.startswith(own)}


class Driver:
    """One ws-bench process; started again if it should die."""

    def __init__(self, program: Path, log: IO[str]) -> None:
        if not program.is_file():
            raise BenchError(f"{program}: no such file; build it first (ci/bench does)")
        self.program = program
        self.log = log
        self.process: subprocess.Popen[str] | None = None

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=quiet_environment(),
            text=True,
            bufsize=1,
        )

    def ask(self, words: Sequence[str]) -> dict[str, Any]:
        if self.process is None or self.process.poll() is not None:
            self.process = self._start()
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write("\t".join(words) + "\n")
            return dict(json.loads(self.process.stdout.readline()))
        except (BrokenPipeError, json.JSONDecodeError) as error:
            self.close()
            return {"error": f"ws-bench gave no answer: {error}"}

    def close(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def chosen(self, wanted: Sequence[str] = ()) -> tuple[list[Present], dict[str, str]]:
        """The pools that load, and for each of the others why it does not. Unknown names are an error.

        @param wanted  these only; empty = all"""
        names = [backend.name for backend in BACKENDS]
        for name in wanted:
            if name not in names:
                raise BenchError(f"--backends: {name!r} is none of {', '.join(sorted(names))}")
        pools, missing = [], {}
        for backend in BACKENDS:
            if wanted and backend.name not in wanted:
                continue
            info = self.ask(["bench=info", f"backend={backend.name}"])
            if "error" not in info:
                about = (info[name] for name in ("version", "waiter_helps", "has_workers", "nests"))
                pools.append(Present(backend, *about))
            elif (self.program.parent / f"libbench_{backend.name}.so").exists():
                missing[backend.name] = info["error"]
            else:
                missing[backend.name] = f"not built; get it: {backend.install}"
        return pools, missing

    def calibrate(self) -> Calibration:
        answers = [self.ask(["bench=calibrate"]) for _ in range(5)]
        for answer in answers:
            if "error" in answer:
                raise BenchError(f"ws-bench cannot measure its own work: {answer['error']}")
        return Calibration(*(min(a[name] for a in answers) for name in Calibration._fields))
