# SPDX-License-Identifier: BSD-3-Clause
"""Asks the programs of the benchmark. They answer in JSON objects, one a line."""

import json
import os
import subprocess
from pathlib import Path
from typing import Sequence

from nrbench.backends import BACKENDS, Present
from nrbench.stats import Line

WITH_LIMIT = ("ws-bench", "ws-prewake")  # take the word limit_s
# What a module says of its pool; in the order of the fields of Present.
ABOUT = ("version", "waiter_helps", "has_workers", "nests")


class BenchError(RuntimeError):
    """A program is missing or broken, or nothing can be measured."""


def quiet_environment() -> dict[str, str]:
    """The caller's, without settings of pool and noise: a measurement sets its own."""
    own = ("TPOOL_WS_", "OAI_RNGSEED")
    return {name: value for name, value in os.environ.items() if not name.startswith(own)}


def there(program: Path, otherwise: str = "no such file; build it first (ci/bench does)") -> Path:
    if not program.is_file():
        raise BenchError(f"{program}: {otherwise}")
    return program


def limit_s(seconds: float) -> float:
    """After which a measurement is killed that takes so long, about. Other programs may slow it down by much,
    and no verdict comes from that."""
    return max(60.0, 10 * seconds)


def ask(program: Path, words: Sequence[str], seconds: float, **variables: str) -> list[Line]:
    """@param seconds  about. @return the answers of a new process, or one with the reason why it has none"""
    limit, own, environment = limit_s(seconds), program.name in WITH_LIMIT, quiet_environment() | variables
    command = [str(program), *[f"limit_s={limit:.0f}"] * own, *words]
    limit *= 1 + own  # the program's message comes first
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment)
        if done.returncode < 0:
            return [{"error": f"ended by signal {-done.returncode}"}]
        answers = [json.loads(line) for line in done.stdout.splitlines()]
    except subprocess.TimeoutExpired:
        return [{"error": f"no answer within {limit:.0f} s; killed"}]
    except OSError as error:
        return [{"error": f"no answer: {error}"}]
    except json.JSONDecodeError as error:
        return [{"error": f"an answer that is not JSON: {error}"}]
    why = done.stderr.strip()[-200:] or f"exit status {done.returncode}"
    return answers or [{"error": f"no answer: {why}"}]


def not_built(program: Path, names: Sequence[str]) -> dict[str, str]:
    """Why these pools are missing beside ws-bench, if they are."""
    install = {backend.name: f"not built; get it: {backend.install}" for backend in BACKENDS}
    return {name: install[name] for name in names if not program.with_name(f"libbench_{name}.so").is_file()}


def chosen(program: Path, wanted: Sequence[str] = ()) -> tuple[list[Present], dict[str, str]]:
    """The pools that load, and for each of the others why it does not. Unknown names are an error.

    @param wanted  these only; empty = all"""
    names = [backend.name for backend in BACKENDS]
    for name in wanted:
        if name not in names:
            raise BenchError(f"--backends: {name!r} is none of {', '.join(sorted(names))}")
    pools, missing = [], dict[str, str]()
    for backend in BACKENDS:
        if wanted and backend.name not in wanted:
            continue
        info = ask(program, ["bench=info", f"backend={backend.name}"], 1.0)[0]
        if "error" not in info:
            about = (info[name] for name in ABOUT)
            pools.append(Present(backend, *about))
        else:
            missing |= {backend.name: info["error"]} | not_built(program, [backend.name])
    if not pools:
        why = "; ".join(f"{name}: {reason}" for name, reason in missing.items())
        raise BenchError(f"nothing to measure: {why}")
    return pools, missing
