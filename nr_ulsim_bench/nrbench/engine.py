# SPDX-License-Identifier: BSD-3-Clause
"""
Runs any part of the benchmark: the steps of its plan, in rounds of an order drawn anew; each answer becomes a
line of NDJSON at once; then tables, verdicts and plots of the lines, now or again from the file.

A part is a file of parts/: how its steps are planned, and what its tables show.
"""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterable, Sequence, TypeVar

from nrbench import host
from nrbench.backends import CLASSES
from nrbench.driver import BenchError, Driver, ask, there
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.places import DATA, PROGRAMS
from nrbench.progress import say
from nrbench.session import INTERRUPTED, Session, Writer, here, interrupted_by_signals
from nrbench.stats import Line, Results, read_lines

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """Empty or None: as each part has it."""

    program: Path = PROGRAMS / "ws-bench"  # the other programs lie beside it
    data: Path = DATA
    out: Path = Path("out")
    only: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    quick: bool = False
    rounds: int | None = None
    seed: int = 1
    backends: tuple[str, ...] = ()
    budget_s: float | None = None
    full: bool = False
    cores: int = field(default_factory=host.cores)

    def usual(self, thorough: T, quick: T) -> T:
        return quick if self.quick else thorough

    def round_count(self, thorough: int, quick: int) -> int:
        return self.rounds or self.usual(thorough, quick)

    def beside(self, name: str) -> Path:
        """A program in the folder of ws-bench, which must be there."""
        return there(self.program.with_name(name))


def chosen_classes(wanted: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Those that can be measured, and for each of the others why not. @param wanted  empty = all"""
    classes = tuple(name for name in CLASSES if not wanted or name in wanted)
    if host.realtime_allowed():
        return classes, {}
    reason = "no permission for real-time classes: run as root, or raise the limit 'rtprio' to 50"
    return tuple(c for c in classes if c == "other"), {f"class {c}": reason for c in classes if c != "other"}


def nothing_to_measure(reasons: dict[str, str]) -> BenchError:
    return BenchError("nothing to measure: " + "; ".join(f"{name}: {why}" for name, why in reasons.items()))


def words(**settings: object) -> tuple[str, ...]:
    """As name=value. A name that Python reserves has an underscore more: class_."""
    return tuple(f"{name.rstrip('_')}={value}" for name, value in settings.items())


@dataclass(frozen=True)
class Step:
    """A program is asked once. Each of its answers becomes a line with these labels."""

    labels: Line
    words: Sequence[str]
    seconds: float  # about
    text: str

    @property
    def limit_s(self) -> float:
        return 60 + 10 * self.seconds


Ask = Callable[[Step], list[Line]]


def asks(program: Path) -> Ask:
    """A new process for each step."""
    return lambda step: ask(program, step.words, step.limit_s)


@dataclass(frozen=True)
class Plan:
    steps: Sequence[Step]
    ask: Ask
    about: Line  # what the first line says beside the facts of the host
    title: str = ""
    budget_s: float = math.inf

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)

    def answers(self, step: Step) -> list[Line]:
        return [step.labels | answer for answer in self.ask(step)]


class Measuring:
    """The measurements of a part while they are taken. Results that were there are gone when it begins."""

    def __init__(self, part: Part, request: Request, closing: contextlib.ExitStack) -> None:
        self.part, self.request, self._closing = part, request, closing
        self.session: Session[Line] = Session(request.out / part.results, json.dumps)

    def driver(self, log: str) -> Driver:
        """Of a process of ws-bench that ends with the session."""
        self.request.out.mkdir(parents=True, exist_ok=True)
        out = self._closing.enter_context(open(self.request.out / log, "w", buffering=1))
        made = Driver(self.request.program, out)
        self._closing.callback(made.close)
        return made

    def begin(self, about: Line) -> None:
        first = host.facts() | {"seed": self.request.seed, "quick": self.request.quick} | about
        path = self.session.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(first) + "\n")
        self.session.lines.append(first)

    def write(self, line: Line) -> None:
        """Between the answers of steps."""
        with contextlib.closing(Writer(self.session.path)) as writer:
            self.session.add(writer, line)

    def take(self, plan: Plan, steps: Iterable[Step] | None = None) -> None:
        """@param steps  those of the plan, from a generator that does more between them"""
        what = plan.title or f"{len(plan.steps)} measurements"
        say(f"{self.part.name}: {what}, about {plan.seconds / 60:.1f} minutes")
        lane = here(iter(plan.steps if steps is None else steps), plan.answers)
        self.session.run([lane], len(plan.steps), plan.seconds, plan.budget_s)


@dataclass(frozen=True)
class Part:
    """Measured by its plan, or by itself in a session."""

    name: str
    report: Callable[[Results], Iterable[str]]
    plan: Callable[[Request], Plan] | None = None
    measure: Callable[[Measuring], None] | None = None
    draw: Callable[[Results, Path], Iterable[str]] = lambda results, out: ()  # @return the files' names
    stem: str = ""  # of the results, where it is not the name
    text: str = ""  # the report's file, where its stem is not the name

    @property
    def results(self) -> str:
        return f"{self.stem or self.name}.ndjson"

    def run(self, request: Request) -> int:
        """@return exit status: see Session.end()"""
        with contextlib.ExitStack() as closing:
            closing.enter_context(interrupted_by_signals())
            measuring = Measuring(self, request, closing)
            if self.plan:
                plan = self.plan(request)
                measuring.begin(plan.about)
                measuring.take(plan)
            if self.measure:
                self.measure(measuring)
        session = measuring.session
        self.report_lines(session.lines, request.out)
        if session.interrupted:
            session.cut = "interrupted"
        if session.cut:
            say(f"{session.cut}: {session.done} of {session.planned} measurements taken")
        return INTERRUPTED if session.interrupted else 0

    def report_again(self, out: Path) -> None:
        self.report_lines(read_lines(out / self.results), out)

    def report_lines(self, lines: Sequence[Line], out: Path) -> None:
        """Prints the report, keeps a copy, and draws the plots."""
        results, report = Results(lines), self.text or f"{self.name}.txt"
        text = "\n".join(self.report(results))
        print(text)
        (out / report).write_text(text + "\n")
        with matplotlib_apart():
            names = [self.results, report, *self.draw(results, out)]
        print(f"\nwritten to {out}/: {' '.join(names)}")
