# SPDX-License-Identifier: BSD-3-Clause
"""
Runs any part of the benchmark: the steps of its plan, in rounds of an order drawn anew; each answer becomes a
line of NDJSON at once; then tables, verdicts and plots of the lines, now or again from the file.

A part is a file of parts/: which steps it plans, and what its tables and plots show.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence, TypeVar

from nrbench import host
from nrbench.backends import CLASSES
from nrbench.driver import BenchError, ask, there
from nrbench.places import DATA, PROGRAMS
from nrbench.plot import Plot, draw
from nrbench.progress import say
from nrbench.render import Section, Table, busy_lines, grouped, layout, machine_line
from nrbench.session import INTERRUPTED, Lane, Session, append, in_rounds, results_of
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
    threads: int | None = None  # of the contest
    tasks: int | None = None  # of it, of fib(19)
    goes_on: bool = False  # the results that are there are of this request
    cores: int = field(default_factory=host.cores)

    def usual(self, thorough: T, quick: T) -> T:
        return quick if self.quick else thorough

    def round_count(self, thorough: int, quick: int) -> int:
        return self.rounds or self.usual(thorough, quick)

    def beside(self, name: str) -> Path:
        """A program in the folder of ws-bench, which must be there."""
        return there(self.program.with_name(name))


def chosen_classes(wanted: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Those that can be measured, at least one, and for each of the others why not.

    @param wanted  empty = all"""
    classes = tuple(name for name in CLASSES if not wanted or name in wanted)
    if host.realtime_allowed():
        return classes, {}
    reason = "no permission for real-time classes: run as root, or raise the limit 'rtprio' to 50"
    skipped = {f"class {name}": reason for name in classes if name != "other"}
    if "other" not in classes:
        raise BenchError(f"nothing to measure: {', '.join(skipped)}: {reason}")
    return ("other",), skipped


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

    def of_round(self, number: int) -> Step:
        return replace(self, labels=self.labels | {"round": number})


Ask = Callable[[Step], list[Line]]


def asks(program: Path) -> Ask:
    """A new process for each step."""
    return lambda step: ask(program, step.words, step.seconds)


@dataclass(frozen=True)
class Plan:
    steps: Sequence[Step]
    ask: Ask
    about: Line  # what the first line says beside the facts of the host
    rounds: int = 0  # each has all steps; 0: the steps are as they are to be taken
    same: tuple[str, ...] = ()  # labels: steps that have them in common stay side by side
    budget_s: float = math.inf

    def drawn(self, seed: int) -> Plan:
        """With the steps of all rounds."""

        def unit(step: Step) -> str:
            return str([step.labels.get(name) for name in self.same] if self.same else id(step))

        if not self.rounds:
            return self
        steps = [step.of_round(n) for n, step in in_rounds(self.steps, self.rounds, seed, unit)]
        return replace(self, steps=steps, about={"rounds": self.rounds} | self.about, rounds=0)

    def answers(self, step: Step) -> list[Line]:
        return [step.labels | answer for answer in self.ask(step)]


class Verdict(NamedTuple):
    word: str  # as nrbench.judge says
    text: str


Item = str | Table | Verdict  # of a report. A text may have several lines


BOTH = " [95 %]"  # value and interval


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[Table]:
    """Nothing, if there are no rows.

    @param title  its further lines are notes
    @param head   names, or GROUP|NAME"""
    title, *notes = title.split("\n")
    columns = grouped(name.rpartition("|")[::2] for name in head)
    if found := [list(row) for row in rows]:
        yield Table(title, columns, found, notes)


def shown(title: str, columns: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[Table]:
    """@param columns  of each the heading and a text with figures of a row: runs {runs}; mean {mean:.1f}"""
    parts = [column.partition("{") for column in columns.split("; ")]
    cells = ([(brace + form).format_map(row) for _, brace, form in parts] for row in rows)
    yield from table(title, [head.strip() for head, _, _ in parts], cells)


def plain(items: Sequence[Item]) -> str:
    """A report as text: in the order of the items; the verdicts below a heading."""
    lines: list[str] = []
    for place, item in enumerate(items):
        if isinstance(item, Verdict):
            first = place == 0 or not isinstance(items[place - 1], Verdict)
            lines += [*(["", "Verdicts:"] if first else []), f"  {item.word}  {item.text}"]
        elif isinstance(item, Table):
            lines += ["", *([item.title] if item.title else []), *layout(item.all_rows), *item.notes]
        else:
            lines.append(item)
    return "\n".join(lines)


def tables_of(items: Sequence[Item]) -> Iterator[Table]:
    """A report as tables of a page, its verdicts first. A text is a note of the table before."""
    made = [Table("", [], [], [])]
    for item in items:
        if isinstance(item, Table):
            made.append(item._replace(notes=[*item.notes]))
        elif isinstance(item, str):
            made[-1].notes.extend(filter(None, item.splitlines()))
        elif made[-1].title == "Verdicts":
            made[-1].rows.append([*item])
        else:
            made.append(Table("Verdicts", ["verdict", "check"], [[*item]], []))
    first, *rest = made
    ordered = [first, *sorted(rest, key=lambda one: one.title != "Verdicts")]
    yield from (one for one in ordered if one.title or one.rows or one.notes)


@dataclass(frozen=True)
class Part:
    name: str
    about: str  # its name goes on so in headings
    report: Callable[[Results], Iterable[Item]]
    failing: str = ""  # the label of what fails; then the report has the machine, and what limits its meaning
    plan: Callable[[Request], Plan] | None = None  # None: measure() is its own
    plots: Callable[[Results], Iterable[Plot]] = lambda results: ()
    stem: str = ""  # of the results, where it is not the name
    text: str = ""  # the report's file, where its stem is not the name

    @property
    def results(self) -> str:
        return f"{self.stem or self.name}.ndjson"

    def measure(self, request: Request) -> int:
        """Results that were there are gone when it begins, unless it goes on. Each line has the number of its
        step. @return exit status: see Session.end()"""
        assert self.plan
        with results_of(request.out, self.results) as path:
            if not request.goes_on:
                path.unlink(missing_ok=True)
            plan = self.plan(request).drawn(request.seed)
            before = read_lines(path) if path.exists() else []
            session: Session[Line] = Session(
                path, json.dumps, before[1:], fails=lambda line: line.get("error")
            )
            if not before:
                first = host.facts() | {"seed": request.seed, "quick": request.quick} | plan.about
                first["planned"] = len(plan.steps)
                path.write_text(json.dumps(first) + "\n")
            taken = {line.get("step") for line in before}
            steps = (replace(step, labels=step.labels | {"step": n}) for n, step in enumerate(plan.steps))
            plan = replace(plan, steps=[step for step in steps if step.labels["step"] not in taken])
            seconds = sum(step.seconds for step in plan.steps)
            what = f"{len(plan.steps)} measurements"
            what += f", {len(taken) - 1} are there from before" if before else ""
            say(f"{self.name}: {what}, about {seconds / 60:.1f} minutes")
            lane = Lane("", iter(plan.steps), plan.answers, len(plan.steps), seconds, counts_steps=True)
            session.run([lane], plan.budget_s)
            if session.interrupted:
                session.cut = "interrupted; the same command takes the rest"
            if session.cut:
                say(f"{session.cut}: {session.done} of {session.planned} measurements taken")
                append(path, json.dumps({"bench": "host", "cut": session.cut}))
        return INTERRUPTED if session.interrupted else 0

    def items(self, results: Results) -> Iterator[Item]:
        if not self.failing:
            yield from self.report(results)
            return
        about = results.host
        rounds = f"{about['rounds']} rounds, " if "rounds" in about else ""
        yield f"{machine_line(about)}, {rounds}seed {about['seed']}"
        yield from self.report(results)
        yield from busy_lines(about)
        for what in ("missing", "skipped"):
            yield from (f"{what}: {name} ({why})" for name, why in about.get(what, {}).items())
        yield from self.gaps(results)

    def gaps(self, results: Results) -> Iterator[str]:
        """What was not taken, and what gave no result, with the reasons."""
        planned, taken = results.last("planned", 0), {line.get("step") for line in results.all} - {None}
        if len(taken) < planned:
            left = f"{planned - len(taken)} of {planned} measurements"
            yield f"not taken: {left}: {results.last('cut', 'the command was ended')}"
        errors = Counter(f"{line.get(self.failing)}: {line['error']}" for line in results.failed)
        yield from (f"without a result: {count} times: {error}" for error, count in sorted(errors.items()))

    def shown(self, out: Path) -> list[Section]:
        """Prints the report of the results in a folder, keeps a copy, and draws the plots. @return the same
        for a page"""
        results, text = Results(read_lines(out / self.results)), self.text or f"{self.name}.txt"
        items = list(self.items(results))
        print(plain(items))
        (out / text).write_text(plain(items) + "\n", encoding="utf-8")
        plots = [plot for plot in self.plots(results) if plot.points]
        shown = [Section("", [], draw(plot, out), plot.title) for plot in plots]
        print(f"\nwritten to {out}/: {' '.join([self.results, text, *(plot.file for plot in plots)])}")
        return [Section(f"{self.name}: {self.about}", list(tables_of(items))), *shown]
