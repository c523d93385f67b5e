# SPDX-License-Identifier: BSD-3-Clause
"""Machine files (machines/*.toml): what a simulated machine is, checked, as words for the C programs."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

MACHINES = Path(__file__).resolve().parent.parent / "machines"
QUANTILES = 6  # percentiles 0, 10, 50, 90, 99, 99.9

COUNTS = ("cpus", "smt", "llc_cpus", "node_cpus")
TABLE_NAMES = ("cpus", "memory", "kernel", "scheduler", "work")
REQUIRED = {
    *COUNTS,
    *("local_ns", "modify_ns", "smt_ns", "llc_ns", "node_ns", "far_ns", "fence_ns", "pause_ns"),
    *("clock_ns", "syscall_ns", "wake_busy_ns", "switch_ns", "migrate_ns", "create_ns"),
    *("slice_us", "granularity_us", "wake", "timer"),
}
OPTIONAL = {
    *("stay_share", "quota_cpus", "tick_us", "wake_minor_us", "sleep_cpu_ns"),
    *("detours_per_s", "detour", "smt_slowdown", "fresh_wake", "kick", "cold"),
}
# Words that a list of tables becomes: [[wake]] holds what a wake takes for the sleeper, and for the caller
TABLES = {
    "wake": {"wake": "ns", "call": "call_ns"},
    "fresh_wake": {"fresh": "ns", "fresh_call": "call_ns"},
    "kick": {"kick": "ns", "kick_call": "call_ns"},
    "timer": {"timer": "ns"},
    "cold": {"cold": "ns"},
}


class MachineError(ValueError):
    """Names file and key."""


@dataclass(frozen=True)
class Machine:
    path: Path
    title: str
    cpus: int
    words: tuple[str, ...]
    smt: int = 1
    node_cpus: int = 1
    wider: "Machine | None" = None  # the same machine with more CPUs, where the file has [wider]

    @property
    def name(self) -> str:
        return self.path.stem

    def with_cpus(self, cpus: int) -> "Machine":
        """The first CPUs of the machine, as a container on it has them; more than it has: of [wider]."""
        if self.wider and cpus > self.cpus:
            return self.wider.with_cpus(cpus)
        if not 1 <= cpus <= self.cpus:
            raise MachineError(f"{self.name}: {cpus} CPUs: expected 1 to {self.cpus}")
        return replace(self, cpus=cpus, words=(*self.words, f"cpus={cpus}"), wider=None)


def _text(path: Path, key: str, value: object) -> str:
    """A number, or the percentiles of a distribution. What else a word must be, the C programs check."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return f"{value:g}"
    if isinstance(value, list) and len(value) == QUANTILES and value == sorted(value):
        return ",".join(_text(path, key, entry) for entry in value)
    raise MachineError(
        f"{path.name}: {key}: {value!r}: neither a number nor {QUANTILES} ascending percentiles"
    )


def _gaps(path: Path, key: str, entries: list[dict[str, object]], spread: str) -> str:
    """[[wake]] idle_us = ..., ns = [...]: in order of idle time, from 0 on."""
    try:
        idles_us = [entry["idle_us"] for entry in entries]
        if idles_us[0] != 0 or idles_us != sorted(set(idles_us)):  # type: ignore[type-var]
            raise MachineError(f"{path.name}: {key}.idle_us: expected 0 first, then ascending times")
        texts = [(_text(path, key, entry["idle_us"]), _text(path, key, entry[spread])) for entry in entries]
    except (IndexError, KeyError, TypeError) as error:
        raise MachineError(
            f"{path.name}: {key}: expected tables [[{key}]] with idle_us and {spread}"
        ) from error
    return ";".join(f"{idle_us}:{text}" for idle_us, text in texts)


def _words(path: Path, values: dict[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        if key not in TABLES:
            yield f"{key}={_text(path, key, value)}"
            continue
        for word, spread in TABLES[key].items():
            yield f"{word}={_gaps(path, key, value, spread)}"


def _machine(path: Path, title: object, values: dict[str, Any]) -> Machine:
    if not isinstance(title, str):
        raise MachineError(f"{path.name}: title: missing, or not a text")
    for key in sorted(values.keys() - REQUIRED - OPTIONAL):
        known = ", ".join(sorted(REQUIRED | OPTIONAL))
        raise MachineError(f"{path.name}: {key}: unknown key; known: {known}")
    for key in sorted(REQUIRED - values.keys()):
        raise MachineError(f"{path.name}: {key}: missing")
    words = tuple(_words(path, values))
    cpus, smt, llc_cpus, node_cpus = (values[key] for key in COUNTS)
    # CPUs are grouped by number: each group has to hold whole groups of the smaller kind
    pairs = (smt, llc_cpus, "llc_cpus"), (llc_cpus, node_cpus, "node_cpus"), (node_cpus, cpus, "cpus")
    for low, high, key in pairs:
        if not isinstance(low, int) or not isinstance(high, int) or low < 1 or high % low:
            raise MachineError(f"{path.name}: {key}: {high!r} is not a multiple of {low!r}")
    return Machine(path, title, cpus, words, smt, node_cpus)


def read_machine(path: Path) -> Machine:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise MachineError(f"{path}: {error}") from error
    title, wider = data.pop("title", None), data.pop("wider", None)
    values: dict[str, Any] = {}
    for name in TABLE_NAMES:
        values |= data.pop(name, {})
    values |= data
    machine = _machine(path, title, values)
    if not wider:
        return machine
    wide = _machine(path, wider.pop("title", title), values | wider)
    if wide.cpus <= machine.cpus:
        raise MachineError(f"{path.name}: wider.cpus: expected more than {machine.cpus}")
    return replace(machine, wider=wide)


def find_machine(name: str) -> Machine:
    """A file, or the name of one that is shipped."""
    path = Path(name)
    if not path.is_file():
        path = MACHINES / f"{name.removesuffix('.toml')}.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in MACHINES.glob("*.toml")))
        raise MachineError(f"{name}: no such machine file; shipped: {known}")
    return read_machine(path)
