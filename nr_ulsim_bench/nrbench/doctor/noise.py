# SPDX-License-Identifier: BSD-3-Clause
"""What took the workers' CPUs within a second, by the kernel's tracer osnoise, which rtla switches on."""

import re
from shutil import which

from nrbench.doctor.target import Seen, Target, Unseen, good, warn
from nrbench.programs import run

SECONDS_MAX, LONG_US = 20.0, 50  # a worker that is held up for longer makes a burst late
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
