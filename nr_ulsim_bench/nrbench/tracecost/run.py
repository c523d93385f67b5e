# SPDX-License-Identifier: BSD-3-Clause
"""Measures what tracing costs, writes each measurement as a line, and reports."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import IO, Iterable

from nrbench import host
from nrbench.backends import OWN
from nrbench.cases import BURST_CASES
from nrbench.driver import BenchError, Driver
from nrbench.progress import Progress
from nrbench.stats import read_lines
from nrbench.trace.errors import TraceError
from nrbench.trace.reader import Trace
from nrbench.tracecost import cost, plan, session
from nrbench.tracecost.judge import Line
from nrbench.tracecost.plan import STATES, UNTRACED, Options, Round, Stretch
from nrbench.tracecost.table import report

RESULTS, REPORT, LOG = "trace.ndjson", "trace.txt", "trace.log"


class Runner:
    def __init__(self, driver: Driver, options: Options, out: IO[str]) -> None:
        self.driver = driver
        self.options = options
        self.out = out
        self.cost_program = driver.program.with_name(cost.NAME)
        self.lines: list[Line] = []

    def write(self, line: Line) -> None:
        self.lines.append(line)
        self.out.write(json.dumps(line) + "\n")

    def event_cost(self, number: int) -> list[Line]:
        answers = cost.ask(self.cost_program, (f"events={self.options.cost_events}",))
        for answer in answers:
            self.write({**answer, "round": number})
        return answers

    def take(self, number: int, stretches: Iterable[Stretch], progress: Progress) -> None:
        for stretch in stretches:
            self.write({**stretch.labels(), "round": number, **self.driver.ask(stretch.words)})
            progress.step(stretch.seconds, f"trace {stretch.state} {stretch.case}")

    def quiet(self, this: Round, progress: Progress) -> None:
        self.take(this.number, this.quiet, progress)
        measured = this.number < plan.COST_ROUNDS
        # Afterwards, so that a session that has started meanwhile is seen.
        cost.refuse_foreign(self.event_cost(this.number) if measured else cost.ask(self.cost_program))

    def recorded(self, this: Round, progress: Progress) -> None:
        if not this.recorded:
            return
        with session.recording() as of_round:
            self.take(this.number, this.recorded, progress)
            if this.number < plan.COST_ROUNDS:
                self.event_cost(this.number)
            of_round.stop()
            lost = session.discarded(of_round)
            if lost:
                self.write({"bench": "trace-lost", "discarded": lost})

    def round(self, this: Round, progress: Progress) -> None:
        parts = (self.recorded, self.quiet) if this.recorded_first else (self.quiet, self.recorded)
        for part in parts:
            part(this, progress)

    def count_events(self) -> None:
        stretches = plan.counted(self.options)
        try:
            with session.recording() as counting:
                for stretch in stretches:
                    self.driver.ask(stretch.words)
                counting.stop()
                with Trace(counting.out) as trace:
                    counts = session.events_a_slot(trace.events())
            lost = session.discarded(counting)
            if lost:
                raise TraceError(f"{lost} events found no room in the buffers")
            if len(counts) != len(stretches):
                raise TraceError(f"{len(counts)} of {len(stretches)} cases are in the trace")
        except TraceError as error:
            self.write({"bench": "trace-skipped", "skipped": f"the number of events a slot: {error}"})
            return
        for stretch, events in zip(stretches, counts):
            self.write({"bench": "trace-events", "case": stretch.case, "events": events})

    def run(self) -> None:
        try:
            self.measure(self.states())
        except cost.ForeignSession as error:
            self.write({"bench": "trace-void", "void": str(error)})

    def measure(self, states: tuple[str, ...]) -> None:
        rounds = plan.make_rounds(self.options, states)
        steps = sum(len(r.quiet) + len(r.recorded) for r in rounds)
        seconds = plan.plan_seconds(rounds)
        print(f"nrbench: trace: {steps} measurements, about {seconds / 60:.1f} minutes", file=sys.stderr)
        progress = Progress(steps, seconds)
        try:
            if "recorded" in states:
                self.count_events()
            for this in rounds:
                self.round(this, progress)
        except TraceError as error:
            self.write({"bench": "trace-skipped", "skipped": f"the rest, with a session: {error}"})
        except KeyboardInterrupt:
            print(f"\nnrbench: interrupted: {progress.done} of {steps} taken", file=sys.stderr)
        finally:
            progress.finish()

    def states(self) -> tuple[str, ...]:
        """The states that can be measured here. Writes why others are left out."""
        for module in (OWN, UNTRACED):
            info = self.driver.ask(["bench=info", f"backend={module}"])
            if "error" in info:
                raise BenchError(info["error"])
        answers = cost.ask(self.cost_program)
        for answer in answers:
            if "error" in answer:
                raise BenchError(answer["error"])
        cost.refuse_foreign(answers)
        if not any(answer["lttng"] for answer in answers):
            reason = "this build has no LTTng tracepoints (Debian: liblttng-ust-dev)"
        else:
            reason = session.why_none() or ""
        if reason:
            self.write({"bench": "trace-skipped", "skipped": f"while a session records: {reason}"})
        return STATES[:2] if reason else STATES


def run(program: Path, options: Options, out: Path) -> None:
    if not program.with_name(cost.NAME).is_file():
        raise BenchError(f"{program.with_name(cost.NAME)}: no such file; build it with ci/bench")
    out.mkdir(parents=True, exist_ok=True)
    ends = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    # No session is left behind.
    before = {end: signal.signal(end, lambda number, _: sys.exit(128 + number)) for end in ends}
    with open(out / LOG, "w") as log, open(out / RESULTS, "w") as results:
        driver = Driver(program, log)
        runner = Runner(driver, options, results)
        try:
            about = {"seed": options.seed, "rounds": options.round_count, "cases": list(BURST_CASES)}
            runner.write(host.facts() | about)
            runner.run()
        finally:
            driver.close()
            for end, handler in before.items():
                signal.signal(end, handler)
    report_lines(runner.lines, out)


def report_again(out: Path) -> None:
    report_lines(read_lines(out / RESULTS), out)


def report_lines(lines: list[Line], out: Path) -> None:
    text = "\n".join(report(lines))
    print(text)
    (out / REPORT).write_text(text + "\n")
    print(f"\nwritten to {out}/: {RESULTS} {REPORT}")
