# SPDX-License-Identifier: BSD-3-Clause
"""Events of a trace as small tuples: (kind, time in ns of the epoch, process, thread, fields...).

KINDS has the fields of each kind, in this order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

PROVIDER = "oai_tpool_ws"
STATEDUMP = "lttng_ust_statedump"
(
    POOL_START, POOL_STOP, PUSH, WAKE, UNPARK, PARK, PREWAKE, STEAL, RUN_BEGIN, RUN_AS, RUN_END, COMPLETE,
    JOIN_BEGIN, JOIN_END, PHASE_BEGIN, PHASE_END, PROGRAM, IMAGE, LOST, LATE,
) = range(20)  # fmt: skip
SYMBOL_PROCESSING, ULSCH_DECODING = "symbol_processing", "ulsch_decoding"
WOKEN, BY_TIMER = 0, 1  # by_timer of an unpark; 2 = it did not sleep


class TraceError(Exception):
    """Names the input and, where there is one, the remedy."""


Event = tuple[Any, ...]


class Kind(NamedTuple):
    """What is read of an event: its kind here, its fields in this order; `phase` is put before them if
    set."""

    number: int
    fields: tuple[str, ...]
    phase: str | None = None


KINDS: dict[str, Kind] = {
    f"{PROVIDER}:pool_start": Kind(POOL_START, ("pool", "name", "workers", "cpus", "worker_cpus")),
    f"{PROVIDER}:pool_stop": Kind(POOL_STOP, ("pool",)),
    f"{PROVIDER}:push": Kind(PUSH, ("pool", "func", "arg", "group")),
    f"{PROVIDER}:wake": Kind(WAKE, ("pool", "worker")),
    f"{PROVIDER}:unpark": Kind(UNPARK, ("pool", "worker", "by_timer")),
    f"{PROVIDER}:park": Kind(PARK, ("pool", "worker")),
    f"{PROVIDER}:prewake": Kind(PREWAKE, ("pool", "worker")),
    f"{PROVIDER}:late": Kind(LATE, ("pool", "cause", "late_ns")),
    f"{PROVIDER}:steal": Kind(STEAL, ("pool",)),
    f"{PROVIDER}:run_begin": Kind(RUN_BEGIN, ("pool", "worker", "func", "arg", "group")),
    f"{PROVIDER}:run_as": Kind(RUN_AS, ("func",)),
    f"{PROVIDER}:run_end": Kind(RUN_END, ("arg",)),
    f"{PROVIDER}:complete": Kind(COMPLETE, ("group",)),
    f"{PROVIDER}:join_begin": Kind(JOIN_BEGIN, ("pool", "group")),
    f"{PROVIDER}:join_end": Kind(JOIN_END, ("pool", "group")),
    f"{PROVIDER}:symbol_processing_begin": Kind(PHASE_BEGIN, ("frame", "slot", "id"), SYMBOL_PROCESSING),
    f"{PROVIDER}:ulsch_decoding_begin": Kind(PHASE_BEGIN, ("frame", "slot", "id"), ULSCH_DECODING),
    f"{PROVIDER}:symbol_processing_end": Kind(PHASE_END, ("frame", "slot", "id", "tasks"), SYMBOL_PROCESSING),
    f"{PROVIDER}:ulsch_decoding_end": Kind(PHASE_END, ("frame", "slot", "id", "tasks"), ULSCH_DECODING),
    f"{STATEDUMP}:procname": Kind(PROGRAM, ("procname",)),
    f"{STATEDUMP}:bin_info": Kind(IMAGE, ("baddr", "memsz", "path", "is_pic")),
}
# LOST: the end of the stretch (ns) in which events are missing; how many events and packets, None = unknown.
