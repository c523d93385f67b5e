# SPDX-License-Identifier: BSD-3-Clause
"""Figures of documents, made of the committed raw runs.

In a page, figures stand between <!-- results: KIND WORDS --> and <!-- end -->. KIND names a function in
KINDS, WORDS are its arguments, separated by "|". headers.json, in the folder of the raw runs, has the command
of each file, and those facts of the run that the file itself does not record. Files whose names hold "radio"
are of nrbench radio, the other *.ndjson of sweeps; the tables of all versions have those with "-sweep-"."""

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Iterator, Sequence

import numpy as np
import pandas as pd

from nrbench.judge import resampled
from nrbench.radio import record as radio_record
from nrbench.radio import tables as radio_tables
from nrbench.record import ResultsError
from nrbench.render import Table, grouped, markdown
from nrbench.sweep.cells import Cells, cells_of, long
from nrbench.sweep.figures import RX, TITLES, WHOLE
from nrbench.sweep.quiet import quiet_of
from nrbench.sweep.record import read_runs
from nrbench.sweep.runs import read
from nrbench.sweep.tables import NOTHING, case_notes, factor, interval_text, texts_of
from nrbench.table import ratios
from nrbench.text_runs import OF_TEXTS, span

MARK_BEGIN = "<!-- results:"
MARK = re.compile(r"(<!-- results: (\S+)(?: ([^>]+))? -->).*?(<!-- end -->)", re.DOTALL)
HEAD = re.compile(r".+?, Linux \S+?,.* commit (?P<commit>\S+?), load (?P<load>\S+)")
OFF, AUTO = "new off", "new auto"
OVER = ("over_bound", "over_parallel_bound")
FIGURES = [RX, *WHOLE[RX]]


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
    """By file."""
    return dict(json.loads((folder / "headers.json").read_text(encoding="utf-8")))


def sweeps(folder: Path) -> list[Cells]:
    """By version: OAI's tags before its weeks."""
    names = [name for name in headers(folder) if "-sweep-" in name]
    found = (sweep(folder / name) for name in names)
    return sorted(found, key=lambda one: (version(one)[0] != "v", version(one)))


def ratio_text(ratio: Any) -> str:
    """Of a cell, or of what Cells.over_all() gives."""
    if ratio is None or ratio["ratio"] != ratio["ratio"]:
        return NOTHING
    return f"{ratio['ratio']:.2f} {interval_text(ratio['ratio_low'], ratio['ratio_high'])}"


def auto_rx(one: Cells) -> Any:
    """Cells of the whole RX of this pool, by threads."""
    cells = one.table
    return cells[(cells["figure"] == RX) & (cells["variant"] == AUTO)].set_index("threads", drop=False)


def first(folder: Path, _: str) -> str:
    """Whole RX with this pool ÷ OAI's, and ÷ both bounds, of all versions."""
    of = sweeps(folder)
    rows = []
    for threads in auto_rx(of[0]).index:
        cells = [auto_rx(one).loc[threads] for one in of]
        over = (", ".join(factor(cell[name]) for cell in cells) for name in OVER)
        rows.append([str(threads), *map(ratio_text, cells), *over])
    heads = ("threads", *map(version, of), "÷ bound, each", "÷ parallel bound, each")
    return markdown(Table("", [*heads], rows, []))


def bounds(folder: Path, _: str) -> str:
    """From the least to the largest time ÷ bound of the first table, within a sentence."""
    return span(value for one in sweeps(folder) for value in auto_rx(one)["over_bound"])


def gain(folder: Path, _: str) -> str:
    """The same of its ratios."""
    return span(value for one in sweeps(folder) for value in auto_rx(one)["ratio"])


def spread(folder: Path, name: str) -> str:
    """By how much inline runs of one build spread, within a sentence."""
    (quiet,) = quiet_of(read([folder / name])).values()
    return f"{100 * quiet.spread:.0f} %"


def times(folder: Path, name: str) -> str:
    """A row for each number of threads, old beside new, for each figure."""
    cells = sweep(folder / name).table
    cells = cells[cells["figure"].isin(FIGURES)]
    texts = [texts_of(cell) for cell in cells.itertuples(index=False)]
    rows: dict[str, list[str]] = {}
    for text in sorted(texts, key=lambda text: list(TITLES.values()).index(text["figure"])):
        rows.setdefault(text["threads"], []).append(f"{text['median']} ±{text['±']}")
    columns = ((TITLES[figure], name) for figure in FIGURES for name in cells["variant"].unique())
    first, *_, last = case_notes(cells)
    rest = [last] if last.startswith("*") else []
    heads = ["threads", *grouped(columns)]
    cells = [[threads, *of] for threads, of in rows.items()]
    return markdown(Table("", heads, cells, [f"µs, {first}", *rest]))


def _over_all(one: Cells, figure: str) -> dict[str, str]:
    """What each mode of pre-wake changes, over all numbers of threads."""
    ours = one.table.loc[one.table["ours"] & (one.table["variant"] != OFF), "variant"].unique()
    return {variant: ratio_text(one.over_all(one.table, OFF, variant, figure)) for variant in ours}


def toggle(folder: Path, words: str) -> str:
    """FILE FIGURE: the last row of modes(), within a sentence."""
    name, figure = words.split()
    changes = _over_all(sweep(folder / name), figure).items()
    return ", ".join(f"{ratio} ({variant.removeprefix('new ')})" for variant, ratio in changes)


def modes(folder: Path, name: str) -> str:
    """What each mode of pre-wake changes, at each number of threads and over all."""
    one = sweep(folder / name)
    places = one.table.groupby(["variant", "threads"], sort=False)["row"].first()
    columns, cells = [], []
    for figure in FIGURES:
        for variant, over_all in _over_all(one, figure).items():
            base = dict(zip(places[variant], places[OFF]))
            found = ratios(long(one.good, figure), base).reindex([*base]).to_dict("records")
            columns.append((TITLES[figure], f"{variant.removeprefix('new ')} ÷ off"))
            cells.append([*map(ratio_text, found), over_all])
    heads = ["threads", *grouped(columns)]
    return markdown(Table("", heads, [*map(list, zip([*map(str, places[OFF].index), "all"], *cells))], []))


def _rx_ratio(new: Any, old: Any) -> tuple[float, str]:
    """Of medians, and its text; with fewer rounds than an interval needs, their number."""
    count, above, below = min(len(new), len(old)), new.to_numpy(), old.to_numpy()
    value, interval = resampled(count, lambda at: np.median(above[at], axis=1) / np.median(below[at], axis=1))
    return value, f"{value:.2f} {interval_text(*interval) if interval else f'(n={count})'}"


def of_hours(folder: Path, cpus: str) -> Iterator[tuple[str, dict[int, Any], dict[str, dict[int, Any]]]]:
    """Of each hour OAI's times by threads, and those of the other pools and their modes."""
    table = pd.read_csv(folder / "hours.csv", keep_default_na=False)
    for hour, of_hour in table[table["cpus"] == int(cpus)].groupby("hour"):
        of: dict[str, dict[int, Any]] = {}
        for (pool, spin, threads), group in of_hour.groupby(["pool", "spin", "threads"], sort=False):
            of.setdefault(f"{pool}, {spin}" if spin else pool, {})[threads] = group["rx_us"]
        yield str(hour), of.pop("OAI"), of


def hours(folder: Path, cpus: str) -> str:
    """CPUS: runs of nr_ulsim that no sweep made; this pool ÷ OAI's of the same hour."""
    every = [*of_hours(folder, cpus)]
    threads = sorted({n for _, old, _ in every for n in old})
    rows = []
    for hour, old, pools in every:
        rows.append(
            [hour, "OAI's, µs", *(f"{old[n].median():.0f}" if n in old else NOTHING for n in threads)]
        )
        for pool, new in pools.items():
            ratios = (_rx_ratio(new[n], old[n])[1] if n in new else NOTHING for n in threads)
            rows.append(["", pool, *ratios])
    return markdown(Table("", ["hour", "pool", *map(str, threads)], rows, []))


def hour_gain(folder: Path, words: str) -> str:
    """CPUS THREADS...: the ratios of that table with pre-wake, within a sentence."""
    cpus, *threads = map(int, words.split())
    every = [(new, old) for _, old, pools in of_hours(folder, str(cpus))
             for pool, new in pools.items() if pool.endswith(", auto")]  # fmt: skip
    spans = (span(_rx_ratio(new[n], old[n])[0] for new, old in every if n in new) for n in threads)
    return ", ".join(f"{text} with {n}" for text, n in zip(spans, threads))


def facts_of(path: Path) -> dict[str, str]:
    """What a file records of its run: commit, load at the start, date."""
    if path.suffix == ".txt":
        found = HEAD.match(path.read_text(encoding="utf-8"))
        return found.groupdict() if found else {}
    if path.suffix == ".csv":
        return {"runs": str(len(pd.read_csv(path)))}
    of_radio = "radio" in path.name
    runs: Sequence[Any] = (radio_record.read_runs if of_radio else read_runs)(path)
    commits = {(run.commit if of_radio else run.bench_commit) or "unknown" for run in runs}
    failed = sum((run.outcome if of_radio else run.status) != "ok" for run in runs)
    loads = sorted(run.host.load for run in runs)
    return {
        "commit": ", ".join(sorted(commits)),
        "load": " to ".join(dict.fromkeys(f"{load:.2f}" for load in (loads[0], loads[-1]))),
        "date": min(run.began for run in runs)[:10],
        "runs": f"{len(runs)}, {failed} without a result" if failed else str(len(runs)),
    }


def runs(folder: Path, _: str) -> str:
    """All raw runs: how each was taken, and of which commit."""
    heads = ("command", "commit", "load", "date", "runs")
    rows = []
    for name, header in headers(folder).items():
        facts = header | facts_of(folder / name)
        rows.append([f"[{name}]({folder.name}/{name})", *(facts.get(head, "") for head in heads)])
    return markdown(Table("", ["raw runs", *heads], rows, []))


def radio(folder: Path, words: str) -> str:
    """FILE | TITLE: a table of a report of nrbench radio, by how its title begins."""
    name, title = words.split(" | ")
    for table in radio_tables.tables(radio_record.read_runs(folder / name)):
        if table.title.startswith(title):
            return markdown(table._replace(notes=[]))
    raise ResultsError(f"{folder / name}: no table begins with {title!r}")


def quote(folder: Path, words: str) -> str:
    """FILE | BEGIN | LINES: the paragraph of a text report that begins so, or so many lines of it."""
    name, begin, *count = words.split(" | ")
    for part in (folder / name).read_text(encoding="utf-8").split("\n\n"):
        if part.startswith(begin):
            lines = part.rstrip().splitlines()[: int(count[0]) if count else None]
            return "\n".join(["```", *lines, "```"])
    raise ResultsError(f"{folder / name}: nothing begins with {begin!r}")


OF_RUNS = (first, bounds, gain, spread, times, toggle, modes, runs, quote, radio, hours, hour_gain)
KINDS = {kind.__name__: kind for kind in (*OF_RUNS, *OF_TEXTS)}


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
