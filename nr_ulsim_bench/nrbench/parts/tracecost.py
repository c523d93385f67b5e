# SPDX-License-Identifier: BSD-3-Clause
"""What tracing costs this pool: built without tracing, with tracing and no session, while a session records;
and ns an event. ws-bench and ws-trace-cost in rounds."""

from __future__ import annotations

import random
import statistics
from contextlib import closing
from typing import Generator, Iterator, NamedTuple, Sequence

import numpy as np

from nrbench.backends import OWN
from nrbench.cases import BURST_CASES, period_us
from nrbench.driver import BenchError, ask
from nrbench.engine import Item, Measuring, Part, Plan, Request, Step, Verdict, chosen_classes, table, words
from nrbench.judge import Array, Places, Ratio, at_most_word, passed_word, resampled
from nrbench.parts import tracecost_session
from nrbench.session import shuffled
from nrbench.stats import Line, Results
from nrbench.trace.reader import Trace
from nrbench.trace.record import WANTED, TraceError

# Built without tracing; as users get it, no trace is asked for; a session records.
UNTRACED, OFF, RECORDED = STATES = ("untraced", "off", "recorded")
BACKEND = {UNTRACED: "ws-untraced", OFF: OWN, RECORDED: OWN}
STRETCH_S = 0.2  # of one measurement
SLOTS_MIN = 16
TASK_CASES = {"empty": 400_000, "nested": 200}  # tasks that do next to nothing, for the cost of each
TASKS_S = 0.04
COUNT_SLOTS = 50  # of a case, to count the events of a slot
COST_ROUNDS = 5  # in which the cost of an event is measured too
COST_EVENTS, QUICK_COST_EVENTS = 400_000, 100_000
COST_LIMIT_S = 60
OVERHEAD_S, SESSION_S = 0.03, 0.1  # of a measurement, and more of one in a session
BRIEFLY = ("events=1", "pause_us=0")  # some milliseconds, to see its build and whether a session records
FIELDS = ("makespan_p50_us", "makespan_mean_us", "cpu_s")
TASK_FIELD = "ns_per_task"
EVENTS = {
    "loop": "the loop alone",
    "phase": "start or end of a phase (3 or 4 fields)",
    "run_begin": "start of a task (5 fields)",
}
OFF_RATIO_MAX = 1.01
EVENT_NS_MAX = 150.0
LIMIT = f"{100 * (OFF_RATIO_MAX - 1):g} %"


class ForeignSession(Exception):
    """A session that is not of this run. While it exists, no state can be measured."""

    def __init__(self) -> None:
        super().__init__("another LTTng session records this user's programs: see `lttng list`")


class Block(NamedTuple):
    """Of a round."""

    number: int
    recorded: bool  # in one session; else no session exists
    steps: list[Step]


def stretch(request: Request, number: int, setting: tuple[str, str, str], slots: int = 0) -> Step:
    """A measurement of a case in a class and a state, in a process of its own."""
    (case, sched_class, state), workers = setting, max(1, request.cores - 1)
    seconds = OVERHEAD_S + (SESSION_S if state == RECORDED else 0)
    if case in TASK_CASES:
        bench, seconds = "trace-tasks", seconds + TASKS_S
        work = words(bench="coliseum", work=case, tasks=TASK_CASES[case])
    else:
        period = period_us(case, request.cores)
        slots = slots or max(SLOTS_MIN, round(STRETCH_S / (period * 1e-6)))
        bench, seconds = "trace", seconds + 1.125 * slots * period * 1e-6
        pace = words(period_us=period, slots=slots, warm=max(2, slots // 8))
        work = (*words(bench="slot", bursts=case), *pace)
    labels = {"bench": bench, "case": case, "class": sched_class, "state": state, "workers": workers}
    head = words(
        backend=BACKEND[state], workers=workers, class_=sched_class, limit_s=f"{2 + 4 * seconds:.2f}"
    )
    loads = [f"env={name}={value}" for name, value in WANTED.items() if state == RECORDED]
    return Step(labels | {"round": number}, (*work, *head, *loads), seconds, f"{state} {case}")


def make_blocks(
    request: Request, classes: Sequence[str] = ("other",), states: Sequence[str] = STATES
) -> list[Block]:
    """In each round a case is measured untraced and off, one right after the other, in a random order."""
    order, found = random.Random(request.seed), list[Block]()
    pairs = [(case, sched_class) for case in (*BURST_CASES, *TASK_CASES) for sched_class in classes]
    quiet = [(*pair, state) for pair in pairs for state in (UNTRACED, OFF) if state in states]
    recorded = [(*pair, RECORDED) for pair in pairs if pair[0] in BURST_CASES and RECORDED in states]
    for number in range(request.round_count(20, 6)):
        drawn = (shuffled(quiet, order, lambda setting: setting[:2]), shuffled(recorded, order))
        of_round = [
            Block(number, inside, [stretch(request, number, setting) for setting in settings])
            for inside, settings in zip((False, True), drawn)
            if settings
        ]
        found += reversed(of_round) if order.random() < 0.5 else of_round
    return found


class Measurement:
    def __init__(self, session: Measuring) -> None:
        self.session, self.request = session, session.request
        self.program = self.request.beside("ws-trace-cost")
        self.driver = session.driver("trace.log")

    def event_costs(self, given: Sequence[str], loads: bool) -> list[Line]:
        """@param loads  the provider"""
        answers = ask(self.program, given, COST_LIMIT_S, **(WANTED if loads else {}))
        return [{"bench": "trace-cost"} | line for line in answers]

    def price(self, number: int, loads: bool) -> None:
        """In the first rounds: the cost of an event."""
        if number < COST_ROUNDS:
            given = words(events=self.request.usual(COST_EVENTS, QUICK_COST_EVENTS))
            for answer in self.event_costs(given, loads):
                self.session.write(answer | {"round": number})

    def refuse_foreign(self) -> list[Line]:
        """Requires that no session of this run exists. @return the answers by which that is seen"""
        answers = self.event_costs(BRIEFLY, True)
        if any(answer.get("recorded") for answer in answers):
            raise ForeignSession
        return answers

    def block(self, this: Block) -> Iterator[Step]:
        if not this.recorded:
            yield from this.steps
            # Afterwards, so that a session that has started meanwhile is seen.
            self.refuse_foreign()
            self.price(this.number, False)
            return
        with tracecost_session.recording() as of_block:
            yield from this.steps
            self.price(this.number, True)
            of_block.stop()
            if lost := tracecost_session.discarded(of_block):
                self.session.write({"bench": "trace-lost", "discarded": lost})

    def steps(self, blocks: Sequence[Block], sched_class: str) -> Generator[Step, None, None]:
        try:
            if any(this.recorded for this in blocks):
                self.count_events(sched_class)
            for this in blocks:
                yield from self.block(this)
        except TraceError as error:
            self.session.write({"bench": "trace-skipped", "skipped": f"the rest, with a session: {error}"})
        except ForeignSession as error:
            self.session.write({"bench": "trace-void", "void": str(error)})

    def count_events(self, sched_class: str) -> None:
        """Of a slot of each case, while a session records."""
        try:
            with tracecost_session.recording() as counting:
                for case in BURST_CASES:
                    step = stretch(self.request, 0, (case, sched_class, RECORDED), COUNT_SLOTS)
                    self.driver.ask(step.words)
                counting.stop()
                counts = tracecost_session.events_a_slot(Trace(counting.out).events())
            if lost := tracecost_session.discarded(counting):
                raise TraceError(f"{lost} events found no room in the buffers")
            if len(counts) != len(BURST_CASES):
                raise TraceError(f"{len(counts)} of {len(BURST_CASES)} cases are in the trace")
        except TraceError as error:
            skipped = f"the number of events a slot: {error}"
            self.session.write({"bench": "trace-skipped", "skipped": skipped})
            return
        for case, events in zip(BURST_CASES, counts):
            self.session.write({"bench": "trace-events", "case": case, "events": events})

    def states(self) -> tuple[str, ...]:
        """The states that can be measured here. Writes why others are left out."""
        for module in (BACKEND[OFF], BACKEND[UNTRACED]):
            info = self.driver.ask(["bench=info", f"backend={module}"])
            if "error" in info:
                raise BenchError(info["error"])
        answers = self.refuse_foreign()
        for answer in answers:
            if "error" in answer:
                raise BenchError(f"{self.program.name}: {answer['error']}")
        if not any(answer["lttng"] for answer in answers):
            reason = "this build has no LTTng tracepoints (Debian: liblttng-ust-dev)"
        else:
            reason = tracecost_session.why_none() or ""
        if reason:
            skipped = f"while a session records: {reason}"
            self.session.write({"bench": "trace-skipped", "skipped": skipped})
        return STATES[:2] if reason else STATES

    def run(self, classes: Sequence[str]) -> None:
        try:
            blocks = make_blocks(self.request, classes, self.states())
        except ForeignSession as error:
            self.session.write({"bench": "trace-void", "void": str(error)})
            return
        every = [step for this in blocks for step in this.steps]
        plan = Plan(every, lambda step: [self.driver.ask(step.words)], {})
        with closing(self.steps(blocks, classes[0])) as steps:
            self.session.take(plan, steps)


def measure(session: Measuring) -> None:
    """In the normal class, unless others are named."""
    request = session.request
    classes, _ = chosen_classes(request.classes or ("other",))
    measurement = Measurement(session)
    session.begin({"rounds": request.round_count(20, 6), "cases": list(BURST_CASES)})
    measurement.run(classes)


def pairs(results: Results, cases: Sequence[str]) -> dict[tuple[str, str], Results]:
    """By class and case, in the order of tables."""
    order = {case: place for place, case in enumerate(cases)}
    found = results.by("class", "case")
    return {
        pair: found[pair] for pair in sorted(found, key=lambda p: (p[0], order.get(p[1], len(order)), p[1]))
    }


def compare(results: Results, field: str, of: str, to: str) -> Ratio | None:
    """Ratio in each round, in which the machine does the same; median over rounds; geometric mean over cases.

    None: no round has all cases in both states."""
    columns = []
    for at in pairs(results, ()).values():
        upper, lower = (at.rounds(field, state=state) for state in (of, to))
        if both := upper.keys() & lower.keys():
            columns.append({number: upper[number] / lower[number] for number in both})
    numbers = sorted(set.intersection(*map(set, columns))) if columns else []
    if not numbers:
        return None
    ratios = np.array([[column[number] for column in columns] for number in numbers])

    def over_cases(rounds: Places) -> Array:
        return np.asarray(np.exp(np.log(np.median(ratios[rounds], axis=1)).mean(axis=1)))

    return resampled(len(numbers), over_cases)


def event_costs(results: Results) -> dict[tuple[str, bool], tuple[float, float]]:
    """Least and median ns of an event over the runs of ws-trace-cost, by `what` and `recorded`."""
    return {
        key: (
            min(line["ns_min"] for line in of.lines),
            statistics.median(line["ns_p50"] for line in of.lines),
        )
        for key, of in sorted(Results(results.only(bench="trace-cost").lines).by("what", "recorded").items())
    }


def _ratios(results: Results, of: str, to: str, fields: Sequence[str], judged: bool) -> list[str]:
    ratios = [compare(results, field, of, to) for field in fields]
    cells = [ratio.percent(2) if ratio else "" for ratio in ratios]
    return [*cells, at_most_word(ratios[0], OFF_RATIO_MAX)] if judged else cells


def _rows(
    results: Results, cases: Sequence[str], of: str, to: str, fields: Sequence[str], judged: bool = False
) -> Iterator[list[str]]:
    """For each case, and for all: medians of the first field in both states, and ratios of all fields."""
    kept: list[Line] = []
    for (sched_class, case), here in pairs(results, cases).items():
        rounds = [here.rounds(fields[0], state=state) for state in (to, of)]
        if all(rounds):
            medians = (f"{statistics.median(found.values()):.1f}" for found in rounds)
            yield [f"{case} {sched_class}", *medians, *_ratios(here, of, to, fields, judged)]
            kept += here.lines
    if kept and len(fields) > 1:
        yield ["all", "", "", *_ratios(Results(kept), of, to, fields, judged)]


def tables(taken: Results, slots: Results, cases: Sequence[str]) -> Iterator[Item]:
    title = (
        "Tracing compiled in, no session, against a build without tracing; percent more, with 95 %"
        " interval.\n"
        f"met: the whole interval of p50 is up to {LIMIT}; not known: a part of it"
    )
    head = ["case, class", "untraced p50 us", "off", "p50 %", "mean %", "CPU %", ""]
    yield from table(title, head, _rows(slots, cases, OFF, UNTRACED, FIELDS, judged=True))
    title = "A session records all events, against no session; percent more, with 95 % interval"
    head = ["case, class", "off p50 us", "recorded", "p50 %", "mean %", "CPU %", "events a slot"]
    counts = {line["case"]: line["events"] for line in taken.only(bench="trace-events").lines}
    events = {case: f"{sum(of.values()):.0f}" for case, of in counts.items()}
    rows = _rows(slots, cases, RECORDED, OFF, FIELDS)
    yield from table(title, head, ([*row, events.get(row[0].split()[0], "")] for row in rows))
    title = "A task that does next to nothing, ns from push to end; a slot's tasks take microseconds"
    tasks = _rows(taken.only(bench="trace-tasks"), (), OFF, UNTRACED, (TASK_FIELD,))
    yield from table(title, ["", "untraced", "off", "%"], tasks)
    costs = {key: f"{least:.1f} / {p50:.1f}" for key, (least, p50) in event_costs(taken).items()}
    title = "One event, ns in the thread that makes it (lowest batch / median batch, median of the runs)"
    rows_of = ([name, *(costs.get((what, on), "") for on in (False, True))] for what, name in EVENTS.items())
    yield from table(title, ["", "no session", "a session records"], rows_of if costs else ())


def verdicts(taken: Results, slots: Results, why_not: str) -> Iterator[Verdict]:
    off = compare(slots, FIELDS[0], OFF, UNTRACED)
    found = f"{off.percent(2)} %" if off else why_not
    what = f"compiled in, no session, below {LIMIT} of a slot's p50, all cases: {found}"
    yield Verdict(at_most_word(off, OFF_RATIO_MAX), what)
    costs = {what: p50 for (what, on), (_, p50) in event_costs(taken).items() if on and what != "loop"}
    text = ", ".join(f"{what} {ns:.0f} ns" for what, ns in costs.items()) or why_not
    word = passed_word(max(costs.values()) <= EVENT_NS_MAX if costs else None)
    yield Verdict(word, f"an event below {EVENT_NS_MAX:g} ns while a session records: {text}")


def report(results: Results) -> Iterator[Item]:
    void, cases = results.last("void", None), results.host["cases"]
    taken = Results([]) if void else results  # a foreign session makes all figures invalid
    slots = taken.only(bench="trace")
    yield from tables(taken, slots, cases)
    yield from verdicts(taken, slots, void or "not measured")
    yield from (f"skipped: {line['skipped']}" for line in results.lines if "skipped" in line)
    if lost := sum(line.get("discarded", 0) for line in results.lines):
        yield f"{lost} events found no room in the buffers, so the recorded figures are too low"


PART = Part("trace", report, "bench", take=measure)
