# SPDX-License-Identifier: BSD-3-Clause
"""Made-up runs of a sweep."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, Sequence

from nrbench.record import Host, IdleState
from nrbench.sweep.figures import DECODING, RX, SYMBOLS
from nrbench.sweep.record import Run

HOST = Host.model_validate(
    {
        "label": "Model A, 4 CPUs",
        "id": "0123abcd",
        "cpu": "Model A",
        "cores": 4,
        "cores_online": 8,
        "architecture": "x86_64",
        "kernel": "6.1.0",
        "preemption": "voluntary",
        "virtual": False,
        "governor": "performance",
        "idle_states": (
            IdleState(name="C1", exit_latency_us=2),
            IdleState(name="C6", exit_latency_us=133),
        ),
        "mask": "0-3",
        "rt_allowed": True,
        "load": 0.1,
    }
)
OTHER_HOST = HOST.model_copy(
    update={"label": "Model B, 16 CPUs", "id": "fedc9876", "cpu": "Model B", "cores": 16, "mask": "0-15"}
)
NEW_POOL = "thread_pool_ws 0.1.0: shape B2, pool gNB-tpool: 2 workers"
PROGRAMS = {"old": "0" * 12, "new": "1" * 12, "inline": "1" * 12}


def build(pool: str, sha256: str | None = None, oai: str = "2026.w10") -> dict[str, str | None]:
    """@param pool  old has OAI's own, which prints nothing of itself"""
    own = NEW_POOL if pool == "new" else None
    return {"sha256": sha256 or PROGRAMS.get(pool, "2" * 12), "oai": oai, "pool": own}


def at(seconds: float) -> str:
    """A time of day, by seconds after noon."""
    noon = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)
    return (noon + timedelta(seconds=seconds)).isoformat(timespec="seconds")


def run(pool: str = "new", spin: str | None = None, threads: int = 2, **changes: Any) -> Run:
    """A run that took 100 us, 60 of them in the two parallel parts."""
    values: dict[str, Any] = {
        "kind": "nr_ulsim",
        "sweep": "a" * 12,
        "repeat": 0,
        "began": "2026-01-02T03:04:05+00:00",
        "host": HOST,
        "scenario": "slides",
        "case": "273 PRB",
        "options": ("-m", "28"),
        "pool": pool,
        "spin": spin,
        "threads": threads,
        "build": build(pool),
        "status": "ok",
        "trials": 100,
        "errors": 0,
        "figures": {SYMBOLS: 20.0, DECODING: 40.0, RX: 100.0},
        "derived": (),
        "wall_s": 1.0,
        "cpu_s": 2.0,
    }
    return Run.model_validate(values | changes)


def rounds(rx: Sequence[float], pool: str = "new", spin: str | None = None, **changes: Any) -> list[Run]:
    """A run for each time of the whole RX; the parts are a fifth and two fifths of it."""
    return [
        run(pool, spin, repeat=repeat, figures={SYMBOLS: us / 5, DECODING: 2 * us / 5, RX: us}, **changes)
        for repeat, us in enumerate(rx)
    ]
