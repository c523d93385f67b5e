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
import random
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Callable, Iterable, Iterator, Sequence, TypeVar

from nrbench import host
from nrbench.backends import CLASSES
from nrbench.driver import BenchError, Driver, ask, there
from nrbench.matplotlib_home import matplotlib_apart
from nrbench.places import DATA, PROGRAMS
from nrbench.progress import Progress, say
from nrbench.stats import Line, Results, read_lines

T = TypeVar("T")
INTERRUPTED = 130  # exit status


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


def shuffled(
    settings: Iterable[T], order: random.Random, unit: Callable[[T], object] = lambda setting: setting
) -> list[T]:
    """In an order drawn anew. Settings of one unit stay side by side, in an order of their own."""
    units: dict[object, list[T]] = {}
    for setting in settings:
        units.setdefault(unit(setting), []).append(setting)
    drawn = order.sample(list(units.values()), len(units))
    return [setting for group in drawn for setting in order.sample(group, len(group))]


def in_rounds(
    settings: Sequence[T], count: int, seed: int, unit: Callable[[T], object] = lambda setting: setting
) -> Iterator[tuple[int, T]]:
    """Each round has all settings, shuffled. @return the round's number with each"""
    order = random.Random(seed)
    yield from ((number, one) for number in range(count) for one in shuffled(settings, order, unit))


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


class Session:
    """The measurements of a part while they are taken."""

    def __init__(self, part: Part, request: Request, closing: contextlib.ExitStack) -> None:
        self.part, self.request, self._closing = part, request, closing
        self.lines: list[Line] = []
        self.cut = ""  # why steps are left
        self.interrupted = False
        self._out: IO[str] | None = None

    def _open(self, name: str) -> IO[str]:
        self.request.out.mkdir(parents=True, exist_ok=True)
        return self._closing.enter_context(open(self.request.out / name, "w", buffering=1))

    def driver(self, log: str) -> Driver:
        """Of a process of ws-bench that ends with the session."""
        made = Driver(self.request.program, self._open(log))
        self._closing.callback(made.close)
        return made

    def begin(self, about: Line) -> None:
        """Results that were there are gone from now on."""
        self._out = self._open(self.part.results)
        self.write(host.facts() | {"seed": self.request.seed, "quick": self.request.quick} | about)

    def write(self, line: Line) -> None:
        assert self._out
        self.lines.append(line)
        self._out.write(json.dumps(line) + "\n")

    def take(self, plan: Plan, steps: Iterable[Step] | None = None) -> None:
        """@param steps  those of the plan, from a generator that does more between them"""
        what = plan.title or f"{len(plan.steps)} measurements"
        say(f"{self.part.name}: {what}, about {plan.seconds / 60:.1f} minutes")
        with Progress(len(plan.steps), plan.seconds) as progress:
            for step in plan.steps if steps is None else steps:
                if progress.elapsed_s > plan.budget_s:
                    self.cut = f"stopped after {progress.elapsed_s:.0f} s"
                    break
                progress.show(f"{self.part.name} {step.text}")
                for answer in plan.ask(step):
                    self.write(step.labels | answer)
                progress.step(step.seconds, f"{self.part.name} {step.text}")
        taken = f"{progress.done} of {progress.count} measurements taken"
        self.interrupted = progress.interrupted
        if progress.interrupted:
            self.cut = f"interrupted: {taken}"
        elif self.cut:
            self.cut += f": {taken} (the machine is slower than planned; --budget gives more time)"


@contextlib.contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Signals that end the process are an interruption by the keyboard: nothing that was begun is left
    behind, and the results are reported. A signal that is ignored, as by nohup, stays ignored."""
    ends = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    numbers = [number for number in ends if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True)
class Part:
    """Measured by its plan, or by itself in a session."""

    name: str
    report: Callable[[Results], Iterable[str]]
    plan: Callable[[Request], Plan] | None = None
    measure: Callable[[Session], None] | None = None
    draw: Callable[[Results, Path], Iterable[str]] = lambda results, out: ()  # @return the files' names
    stem: str = ""  # of the results, where it is not the name
    text: str = ""  # the report's file, where its stem is not the name

    @property
    def results(self) -> str:
        return f"{self.stem or self.name}.ndjson"

    def run(self, request: Request) -> int:
        """@return exit status: INTERRUPTED after the report on what was taken, else 0"""
        with contextlib.ExitStack() as closing:
            closing.enter_context(interrupted_by_signals())
            session = Session(self, request, closing)
            if self.plan:
                plan = self.plan(request)
                session.begin(plan.about)
                session.take(plan)
            if self.measure:
                self.measure(session)
        self.report_lines(session.lines, request.out)
        if session.cut:
            say(session.cut)
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
