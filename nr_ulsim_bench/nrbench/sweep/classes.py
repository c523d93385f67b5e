# SPDX-License-Identifier: BSD-3-Clause
"""Runs of several hosts: which hosts are of one class, and the ratios of a class and of all classes."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Iterable, Mapping, NamedTuple, Sequence

from nrbench.judge import Paired, pooled_interval
from nrbench.record import Host
from nrbench.sweep.cells import CaseResult, Ratio, pairs_of
from nrbench.sweep.figures import Figure

ALL = "all"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class HostClass(NamedTuple):
    """What the hosts of a class share."""

    cpu: str
    cores: int
    kernel: str


def class_of(host: Host) -> HostClass:
    return HostClass(host.cpu, host.cores, host.kernel)


def letters(hosts: Iterable[Host]) -> dict[HostClass, str]:
    """Short names of the classes, in the order of the hosts: A to Z, then AA, AB."""
    found: dict[HostClass, str] = {}
    for host in hosts:
        rest, last = divmod(len(found), len(LETTERS))
        found.setdefault(class_of(host), (LETTERS[rest - 1] if rest else "") + LETTERS[last])
    return found


@dataclass(frozen=True)
class Pooled:
    """A ratio of several hosts: the geometric mean of theirs."""

    hosts: int
    ratio: Ratio


@dataclass(frozen=True)
class HostsResult:
    """A case in one configuration on several hosts."""

    results: Sequence[CaseResult]  # one a host
    names: Mapping[HostClass, str]

    @property
    def name(self) -> str:
        return self.results[0].group.key.name

    @cached_property
    def classes(self) -> dict[str, list[CaseResult]]:
        found: dict[str, list[CaseResult]] = defaultdict(list)
        for result in self.results:
            found[self.names[class_of(result.group.host)]].append(result)
        return {name: found[name] for name in self.names.values() if name in found}

    @property
    def names_of_rows(self) -> list[str]:
        """The classes; then all of them, if there are several."""
        return [*self.classes, *([ALL] if len(self.classes) > 1 else [])]

    @property
    def compared(self) -> tuple[Figure, ...]:
        return tuple(dict.fromkeys(figure for result in self.results for figure in result.compared))

    @cached_property
    def main(self) -> Figure | None:
        return next((result.main for result in self.results if result.main), None)

    @cached_property
    def baseline(self) -> str | None:
        """None: some hosts have another one, or none."""
        (first, *others) = {result.group.baseline for result in self.results}
        return None if others else first

    @cached_property
    def rows(self) -> list[tuple[int, str]]:
        """Numbers of threads and variants, in the order of the hosts' own tables."""
        variants = list(dict.fromkeys(v for result in self.results for v in result.group.variants))
        threads = sorted({t for result in self.results for t in result.group.threads})
        there = {(t, v) for result in self.results for v, t in result.group.parts}
        return [(t, v) for t in threads for v in variants if (t, v) in there]

    @cached_property
    def _pooled(self) -> dict[tuple[object, ...], Pooled | None]:
        return {}

    def pooled(self, of: str, row: tuple[int, str], column: str) -> Pooled | None:
        """@param of  a class, or ALL. @return None: no host has a result of both sides"""
        key = (of, *row, column)
        if key not in self._pooled:
            self._pooled[key] = self._pool(of, row, column)
        return self._pooled[key]

    def _pool(self, of: str, row: tuple[int, str], column: str) -> Pooled | None:
        members = self.classes.values() if of == ALL else [self.classes[of]]
        found = [[pair for one in hosts if (pair := _pair(one, row, column))] for hosts in members]
        pairs = [hosts for hosts in found if hosts]
        if not pairs:
            return None
        every = [pair for hosts in pairs for pair in hosts]
        value = math.exp(fmean(fmean(pair.log_ratio for pair in hosts) for hosts in pairs))
        fewest, paired = min(pair.fewest for pair in every), all(pair.paired for pair in every)
        threshold = self.results[0].threshold
        return Pooled(len(every), Ratio(value, pooled_interval(pairs), fewest, paired, threshold))


def _pair(result: CaseResult, row: tuple[int, str], column: str) -> Paired | None:
    threads, variant = row
    group = result.group
    if group.baseline in (None, variant):
        return None
    old, new = (group.values(name, threads, column) for name in (str(group.baseline), variant))
    return pairs_of(old, new)


def hosts_results(results: Sequence[CaseResult]) -> list[HostsResult]:
    """One a case that several hosts have run; empty where the runs are of one host."""
    names = letters(result.group.host for result in results)
    cases: dict[tuple[str, ...], list[CaseResult]] = defaultdict(list)
    for result in results:
        cases[result.group.key[1:]].append(result)
    return [HostsResult(members, names) for members in cases.values() if len(members) > 1]


def hosts_of(several: Sequence[HostsResult]) -> list[Host]:
    """Each once, in the order of the runs."""
    every = (result.group.host for hosts in several for result in hosts.results)
    return list({host.id: host for host in every}.values())
