# SPDX-License-Identifier: BSD-3-Clause
"""A job: some runs that one host takes one after the other. Here is its side on the host.

The host reports each run when it begins and when it has ended, so a host that is lost loses one run."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Callable

Taken = dict[str, Any]  # what JSON can hold


@dataclass(frozen=True)
class Job:
    token: str
    titles: tuple[str, ...]  # of its runs, in their order
    limits_s: tuple[float, ...]  # after which a run cannot be going on any more
    guess_s: float
    take: Callable[[int], Taken]  # goes to the host; the run's place in the job


def run_job(topic: str, token: str, count: int, take: Callable[[int], Taken]) -> list[Taken]:
    """Runs on a host, under the machine's lock.

    @return of each run its index, when it began (UTC, ISO 8601), and what `take` gave"""
    from distributed import get_worker

    from nrbench.cluster.cache import outputs_kept
    from nrbench.cluster.lock import machine_lock

    worker = get_worker()

    def tell(**what: Any) -> None:
        worker.loop.add_callback(worker.log_event, topic, {"token": token, **what})

    answers = []
    with machine_lock(lambda: tell(waits=True)), outputs_kept():
        for index in range(count):
            tell(began=index)
            now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
            answer = {"index": index, "began": now, **take(index)}
            answers.append(answer)
            if index + 1 < count:
                tell(taken=answer)
    return answers
