# SPDX-License-Identifier: BSD-3-Clause
"""What is said of hosts, programs and options, and in which of them results differ."""

from __future__ import annotations

from collections import Counter
from typing import Callable, Iterable, NamedTuple, Sequence

from nrbench.sweep.record import Build, Host, IdleState, Run

HOST_TEXT = {
    "id": "id",
    "cpu": "CPU",
    "cores": "CPUs usable",
    "cores_online": "CPUs online",
    "threads_per_core": "hardware threads a core",
    "architecture": "architecture",
    "kernel": "kernel",
    "preemption": "preemption of the kernel",
    "virtual": "virtual machine",
    "governor": "frequency governor",
    "frequency_driver": "frequency driver",
    "idle_driver": "idle driver",
    "idle_states": "idle states",
    "isolated": "isolcpus",
    "nohz_full": "nohz_full",
    "rcu_nocbs": "rcu_nocbs",
    "mask": "affinity mask",
    "quota_cpus": "CPUs granted by quota",
    "rt_runtime_us": "sched_rt_runtime_us",
    "rt_allowed": "real-time threads allowed",
    "load": "load when it began",
}
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
    """As `kernel 6.1 / 6.8`; without what passes."""
    said = []
    for name in Host.model_fields:
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


class Spread(NamedTuple):
    """Something of which runs that belong together have more than one."""

    of: str
    what: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.of}: {len(self.values)} different {self.what} taken together: {' | '.join(self.values)}"
        )


def _differing(
    runs: Iterable[Run], what: str, of: Callable[[Run], str], value: Callable[[Run], str]
) -> list[Spread]:
    seen: dict[str, dict[str, None]] = {}
    for run in runs:
        seen.setdefault(of(run), {})[value(run)] = None
    return [Spread(name, what, tuple(values)) for name, values in seen.items() if len(values) > 1]


def mixtures(runs: Sequence[Run]) -> list[str]:
    """Runs of one host, case and variant that are not of one kind, in a line each. Inline runs of several
    programs are no mixture: each is taken by itself."""
    good = [run for run in runs if run.status == "ok" and run.threads > 0]
    by_pool = _differing(
        good, "programs", lambda run: f"{run.host.label}, {run.pool}", lambda run: build_text(run.build)
    )
    by_case = _differing(
        good,
        "lists of options",
        lambda run: f"{run.host.label}, {run.scenario} / {run.case}, {run.variant}, {run.threads} threads",
        lambda run: " ".join(run.options),
    )
    first = {run.host.id: run.host for run in reversed(runs)}
    changed: Counter[str] = Counter()
    for run in runs:
        changed.update(f"{run.host.label}: {said}" for said in host_differences(first[run.host.id], run.host))
    return [
        *(str(spread) for spread in (*by_pool, *by_case)),
        *(f"{said}: changed between runs ({count} of them)" for said, count in changed.items()),
    ]


def told_apart(runs: Sequence[Run]) -> list[Run]:
    """With one label a host, the last it had; hosts of the same label get their id into it."""
    labels = {run.host.id: run.host.label for run in runs}
    counts = Counter(labels.values())
    wanted = {name: label if counts[label] == 1 else f"{label} ({name})" for name, label in labels.items()}
    return [
        run
        if run.host.label == wanted[run.host.id]
        else run.model_copy(update={"host": run.host.model_copy(update={"label": wanted[run.host.id]})})
        for run in runs
    ]


def _identity(run: Run) -> tuple[object, ...]:
    """What only one run of a sweep has: a run that was taken again replaces the one before."""
    program = run.build.sha256 if run.build else ""
    where = (run.host.id, run.sweep, run.scenario, run.case, run.options, run.cpus, run.seed)
    return (*where, run.variant, run.threads, program, run.repeat)


def once(runs: Sequence[Run]) -> tuple[list[Run], int]:
    """The last of those that were taken several times. @return them, and how many were left out"""
    last = {_identity(run): run for run in runs}
    return list(last.values()), len(runs) - len(last)
