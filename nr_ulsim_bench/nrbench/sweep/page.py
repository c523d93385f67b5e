# SPDX-License-Identifier: BSD-3-Clause
"""The report as one page of HTML that needs no other file."""

from __future__ import annotations

import base64
from collections import defaultdict
from itertools import groupby
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Sequence

from nrbench.html import environment
from nrbench.sweep.cells import CaseResult
from nrbench.sweep.facts import build_text, host_facts, torn_rounds
from nrbench.sweep.frame import keys_of
from nrbench.sweep.headline import RULE, Headline, headlines
from nrbench.sweep.record import Run
from nrbench.sweep.rounds import Merged
from nrbench.sweep.show import Table, plain_columns
from nrbench.sweep.spins import case_tables
from nrbench.sweep.table import failures

WIDTH_HTML = 140
KINDS = {"nr_ulsim": "whole runs of nr_ulsim", "replay": "recorded slots of nr_ulsim on each pool"}


class Case(NamedTuple):
    name: str
    tables: list[Table]
    picture: str | None  # data URI


class HostPart(NamedTuple):
    label: str
    headlines: list[Headline]
    cases: list[Case]
    facts: list[tuple[str, str]]


def data_uri(png: Path | None) -> str | None:
    """Of a picture, the smaller one of PNG and SVG."""
    if png is None:
        return None
    path = min((png, png.with_suffix(".svg")), key=lambda path: path.stat().st_size)
    kind = "svg+xml" if path.suffix == ".svg" else "png"
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def host_parts(results: Sequence[CaseResult], pictures: Mapping[int, Path]) -> Iterator[HostPart]:
    for host, members in groupby(enumerate(results), lambda pair: pair[1].group.host):
        cases = list(members)
        yield HostPart(
            host.label,
            [headline for _, result in cases for headline in headlines(result)],
            [
                Case(result.group.key.name, [*case_tables(result, WIDTH_HTML)], data_uri(pictures.get(index)))
                for index, result in cases
            ],
            host_facts(host),
        )


def _each(texts: Iterator[str | None]) -> str:
    return ", ".join(dict.fromkeys(text for text in texts if text))


def measured(merge: Merged) -> dict[str, str]:
    """How the runs were taken."""
    runs = merge.runs
    began = sorted(run.began for run in runs)
    rounds: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for run in runs:
        rounds[run.host.label].add((run.sweep, run.repeat))
    found = {
        "what": _each(KINDS[run.kind] for run in runs),
        "runs": f"{len(runs)} runs, {sum(run.status == 'ok' for run in runs)} of them with a result",
        "rounds": ", ".join(f"{len(of_host)} on {label}" for label, of_host in rounds.items()),
        "failed runs taken again": str(len(merge.replaced) or ""),
        "rounds not taken in one go": ", ".join(
            f"{count} on {label}" for label, count in torn_rounds(runs).items()
        ),
        "first and last run began": f"{began[0]} and {began[-1]}",
        "sweeps": _each(run.sweep for run in runs),
        "version of the tool": _each(run.bench_commit or "unknown" for run in runs),
        **{
            f"pool {pool}": " | ".join(
                dict.fromkeys(build_text(r.build) for r in runs if r.pool == pool and r.build)
            )
            for pool in dict.fromkeys(run.pool for run in runs)
        },
        "bound to CPUs": _each(run.cpus for run in runs),
    }
    return {name: text for name, text in found.items() if text}


def option_table(runs: Sequence[Run]) -> Table:
    """The command line and the environment of each case. The number of threads, -C, goes with the row."""
    rows: dict[tuple[str, ...], None] = {}
    named = zip((key.name for key in keys_of(runs)), runs)
    for name, run in sorted(named, key=lambda of: (of[0], of[1].variant, of[1].threads)):
        settings = " ".join(f"{word}={value}" for word, value in sorted(run.environment.items()))
        options = " ".join(run.options).replace(f"-C{run.threads}", "-C<threads>")
        rows[name, run.pool, options, settings] = None
    columns = plain_columns("case", "runs of", "options", "environment")
    return Table("Options", columns, [list(row) for row in rows], [])


def pool_table(runs: Sequence[Run]) -> Table | None:
    """The lines that pools print when they start; None if none does."""
    lines: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        if run.build and run.build.pool:
            lines[run.build.pool].append(run)
    rows = [
        [", ".join(sorted({run.variant for run in of_line})),
         ", ".join(map(str, sorted({run.threads for run in of_line}))), line]
        for line, of_line in lines.items()
    ]  # fmt: skip
    columns = plain_columns("variant", "threads", "line")
    return Table("Lines that the pools print when they start", columns, sorted(rows), []) if rows else None


def write(
    path: Path,
    merge: Merged,
    results: Sequence[CaseResult],
    pictures: Mapping[int, Path],
    warnings: Sequence[str],
) -> None:
    page = (
        environment(Path(__file__).parent)
        .get_template("page.html.j2")
        .render(
            hosts=list(host_parts(results, pictures)),
            warnings=warnings,
            failures=failures(merge.runs),
            words=filter(None, [option_table(merge.runs), pool_table(merge.runs)]),
            measured=measured(merge),
            rule=RULE,
        )
    )
    path.write_text(page, encoding="utf-8")
