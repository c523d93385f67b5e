# SPDX-License-Identifier: BSD-3-Clause
"""What ci/bench runs: the parts that are asked for, one after the other."""

from __future__ import annotations

from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Iterator, Sequence

from nrbench.driver import BenchError
from nrbench.engine import Part, Request, plain, tables_of
from nrbench.parts import latch, lives, pi, pools, prewake, scale, scan, tail, tracecost
from nrbench.parts.pools import PARTS
from nrbench.places import DATA
from nrbench.render import Page, Section, Table, write_page
from nrbench.screen import PAGE, TABLES, screen
from nrbench.session import INTERRUPTED
from nrbench.sweep import options as sweep_options
from nrbench.sweep import replay as sweep_replay
from nrbench.sweep import session
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
        (options.out / RUNS).unlink(missing_ok=True)
        return sweep_replay.run(options)

    def shown(self, out: Path) -> list[Section]:
        note = f"Recorded slots of nr_ulsim on this machine: {self.name}/report.html"
        return [Section(self.name, [Table("", [], [], [note])])]

    def again(self, out: Path) -> list[Section]:
        session.report((out / self.results).parent)
        return self.shown(out)


REPLAY = Replay("replay", lambda results: ())
# Only if they are asked for by name.
NAMED = (tracecost.PART, scale.PART, scan.PART, pi.PART, latch.PART, tail.PART)


def chosen(request: Request) -> list[tuple[Part, Request]]:
    """All parts but those of NAMED, lives and pre-wake among them shortly; or those that are asked for.

    Lives come first, and so does their verdict: the figures of the others are of few lives each."""
    only = set(request.only)
    parts: list[tuple[Part, Request]] = []
    if lives.PART.name in only or not (only or request.backends):
        parts.append((lives.PART, request))
    if not only or only & set(PARTS):
        parts.append((pools.PART, request))
    if not only or REPLAY.name in only:
        parts.append((REPLAY, request))
    everything = not (only or request.quick or request.backends)
    if prewake.PART.name in only:
        parts.append((prewake.PART, request))
    elif everything and request.program.with_name("ws-prewake").is_file():
        parts.append((prewake.PART, replace(request, quick=True)))
    return parts + [(part, request) for part in NAMED if part.name in only]


def run(request: Request) -> int:
    """@return exit status: see sweep.session.carry_out()"""
    status, parts, sections = 0, chosen(request), list[Section]()
    with _tables_apart(request.out, [] if request.only else [part.results for part, _ in parts], sections):
        for number, (part, asked) in enumerate(parts):
            if number:
                print()
            status = max(status, part.measure(asked))
            sections += part.shown(asked.out)
            if status == INTERRUPTED:
                break
    return status


@contextmanager
def _tables_apart(out: Path, names: Sequence[str], sections: list[Section]) -> Iterator[None]:
    """What is printed goes to a file, and a screen about the results of these names to the terminal. With no
    more than one name: all to the terminal. The sections become a page."""
    out.mkdir(parents=True, exist_ok=True)
    if len(names) < 2:
        yield
    else:
        with open(out / TABLES, "w", encoding="utf-8") as file, redirect_stdout(file):
            yield
        items = list(screen(out, names))
        print(plain(items))
        sections.insert(0, Section("this pool and others", list(tables_of(items))))
    if sections:
        lead = "All tables, verdicts and plots; intervals hold 95 %"
        write_page(out / PAGE, Page("Benchmark of thread_pool_ws", lead, sections))
        if len(names) < 2:
            print(f"written to {out}/: {PAGE}")


def _words(request: Request) -> Iterator[str]:
    """As the command line of `nrbench run` has them; without the parts, the program and the folder."""
    yield from (f"--class={name}" for name in request.classes)
    yield from ("--quick" for _ in range(request.quick))
    options = {"rounds": request.rounds, "budget": request.budget_s, "backends": ",".join(request.backends)}
    yield from (f"--{name}={value}" for name, value in options.items() if value)
    yield f"--seed={request.seed}"
    if request.data != DATA:
        yield f"--data={request.data.resolve()}"


def run_on_cluster(request: Request, cluster: str, per: str) -> int:
    """The same parts on the hosts of a cluster. @return exit status: see cluster.work.parts()"""
    from nrbench.cluster import ways

    ways.require_packages(cluster)
    from nrbench.cluster import work  # loads Dask

    of_pools = [name for name in PARTS if name in request.only] or list(PARTS)
    names = ["+".join(of_pools) if part is pools.PART else part.name for part, _ in chosen(request)]
    machines, words = work.Wanted(cluster, per), list(_words(request))
    return work.parts(machines, request.program, names, words, request.out, report_again)


def report_again(out: Path) -> None:
    """On the results of every part that are in a folder."""
    parts = {part.results: part for part in (lives.PART, pools.PART, REPLAY, prewake.PART, *NAMED)}
    there, sections = [part for name, part in parts.items() if (out / name).is_file()], list[Section]()
    if not there and not (out / RUNS).is_file():
        raise BenchError(f"{out}: holds none of {', '.join([*parts, RUNS])}")
    if (out / RUNS).is_file():
        session.report(out)
    with _tables_apart(out, [part.results for part in there], sections):
        for part in there:
            sections += part.again(out) if isinstance(part, Replay) else part.shown(out)
