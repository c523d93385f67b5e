# SPDX-License-Identifier: BSD-3-Clause
"""What reports show of hosts and programs, and in which of their facts the runs differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Callable, Iterator, Sequence

from nrbench import host
from nrbench.record import Host
from nrbench.sweep.frame import keys_of, passes
from nrbench.sweep.record import Build, Run

HOST_TEXT = {"id": "id", **host.TEXT, "rt_allowed": "real-time threads allowed", "load": "load at the start"}
PASSING = ("label", "load")  # differ without any change of the host


def host_facts(of: Host) -> list[tuple[str, str]]:
    facts = of.model_dump()
    return [(title, text) for name, title in HOST_TEXT.items() if (text := host.fact_text(facts[name]))]


def host_differences(one: Host, other: Host) -> list[str]:
    """As `kernel 6.1 / 6.8`; without what passes, and without what an older version did not record."""
    recorded = one.model_fields_set & other.model_fields_set - {*PASSING}
    sides = one.model_dump(), other.model_dump()
    pairs = [
        (name, *(host.fact_text(side[name]) for side in sides))
        for name in Host.model_fields
        if name in recorded
    ]
    return [
        f"{HOST_TEXT[name]} {before or 'unknown'} / {after or 'unknown'}"
        for name, before, after in pairs
        if before != after
    ]


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


def _mixtures(
    runs: Sequence[Run], what: str, place: Callable[[Run], str], value: Callable[[Run], str]
) -> Iterator[str]:
    """Where runs that are taken together differ in something that should be one for all of them."""
    for name, values in values_at(runs, place, value).items():
        if len(values) > 1:
            yield f"{name}: {len(values)} different {what} taken together: {' | '.join(values)}"


def _changed_hosts(runs: Sequence[Run]) -> Iterator[str]:
    first: dict[str, Host] = {}
    changed: Counter[str] = Counter()
    for run in sorted(runs, key=lambda run: run.began):
        before = first.setdefault(run.host.id, run.host)
        changed.update(f"{run.host.label}: {change}" for change in host_differences(before, run.host))
    return (f"{change}: changed between runs ({count} of them)" for change, count in changed.items())


def mixtures(runs: Sequence[Run]) -> list[str]:
    """What is not the same in all runs of a table, though it may decide about the times, in a line each.
    Inline runs of several programs are no mixture: each is taken by itself."""
    names = {id(run): f"{run.host.label}, {key.name}" for run, key in zip(runs, keys_of(runs))}
    good = [run for run in runs if run.status == "ok" and run.threads > 0]

    def case(run: Run) -> str:
        return names[id(run)]

    def row(run: Run) -> str:
        return f"{case(run)}, {run.variant}, {run.threads} threads"

    return [
        *_mixtures(good, "lists of options", row, lambda r: " ".join(r.options)),
        *_mixtures(good, "SNR (dB)", case, lambda r: f"{r.snr_db:g}" if r.snr_db is not None else "unknown"),
        *_changed_hosts(runs),
    ]


def labelled(runs: Sequence[Run]) -> list[Run]:
    """The runs with one label for each host: the last that it was given, with its id where two hosts have the
    same."""
    labels = {run.host.id: run.host.label for run in runs}
    counts = Counter(labels.values())
    wanted = {name: label if counts[label] == 1 else f"{label} ({name})" for name, label in labels.items()}
    hosts = {run.host: run.host.model_copy(update={"label": wanted[run.host.id]}) for run in runs}
    return [run.model_copy(update={"host": hosts[run.host]}) for run in runs]


def torn_rounds(runs: Sequence[Run]) -> dict[str, int]:
    """By host, rounds of which parts were taken at another time than the rest."""
    goes: dict[tuple[str, str, int], set[int]] = defaultdict(set)
    for run, taken_in in zip(runs, passes(runs)):
        goes[run.host.label, run.sweep, run.repeat].add(taken_in)
    return dict(Counter(label for (label, _, _), numbers in goes.items() if len(numbers) > 1))
