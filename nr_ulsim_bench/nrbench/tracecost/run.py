# SPDX-License-Identifier: BSD-3-Clause
"""Measures what tracing costs, writes each measurement as a line, and reports."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, Iterable

from nrbench import host
from nrbench.backends import OWN
from nrbench.cases import SLOT_CASES
from nrbench.driver import BenchError, Driver
from nrbench.progress import Progress
from nrbench.stats import read_lines
from nrbench.trace.errors import TraceError
from nrbench.trace.reader import Trace
from nrbench.tracecost import plan, session
from nrbench.tracecost.plan import STATES, UNTRACED, Options, Round, Stretch
from nrbench.tracecost.table import report

RESULTS, REPORT, LOG = "trace.ndjson", "trace.txt", "trace.log"


class Runner:
    def __init__(self, driver: Driver, options: Options, out: IO[str]) -> None:
        self.driver = driver
        self.options = options
        self.out = out
        self.cost_program = driver.program.with_name("ws-trace-cost")
        self.lines: list[dict[str, Any]] = []

    def write(self, line: dict[str, Any]) -> None:
        self.lines.append(line)
        self.out.write(json.dumps(line) + "\n")

    def event_cost(self, number: int) -> None:
        words = [str(self.cost_program), f"events={self.options.cost_events}"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        for text in done.stdout.splitlines():
            self.write({**json.loads(text), "round": number})

    def take(self, number: int, stretches: Iterable[Stretch], progress: Progress) -> None:
        for stretch in stretches:
            self.write({**stretch.labels(), "round": number, **self.driver.ask(stretch.words)})
            progress.step(stretch.seconds, f"trace {stretch.state} {stretch.case}")
        if number < plan.COST_ROUNDS:
            self.event_cost(number)

    def round(self, this: Round, progress: Progress) -> None:
        def quiet() -> None:
            self.take(this.number, this.quiet, progress)

        def recorded() -> None:
            if not this.recorded:
                return
            with session.Recording() as of_round:
                self.take(this.number, this.recorded, progress)
                of_round.stop()
                if of_round.discarded:
                    self.write({"bench": "trace-lost", "discarded": of_round.discarded})

        for part in (recorded, quiet) if this.recorded_first else (quiet, recorded):
            part()

    def count_events(self) -> None:
        stretches = plan.counted(self.options)
        try:
            with session.Recording() as counting:
                for stretch in stretches:
                    self.driver.ask(stretch.words)
                counting.stop()
                with Trace(counting.folder) as trace:
                    counts = session.events_a_slot(trace.events())
            if counting.discarded:
                raise TraceError(f"{counting.discarded} events found no room")
            if len(counts) != len(stretches):
                raise TraceError(f"{len(counts)} of {len(stretches)} cases are in the trace")
        except TraceError as error:
            self.write({"bench": "trace-skipped", "skipped": f"the number of events a slot: {error}"})
            return
        for stretch, events in zip(stretches, counts):
            self.write({"bench": "trace-events", "case": stretch.case, "events": events})

    def run(self) -> None:
        states = self.states()
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
        """Those that this machine and this build have; says why others are left out."""
        for module in (OWN, UNTRACED):
            info = self.driver.ask(["bench=info", f"backend={module}"])
            if "error" in info:
                raise BenchError(info["error"])
        if not self.traced():
            reason = "this build has no LTTng tracepoints (Debian: liblttng-ust-dev)"
        else:
            reason = session.why_none() or ""
        if reason:
            self.write({"bench": "trace-skipped", "skipped": f"while a session records: {reason}"})
        return STATES[:2] if reason else STATES

    def traced(self) -> bool:
        words = [str(self.cost_program), "events=1", "pause_us=0"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        return any(json.loads(line)["lttng"] for line in done.stdout.splitlines())


def run(program: Path, options: Options, out: Path) -> None:
    if not program.with_name("ws-trace-cost").is_file():
        raise BenchError(f"{program.with_name('ws-trace-cost')}: no such file; it is built with the pool")
    out.mkdir(parents=True, exist_ok=True)
    ends = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    # No session is left behind.
    before = {end: signal.signal(end, lambda number, _: sys.exit(128 + number)) for end in ends}
    with open(out / LOG, "w") as log, open(out / RESULTS, "w") as results:
        driver = Driver(program, log)
        runner = Runner(driver, options, results)
        try:
            about = {"seed": options.seed, "rounds": options.round_count, "cases": list(SLOT_CASES)}
            runner.write(host.facts() | about)
            runner.run()
        finally:
            driver.close()
            for end, handler in before.items():
                signal.signal(end, handler)
    report_lines(runner.lines, out)


def report_again(out: Path) -> None:
    report_lines(read_lines(out / RESULTS), out)


def report_lines(lines: list[dict[str, Any]], out: Path) -> None:
    text = "\n".join(report(lines))
    print(text)
    (out / REPORT).write_text(text + "\n")
    print(f"\nwritten to {out}/: {RESULTS} {REPORT}")
