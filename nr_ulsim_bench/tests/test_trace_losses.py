# SPDX-License-Identifier: BSD-3-Clause
"""Recordings in which stretches of time are missing: what is shown is whole, and with what is left out it is
all of which the trace has an event, and between two waits of a thread all others, too."""

import random
from typing import NamedTuple

import pytest
from trace_tools import line

from nrbench.trace.process import read
from nrbench.trace.reader import Trace

TASKS, BURSTS = 4, 20


class Recorded(NamedTuple):
    time_ns: int
    burst: tuple[int, int]  # producer, number
    is_last: bool  # of the burst
    text: str


def recorded(numbers: random.Random, one_group: bool) -> list[Recorded]:
    """Two threads push bursts into a pool each, of one worker, and run every second task. @param one_group
    all bursts of a thread have the group at one address, as on its stack"""
    events = []
    for producer in (0, 1):
        at_us, tid, worker = 20 + numbers.randrange(500), 100 + producer, 200 + producer
        for number in range(BURSTS):
            group = 7 + producer if one_group else 1000 * (producer + 1) + number
            burst = {"pool": 1 + producer, "worker": -1, "func": 0x1000 * (1 + producer), "group": group}
            steps = [(at_us + 10 * arg, tid, "push", arg) for arg in range(TASKS)]
            at_us += 10 * TASKS
            steps.append((at_us, tid, "join_begin", 0))
            free = {tid: at_us + 5, worker: at_us - 15}
            for arg in range(TASKS):
                runs = (worker, tid)[arg % 2]
                steps += [(free[runs], runs, "run_begin", arg), (free[runs] + 20, runs, "run_end", arg)]
                free[runs] += 25
            at_us = max(free.values()) + 5
            steps.append((at_us, tid, "join_end", 0))
            at_us += 200 + numbers.randrange(800)
            for us, thread, kind, arg in steps:
                is_last = kind == "join_end"
                fields = burst | ({"waits": number + 1} if is_last else {"arg": arg})
                text = line(1000 * us, thread, kind, **fields)
                events.append(Recorded(1000 * us, (producer, number), is_last, text))
    return sorted(events)


@pytest.mark.parametrize("longest_us", [20, 100, 1000, 4000])
@pytest.mark.parametrize("one_group", [False, True])
def test_shown_and_left_out_are_all(tool, longest_us, one_group):
    for seed in range(25):
        numbers = random.Random(seed)
        events = recorded(numbers, one_group)
        begins = [numbers.randrange(events[-1].time_ns) for _ in range(numbers.randrange(1, 5))]
        stretches = [(begin, begin + numbers.randrange(1, 1000 * longest_us)) for begin in begins]
        is_lost = [any(first <= event.time_ns <= last for first, last in stretches) for event in events]
        text = "".join(event.text for event, lost in zip(events, is_lost) if not lost)
        for stretch in stretches:
            first, last = (f"{time // 10**9}.{time % 10**9:09}" for time in stretch)
            text += f"WARNING: Tracer discarded 1 events between [{first}] and [{last}] in trace 't'\n"
        (tool.trace / "lines").write_text(text)
        (process,) = read(Trace(tool.trace), None)
        there = {event.burst for event, lost in zip(events, is_lost) if not lost}
        torn = {event.burst for event, lost in zip(events, is_lost) if lost}
        for producer in (0, 1):
            ends = [
                event.burst[1]
                for event, lost in zip(events, is_lost)
                if event.is_last and event.burst[0] == producer and not lost
            ]
            there |= {(producer, number) for number in range(min(ends), max(ends))}
        spans = process.walk.spans
        assert len(spans) == len(there), seed
        shown = [span for span in spans if span.is_valid]
        assert len(shown) <= len(there - torn) and {span.tasks for span in shown} <= {TASKS}, seed
