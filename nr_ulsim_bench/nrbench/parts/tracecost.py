# SPDX-License-Identifier: BSD-3-Clause
"""What tracing costs this pool: built without it, built with it and not asked for, while a session records;
and ns an event. ws-bench and ws-trace-cost in rounds."""

import itertools
import os
import statistics
import tempfile
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Iterator

from nrbench.backends import CLASSES, OWN
from nrbench.cases import BURST_CASES, period_us
from nrbench.driver import BenchError, ask
from nrbench.engine import BOTH, Item, Part, Plan, Request, Step, Verdict, chosen_classes, table, words
from nrbench.judge import Ratio, at_most_word, median, over_rounds, passed_word
from nrbench.render import number
from nrbench.stats import Line, Results
from nrbench.trace import record
from nrbench.trace.record import TraceError

UNTRACED, OFF, RECORDED = STATES = ("untraced", "off", "recorded")
BACKEND = {UNTRACED: "ws-untraced", OFF: OWN, RECORDED: OWN}
SLOTS, EVENTS = "trace", "trace-cost"  # what a line is about
STRETCH_S, SLOTS_MIN = 0.2, 16  # of one measurement
EVENTS_S, OVERHEAD_S, SESSION_S = 0.3, 0.1, 0.6
BRIEFLY = ("events=1", "pause_us=0")  # shows whether a session records
FIELDS = ("makespan_p50_us", "makespan_mean_us", "cpu_s")
EVENT_TITLES = {
    "loop": "the loop alone",
    "phase": "start or end of a phase (3 or 4 fields)",
    "run_begin": "start of a task (5 fields)",
}
OFF_RATIO_MAX, EVENT_NS_MAX = 1.01, 150.0
PERCENT = [f"{name}, %{BOTH}" for name in ("p50", "mean", "CPU")]
LIMIT = f"{100 * (OFF_RATIO_MAX - 1):g} %"
MORE = "percent more, with 95 % interval"
FOREIGN = "another LTTng session records this user's programs: see `lttng list`"
NO_LTTNG = "this build has no LTTng tracepoints; get them: Debian liblttng-ust-dev"
NO_PROVIDER = "no events come: libthread_pool_ws_lttng.so is not beside ws-bench"
_numbers = itertools.count()


@contextmanager
def recording() -> Iterator[record.Session]:
    """As tpool-ws-trace makes it. Its folder is gone after the block; so is a daemon that it started."""
    with tempfile.TemporaryDirectory(prefix="ws-trace-cost-") as folder, record.ends_with_block():
        name = f"ws-trace-cost-{os.getpid()}-{next(_numbers)}"
        with record.Session(name, Path(folder) / "trace") as session:
            yield session


def look(request: Request) -> Line:
    """@return whether the pool is built with `lttng`, and whether a session has `recorded`"""
    answer = ask(request.beside("ws-trace-cost"), BRIEFLY, 1.0, **record.WANTED)[0]
    if "error" in answer:
        raise BenchError(f"ws-trace-cost: {answer['error']}")
    return answer


def why_none(request: Request) -> str:
    """Why nothing can be recorded here, if so. A session of another program takes all results."""
    found = look(request)
    if found["recorded"]:
        raise BenchError(FOREIGN)
    if not found["lttng"]:
        return NO_LTTNG
    try:
        with recording():
            return "" if look(request)["recorded"] else NO_PROVIDER
    except TraceError as error:
        return str(error)


def measure(request: Request, step: Step) -> list[Line]:
    """Without result, where a session of another program records before it or after it."""
    recorded = step.labels["state"] == RECORDED
    program = request.program if step.labels["bench"] == SLOTS else request.beside("ws-trace-cost")
    try:
        foreign = look(request)["recorded"]
        with recording() if recorded else nullcontext() as session:
            given = record.WANTED if recorded else {}
            answers = ask(program, step.words, step.seconds, **given)
        if foreign or look(request)["recorded"]:
            raise BenchError(FOREIGN)
    except (BenchError, TraceError) as error:
        return [{"error": str(error)}]
    lost = session.lost.get("lost_events", 0) if session else 0
    return [answer | {"lost": lost} for answer in answers]


def slots(request: Request, case: str, sched_class: str, state: str) -> Step:
    workers, period = max(1, request.cores - 1), period_us(case, request.cores)
    count = max(SLOTS_MIN, round(STRETCH_S / (period * 1e-6)))
    seconds = OVERHEAD_S + SESSION_S * (state == RECORDED) + 1.125 * count * period * 1e-6
    work = words(bench="slot", bursts=case, period_us=period, slots=count, warm=max(2, count // 8))
    work += words(backend=BACKEND[state], workers=workers, class_=sched_class)
    labels = {"bench": SLOTS, "case": case, "class": sched_class, "state": state, "workers": workers}
    return Step(labels, work, seconds, f"{state} {case}")


def plan(request: Request) -> Plan:
    """All states of a case side by side. In the normal class, unless others are named."""
    why = why_none(request)
    classes, skipped = chosen_classes(request.classes or ("other",))
    states: tuple[str, ...] = STATES
    if why:
        skipped["while a session records"], states = why, STATES[:2]
    steps = [slots(request, *place) for place in itertools.product(BURST_CASES, classes, states)]
    events = ("events=100000",)
    steps += [Step({"bench": EVENTS, "state": of}, events, EVENTS_S, f"{of} events") for of in states[1:]]
    rounds, same = request.round_count(20, 6), ("bench", "case", "class")
    return Plan(steps, partial(measure, request), {"skipped": skipped}, rounds, same)


def compare(results: Results, field: str, of: str, to: str) -> Ratio | None:
    """Ratio in each round, in which the machine does the same; the mean over cases; the median."""
    ratios = list[tuple[int, float]]()
    for at in results.by("class", "case").values():
        upper, lower = (at.rounds(field, state=state) for state in (of, to))
        ratios += [(number, upper[number] / lower[number]) for number in upper.keys() & lower.keys()]
    return over_rounds(ratios, statistics.geometric_mean)


def _rows(results: Results, of: str, to: str) -> Iterator[list[str]]:
    """For each case, and for all: medians in both states, ratios, and whether p50 keeps the limit."""
    by = results.by("class", "case")
    places = {f"{case} {c}": by[c, case] for c in CLASSES for case in BURST_CASES if (c, case) in by}
    for name, at in (places | {"all": results}).items():
        ratios = [compare(at, field, of, to) for field in FIELDS]
        if ratios[0]:
            medians = (number(median(at.rounds(FIELDS[0], state=state))) for state in (to, of))
            shown = medians if name in places else ("", "")
            percent = (ratio.percent(2) if ratio else "" for ratio in ratios)
            yield [name, *shown, *percent, at_most_word(ratios[0], OFF_RATIO_MAX)]


def report(results: Results) -> Iterator[Item]:
    slots = results.only(bench=SLOTS)
    title = f"Tracing compiled in, no session, against a build without tracing; {MORE}"
    head = ["case, class", "untraced p50 µs", "off", *PERCENT, f"p50 up to {LIMIT}|verdict"]
    yield from table(title, head, _rows(slots, OFF, UNTRACED))
    title = f"A session records all events, against no session; {MORE}"
    head = ["case, class", "off p50 µs", "recorded", *PERCENT]
    yield from table(title, head, (row[:-1] for row in _rows(slots, RECORDED, OFF)))
    costs = results.only(bench=EVENTS).by("what", "recorded")
    there = {what: title for what, title in EVENT_TITLES.items() if (what, False) in costs}
    both = (False, True)
    rows = [[there[what], *(ns for on in both for ns in _cost(costs.get((what, on))))] for what in there]
    title = "One event, ns in the thread that makes it: lowest and median batch, median of the runs"
    names = (f"{of}|{batch}" for of in ("no session", "a session records") for batch in ("lowest", "median"))
    yield from table(title, ["event", *names], rows)
    yield from verdicts(slots, costs)
    if lost := sum(line.get("lost", 0) for line in results.lines):
        yield f"{lost} events found no room in the buffers, so the recorded figures are too low"


def _cost(at: Results | None) -> tuple[str, str]:
    return (number(min(at.rounds("ns_min").values())), number(at["ns_p50"])) if at else ("", "")


def verdicts(slots: Results, costs: dict[tuple[str, bool], Results]) -> Iterator[Verdict]:
    off = compare(slots, FIELDS[0], OFF, UNTRACED)
    what = f"compiled in, no session, below {LIMIT} of a slot's p50, all cases"
    found = f"{off.percent(2)} %" if off else "not measured"
    yield Verdict(at_most_word(off, OFF_RATIO_MAX), f"{what}: {found}")
    of_event = {what: at["ns_p50"] for (what, recorded), at in costs.items() if recorded and what != "loop"}
    found = ", ".join(f"{what} {ns:.0f} ns" for what, ns in of_event.items()) or "not measured"
    word = passed_word(max(of_event.values()) <= EVENT_NS_MAX if of_event else None)
    yield Verdict(word, f"an event below {EVENT_NS_MAX:g} ns while a session records: {found}")


PART = Part("trace", "what tracing costs", report, "bench", plan)
