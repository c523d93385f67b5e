# SPDX-License-Identifier: BSD-3-Clause
"""Two files of results against each other, row by row."""

from collections import Counter
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple, Sequence

import pandas as pd

from nrbench import table
from nrbench.judge import FASTER, INTERVAL, NONE, SAME, SLOWER, UNKNOWN
from nrbench.record import ResultsError
from nrbench.render import Line, Page, Section, Table
from nrbench.sweep.cells import Cells, cells_of
from nrbench.sweep.configuration import wrong_pools
from nrbench.sweep.facts import build_text, host_differences, values_at
from nrbench.sweep.figures import CPU
from nrbench.sweep.record import Run
from nrbench.sweep.runs import Runs, read
from nrbench.sweep.tables import RATIO, case_name, compared, number, shown, texts_of, word
from nrbench.table import Frame

NOT_WORSE, SOME_WORSE, CANNOT = 0, 1, 2
LOST = "lost its result"
FAILING = "fails more often"
ROW = ["scenario", "case", "threads", "variant", "figure"]
SHOWN = ("threads", "variant", "figure", "before", "after", RATIO[0], INTERVAL, "failed runs", "verdict")
NOTE = (
    "Medians in µs, CPU time in s; below 1 is faster after. The runs of the two files were not interleaved: "
    "changes on the machine in between are part of the ratio. Where nothing differs, about one row in twenty "
    "has an interval that leaves out 1 by chance."
)


class Comparison(NamedTuple):
    rows: Frame  # those on both sides
    missing: Frame  # only in the first file
    added: Frame  # only in the second
    warnings: list[str]

    @property
    def times(self) -> Frame:
        return self.rows[self.rows["figure"] != CPU]

    @property
    def status(self) -> int:
        """
        0: nothing is worse. 1: a time is slower or lost, or more of a row's runs fail. 2: nothing could be
        compared: no row is on both sides, or too few repeats in all of them. CPU time does not count.
        """
        times, gone = self.times, (self.missing["figure"] != CPU).any()
        if len(times) and (gone or times["word"].isin([SLOWER, LOST]).any() or times["failing"].any()):
            return SOME_WORSE
        return NOT_WORSE if times["ratio_low"].notna().any() else CANNOT


def _of_one(path: Path, name: str) -> Runs:
    """Runs of several hosts or configurations cannot be put into one row."""
    runs = read([path])
    several = dict.fromkeys(key.configuration.removeprefix(", ") for key in runs.keys if key.configuration)
    if several:
        raise ResultsError(f"{name}: holds several of a case: {'; '.join(several)}; compare one at a time")
    hosts = {run.host.id: run.host.label for run in runs.settings}
    if len(hosts) > 1:
        labels = ", ".join(f"{label} ({host})" for host, label in hosts.items())
        raise ResultsError(f"{name}: holds runs of {len(hosts)} hosts ({labels}); compare one host at a time")
    return runs


def _options(run: Run) -> str:
    environment = [f"{name}={value}" for name, value in sorted(run.environment.items())]
    return " ".join([*environment, *([f"CPUs {run.cpus}"] if run.cpus else []), *run.options])


def _differences(sides: dict[str, Sequence[Run]]) -> Iterator[str]:
    """What else than the pool may have changed."""
    for side, runs in sides.items():
        yield from (f"{side}: {warning}" for warning in wrong_pools(runs))
    before, after = sides.values()
    hosts = host_differences(before[-1].host, after[-1].host)
    if hosts:
        yield f"hosts differ: {'; '.join(hosts)}"
    yield from _changes("programs of", before, after, lambda run: (run.pool, build_text(run.build)))
    yield from _changes("options of", before, after, lambda run: (str(run), _options(run)))


def _changes(
    what: str, before: Sequence[Run], after: Sequence[Run], of: Callable[[Run], tuple[str, str]]
) -> Iterator[str]:
    """Where the values before and after differ: the first place in full, of the others how many. What is on
    one side only has not changed. @param of  place and value"""
    was, now = (values_at(map(of, runs)) for runs in (before, after))
    changed = [name for name in was if name in now and was[name] != now[name]]
    if changed:
        values = " / ".join(" | ".join(sorted(found[changed[0]])) for found in (was, now))
        more = f" (and of {len(changed) - 1} more)" if len(changed) > 1 else ""
        yield f"{what} {changed[0]} differ: {values}{more}"


def _against(old: Cells, new: Cells, rows: Frame, threshold: float) -> Frame:
    """With the ratios of rows that both have, as of two samples."""
    found = {}
    for figure, of in rows.groupby("figure"):
        before, after = old.long(figure, of["row_before"]), new.long(figure, of["row"])
        values = pd.concat([before.assign(row=-1 - before["row"]), after]).rename(columns={"row": "group"})
        base = dict(zip(of["row"], -1 - of["row_before"]))
        found[figure] = table.ratios(values, base, threshold, pairs=False)
    if not found:
        return rows
    ratios = pd.concat(found, names=["figure", "row"])
    return rows.drop(columns=[*table.COLUMNS]).join(ratios, on=["figure", "row"])


def _judged(rows: Frame) -> Frame:
    taken, taken_before = rows["failed"] + rows["runs"], rows["failed_before"] + rows["runs_before"]
    more = rows["failed"] > rows["failed_before"]
    words = rows["verdict"].map(word).mask((rows["runs_before"] > 0) & (rows["runs"] == 0), LOST)
    failing = more & (rows["failed"] * taken_before > rows["failed_before"] * taken)
    return rows.assign(word=words, failing=failing, taken=taken, taken_before=taken_before, baseline="before")


def _without(rows: Frame, others: Frame) -> Frame:
    """Those that the others have not."""
    found = rows.merge(others[ROW], on=ROW, how="left", indicator=True)
    return found[found["_merge"] == "left_only"]


def compare(before: Path, after: Path, threshold: float = 0.0) -> Comparison:
    """Rows are matched by scenario, case, variant, threads and figure. The runs were not taken in the same
    rounds, so the intervals are of unpaired samples; what changed on the machine in between counts, too."""
    sides = {name: _of_one(path, name) for name, path in (("before", before), ("after", after))}
    settings: dict[str, Sequence[Run]] = {name: runs.settings for name, runs in sides.items()}
    old, new = map(cells_of, sides.values())
    figures = {*compared(old.table), *compared(new.table)}
    was, now = (side.table[side.table["figure"].isin(figures)] for side in (old, new))
    rows = was[[*ROW, "row", "runs", "failed", "median"]].merge(now, on=ROW, suffixes=("_before", ""))
    rows = _judged(_against(old, new, rows, threshold))
    return Comparison(rows, _without(was, now), _without(now, was), list(_differences(settings)))


def _texts(row: Any) -> dict[str, str]:
    texts = texts_of(row)
    failed = f"{row.failed_before}/{row.taken_before} → {row.failed}/{row.taken}"
    more = {"threads": str(row.threads), "before": number(row.median_before), "after": number(row.median)}
    more |= {"failed runs": failed if row.failed or row.failed_before else ""}
    if row.word == LOST:
        more["verdict"] = LOST
    elif row.failing:
        more["verdict"] = f"{texts['verdict']}, {FAILING}"
    return texts | more


def comparison_tables(comparison: Comparison) -> Iterator[Table]:
    """One a case; with the failed runs of each row where there are some."""
    for _, of in comparison.rows.groupby("number", sort=False):
        cells = list(of.itertuples(index=False))
        title = f"{case_name(cells[0])}, after against before"
        yield shown(title, map(_texts, cells), SHOWN, heads={RATIO[0]: "÷ before"})


def _settings(rows: Frame) -> list[str]:
    texts = (f"{case_name(row)}, {row.variant}, {row.threads} threads" for row in rows.itertuples())
    return list(dict.fromkeys(texts))


def _summary(comparison: Comparison) -> Iterator[Line]:
    for side, rows in (("before", comparison.missing), ("after", comparison.added)):
        yield from (Line(f"only {side}", name) for name in _settings(rows))
    counts = Counter(comparison.times["word"])
    if not counts:
        yield Line("nothing to compare", "no row is on both sides")
        return
    order = [word for word in (SLOWER, LOST, FASTER, SAME, UNKNOWN, NONE) if word in counts]
    text = ", ".join(f"{word} {counts[word]}" for word in order)
    failing = len(_settings(comparison.rows[comparison.rows["failing"]]))
    gone = len(_settings(comparison.missing))
    text += f"; settings of which more runs fail: {failing}" if failing else ""
    yield Line(
        f"{counts.total()} times", text + (f"; settings with rows only before: {gone}" if gone else "")
    )


def page_of(comparison: Comparison) -> Page:
    """For a terminal."""
    sections = [Section("", list(comparison_tables(comparison)))]
    return Page("", "", sections, list(_summary(comparison)), NOTE, comparison.warnings)
