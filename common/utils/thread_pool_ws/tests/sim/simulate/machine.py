# SPDX-License-Identifier: BSD-3-Clause
"""Machine files (machines/*.toml): what a simulated machine is, checked, as words for the C programs."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

MACHINES = Path(__file__).resolve().parent.parent / "machines"
CPUS_MAX = 256
QUANTILES = 6  # percentiles 0, 10, 50, 90, 99, 99.9
GAPS_MAX = 8
NS_MAX = 1e9

COUNTS = {"cpus": ("cpus", "smt", "llc_cpus", "node_cpus")}
NUMBERS = {
    "memory": ("local_ns", "modify_ns", "smt_ns", "llc_ns", "node_ns", "far_ns", "fence_ns", "pause_ns"),
    "kernel": (
        "clock_ns",
        "syscall_ns",
        "wake_busy_ns",
        "wake_minor_us",
        "switch_ns",
        "migrate_ns",
        "create_ns",
        "sleep_cpu_ns",
    ),
    "scheduler": ("slice_us", "granularity_us", "tick_us", "stay_share", "quota_cpus"),
    "work": ("smt_slowdown", "detours_per_s"),
}
TABLE_NAMES = ("cpus", "memory", "kernel", "scheduler", "work")
SPREADS = {"work": ("detour",)}
# Words that a list of tables becomes: [[wake]] holds what a wake takes for the sleeper, and for the caller
TABLES = {
    "wake": {"wake": "ns", "call": "call_ns"},
    "fresh_wake": {"fresh": "ns", "fresh_call": "call_ns"},
    "kick": {"kick": "ns", "kick_call": "call_ns"},
    "timer": {"timer": "ns"},
    "cold": {"cold": "ns"},
}
OPTIONAL = {
    *("stay_share", "quota_cpus", "tick_us", "wake_minor_us", "sleep_cpu_ns"),
    *("detours_per_s", "detour", "smt_slowdown", "fresh_wake", "kick", "cold"),
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
    llc_cpus: int = 1
    node_cpus: int = 1
    wider: Machine | None = None  # the same machine with more CPUs, where the file has [wider]

    @property
    def name(self) -> str:
        return self.path.stem

    def with_cpus(self, cpus: int) -> Machine:
        """The first CPUs of the machine, as a container on it has them; more than it has: of [wider]."""
        if self.wider and cpus > self.cpus:
            return self.wider.with_cpus(cpus)
        if not 1 <= cpus <= self.cpus:
            raise MachineError(f"{self.name}: {cpus} CPUs: expected 1 to {self.cpus}")
        return replace(self, cpus=cpus, words=(*self.words, f"cpus={cpus}"), wider=None)


def _fail(path: Path, key: str, message: str) -> MachineError:
    return MachineError(f"{path.name}: {key}: {message}")


def _number(path: Path, key: str, value: object, most: float = NS_MAX) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _fail(path, key, f"{value!r} is not a number")
    if not 0 <= value <= most:
        raise _fail(path, key, f"{value} is not between 0 and {most:g}")
    return float(value)


def _count(path: Path, key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= CPUS_MAX:
        raise _fail(path, key, f"{value!r} is not an integer between 1 and {CPUS_MAX}")
    return value


def _spread(path: Path, key: str, value: object) -> str:
    if not isinstance(value, list) or len(value) != QUANTILES:
        raise _fail(path, key, f"expected {QUANTILES} numbers: percentiles 0, 10, 50, 90, 99, 99.9")
    numbers = [_number(path, key, entry) for entry in value]
    if numbers != sorted(numbers):
        raise _fail(path, key, "the percentiles are not in ascending order")
    return ",".join(f"{number:g}" for number in numbers)


def _gaps(path: Path, key: str, spread: str, value: object) -> str:
    """[[wake]] idle_us = ..., ns = [...]: in order of idle time, from 0 on."""
    known = {"idle_us", *TABLES[key].values()}
    if not isinstance(value, list) or not 1 <= len(value) <= GAPS_MAX:
        raise _fail(path, key, f"expected 1 to {GAPS_MAX} tables [[{key}]]")
    words, last = [], -1.0
    for index, entry in enumerate(value):
        where = f"{key}[{index}]"
        if not isinstance(entry, dict) or set(entry) != known:
            raise _fail(path, where, f"expected the keys {', '.join(sorted(known))}")
        idle_us = _number(path, f"{where}.idle_us", entry["idle_us"])
        if idle_us <= last or (index == 0 and idle_us != 0):
            raise _fail(path, f"{where}.idle_us", "expected 0 first, then ascending times")
        last = idle_us
        words.append(f"{idle_us:g}:{_spread(path, f'{where}.{spread}', entry[spread])}")
    return ";".join(words)


Reader = Callable[[Path, str, object], object]


def _keys_of(table: str) -> dict[str, Reader]:
    keys: dict[str, Reader] = {key: _count for key in COUNTS.get(table, ())}
    keys |= {key: _number for key in NUMBERS.get(table, ())}
    keys |= {key: _spread for key in SPREADS.get(table, ())}
    return keys


def _read_table(path: Path, table: str, data: object) -> dict[str, object]:
    keys = _keys_of(table)
    if not isinstance(data, dict):
        raise _fail(path, table, "expected a table")
    for key in data:
        if key not in keys:
            raise _fail(path, f"{table}.{key}", f"unknown key; known: {', '.join(keys)}")
    for key in keys:
        if key not in data and key not in OPTIONAL:
            raise _fail(path, f"{table}.{key}", "missing")
    return {key: keys[key](path, f"{table}.{key}", value) for key, value in data.items()}


def _check_groups(path: Path, values: dict[str, object]) -> None:
    """CPUs are grouped by number: each group has to hold whole groups of the smaller kind."""
    smaller = "smt"
    for larger in ("llc_cpus", "node_cpus", "cpus"):
        low, high = values[smaller], values[larger]
        assert isinstance(low, int) and isinstance(high, int)
        if high % low:
            raise _fail(path, f"cpus.{larger}", f"{high} is not a multiple of {smaller} ({low})")
        smaller = larger


def _load(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise MachineError(f"{path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise MachineError(f"{path}: {error}") from error


def _widen(path: Path, data: dict[str, Any]) -> dict[str, Any]:
    """The file's tables with what [wider] changes in them: title, counts and numbers."""
    wider = data.get("wider")
    if not isinstance(wider, dict):
        raise _fail(path, "wider", "expected a table")
    tables = {name: dict(data.get(name, {})) for name in TABLE_NAMES}
    changed = {key: value for key, value in data.items() if key != "wider"} | tables
    for key, value in wider.items():
        table = next((name for name in TABLE_NAMES if key in _keys_of(name)), None)
        if table:
            tables[table][key] = value
        elif key == "title":
            changed["title"] = value
        else:
            raise _fail(path, f"wider.{key}", "unknown key")
    return changed


def _machine(path: Path, data: dict[str, Any]) -> Machine:
    title = data.pop("title", None)
    if not isinstance(title, str):
        raise _fail(path, "title", "missing, or not a text")
    values: dict[str, object] = {}
    for name in TABLE_NAMES:
        values |= _read_table(path, name, data.pop(name, {}))
    for key, words in TABLES.items():
        table = data.pop(key, None)
        if table is None and key in OPTIONAL:
            continue
        values |= {word: _gaps(path, key, spread, table) for word, spread in words.items()}
    for key in data:
        raise _fail(path, key, "unknown table")
    _check_groups(path, values)
    texts = tuple(
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in values.items()
    )
    cpus, smt, llc_cpus, node_cpus = (values[key] for key in COUNTS["cpus"])
    assert isinstance(cpus, int) and isinstance(smt, int)
    assert isinstance(llc_cpus, int) and isinstance(node_cpus, int)
    return Machine(path, title, cpus, texts, smt, llc_cpus, node_cpus)


def read_machine(path: Path) -> Machine:
    data: dict[str, Any] = _load(path)
    wider = _machine(path, _widen(path, data)) if "wider" in data else None
    data.pop("wider", None)
    machine = _machine(path, data)
    if wider and wider.cpus <= machine.cpus:
        raise _fail(path, "wider.cpus", f"expected more than {machine.cpus}")
    return replace(machine, wider=wider)


def find_machine(name: str) -> Machine:
    """A file, or the name of one that is shipped."""
    path = Path(name)
    if not path.is_file():
        path = MACHINES / f"{name.removesuffix('.toml')}.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in MACHINES.glob("*.toml")))
        raise MachineError(f"{name}: no such machine file; shipped: {known}")
    return read_machine(path)
