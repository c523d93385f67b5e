# SPDX-License-Identifier: BSD-3-Clause
"""All checks of a host, by area."""

from __future__ import annotations

from nrbench.doctor import activity, interrupts, isolation, kernel, memory, power, scheduling
from nrbench.doctor.finding import Check, Finding, Target

AREAS: dict[str, tuple[Check, ...]] = {
    "Scheduling": scheduling.CHECKS,
    "Isolation": isolation.CHECKS + interrupts.CHECKS,
    "Frequency and idle states": power.CHECKS,
    "Memory": memory.CHECKS,
    "Kernel": kernel.CHECKS,
}
ACTIVITY = "Activity"
Findings = dict[str, list[Finding]]


def examine(target: Target, measure: bool = True) -> Findings:
    """Findings by area. `measure`: also the checks that take a second."""
    areas = AREAS | ({ACTIVITY: activity.CHECKS} if measure else {})
    return {
        area: [finding for check in checks for finding in check(target)] for area, checks in areas.items()
    }
