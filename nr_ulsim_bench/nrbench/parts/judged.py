# SPDX-License-Identifier: BSD-3-Clause
"""What it costs to be judged and recorded: bursts that are never late, and bursts of more workers than CPUs
that are always late, against a pool that asked for nothing. Pairs of ws-bench, side by side in rounds."""

import itertools
import tempfile
from functools import partial
from pathlib import Path
from typing import Iterator, NamedTuple

from nrbench.backends import CLASSES, OWN
from nrbench.cases import period_us
from nrbench.driver import ask, there
from nrbench.engine import BOTH, Item, Part, Plan, Request, Step, Verdict, chosen_classes, table, words
from nrbench.judge import at_most_word, median, round_ratio
from nrbench.render import number
from nrbench.stats import Line, Results

OFF, JUDGED = STATES = ("off", "judged")
WARM, SLOTS, START_S, FIELD = 1000, 2000, 0.1, "makespan_p50_us"


class Row(NamedTuple):
    workers: int  # 0 = one CPU is the producer's
    deadline_us: int
    goal: float  # of the ratio


ROWS = {
    ("12x6", "never late"): Row(0, 10000, 1.015),
    ("12x28", "never late"): Row(0, 10000, 1.006),
    ("12x6", "always late"): Row(15, 1, 1.03),
    ("100x5", "always late"): Row(31, 1, 1.03),
}


def step(request: Request, case: str, late: str, sched_class: str, state: str) -> Step:
    """In rrall the threads are of class SCHED_FIFO."""
    workers, period = ROWS[case, late].workers or max(1, request.cores - 1), period_us(case, request.cores)
    of_class = "fifo" if sched_class == "rrall" else sched_class
    work = words(bench="slot", backend=OWN, bursts=case, period_us=period, slots=SLOTS, warm=WARM)
    work += words(workers=workers, class_=of_class)
    labels = {"bench": "judged", "case": case, "late": late, "class": sched_class, "workers": workers}
    seconds = START_S + (WARM + SLOTS) * period * 1e-6
    return Step(labels | {"state": state}, work, seconds, f"{case} {late}, {state}")


def measure(program: Path, step: Step) -> list[Line]:
    if step.labels["state"] == OFF:
        return ask(program, step.words, step.seconds)
    deadline = str(ROWS[step.labels["case"], step.labels["late"]].deadline_us)
    with tempfile.TemporaryDirectory(prefix="ws-judged-", dir="/dev/shm") as folder:
        asked = {"TPOOL_WS_DEADLINE_US": deadline, "TPOOL_WS_RECORD": folder}
        return ask(program, step.words, step.seconds, **asked)


def plan(request: Request) -> Plan:
    """In the normal class, unless others are named."""
    measured = partial(measure, there(request.program))
    classes, skipped = chosen_classes(request.classes or ("other",))
    steps = [step(request, *row, c, state) for row, c, state in itertools.product(ROWS, classes, STATES)]
    return Plan(steps, measured, {"skipped": skipped}, request.round_count(40, 6), ("case", "late", "class"))


def report(results: Results) -> Iterator[Item]:
    found = results.by("class", "case", "late")
    rows, verdicts = [], list[Verdict]()
    for sched_class, (case, late) in itertools.product(CLASSES, ROWS):
        if at := found.get((sched_class, case, late)):
            off, judged = (at.rounds(FIELD, state=state) for state in STATES)
            ratio, goal = round_ratio(judged, off), ROWS[case, late].goal
            workers, name = int(at["workers"]), "fifo" if sched_class == "rrall" else sched_class
            medians = (number(median(of)) for of in (off, judged))
            rows.append([case, late, name, f"{workers}", *medians, str(ratio or "")])
            text = f"{name}, {case}, {workers} workers, {late}: p50 judged / off at most {goal}: {ratio}"
            verdicts.append(Verdict(at_most_word(ratio, goal), text))
    head = ["case", "bursts", "class", "workers", "off, p50 µs", "judged", f"ratio{BOTH}"]
    yield from table("Judged and recorded against off, ratio of p50 in a round", head, rows)
    yield from verdicts


PART = Part("judged", "what it costs to be judged and recorded", report, "case", plan)
