# SPDX-License-Identifier: BSD-3-Clause
"""What reports show of hosts and programs, and in which of their facts the runs differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Callable, Iterator, Sequence

import pandas as pd

from nrbench import host
from nrbench.record import Host
from nrbench.sweep.record import Build, Run
from nrbench.sweep.runs import Runs

HOST_TEXT = {"id": "id", **host.TEXT, "rt_allowed": "real-time threads allowed", "load": "load at the start"}
PASSING = ("label", "load")  # differ without any change of the host


def host_facts(of: Host) -> list[tuple[str, str]]:
    facts = of.model_dump()
    return [(title, text) for name, title in HOST_TEXT.items() if (text := host.fact_text(facts[name]))]


def host_differences(one: Host, other: Host) -> list[str]:
    """As `kernel 6.1 / 6.8`; without what passes, and without what an older version did not record."""
    recorded = one.model_fields_set & other.model_fields_set - {*PASSING}
    before, after = one.model_dump(), other.model_dump()
    names = [name for name in Host.model_fields if name in recorded and before[name] != after[name]]
    texts = (
        (HOST_TEXT[n], *(host.fact_text(side[n]) or "unknown" for side in (before, after))) for n in names
    )
    return [f"{title} {was} / {now}" for title, was, now in texts if was != now]


def build_text(build: Build | None) -> str:
    """Which program. Not the line that its pool prints, which shows settings, too."""
    if build is None:
        return "unknown"
    more = {"OAI": build.oai, "commit": build.commit}
    return ", ".join([f"program {build.sha256}", *(f"{name} {text}" for name, text in more.items() if text)])


def values_at(
    runs: Sequence[Run], place: Callable[[Run], str], value: Callable[[Run], str]
) -> dict[str, dict[str, None]]:
    """The values at each place, each once."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for run in runs:
        found[place(run)][value(run)] = None
    return found


def _mixed(values: dict[str, dict[str, None]], what: str) -> Iterator[str]:
    """Where runs that are taken together differ in something that should be one for all of them."""
    for name, each in values.items():
        if len(each) > 1:
            yield f"{name}: {len(each)} different {what} taken together: {' | '.join(each)}"


def _changed_hosts(runs: Runs) -> Iterator[str]:
    first: dict[str, Host] = {}
    known: dict[tuple[int, int], list[str]] = {}  # hosts of many settings are one object
    changed: Counter[str] = Counter()
    counts = runs.frame["setting"].value_counts()
    begins = runs.frame.groupby("setting")["began_s"].min().sort_values()
    for place in begins.index:
        run = runs.settings[place]
        before = first.setdefault(run.host.id, run.host)
        both = id(before), id(run.host)
        if both not in known:
            known[both] = host_differences(before, run.host)
        for change in known[both]:
            changed[f"{run.host.label}: {change}"] += int(counts[place])
    return (f"{change}: changed between runs ({count} of them)" for change, count in changed.items())


def _snrs(good: pd.DataFrame, case: Sequence[str]) -> dict[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for place, snr_db in good[["setting", "snr_db"]].drop_duplicates().itertuples(index=False):
        found[case[place]]["unknown" if pd.isna(snr_db) else f"{snr_db:g}"] = None
    return found


def mixtures(runs: Runs) -> list[str]:
    """What is not the same in all runs of a table, though it may decide about the times, in a line each.
    Inline runs of several programs are no mixture: each is taken by itself."""
    case = [f"{run.host.label}, {key.name}" for run, key in zip(runs.settings, runs.keys)]
    names = {id(run): name for run, name in zip(runs.settings, case)}
    good = runs.frame[runs.frame["status"] == "ok"]
    good = good[good["setting"].isin([n for n, run in enumerate(runs.settings) if run.threads > 0])]
    settings = [runs.settings[place] for place in good["setting"].unique()]

    def row(run: Run) -> str:
        return f"{names[id(run)]}, {run.variant}, {run.threads} threads"

    options = values_at(settings, row, lambda run: " ".join(run.options))
    return [
        *_mixed(options, "lists of options"),
        *_mixed(_snrs(good, case), "SNR (dB)"),
        *_changed_hosts(runs),
    ]


def torn_rounds(runs: Runs) -> dict[str, int]:
    """By host, rounds of which parts were taken at another time than the rest."""
    goes = rounds(runs).groupby(["label", "sweep", "repeat"], sort=False).size()
    return {str(name): int(n) for name, n in (goes > 1).groupby("label", sort=False).sum().items() if n}


def rounds(runs: Runs) -> pd.DataFrame:
    """A row for each time at which runs of a round were taken, with the host's label and the sweep."""
    found = runs.frame.drop_duplicates("round")
    of = [runs.settings[place] for place in found["setting"]]
    made: pd.DataFrame = found.assign(label=[run.host.label for run in of], sweep=[run.sweep for run in of])
    return made
