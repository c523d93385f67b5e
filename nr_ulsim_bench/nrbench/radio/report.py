# SPDX-License-Identifier: BSD-3-Clause
"""From runs to a text and one page of HTML that needs no other file."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Iterator, Sequence

from nrbench import render
from nrbench.host import busy_note
from nrbench.radio.record import LOST_MAX, SIDES, RadioRun
from nrbench.radio.tables import tables
from nrbench.render import Page, Section
from nrbench.sweep.configuration import OAI_POOL, is_wrong
from nrbench.sweep.facts import changed_hosts, host_facts

RULE = (
    "A run lives when the UE attaches, and of the samples of each side and of the blocks of each direction "
    f"less than {100 * LOST_MAX:g} % are late or lost. gNB and UE share a machine. There is no radio unit."
)
Hosts = Sequence[tuple[str, list[RadioRun]]]  # by label


def by_host(runs: Sequence[RadioRun]) -> Hosts:
    found: dict[str, list[RadioRun]] = defaultdict(list)
    for run in runs:
        found[run.host.id].append(run)
    return [(of_host[-1].host.label, of_host) for of_host in found.values()]


def _text(run: RadioRun, name: str) -> str:
    """Of a field."""
    of = getattr(run, name)
    return " ".join(f"{name}={of[name]}" for name in sorted(of)) or "-" if isinstance(of, dict) else str(of)


def _mixtures(runs: Sequence[RadioRun]) -> Iterator[str]:
    """What should be one for all runs of a table, and is not; and what should not be at all."""
    yield from (text for _, text in changed_hosts(run.host for run in runs))
    for name in ("commit", "seconds", "environment"):
        values = dict.fromkeys(_text(run, name) for run in runs)
        if len(values) > 1:
            yield f"runs with different {name} taken together: {', '.join(values)}"
    yield from busy_note(runs[0].host.load, runs[0].host.cores_online)
    wrong = {}
    for run in runs:
        for name, side in run.sides.items():
            pool, line = getattr(run, name), str(side.pool["line"]) if side.pool else None
            if side.steady and is_wrong(pool, line):
                wrong[name, pool] = f"(program {side.program}) has {line or OAI_POOL}"
    yield from (f"the {SIDES[name]} given as --{pool} {text}" for (name, pool), text in wrong.items())


def _facts(runs: Sequence[RadioRun]) -> Iterator[tuple[str, str]]:
    """How the runs were taken, and where."""
    for name in ("version", "prb", "seconds", "commit", "environment"):
        yield name, ", ".join(sorted({_text(run, name) for run in runs}))
    yield "first and last run", f"{min(run.began for run in runs)}, {max(run.began for run in runs)}"
    yield from host_facts(runs[-1].host)


def _page(hosts: Hosts, warnings: Sequence[str]) -> Page:
    sections = [
        Section(table.title, [table], top="" if at else label)
        for label, runs in hosts
        for at, table in enumerate(tables(runs))
    ]
    return Page(
        title="thread_pool_ws: gNB and UE in real time",
        lead="gNB and UE on vrtsim, OAI's radio in shared memory, whose sample clock does not wait.",
        sections=sections,
        rule=RULE,
        warnings=warnings,
        facts=[(f"Runs and machine: {label}", _facts(runs)) for label, runs in hosts],
    )


def report(runs: Sequence[RadioRun], out: Path, warnings: Sequence[str] = ()) -> None:
    """Writes the tables as a text and as a page, then prints them.

    @param warnings shown before those that the runs themselves give rise to"""
    hosts = by_host(runs)
    warnings = [*warnings, *(f"{label}: {text}" for label, of in hosts for text in _mixtures(of))]
    page = _page(hosts, warnings)
    with render.written_to(out):
        names = render.write_report(out, page)
    render.show(page)
    print(f"\nwritten to {out}/: {' '.join(names)}")
