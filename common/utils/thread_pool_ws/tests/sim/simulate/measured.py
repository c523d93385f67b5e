# SPDX-License-Identifier: BSD-3-Clause
"""What ci/simulate calibrate measures."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Measured:
    """Medians over the rounds, in nanoseconds as measured: machinefile.py makes costs of them."""

    costs: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, float]] = field(default_factory=dict)  # by distance
    wakes: dict[int, dict[str, list[float]]] = field(default_factory=dict)  # by idle time in us
    fresh_wakes: dict[int, dict[str, list[float]]] = field(default_factory=dict)  # the caller was idle, too
    kicks: dict[int, dict[str, list[float]]] = field(default_factory=dict)  # another thread runs there
    timers: dict[int, list[float]] = field(default_factory=dict)  # by sleep in us
    cold: dict[int, list[float]] = field(default_factory=dict)  # by sleep in us
    sleep_cpu_ns: float = 0.0
    busy_call_ns: float = 0.0
    turn_ns: float = 0.0
    stay_share: float = 0.0
    detours_per_s: float = 0.0
    detours_share: float = 0.0
    detour: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
