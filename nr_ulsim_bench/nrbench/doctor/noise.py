# SPDX-License-Identifier: BSD-3-Clause
"""What took the workers' CPUs within a second, by the kernel's tracer osnoise, which rtla switches on; and
for how long one of them stood still, which the kernel does not count."""

import gc
import re
import time
from collections.abc import Callable
from shutil import which

from nrbench import facts
from nrbench.doctor.target import Seen, Target, Unseen, bad, good, warn
from nrbench.programs import run
from nrbench.sweep.process import bound_to

SECONDS_MAX, LONG_US = 20.0, 50  # a worker that is held up for longer makes a burst late
LOOP_NS, STILL_NS = 500_000_000, 100_000  # interrupts take less than that
TAKEN_WARN, TAKEN_BAD = 0.01, 0.05  # shares of time
KINDS = ("hardware or host", "NMIs", "interrupts", "softirqs", "threads")
# A CPU, the period, µs that the tracer ran and lost, % that were left, µs in a period and at once, the counts
ROW = re.compile(r"^ *\d+ +#\d+ +(\d+) +(\d+) +[\d.]+ +\d+ +(\d+)((?: +\d+){5})$", re.MULTILINE)


def disturbances(target: Target) -> Seen:
    if not (target.system.is_real and which("rtla")):
        raise Unseen("needs rtla (Debian: rtla), on the machine itself")
    status, text = run("rtla", "osnoise", "top", "-q", "-d", "1s", "-c", target.names, seconds=SECONDS_MAX)
    rows = [[int(field) for part in row for field in part.split()] for row in ROW.findall(text)]
    if not rows:
        why = " ".join(text.split())[:200] or f"exit status {status}"
        raise Unseen(f"rtla osnoise: {why}; it needs root, tracefs and a kernel with OSNOISE_TRACER")
    ran, lost, most_us, *counts = [max(of) if n == 2 else sum(of) for n, of in enumerate(zip(*rows))]
    found = [f"{count} {kind}" for kind, count in zip(KINDS, counts) if count]
    text = f"{target.where(target.cpus)}: {100 * lost / ran:.2f} % of the time, at most {most_us} us at once"
    text += f", by {', '.join(found) or 'nothing'}"
    return (warn if most_us > LONG_US else good)(text, most_us=most_us)


def taken_ns(clock_ns: Callable[[], int], waited_ns: Callable[[], int]) -> tuple[int, int]:
    """For how long a loop stood still while the kernel did not let it wait; of which time."""
    begin = last = clock_ns()
    before, still = waited_ns(), 0
    while last - begin < LOOP_NS:
        now = clock_ns()
        still += now - last if now - last >= STILL_NS else 0
        last = now
    return max(0, still - (waited_ns() - before)), last - begin


def hidden_steal(target: Target) -> Seen:
    """A host that takes a CPU away and counts no steal time."""
    system, cpus = target.system, target.cpus & target.system.affinity()
    if not (system.is_real and cpus and facts.waited_ns(system) is not None):
        raise Unseen("needs the machine itself, and a kernel that counts for how long threads wait")
    gc.disable()
    try:
        with bound_to([max(cpus)]):
            taken, whole = taken_ns(time.monotonic_ns, lambda: facts.waited_ns(system) or 0)
    finally:
        gc.enable()
    share = taken / whole
    level = bad if share >= TAKEN_BAD else warn if share >= TAKEN_WARN else good
    return level(f"a loop on CPU {max(cpus)} stood still for {100 * share:.1f} % of {whole / 1e9:.1f} s")
