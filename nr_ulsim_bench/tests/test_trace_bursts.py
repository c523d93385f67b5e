# SPDX-License-Identifier: BSD-3-Clause
"""Random events: the readers find the bursts and phases that the process's own code finds (trace/bursts.c),
and where events are lost only such."""

import random
import shutil
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_trace_rings import JOIN, JOINED, PARK, PHASE, PHASE_END, PUSH, RAN, RUN, UNPARK, record
from trace_tools import line

from nrbench.trace.figures import critical_path
from nrbench.trace.process import read
from nrbench.trace.reader import Trace
from nrbench.trace.record import PHASES
from nrbench.trace.rings import Record

C = Path(__file__).resolve().parents[2] / "common/utils/thread_pool_ws"
SEED, BURSTS, PLAIN, NESTED, ALL = 20261129, 10_000, 0, 1, 2
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


class Program:
    """Two threads push and wait, three workers run tasks. @param kind  PLAIN: each burst has one group;
    NESTED: one thread pushes, and its tasks do; ALL: phases, and waits for other groups, one task or all"""

    def __init__(self, numbers: random.Random, kind: int) -> None:
        self.numbers, self.kind, self.ns, self.lines = numbers, kind, 1000, list[str]()
        self.inside = defaultdict[int, list[tuple]](list)  # tasks and waits of a thread
        self.queue, self.left = list[tuple[int, int]](), Counter[int]()  # group and function; of a group
        self.pushed, self.since = Counter[int](), Counter[int]()  # by a thread; since its last wait
        self.phase = dict[tuple[int, int], tuple[int, int]]()  # of a thread and phase: numbers, pushed before

    def put(self, thread: int, kind: int, small: int = 1, address: int = 0, more: int = 0) -> None:
        """@param more  of a push the function, of a task the group; of a wait's end: it is outside tasks"""
        self.ns += self.numbers.randrange(1, 300)
        self.lines.append(f"{thread} {self.ns} {kind} {small} {address} {int(more)}")

    def push(self, thread: int, group: int) -> None:
        for _ in range(self.numbers.randrange(1, 5)):
            func = 0x401000 + 16 * self.numbers.randrange(5)
            self.queue.append((group, func))
            self.left[group] += 1
            self.pushed[thread] += 1
            self.put(thread, PUSH, 1, group, func)

    def run(self, thread: int) -> None:
        if not self.queue:
            return
        group, func = self.queue.pop(0)
        self.inside[thread].append((RUN, group))
        self.put(thread, RUN, 1, func, group)

    def mark(self, thread: int) -> None:
        phase, numbers = self.numbers.randrange(2), self.numbers
        if numbers.random() < 0.6:
            if (thread, phase) not in self.phase or numbers.random() < 0.05:  # and the end is missing
                self.phase[thread, phase] = (numbers.randrange(99) << 32 | thread << 16), self.pushed[thread]
            self.put(thread, PHASE, phase, self.phase[thread, phase][0])
        elif (thread, phase) in self.phase:
            slot, before = self.phase.pop((thread, phase))
            self.put(thread, PHASE_END, phase, slot | self.pushed[thread] - before)

    def step(self, thread: int) -> None:
        numbers, inside = self.numbers, self.inside[thread]
        if inside and inside[-1][0] == RUN:
            group = inside[-1][1]
            if self.kind == NESTED and len(inside) < 5 and numbers.random() < 0.2:
                own = 0x9000 + 16 * thread + len(inside)
                self.push(thread, own)
                inside.append((JOIN, own))
                self.put(thread, JOIN, 1, own)
            else:
                inside.pop()
                self.left[group] -= 1
                self.put(thread, RAN, 1, group)
        elif inside:
            group = inside[-1][1]
            is_early = self.kind == ALL and group % 16 == 3 and numbers.random() < 0.3
            if is_early or not (self.left[group] if group else self.left.total()):
                inside.pop()
                self.put(thread, JOINED, 1, group, RUN not in (kind for kind, _ in inside))
            elif numbers.random() < 0.5:
                self.run(thread)
        elif thread > 8:
            if self.queue:
                self.run(thread)
            elif numbers.random() < 0.1:
                self.put(thread, PARK, 0)
                self.put(thread, UNPARK, 0)
        elif self.kind == ALL and numbers.random() < 0.3:
            self.mark(thread)
        else:
            group = 0x1000 * thread + (numbers.choice((1, 2, 3)) if self.kind == ALL else 1)
            if self.since[thread] < 3 and numbers.random() < 0.6:
                self.push(thread, group)
                self.since[thread] += 1
            elif self.since[thread] or self.kind == ALL:
                group *= self.kind != ALL or numbers.random() < 0.8
                inside.append((JOIN, group))
                self.put(thread, JOIN, 1, group)
                self.since[thread] = 0


def traced(event: str) -> str:
    """The event as LTTng has it."""
    thread, ns, kind, small, address, more = map(int, event.split())
    of, task = {"pool": 1, "worker": thread - 9 if thread > 8 else -1}, {"arg": 0}
    frame, slot, last = address >> 32, address >> 16 & 0xFFFF, address & 0xFFFF
    name, fields = {
        PUSH: ("push", of | task | {"func": more, "group": address}),
        RUN: ("run_begin", of | task | {"func": address, "group": more}),
        RAN: ("run_end", task),
        JOIN: ("join_begin", of | {"group": address}),
        JOINED: ("join_end", of | {"group": address, "waits": more}),
        PARK: ("park", of),
        UNPARK: ("unpark", of | {"by_timer": 1}),
        PHASE: (f"{PHASES[small]}_begin", {"frame": frame, "slot": slot, "id": 0}),
        PHASE_END: (f"{PHASES[small]}_end", {"frame": frame, "slot": slot, "id": 0, "tasks": last}),
    }[kind]
    return line(ns, thread, name, **fields)


def found_in(trace: Trace) -> list[tuple]:
    """Thread, begin, end and tasks of each that is shown, and the functions of its longest tasks."""
    (process,) = read(trace, None)
    walk, time, found = process.walk, np.asarray(process.walk.time), []
    tasks = walk.table[walk.table.is_ended & (walk.table.pool >= 0)]
    length = pd.Series(time[tasks.end] - time[tasks.begin], tasks.index)
    is_longest = length == length.groupby(tasks.owner).transform("max")
    longest = tasks[is_longest].groupby("owner").func.apply(set)
    for span in (span for span in walk.spans if span.is_valid):
        begin, end = times = [walk.time[at] - trace.offset_ns for at in (span.begin, span.end)]
        assert critical_path(walk, span, process.workers).total() == end - begin
        found.append((walk.tid[span.begin], *times, span.tasks, longest.get(span.number)))
    return sorted(found, key=lambda of: of[:3])


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """@return what runs the process's code: its bursts, and the folder of its record"""
    program = tmp_path_factory.mktemp("c") / "bursts"
    words = ["cc", "-O1", "-w", f"-I{C}", Path(__file__).parent / "trace/bursts.c", "-o", program]
    subprocess.run(words, check=True)

    def run(folder: Path, lines: list[str], name: str = "tpool-ws-7-1.record") -> list[tuple[int, ...]]:
        words, text = [program, folder / "rings"], "\n".join(lines)
        out = subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout
        own_ns = int(lines[-1].split()[1]) + 1
        record(folder, (folder / "rings").read_bytes(), name=name, rings=16, own_ns=own_ns)
        return sorted(tuple(map(int, line.split())) for line in out.splitlines())

    return run


def made(seed: int, kind: int, count: int) -> list[str]:
    numbers = random.Random(seed)
    program = Program(numbers, kind)
    while len(program.lines) < count:
        program.step(numbers.choice((1, 9, 10, 11) if kind == NESTED else (1, 2, 9, 10, 11)))
    return program.lines


def test_the_bursts_are_those_of_the_process(judge, tmp_path):
    print("seed", SEED)
    bursts = seed = 0
    while bursts < BURSTS:
        kind, seed = seed % 3, seed + 1
        wanted = judge(tmp_path, made(SEED + seed, kind, 6000))
        found = found_in(Record(tmp_path))
        if kind == ALL:
            found = [of for of in found if of[3]]  # a phase without a push is judged by no pool
        else:  # in C a group that is used by two bursts at a time is of both
            assert all(of[4] in its[4] for of, its in zip(wanted, found)), SEED + seed
        width = 3 if kind == NESTED else 4  # in C without those that tasks push
        assert [of[:width] for of in found] == [of[:width] for of in wanted], SEED + seed
        bursts += len(wanted)


@pytest.mark.parametrize("kind", [PLAIN, NESTED, ALL])
def test_after_lost_events_what_is_shown_is_whole(judge, tmp_path, kind):
    """Rings have their last 4,096 events; and there are copies of before, some with the same events."""
    for seed in range(5):
        lines = made(SEED + seed, kind, 60_000)
        for copy in range(3):
            end = random.Random(seed + copy).randrange(60_000)
            judge(tmp_path, lines[:end], f"tpool-ws-7-1.record.{copy}")
        wanted = judge(tmp_path, lines)
        found = [of[:3] for of in found_in(Record(tmp_path)) if of[3]]
        assert len(found) == len({*found}) > 50 and {*found} <= {of[:3] for of in wanted}, seed
        assert max(of[2] for of in found) == max(of[2] for of in wanted)


@pytest.mark.parametrize("kind", [PLAIN, NESTED, ALL])
def test_so_it_is_with_packets_that_lttng_has_lost(judge, tmp_path, tool, kind):
    for seed in range(10):
        numbers, lines = random.Random(SEED + seed), made(SEED + seed, kind, 6000)
        wanted, end_ns = judge(tmp_path, lines), int(lines[-1].split()[1])
        begins = [numbers.randrange(end_ns) for _ in range(numbers.randrange(5))]
        lost = [(begin, begin + numbers.choice((100, 5000, 50_000))) for begin in begins]
        kept = (of for of in lines if not any(a <= int(of.split()[1]) <= b for a, b in lost))
        start = line(0, 1, "pool_start", pool=1, name="p", workers=3, cpus=4, worker_cpus=4)
        text = [start * (seed % 2), *map(traced, kept)]  # else it began before the recording
        for stretch in lost:
            first, last = (f"0.{time:09}" for time in stretch)
            text.append(f"WARNING: Tracer discarded 1 events between [{first}] and [{last}] in trace 't'\n")
        (tool.trace / "lines").write_text("".join(text))
        found = [of[:3] for of in found_in(Trace(tool.trace)) if of[3]]
        assert {*found} <= {of[:3] for of in wanted}, seed
        assert len(found) == len({*found}) >= (0.5 if lost else 1) * len(wanted) - 5, seed
