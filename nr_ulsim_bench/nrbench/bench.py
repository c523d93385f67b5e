# SPDX-License-Identifier: BSD-3-Clause
"""What ci/bench runs: the parts that are asked for, one after the other."""

from __future__ import annotations

import json
import platform
import sys
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, Iterable, Iterator, Sequence

from nrbench.driver import BenchError, there
from nrbench.engine import Part, Request, plain, tables_of
from nrbench.parts import lives, pools, prewake
from nrbench.parts.pools import PARTS
from nrbench.progress import say
from nrbench.render import Page, Section, Table, write_page
from nrbench.screen import PAGE, TABLES, screen
from nrbench.session import INTERRUPTED, OK, session_id
from nrbench.stats import Results, read_lines
from nrbench.sweep import options as sweep_options
from nrbench.sweep import replay as sweep_replay
from nrbench.sweep import session
from nrbench.sweep.process import sha256_of_program
from nrbench.sweep.record import RUNS


class Replay(Part):
    """The sweep over thread counts without OAI; among other parts with fewer recorded slots and pools. It
    prints its report itself."""

    @property
    def results(self) -> str:
        return f"{self.name}/{RUNS}"

    def measure(self, request: Request) -> int:
        options = sweep_options.Options(
            program=request.program,
            data=request.data,
            out=request.out / self.name,
            sched_class=next(iter(request.classes), None),
            backends=request.backends or request.usual((), sweep_replay.OLD_AND_NEW),
            short=request.quick or self.name not in request.only,
            repeats=request.rounds or request.usual(None, 3),
            seed=request.seed,
        )
        there(request.program)
        if not request.goes_on:
            (options.out / RUNS).unlink(missing_ok=True)
        return sweep_replay.run(options)

    def shown(self, out: Path) -> list[Section]:
        note = f"On a page of its own: {self.name}/report.html"
        return [Section(f"{self.name}: {self.about}", [Table("", [], [], [note])])]


REPLAY = Replay("replay", "recorded slots of nr_ulsim", lambda results: (), "pool")
# Only if asked for by name:
NAMES = ("tracecost", "judged", "scale", "scan", "pi", "latch", "tail", "contest", "ticks")  # in parts/
NAMED: tuple[Part, ...] = tuple(import_module(f"nrbench.parts.{name}").PART for name in NAMES)
ALL: tuple[Part, ...] = (lives.PART, pools.PART, REPLAY, prewake.PART, *NAMED)


def chosen(request: Request) -> list[tuple[Part, Request]]:
    """All parts but those of NAMED, lives and pre-wake among them shortly; or those that are asked for.

    Lives come first, and so does their verdict: the figures of the others are of few lives each."""
    if only := {pools.PART.name if name in PARTS else name for name in request.only}:
        return [(part, request) for part in ALL if part.name in only]
    if request.backends:
        return [(pools.PART, request), (REPLAY, request)]
    parts = [(part, request) for part in (lives.PART, pools.PART, REPLAY)]
    if request.program.with_name("ws-prewake").is_file() and not request.quick:
        parts.append((prewake.PART, replace(request, quick=True)))
    return parts


class Call:
    """Which parts of a request are measured, in a file that is gone when all are: after an interruption the
    same request takes the others."""

    def __init__(self, request: Request, fresh: bool) -> None:
        about = {name: str(value) for name, value in vars(request).items() if name not in ("out", "fresh")}
        program = request.program
        about["sha256"] = sha256_of_program(program) if program.is_file() else ""
        self.path = request.out / "unfinished.json"
        self.now: dict[str, Any] = {"id": session_id(platform.node(), "bench", about), "done": [], "at": ""}
        before = json.loads(self.path.read_text()) if self.path.is_file() and not fresh else {}
        if before.get("id") == self.now["id"]:
            self.now = before
            say("goes on after an interruption; --fresh begins anew")

    def measure(self, part: Part, request: Request) -> int:
        if part.name in self.now["done"]:
            return OK
        goes_on = self.now["at"] == part.name
        self._keep(at=part.name)
        status = part.measure(replace(request, goes_on=goes_on))
        if status != INTERRUPTED:
            self._keep(at="", done=[*self.now["done"], part.name])
        return status

    def _keep(self, **changed: Any) -> None:
        self.now |= changed
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = self.path.with_suffix(".new")
        whole.write_text(json.dumps(self.now))
        whole.rename(self.path)


def run(request: Request, fresh: bool = False) -> int:
    """@return exit status: see sweep.session.carry_out()"""
    parts, statuses, measured = chosen(request), [OK], list[str]()
    call = Call(request, fresh)

    def sections() -> Iterator[Section]:
        for number, (part, asked) in enumerate(parts):
            if number:
                print()
            statuses.append(call.measure(part, asked))
            measured.append(part.results)
            yield from part.shown(asked.out)
            if statuses[-1] == INTERRUPTED:
                break
        others = [part for part in ALL if request.only and part.results not in measured]
        with redirect_stdout(StringIO()):  # on the page: what earlier calls have left there
            for part in (part for part in others if (request.out / part.results).is_file()):
                yield from part.shown(request.out)

    _write(request.out, [one for one, _ in parts], measured, sections(), not request.only and len(parts) > 1)
    if INTERRUPTED not in statuses:
        call.path.unlink(missing_ok=True)
    return max(statuses)


def _gaps(out: Path, part: Part, names: Sequence[str]) -> Iterable[str]:
    if part.results not in names:
        return ["not taken: interrupted; the same command takes it"]
    there = (out / part.results).is_file()
    return part.gaps(Results(read_lines(out / part.results))) if there else ()


def _write(
    out: Path, parts: Sequence[Part], names: Sequence[str], sections: Iterable[Section], has_screen: bool
) -> None:
    """The sections as a page. What they print while they are made goes to a file, and a screen about the
    results of these names to the terminal; without a screen, all to the terminal. What the parts lack
    stands everywhere.

    @param names  of results; complete when the sections are made"""
    out.mkdir(parents=True, exist_ok=True)
    text = open(out / TABLES, "w", encoding="utf-8") if has_screen else nullcontext(sys.stdout)
    with text as file, redirect_stdout(file):
        made = list(sections)
        gaps = [f"{part.name}: {gap}" for part in parts for gap in _gaps(out, part, names)]
        print("\n".join(gaps), end="\n" if gaps else "")
    if has_screen:
        items = [*screen(out, names), *gaps]
        print(plain(items))
        print(f"tables, verdicts and plots: {out / PAGE}; as text: {out / TABLES}" if items else "")
        made.insert(0, Section("This pool and others", list(tables_of(items))))
    if made:
        lead = "All tables, verdicts and plots; intervals hold 95 %"
        write_page(out / PAGE, Page("Benchmark of thread_pool_ws", lead, made, warnings=gaps))
        if not has_screen:
            print(f"written to {out}/: {PAGE}")


def report_again(out: Path) -> None:
    """On the results of every part that are in a folder."""
    found = [part for part in ALL if (out / part.results).is_file()]
    if not found and not (out / RUNS).is_file():
        raise BenchError(f"{out}: holds none of {', '.join([*(part.results for part in ALL), RUNS])}")

    def sections() -> Iterator[Section]:
        for part in found:
            if part is REPLAY:
                session.report((out / part.results).parent)
            yield from part.shown(out)

    if (out / RUNS).is_file():
        session.report(out)
    names = [part.results for part in found]
    _write(out, found, names, sections(), has_screen=len(names) > 1)
