# SPDX-License-Identifier: BSD-3-Clause
"""What is said of hosts, programs and options, and in which of them results differ."""

from __future__ import annotations

from collections import Counter
from typing import Callable, Iterable, Iterator, NamedTuple, Sequence

from nrbench import host
from nrbench.sweep.frame import keys_of
from nrbench.sweep.record import Build, Host, IdleState, Run
from nrbench.sweep.rounds import passes

HOST_TEXT = {"id": "id", **host.TEXT, "rt_allowed": "real-time threads allowed", "load": "load when it began"}
PASSING = ("label", "load")  # differ without any change of the host


def _idle(state: IdleState) -> str:
    return f"{state.name} ({state.exit_latency_us} µs{', disabled' if state.disabled else ''})"


def fact(host: Host, name: str) -> str:
    value = getattr(host, name)
    if name == "idle_states":
        return ", ".join(_idle(state) for state in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def host_facts(host: Host) -> list[tuple[str, str]]:
    """What is known of it."""
    names = [*HOST_TEXT, *(name for name in Host.model_fields if name not in (*HOST_TEXT, "label"))]
    return [(HOST_TEXT.get(name, name), text) for name in names if (text := fact(host, name))]


def host_differences(one: Host, other: Host) -> list[str]:
    """As `kernel 6.1 / 6.8`; without what passes, and without what an older version did not record."""
    said = []
    for name in (n for n in Host.model_fields if n in one.model_fields_set & other.model_fields_set):
        before, after = fact(one, name), fact(other, name)
        if name not in PASSING and before != after:
            said.append(f"{HOST_TEXT.get(name, name)} {before or 'unknown'} / {after or 'unknown'}")
    return said


def build_text(build: Build | None) -> str:
    """Which program; without what its pool says of itself, which is of the settings, too."""
    if build is None:
        return "unknown"
    parts = [f"program {build.sha256}"]
    parts += [f"OAI {build.oai}"] if build.oai else []
    return ", ".join(parts + ([f"commit {build.commit}"] if build.commit else []))


class Mixture(NamedTuple):
    """Several values of something that is expected to be one for all runs of a place."""

    place: str
    what: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        values = " | ".join(self.values)
        return f"{self.place}: {len(self.values)} different {self.what} taken together: {values}"


def _mixtures(
    runs: Iterable[Run], what: str, place: Callable[[Run], str], value: Callable[[Run], str]
) -> list[Mixture]:
    """Within one set of runs. That two sets differ from each other is what `nrbench compare` looks for."""
    seen: dict[str, dict[str, None]] = {}
    for run in runs:
        seen.setdefault(place(run), {})[value(run)] = None
    return [Mixture(name, what, tuple(values)) for name, values in seen.items() if len(values) > 1]


def _same(number: float | None) -> str:
    return "unknown" if number is None else f"{number:g}"


def _mixed_runs(runs: Sequence[Run]) -> Iterator[Mixture]:
    """Inline runs of several programs are no mixture: each is taken by itself."""
    names = {id(run): f"{run.host.label}, {key.name}" for run, key in zip(runs, keys_of(runs))}
    good = [run for run in runs if run.status == "ok" and run.threads > 0]

    def case(run: Run) -> str:
        return names[id(run)]

    def row(run: Run) -> str:
        return f"{names[id(run)]}, {run.variant}, {run.threads} threads"

    yield from _mixtures(
        good, "programs", lambda run: f"{case(run)}, {run.pool}", lambda run: build_text(run.build)
    )
    yield from _mixtures(good, "lists of options", row, lambda run: " ".join(run.options))
    yield from _mixtures(good, "numbers of slots", case, lambda run: _same(run.trials))
    yield from _mixtures(good, "SNR (dB)", case, lambda run: _same(run.snr_db))


def _changed_hosts(runs: Sequence[Run]) -> Iterator[str]:
    first: dict[str, Host] = {}
    changed: Counter[str] = Counter()
    for run in sorted(runs, key=lambda run: run.began):
        before = first.setdefault(run.host.id, run.host)
        changed.update(f"{run.host.label}: {said}" for said in host_differences(before, run.host))
    return (f"{said}: changed between runs ({count} of them)" for said, count in changed.items())


def mixtures(runs: Sequence[Run]) -> list[str]:
    """What is not the same in all runs of a table, though it may decide about the times, in a line each."""
    return [*(str(mixture) for mixture in _mixed_runs(runs)), *_changed_hosts(runs)]


def labelled(runs: Sequence[Run]) -> list[Run]:
    """The runs with one label for each host: the last that it was given, with its id where two hosts have the
    same."""
    labels = {run.host.id: run.host.label for run in runs}
    counts = Counter(labels.values())
    wanted = {name: label if counts[label] == 1 else f"{label} ({name})" for name, label in labels.items()}
    return [
        run
        if run.host.label == wanted[run.host.id]
        else run.model_copy(update={"host": run.host.model_copy(update={"label": wanted[run.host.id]})})
        for run in runs
    ]


def torn_rounds(runs: Sequence[Run]) -> dict[str, int]:
    """By host, rounds of which parts were taken at another time than the rest."""
    goes: dict[tuple[str, str, int], set[int]] = {}
    for run, taken_in in zip(runs, passes(runs)):
        goes.setdefault((run.host.label, run.sweep, run.repeat), set()).add(taken_in)
    return dict(Counter(label for (label, _, _), numbers in goes.items() if len(numbers) > 1))
