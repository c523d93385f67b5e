# SPDX-License-Identifier: BSD-3-Clause
"""Figures of documents, made of the committed raw runs.

In a page, figures stand between <!-- results: KIND WORDS --> and <!-- end -->. KIND names a function in
KINDS, WORDS are its arguments, separated by "|". headers.json, in the folder of the raw runs, has the command
of each file, and those facts of the run that the file itself does not record. Files whose names hold "radio"
are of nrbench radio, the other *.ndjson of sweeps."""

from __future__ import annotations

import itertools
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable, Sequence

from nrbench.radio import record as radio_record
from nrbench.radio import tables as radio_tables
from nrbench.record import ResultsError
from nrbench.render import Column, Table, plain_columns
from nrbench.sweep.cells import Cells, cells_of
from nrbench.sweep.figures import CPU, MAIN, RX, TITLES
from nrbench.sweep.record import read_runs
from nrbench.sweep.runs import read
from nrbench.sweep.tables import NOTHING, case_notes, factor, interval_text, texts_of, word

MARK_BEGIN = "<!-- results:"
MARK = re.compile(r"(<!-- results: (\S+)(?: ([^>]+))? -->).*?(<!-- end -->)", re.DOTALL)
HEAD = re.compile(r"(?P<machine>.+?, Linux \S+?),.* commit (?P<commit>\S+?), load (?P<load>\S+)")
CHECK = re.compile(r"^  (FAIL|MISS|OPEN|missed|not known)  (.+)$", re.MULTILINE)
OLD, OFF, AUTO = "old", "new off", "new auto"
FIRST = "slides"  # the scenario of the first table
FIGURES = [figure.key for figure in MAIN]


@lru_cache
def sweep(path: Path) -> Cells:
    found = cells_of(read([path]))
    cases = found.table["number"].nunique()
    if cases != 1:
        raise ResultsError(f"{path}: holds {cases} cases; a page shows one of each file")
    return found


def version(result: Cells) -> str:
    return str(result.table["oai"].iloc[0])


def headers(folder: Path) -> dict[str, dict[str, str]]:
    """By file. With "again" a file repeats another sweep: only what names the file shows it."""
    found: dict[str, dict[str, str]] = json.loads((folder / "headers.json").read_text(encoding="utf-8"))
    return found


def sweeps(folder: Path, scenario: str) -> list[Cells]:
    """By version: OAI's tags before its weeks. A path of one file is that sweep."""
    if scenario.endswith(".ndjson"):
        return [sweep(folder / scenario)]
    names = [name for name, header in headers(folder).items() if "again" not in header]
    found = [sweep(folder / name) for name in names if name.endswith(".ndjson") and "radio" not in name]
    chosen = [one for one in found if one.table["scenario"].iloc[0] == scenario]
    return sorted(chosen, key=lambda one: (version(one)[0] != "v", version(one)))


def markdown(table: Table) -> str:
    """A group's heading stands in front of its first column."""
    groups = ["", *(column.group for column in table.columns)]
    heads = [c.name if c.group in ("", b) else f"{c.group}: {c.name}" for c, b in zip(table.columns, groups)]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *table.rows)]
    lines.insert(1, "|" + "---|" * len(heads))
    return "\n".join([*lines, *(["", "; ".join(table.notes) + "."] if table.notes else [])])


def ratio_text(ratio: Any) -> str:
    """Of a cell, or of what Cells.over_all() gives."""
    if ratio is None or ratio["ratio"] != ratio["ratio"]:
        return NOTHING
    return f"{ratio['ratio']:.2f} {interval_text(ratio['ratio_low'], ratio['ratio_high'])}"


def auto_rx(one: Cells) -> Any:
    """Cells of the whole RX of this pool, by threads."""
    cells = one.table
    return cells[(cells["figure"] == RX) & (cells["variant"] == AUTO)].set_index("threads", drop=False)


def whole_rx(folder: Path, scenario: str) -> str:
    """This pool ÷ OAI's, and ÷ the bound, of all versions."""
    of = sweeps(folder, scenario)
    bounds = f"this pool ÷ bound{', the three' if len(of) == 3 else ''}"
    rows = []
    for threads in auto_rx(of[0]).index:
        cells = [auto_rx(one).loc[threads] for one in of]
        over = ", ".join(factor(cell["over_bound"]) for cell in cells)
        rows.append([str(threads), *map(ratio_text, cells), over])
    return markdown(Table("", plain_columns("threads", *map(version, of), bounds), rows, []))


def bounds(folder: Path, _: str) -> str:
    """From the least to the largest time ÷ bound of the first table, within a sentence."""
    values = [value for one in sweeps(folder, FIRST) for value in auto_rx(one)["over_bound"]]
    return f"{min(values):.2f} to {max(values):.2f}"


def times(folder: Path, name: str) -> str:
    """A row for each number of threads, old beside new, for each figure."""
    cells = sweep(folder / name).table
    cells = cells[cells["figure"].isin(FIGURES)]
    texts = [texts_of(cell) for cell in cells.itertuples(index=False)]
    rows: dict[str, list[str]] = {}
    for text in sorted(texts, key=lambda text: list(TITLES.values()).index(text["figure"])):
        rows.setdefault(text["threads"], []).append(text["median"])
    columns = [Column(TITLES[figure], name) for figure in FIGURES for name in cells["variant"].unique()]
    first, *_, last = case_notes(cells, 0)
    rest = [last] if last.startswith("*") else []
    heads = [Column("", "threads"), *columns]
    return markdown(
        Table("", heads, [[threads, *of] for threads, of in rows.items()], [f"µs, {first}", *rest])
    )


def judged(folder: Path, scenarios: str) -> str:
    """A row a sweep: verdicts against OAI's pool, and what pre-wake changes over all numbers of threads."""
    figures = [*FIGURES, CPU]
    rows = []
    for one in (one for scenario in scenarios.split() for one in sweeps(folder, scenario)):
        cells = one.table[(one.table["variant"] != OLD) & one.table["figure"].isin(FIGURES)]
        words = cells["verdict"].map(word).value_counts(sort=False)
        counts = ", ".join(f"{name} {count}" for name, count in words.items())
        changes = [ratio_text(one.over_all(one.table, OFF, AUTO, figure)) for figure in figures]
        rows.append([f"{version(one)}, {cells['case'].iloc[0]}", counts, *changes])
    heads = ("sweep", "times, against OAI's pool", *(f"auto ÷ off: {TITLES[figure]}" for figure in figures))
    return markdown(Table("", plain_columns(*heads), rows, []))


def facts_of(path: Path) -> dict[str, str]:
    """What a file records of its run: commit, machine, load at the start, date."""
    if path.suffix == ".txt":
        found = HEAD.match(path.read_text(encoding="utf-8"))
        return found.groupdict() if found else {}
    of_radio = "radio" in path.name
    runs: Sequence[Any] = (radio_record.read_runs if of_radio else read_runs)(path)
    commits = {(run.commit if of_radio else run.bench_commit) or "unknown" for run in runs}
    failed = sum((run.outcome if of_radio else run.status) != "ok" for run in runs)
    loads = sorted(run.host.load for run in runs)
    return {
        "commit": ", ".join(sorted(commits)),
        "machine": f"{runs[0].host.label}, Linux {runs[0].host.kernel}",
        "load": " to ".join(dict.fromkeys(f"{load:.2f}" for load in (loads[0], loads[-1]))),
        "date": min(run.began for run in runs)[:10],
        "runs": f"{len(runs)}, {failed} without a result" if failed else str(len(runs)),
    }


def raw_runs(folder: Path, _: str) -> str:
    """All raw runs: where each was taken, and of which commit."""
    heads = ("command", "commit", "machine", "load", "date", "runs")
    rows = []
    for name, header in headers(folder).items():
        facts = header | facts_of(folder / name)
        rows.append([f"[{name}]({folder.name}/{name})", *(facts.get(head, "") for head in heads)])
    return markdown(Table("", plain_columns("raw runs", *heads), rows, []))


def checks(folder: Path, name: str) -> str:
    """The goals that a text report does not confirm, each as a point of a list."""
    found = CHECK.findall((folder / name).read_text(encoding="utf-8"))
    return "\n".join(f"- {word}: {text}" for word, text in found)


def radio(folder: Path, words: str) -> str:
    """FILE | TITLE: a table of a report of nrbench radio, by how its title begins."""
    name, title = words.split(" | ")
    tables = radio_tables.tables(radio_record.read_runs(folder / name))
    found = next((table for table in tables if table.title.startswith(title)), None)
    if found is None:
        raise ResultsError(f"{folder / name}: no table begins with {title!r}")
    return markdown(found._replace(notes=[]))


def paragraphs(folder: Path, name: str, begin: str) -> list[str]:
    """Of a text report, from the one that begins so."""
    every = (folder / name).read_text(encoding="utf-8").split("\n\n")
    found = [place for place, part in enumerate(every) if part.startswith(begin)]
    if not found:
        raise ResultsError(f"{folder / name}: nothing begins with {begin!r}")
    return every[found[0] :]


def quote(folder: Path, words: str) -> str:
    """FILE | BEGIN: the paragraph of a text report that begins so."""
    name, begin = words.split(" | ")
    return f"```\n{paragraphs(folder, name, begin)[0].rstrip()}\n```"


def slots(folder: Path, words: str) -> str:
    """FILE | POOL | POOL...: a row a workload, a column for each pool in each class, without the hog."""
    name, *pools = words.split(" | ")
    classes = paragraphs(folder, name, "Slots in the steady state")[1:]
    columns: dict[str, list[str]] = {}
    loads: list[str] = []
    for part in itertools.takewhile(lambda part: "  waiter  " in part.splitlines()[0], classes):
        (where, _, *loads), *rows = (re.split(r"\s{2,}", line) for line in part.splitlines())
        cells = {pool: row for pool, _, *row in rows}
        for pool in pools:
            if len(cells.get(pool, ())) != len(loads):
                raise ResultsError(f"{folder / name}: no whole line of {pool!r} for {where}")
            columns[f"{pool}, {where}"] = cells[pool]
    if not loads:
        raise ResultsError(f"{folder / name}: no table of slots")
    rows = [list(row) for row in zip(loads, *columns.values())]
    return markdown(Table("", plain_columns("n × d µs", *columns), rows, []))


KINDS: dict[str, Callable[[Path, str], str]] = {
    "first": lambda folder, _: whole_rx(folder, FIRST),
    "whole-rx": whole_rx,
    "bounds": bounds,
    "times": times,
    "judged": judged,
    "runs": raw_runs,
    "checks": checks,
    "quote": quote,
    "slots": slots,
    "radio": radio,
}


def filled(text: str, folder: Path) -> str:
    """The page with its figures made anew. Those of more than one line get lines of their own."""
    if len(MARK.findall(text)) != text.count(MARK_BEGIN):
        raise ResultsError(f"results: a mark {MARK_BEGIN} has no end")

    def fill(mark: re.Match[str]) -> str:
        if mark[2] not in KINDS:
            raise ResultsError(f"results: {mark[2]}: unknown (known: {', '.join(KINDS)})")
        made = KINDS[mark[2]](folder, mark[3] or "")
        return mark[1] + (f"\n{made}\n" if "\n" in made else made) + mark[4]

    return MARK.sub(fill, text)


def stale(folder: Path, write: bool = False) -> list[Path]:
    """Pages beside and above the folder whose figures are not those that the raw runs give; with `write` they
    are mended."""
    beside = folder.resolve().parent
    found = []
    for page in (*sorted(beside.parent.glob("*.md")), *sorted(beside.glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        if (new := filled(text, folder)) != text:
            found.append(page)
            if write:
                page.write_text(new, encoding="utf-8")
    return found
