# SPDX-License-Identifier: BSD-3-Clause
"""Which host takes which runs.

A share is a scenario's case with all its settings and rounds: what a report compares. A share has one host.
With --per host each host has its own share of every case; with --per class the hosts of a class have one of
every case among them; with --per any all hosts have one. A block is what one job takes: one round of a case
with one number of threads, old and new pool among them, in an order drawn anew."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Callable, Iterable, Sequence

from nrbench.cluster.hosts import ClusterHost
from nrbench.sweep.session import Setting

PER = ("host", "class", "any")
Case = tuple[str, str]  # scenario, case


@dataclass(frozen=True)
class Block:
    case: Case
    repeat: int
    settings: tuple[Setting, ...]


@dataclass
class Share:
    scope: str  # of hosts that may have it
    case: Case
    owner: str | None = None  # a host's id
    blocks: list[Block] = field(default_factory=list)  # left to take, the next one last


def scope_of(per: str, host: ClusterHost) -> str:
    return {"host": host.id, "class": host.class_, "any": ""}[per]


def blocks_of(
    settings: Sequence[Setting], seed: int, done: Callable[[Setting, int], bool]
) -> dict[Case, list[Block]]:
    """All that is left, by case; the first round last, in every round the blocks shuffled."""
    found: dict[Case, list[Block]] = {}
    for repeat in reversed(range(max((setting.repeats for setting in settings), default=0))):
        units: dict[tuple[Case, int], list[Setting]] = {}
        for setting in settings:
            place = ((setting.scenario, setting.case), setting.threads)
            if repeat < setting.repeats and not done(setting, repeat):
                units.setdefault(place, []).append(setting)
        order = random.Random(f"{seed} {repeat}")
        for (case, _), unit in order.sample(sorted(units.items(), key=str), len(units)):
            found.setdefault(case, []).append(Block(case, repeat, tuple(order.sample(unit, len(unit)))))
    return found


class Shares:
    """All shares of a session. A host that joins brings those of its scope."""

    def __init__(self, per: str, left_of: Callable[[str], dict[Case, list[Block]]]) -> None:
        """@param left_of  what is left on a host, by its id"""
        self.per, self.left_of = per, left_of
        self.shares: dict[tuple[str, Case], Share] = {}

    def join(self, host: ClusterHost, cases: Iterable[Case], count_done: Callable[[str, Case], int]) -> None:
        """@param count_done  how many runs of a case a host has already: the host with most goes on"""
        scope = scope_of(self.per, host)
        for case in cases:
            share = self.shares.setdefault((scope, case), Share(scope, case))
            if share.owner is None and (self.per == "host" or count_done(host.id, case)):
                self._give(share, host.id)

    def _give(self, share: Share, host: str) -> None:
        share.owner = host
        share.blocks = self.left_of(host).get(share.case, [])

    def next(self, host: ClusterHost) -> Block | None:
        """The earliest round of the shares that the host has; else a share that no host has yet."""
        own = [share for share in self.shares.values() if share.owner == host.id and share.blocks]
        if not own:
            scope = scope_of(self.per, host)
            free = (one for one in self.shares.values() if one.scope == scope and one.owner is None)
            for share in free:
                self._give(share, host.id)
                if share.blocks:
                    own = [share]
                    break
        if not own:
            return None
        return min(own, key=lambda share: share.blocks[-1].repeat).blocks.pop()

    def put_back(self, host: str, block: Block) -> None:
        """What is left of a block that was interrupted is the next to be taken."""
        for share in self.shares.values():
            if share.owner == host and share.case == block.case and block.settings:
                share.blocks.append(block)

    def release(self, host: ClusterHost) -> None:
        """Others of the scope take the unfinished shares of the host from their beginning."""
        for share in self.shares.values():
            if share.owner == host.id and share.blocks and self.per != "host":
                share.owner, share.blocks = None, []

    def left(self) -> list[Block]:
        """Blocks that are planned; of shares that no host has, none are known."""
        return [block for share in self.shares.values() for block in share.blocks]

    def unowned(self) -> int:
        return sum(share.owner is None for share in self.shares.values())
