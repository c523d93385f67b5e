# SPDX-License-Identifier: BSD-3-Clause
"""The report as one page of HTML that needs no other file."""

from __future__ import annotations

import base64
from itertools import groupby
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Sequence

from nrbench.html import environment
from nrbench.sweep.cells import CaseResult
from nrbench.sweep.contents import case_tables
from nrbench.sweep.facts import build_text, host_facts, torn_rounds
from nrbench.sweep.frame import keys_of
from nrbench.sweep.headline import RULE, Headline, headlines, overview
from nrbench.sweep.record import Run
from nrbench.sweep.rounds import Merged
from nrbench.sweep.table import Column, Table, failures

WIDTH_HTML = 140
EMBEDDED_MAX = 6_000_000  # bytes of pictures; a page that can be mailed
PICTURE = (
    "Medians with their 95 % intervals as bands; narrow ones do not show. Dotted vertical "
    "line: the number of cores. Speed-up: over inline runs, in which one thread runs all tasks;"
    " ideal is one for each thread that can compute, the one that waits included, and no more than cores. "
    "Every run: as a share of the old pool's median at that number of threads."
)


class Heading(NamedTuple):
    title: str
    span: int


class Shown(NamedTuple):
    """A table with its two lines of headings."""

    table: Table
    headings: list[Heading]  # empty: none of the columns are grouped

    @property
    def left(self) -> set[int]:
        """Columns of words."""
        named = ("variant", "verdict", "case", "host", "cause", "", "options", "runs of", "line")
        return {index for index, column in enumerate(self.table.columns) if column.name in named}


class Case(NamedTuple):
    name: str
    tables: list[Shown]
    picture: str | None  # data URI
    picture_file: str | None


class HostPart(NamedTuple):
    label: str
    headlines: list[Headline]
    cases: list[Case]
    facts: list[tuple[str, str]]


def shown(table: Table) -> Shown:
    runs = [
        Heading(title, len(list(columns))) for title, columns in groupby(table.columns, lambda c: c.group)
    ]
    return Shown(table, runs if any(run.title for run in runs) else [])


def data_uri(path: Path) -> str:
    kind = "svg+xml" if path.suffix == ".svg" else path.suffix.removeprefix(".")
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def embedded(pictures: Mapping[int, Path]) -> dict[int, str]:
    """The smaller of PNG and SVG of each, as long as there is room."""
    found: dict[int, str] = {}
    total = 0
    for index, png in pictures.items():
        there = [path for path in (png, png.with_suffix(".svg")) if path.is_file()]
        smallest = data_uri(min(there, key=lambda path: path.stat().st_size))
        total += len(smallest)
        if total > EMBEDDED_MAX:
            break
        found[index] = smallest
    return found


def _case(result: CaseResult, picture: str | None, file: Path | None) -> Case:
    tables = [shown(table) for table in case_tables(result, WIDTH_HTML)]
    return Case(result.group.key.name, tables, picture, file.name if file else None)


def host_parts(results: Sequence[CaseResult], pictures: Mapping[int, Path]) -> Iterator[HostPart]:
    inside = embedded(pictures)
    for host, members in groupby(enumerate(results), lambda pair: pair[1].group.host):
        cases = list(members)
        yield HostPart(
            host.label,
            [headline for _, result in cases for headline in headlines(result)],
            [_case(result, inside.get(index), pictures.get(index)) for index, result in cases],
            host_facts(host),
        )


def measured(merge: Merged) -> list[tuple[str, str]]:
    """How the runs were taken."""
    runs = merge.runs
    began = sorted(run.began for run in runs)
    repeats: dict[str, set[tuple[str, int]]] = {}
    for run in runs:
        repeats.setdefault(run.host.label, set()).add((run.sweep, run.repeat))
    kinds = {"nr_ulsim": "whole runs of nr_ulsim", "replay": "recorded slots of nr_ulsim on each pool"}
    found = [
        ("what", ", ".join(kinds[kind] for kind in dict.fromkeys(run.kind for run in runs))),
        ("runs", f"{len(runs)}, of them {sum(run.status == 'ok' for run in runs)} with a result"),
        ("rounds", ", ".join(f"{len(rounds)} on {label}" for label, rounds in repeats.items())),
        *([("failed runs taken again", str(len(merge.replaced)))] if merge.replaced else []),
        *(
            ("rounds not taken in one go", f"{count} on {label}")
            for label, count in torn_rounds(runs).items()
        ),
        ("first and last run began", f"{began[0]} and {began[-1]}"),
        ("sweeps", ", ".join(dict.fromkeys(run.sweep for run in runs))),
        ("version of the tool", ", ".join(dict.fromkeys(run.bench_commit or "unknown" for run in runs))),
    ]
    programs = dict.fromkeys((run.pool, build_text(run.build)) for run in runs if run.build is not None)
    found += [(f"pool {pool}", text) for pool, text in programs]
    bound = dict.fromkeys(run.cpus for run in runs if run.cpus)
    return found + ([("bound to CPUs", ", ".join(bound))] if bound else [])


def option_table(runs: Sequence[Run]) -> Table:
    """What was on the command line and in the environment, as it was."""
    rows: dict[tuple[str, ...], None] = {}
    named = zip((key.name for key in keys_of(runs)), runs)
    for name, run in sorted(named, key=lambda of: (of[0], of[1].variant, of[1].threads)):
        environment_text = " ".join(f"{word}={value}" for word, value in sorted(run.environment.items()))
        rows[name, run.pool, " ".join(run.options), environment_text] = None
    heads = ("case", "runs of", "options", "environment")
    return Table("Options", [Column("", head) for head in heads], [list(row) for row in rows], [])


def pool_table(runs: Sequence[Run]) -> Table | None:
    """The lines that pools print when they start; None if none does."""
    said: dict[str, tuple[set[str], set[int]]] = {}
    for run in runs:
        if run.build and run.build.pool:
            variants, threads = said.setdefault(run.build.pool, (set(), set()))
            variants.add(run.variant)
            threads.add(run.threads)
    rows = [
        [", ".join(sorted(variants)), ", ".join(map(str, sorted(threads))), text]
        for text, (variants, threads) in said.items()
    ]
    heads = [Column("", head) for head in ("variant", "threads", "line")]
    return Table("Lines that the pools print when they start", heads, sorted(rows), []) if rows else None


def write(
    path: Path,
    merge: Merged,
    results: Sequence[CaseResult],
    pictures: Mapping[int, Path],
    warnings: Sequence[str],
) -> None:
    runs = merge.runs
    side_by_side = overview(results)
    pools = pool_table(runs)
    template = environment(Path(__file__).parent).get_template("page.html.j2")
    page = template.render(
        hosts=list(host_parts(results, pictures)),
        overview=shown(side_by_side) if side_by_side else None,
        warnings=warnings,
        failures=[shown(table) for table in failures(runs)],
        words=[shown(table) for table in (option_table(runs), pools) if table],
        measured=measured(merge),
        rule=RULE,
        picture_words=PICTURE,
    )
    path.write_text(page, encoding="utf-8")
