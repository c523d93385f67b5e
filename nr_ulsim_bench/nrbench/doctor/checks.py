# SPDX-License-Identifier: BSD-3-Clause
"""All checks of a host by area, and whether it is quiet enough to measure on it now."""

from __future__ import annotations

from typing import NamedTuple

from nrbench.doctor import isolation, kernel, power, scheduling, vrtsim  # noqa: F401
from nrbench.doctor.finding import CHECKS, Finding, Level, Target
from nrbench.doctor.scheduling import ACTIVITY

# By the modules above, in the order of a report.
AREAS = ("Scheduling", "Isolation", "Frequency and idle states", "Memory", "Kernel", vrtsim.AREA)
NOISE = ("other programs", "steal time", "load")  # names of checks; the first that complains is named first
QUESTION = "quiet enough to measure?"
Findings = dict[str, list[Finding]]


def examine(target: Target, measure: bool = True) -> Findings:
    """Findings by area. `measure`: also the checks that take a second."""
    areas = (*AREAS, ACTIVITY) if measure else AREAS
    return {area: [finding for check in CHECKS[area] for finding in check(target)] for area in areas}


class Quiet(NamedTuple):
    answer: str  # yes, no or unknown
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        reasons = f": {'; '.join(self.reasons)}" if self.reasons else ""
        return f"{QUESTION} {self.answer}{reasons}"


def quiet(findings: Findings) -> Quiet:
    found = {finding.check: finding for group in findings.values() for finding in group}
    noise = {name: found[name] for name in NOISE if name in found}
    noisy = [f"{name}: {f.seen}" for name, f in noise.items() if f.level in (Level.WARN, Level.BAD)]
    if noisy:
        return Quiet("no", tuple(noisy))
    unseen = [name for name in NOISE if name not in noise or not noise[name].checked]
    return Quiet("unknown", (f"not measured: {', '.join(unseen)}",)) if unseen else Quiet("yes", ())
