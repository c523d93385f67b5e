# SPDX-License-Identifier: BSD-3-Clause
"""Proposes which threads of a gNB run on which CPUs of a host: lines for the command, OAI's configuration,
the unit file or the container, and the kernel, each with its reason."""

from collections.abc import Iterator
from typing import NamedTuple

from nrbench import facts
from nrbench.doctor.target import Target
from nrbench.facts import NO_CPUS
from nrbench.system import Cpus, System, format_cpus, groups, quota

OWN = 2  # cores beside those of the workers: of the RU's thread, and of the two threads of the L1, or 3
RU_POOL_MAX = 8  # entries of OAI's list tp_cores
COMMAND, CONFIG, UNIT = "Command", "Configuration file", "Unit file, [Service]"
CONTAINER, KERNEL = "Container, in place of the unit file", "Kernel"


class Line(NamedTuple):
    where: str
    line: str
    why: str


class Card(NamedTuple):
    """A network card."""

    name: str
    node: str | None  # None: the machine has one, or it is unknown
    irqs: list[str]


def card_of(system: System) -> Card | None:
    """One that belongs to a program, as that of a fronthaul does; else the fastest that is no virtual one."""
    folder = facts.NETWORK_CARDS
    kernel = [name for name in system.names(folder) if system.exists(f"{folder}/{name}/device")]
    if users := facts.user_space_cards(system):
        address, driver = next(iter(users.items()))
        name, device = f"{address} ({driver})", f"{facts.PCI}/{address}"
    elif kernel:
        name = max(kernel, key=lambda one: system.number(f"{folder}/{one}/speed") or -1)
        device = f"{folder}/{name}/device"
    else:
        return None
    node, nodes = f"node{system.number(f'{device}/numa_node')}", facts.nodes(system)
    return Card(name, node if len(nodes) > 1 and node in nodes else None, system.names(f"{device}/msi_irqs"))


class Layout:
    """For a pool with so many workers.

    Threads are pinned to isolated cores, over which the kernel spreads no threads, and to cores of a host.
    They float where the CPUs are given: by a set that may have others after the next start, and by a quota,
    under which a pinned thread may wait beside an idle CPU. docs/deployment.md has the same rule."""

    def __init__(self, system: System, asked: int) -> None:
        self.system, self.asked, self.card = system, asked, card_of(system)
        mask, bound, cpuset = system.affinity(), quota(system), facts.cpuset(system) & system.online()
        self.isolated = facts.unbalanced(system) & cpuset  # masks lack them, but threads can be pinned there
        # Started on isolated CPUs only: the rest is kept off them, if the set has others.
        self.usable = mask & system.online() | (cpuset if mask <= self.isolated else self.isolated)
        kinds = facts.kinds_of_cores(system, self.usable)  # the fastest first
        self.kind: tuple[str, Cpus] = next(iter(kinds.items())) if len(kinds) > 1 else ("", self.usable)
        # Whole ones for real-time threads: isolated ones, or else all but the first, which the rest gets.
        apart = self.isolated if self.usable - self.isolated else NO_CPUS
        every = {(facts.siblings(system, cpu) or frozenset({cpu})) & self.usable for cpu in self.kind[1]}
        good = sorted((core for core in every if core & apart or not apart and
                       min(self.usable) not in core), key=min)  # fmt: skip
        # Those of one node: of the card's, if they are enough, or else of the one that has most.
        nodes = {name: [core for core in good if core & cpus] for name, cpus in facts.nodes(system).items()}
        near = self.card and self.card.node
        near = near if near and len(nodes[near]) > OWN else None
        self.node: str = near or max(nodes, key=lambda name: len(nodes[name]), default="")
        self.cores: list[Cpus] = nodes.get(self.node, good)
        # None: there is none, or it does not limit these CPUs.
        self.quota_cpus = bound.cpus if bound and bound.cpus < len(self.usable) else None
        # Where no control group is visible, as in a sandbox, a mask that lacks CPUs counts as a set.
        hides = mask < system.online() - self.isolated and not any(groups(system, "cpuset"))
        self.is_set = hides or cpuset < system.online()
        self.is_pinned = (
            self.quota_cpus is None and len(self.cores) > OWN and not (self.is_set and not self.isolated)
        )
        # In a set, or without one, the thread that waits has a CPU beside those of the workers.
        room = len(self.cores) - OWN if self.is_pinned else int(self.quota_cpus or len(self.usable) - 1)
        self.workers = min(asked, max(1, room))
        # A core each for the RU, the L1, each worker; one more for the L1 where it is free.
        self.own = min(OWN + 1, len(self.cores) - self.workers)
        self.taken = self.cores[: self.own + self.workers] if self.is_pinned else []
        self.rest = self.usable - NO_CPUS.union(*self.taken) - apart

    def lines(self) -> list[Line]:
        return [*(self._pinned() if self.is_pinned else self._floating())]

    def _fewer(self) -> str:
        """Why there are not as many workers as asked for."""
        if self.workers == self.asked:
            return ""
        if self.quota_cpus is not None:
            why = f"the quota is {self.quota_cpus:g} CPUs, which more workers use up sooner."
        elif not self.is_pinned:
            why = f"there are {len(self.usable)} CPUs, of which the thread that waits needs one."
        else:
            node = f" of {self.node}" if len(facts.nodes(self.system)) > 1 else ""
            what = ("isolated cores" if self.isolated else self.kind[0] or "cores") + node
            why = f"beside RU and L1 no more {what} are free. A burst ends with its slowest task."
        return f" Asked: {self.asked}; {why}"

    def _floating(self) -> Iterator[Line]:
        why = f"Pinned threads need three cores of their own; here: {len(self.cores)}."
        if self.is_set and len(self.cores) > OWN:
            why = "The CPUs of the set that this process is in may be others after the next start. To pin"
            why += " threads to a set that you fix yourself, run this on the host."
        of_set = "All there are."
        cpus = sorted(self.usable - self.isolated or self.usable)
        if self.quota_cpus is not None:
            why = "Under a quota a pinned thread may wait for its CPU while another CPU is idle."
            of_set = "A used-up quota stops all threads, also in the middle of a slot. A set does not."
            cpus = cpus[: self.workers + 1]
        why += f" Floating, each worker runs on a CPU that is idle.{self._far()}{self._fewer()}"
        yield Line(COMMAND, f"--thread-pool {','.join(['-1'] * self.workers)}", why)
        pins = "L1s: L1_rx_thread_core = -1; L1_tx_thread_core = -1;  RUs: ru_thread_core = -1;"
        yield Line(CONFIG, pins, "Pinned, each would keep a CPU that a worker needs.")
        if self.quota_cpus is not None:
            yield Line(UNIT, "CPUQuota=", of_set)
        yield Line(UNIT, f"AllowedCPUs={format_cpus(cpus)}", of_set)
        yield Line(CONTAINER, f"docker run --cpuset-cpus {format_cpus(cpus)}  # without --cpus", of_set)

    def _pinned(self) -> Iterator[Line]:
        ru, *others = (min(core & self.isolated or core) for core in self.taken)
        (rx, tx), workers = (others[0], others[self.own - 2]), others[self.own - 1 :]
        pins, rest, chosen = listed(workers, ","), format_cpus(self.rest), frozenset({ru, rx, tx, *workers})
        idle = NO_CPUS.union(*self.taken) - chosen
        why = "One worker a core" + "".join(self._reasons()) + f".{self._far()}"
        if idle:
            why += f" Their siblings {format_cpus(idle)} get no thread: it would slow the worker."
        if unused := self.isolated - chosen - idle - self.rest:
            why += f" Isolated, and idle without a thread: {format_cpus(unused)}."
        of_l1 = "Both mostly wait, and run tasks while they wait: a core like a worker's."
        if rx != tx:
            of_l1 = "They run tasks while they wait, also at the same time: a core each."
        pool, cpus = workers[:RU_POOL_MAX], format_cpus(chosen | self.rest)
        yield from (
            Line(COMMAND, f"--thread-pool {pins}", why + self._fewer()),
            Line(CONFIG, f"L1s: L1_rx_thread_core = {rx}; L1_tx_thread_core = {tx};", of_l1),
            Line(CONFIG, f"RUs: ru_thread_core = {ru};", "It polls the radio. Others there start late."),
            Line(CONFIG, f"RUs: num_tp_cores = {len(pool)}; tp_cores = ({listed(pool, ', ')});",
                 "The RU's pool works before and after the L1's in each slot: on the same cores."),
            Line(UNIT, f"AllowedCPUs={cpus}", "Threads are pinned within this set. Others need CPUs, too."),
            Line(UNIT, f"CPUAffinity={rest}", "Threads that are not pinned (RRC, SCTP) stay off others."),
            Line(CONTAINER, f"docker run --cpuset-cpus {cpus}", f"In it start by taskset -c {rest}."),
        )  # fmt: skip
        yield from self._kernel(self.isolated - self.rest | chosen | idle)

    def _reasons(self) -> Iterator[str]:
        if self.isolated:
            yield f", of the isolated CPUs {format_cpus(self.isolated)}"
        else:
            yield f", not that of CPU {min(self.usable)}, which is the rest's"
        if self.kind[0]:
            yield f", all {self.kind[0]}"
        if len(facts.nodes(self.system)) > 1:
            card = self.card if self.card and self.card.node == self.node else None
            yield f", on {self.node}" + (f", which has the card {card.name}" if card else "")

    def _far(self) -> str:
        """Where the card is on a node that the threads are not on."""
        if not self.card or self.card.node in (None, self.node):
            return ""
        why = "which has too few such CPUs: packets cross nodes."
        return f" The card {self.card.name} is on {self.card.node}, {why}"

    def _kernel(self, kept: Cpus) -> Iterator[Line]:
        target = Target(self.system, kept)
        if not self.rest or not target.others:
            return
        near = self.rest & facts.nodes(self.system).get(self.node, self.rest) or self.rest
        if self.card and self.card.irqs:
            write = f"echo {format_cpus(near)} > /proc/irq/$i/smp_affinity_list"
            line = f"for i in {' '.join(self.card.irqs)}; do {write}; done"
            yield Line(KERNEL, line, f"Interrupts of {self.card.name}: near it, on no pinned thread's CPU.")
        if not kept <= self.isolated:
            line = f"boot: {target.values['isolcpus']} irqaffinity={format_cpus(target.others)}"
            yield Line(KERNEL, line, "Other threads and interrupts then stay off those CPUs.")
        yield Line(KERNEL, target.values["tuned"], "The same and more, as a profile that can be taken back.")


def listed(cpus: list[int], comma: str) -> str:
    return comma.join(map(str, cpus))
