# SPDX-License-Identifier: BSD-3-Clause
"""fib(19) again and again on CPUs without a timer tick and on others: ws-ticks in rounds."""

from typing import Iterator

from nrbench import facts, host
from nrbench.driver import BenchError
from nrbench.engine import Item, Part, Plan, Request, Step, asks, shown, words
from nrbench.parts.tail import quantiles_us
from nrbench.stats import Results
from nrbench.system import System

KINDS = ("without a tick", "with a tick")
CPUS_OF_KIND, COUNT, QUICK_COUNT, RUN_S = 2, 200_000, 50_000, 20e-6
QUANTILES = (0.5, 0.99, 0.999, 0.9999)
COLUMNS = (
    "CPUs{kind}; runs{runs}; p50, µs{q[0]:.2f}; p99{q[1]:.2f}; p99.9{q[2]:.2f}; p99.99{q[3]:.2f};"
    " max{most:.1f}; lost, %{lost:.3f}"
)


def plan(request: Request, system: System = host.REAL) -> Plan:
    """The last CPUs of each kind: the first ones get most of the interrupts."""
    tickless, count, steps = facts.nohz_full(system), request.usual(COUNT, QUICK_COUNT), list[Step]()
    for kind, cpus in zip(KINDS, (system.online() & tickless, system.online() - tickless)):
        if not cpus:
            raise BenchError(f"ticks: no CPU {kind} is online here (boot parameter nohz_full)")
        for cpu in sorted(cpus)[-CPUS_OF_KIND:]:
            labels = {"bench": "ticks", "kind": kind, "cpu": cpu}
            steps.append(Step(labels, words(cpu=cpu, count=count), count * RUN_S, kind))
    return Plan(steps, asks(request.beside("ws-ticks")), {}, request.round_count(7, 5))


def report(results: Results) -> Iterator[Item]:
    rows = []
    for kind, at in results.by("kind").items():
        q, lost = quantiles_us(at.lines, QUANTILES, "histogram"), at["lost_percent"]
        runs, most = sum(line["runs"] for line in at.lines), max(line["max_us"] for line in at.lines)
        rows.append({"kind": kind, "runs": runs, "q": q, "most": most, "lost": lost})
    yield from shown("fib(19): how long a run takes; lost: time beyond the median", COLUMNS, rows)


PART = Part("ticks", "fib(19) on CPUs without a tick", report, "kind", plan)
