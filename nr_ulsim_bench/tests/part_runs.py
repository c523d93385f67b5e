# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the parts share: a first line of made-up results, and the programs."""

import json
import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Callable

BUILD = os.environ.get("WS_BENCH_BUILD", "")
PROGRAMS = Path(BUILD) / "nr_ulsim_bench" / "bin"
WAIT_S = 600  # turns "never" into a failure; a busy machine draws plots for a minute


def ask(program: str, *words: str) -> tuple[int, list[dict[str, object]]]:
    """@return exit status, and the answers"""
    done = subprocess.run([PROGRAMS / program, *words], capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def host(rounds: int, **more: object) -> dict[str, object]:
    """The line of a machine without load, and what the part adds to it."""
    line = {"bench": "host", "cpu": "Some CPU", "cores": 2, "kernel": "6.8", "commit": None, "load": 0.0}
    return line | {"rounds": rounds, "seed": 1} | more


def line(bench: str, case: str, backend: str, sched_class: str = "other", **more: object) -> dict[str, Any]:
    """A round of a pool, as ws-bench answers."""
    labels = {"bench": bench, "case": case, "backend": backend, "class": sched_class}
    return labels | {"workers": 1, "mode": "default", "round": 0} | more


def slot(case: str, backend: str, p50: float, p99: float, bound: float = 36.0, **more: Any) -> dict[str, Any]:
    found = {"makespan_p50_us": p50, "makespan_p99_us": p99, "bound_us": bound, "slots": 100}
    found |= {"ratio_p50": p50 / bound, "ratio_p99": p99 / bound, "work_s": 0.01, "cpu_s": 0.02}
    return line("slot", case, backend, **found | more)


def until(holds: Callable[[], object], what: str = "what is awaited") -> object:
    """Looks again and again. @return the first true answer"""
    deadline = time.monotonic() + WAIT_S
    while not (answer := holds()):
        assert time.monotonic() < deadline, f"{what}: not within {WAIT_S} s"
        time.sleep(0.01)
    return answer


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def children(parent: int) -> list[int]:
    """Of its first thread, in their order."""
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
