# SPDX-License-Identifier: BSD-3-Clause
"""What reports show of hosts and programs, and in which of their facts the runs differ."""

from collections import defaultdict
from typing import Iterable, Iterator

import pandas as pd

from nrbench import host
from nrbench.record import Host
from nrbench.sweep.configuration import NEW, OLD
from nrbench.sweep.record import Build
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
    sides = ([host.fact_text(side[name]) or "unknown" for name in names] for side in (before, after))
    return [f"{HOST_TEXT[name]} {was} / {now}" for name, was, now in zip(names, *sides) if was != now]


def build_text(build: Build | None) -> str:
    """Which program. Of the line that its pool prints the name and version: the rest shows settings, too."""
    if build is None:
        return "unknown"
    more = {"OAI": build.oai, "commit": build.commit, "pool": (build.pool or "").partition(":")[0]}
    more["CMake"] = " ".join(f"{name}={text}" for name, text in build.options.items())
    return ", ".join([f"program {build.sha256}", *(f"{name} {text}" for name, text in more.items() if text)])


def builds_apart(runs: Runs) -> Iterator[str]:
    """What the builds of the two pools differ in besides the pool: OAI's sources, and options of CMake."""
    builds = {(run.host.label, run.pool): run.build for run in runs.settings if run.build}
    for label in dict.fromkeys(label for label, _ in builds):
        old, new = builds.get((label, OLD)), builds.get((label, NEW))
        if old and new and old.options and new.options:
            one, other = ({"OAI": of.oai, "commit": of.commit, **of.options} for of in (old, new))
            names = (name for name in {**one, **other} if one.get(name) != other.get(name))
            texts = [f"{n} {one.get(n) or 'not set'} / {other.get(n) or 'not set'}" for n in names]
            if texts:
                yield f"{label}: the builds differ in more than the pool: {'; '.join(texts)}"


def _mixed(pairs: Iterable[tuple[str, str]], what: str) -> Iterator[str]:
    """Where runs that are taken together differ in something that should be one for all of them."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for place, value in pairs:
        found[place][value] = None
    for name, each in found.items():
        if len(each) > 1:
            yield f"{name}: {len(each)} different {what} taken together: {' | '.join(each)}"


def changed_hosts(hosts: Iterable[Host]) -> Iterator[tuple[str, str]]:
    """Label and change of each. @param hosts  of runs, in their order"""
    first: dict[str, Host] = {}
    every = {id(one): one for one in hosts}.values()  # those of many settings are one object
    changes = ((one.label, host_differences(first.setdefault(one.id, one), one)) for one in every)
    found = dict.fromkeys((label, change) for label, of in changes for change in of)
    return ((label, f"{change}: changed between runs") for label, change in found)


def mixtures(runs: Runs) -> list[str]:
    """What is not the same in all runs of a table, though it may decide about the times, in a line each.
    Inline runs of several programs are no mixture: each is taken by itself."""
    case = [f"{run.host.label}, {key.name}" for run, key in zip(runs.settings, runs.keys)]
    good = runs.frame.loc[runs.frame["status"] == "ok", ["setting", "snr_db"]].drop_duplicates()
    taken = [(case[place], runs.settings[place], snr_db) for place, snr_db in good.itertuples(index=False)
             if runs.settings[place].threads > 0]  # fmt: skip
    options = ((f"{n}, {run.variant}, {run.threads} threads", " ".join(run.options)) for n, run, _ in taken)
    snrs = ((name, "unknown" if pd.isna(snr_db) else f"{snr_db:g}") for name, _, snr_db in taken)
    in_order = runs.frame.groupby("setting")["began_s"].min().sort_values().index
    hosts = (": ".join(of) for of in changed_hosts(runs.settings[place].host for place in in_order))
    return [*_mixed(options, "lists of options"), *_mixed(snrs, "SNR (dB)"), *hosts]
