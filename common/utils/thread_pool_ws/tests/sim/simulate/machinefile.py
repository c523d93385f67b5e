# SPDX-License-Identifier: BSD-3-Clause
"""A machine file's text from what ci/simulate calibrate measured.

The simulated kernel charges a futex call first as one that finds nothing to do (syscall_ns), then what waking
takes, so that part is taken off here.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulate.measured import Measured

SWITCH_NS_MIN = 200.0
SHARES = (0, 0.1, 0.5, 0.9, 0.99, 0.999)


def _line(key: str, value: object, comment: str) -> str:
    text = f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}"
    return f"{text:<28}# {comment}" if comment else text


def _list(values: Sequence[float]) -> str:
    return "[" + ", ".join(f"{max(0.0, value):.0f}" for value in values) + "]"


def ascending(values: Sequence[float]) -> list[float]:
    """Medians of percentiles may cross by a little."""
    found: list[float] = []
    for value in values:
        found.append(max(value, found[-1] if found else 0.0))
    return found


def mean_of(spread: Sequence[float]) -> float:
    """As the engine draws from it: linear between the percentiles, the last one beyond."""
    parts = zip(SHARES, SHARES[1:], spread, spread[1:])
    return sum((high - low) * (a + b) / 2 for low, high, a, b in parts) + (1 - SHARES[-1]) * spread[-1]


def _cpus(sizes: dict[str, int]) -> list[str]:
    return ["[cpus]", *(_line(key, sizes[key], "sysfs") for key in ("cpus", "smt", "llc_cpus", "node_cpus"))]


def _memory(measured: Measured) -> list[str]:
    costs, lines = measured.costs, ["[memory]"]
    load_ns = costs["load_ns"]
    lines.append(_line("local_ns", round(load_ns, 2), "measured: atomic loads that wait for each other"))
    modify_ns = max(0.0, costs["add_ns"] - load_ns)
    lines.append(
        _line(
            "modify_ns", round(modify_ns, 2), f"measured: fetch-and-add {costs['add_ns']:.1f} ns, less a load"
        )
    )
    nearer = 0.0
    for name in ("smt", "llc", "node", "far"):
        if name in measured.lines:
            nearer = measured.lines[name]["swap_ns"]
            store_ns = measured.lines[name]["store_ns"]
            comment = f"measured: compare-and-swap in turns; store and load: {store_ns:.0f} ns"
        else:
            comment = "no such pair of CPUs here"
        lines.append(_line(f"{name}_ns", round(nearer, 1), comment))
    fence_ns = max(0.0, costs["fence_ns"] - 2 * load_ns)
    lines.append(_line("fence_ns", round(fence_ns, 2), "measured: store and fence, less both accesses"))
    pause_ns = max(0.0, costs["pause_ns"] - load_ns)
    lines.append(_line("pause_ns", round(pause_ns, 1), "measured: ws_pause()'s instruction"))
    return lines


def _kernel(measured: Measured) -> list[str]:
    costs = measured.costs
    call_ns = costs["syscall_ns"]
    busy_ns = max(0.0, measured.busy_call_ns - call_ns)
    sleep_ns = max(0.0, measured.sleep_cpu_ns - call_ns)
    switch_ns = max(SWITCH_NS_MIN, measured.turn_ns - busy_ns - 2 * call_ns)
    return [
        "[kernel]",
        _line("clock_ns", round(costs["clock_ns"], 1), "measured: clock_gettime(CLOCK_MONOTONIC)"),
        _line("syscall_ns", round(call_ns), "measured: a futex wake without a waiting thread"),
        _line("wake_busy_ns", round(busy_ns), "measured: a futex wake of a batch thread of the caller's CPU"),
        _line("switch_ns", round(switch_ns), "measured: two threads of a CPU in turns, less their calls"),
        _line("migrate_ns", 1500, "estimate: first misses in the caches of another core"),
        _line("sleep_cpu_ns", round(sleep_ns), "measured: CPU time of a sleep with a timer, less the call"),
        _line("create_ns", round(costs["create_ns"]), "measured: pthread_create"),
    ]


def _scheduler(sizes: dict[str, int], measured: Measured) -> list[str]:
    slice_us = 700 * (1 + min(sizes["cpus"], 8).bit_length() - 1)
    return [
        "[scheduler]",
        _line("slice_us", slice_us, "Linux: base slice of 0.7 ms, times 1 + log2 of up to 8 CPUs"),
        _line("tick_us", 4000, "estimate: CONFIG_HZ=250"),
        _line("granularity_us", 1000, "estimate"),
        _line(
            "stay_share",
            round(measured.stay_share, 3),
            "measured: wakes on the caller's CPU, another being idle",
        ),
    ]


def _work(sizes: dict[str, int], measured: Measured) -> list[str]:
    detour = ascending(measured.detour)
    mean_ns = mean_of(detour)
    per_s = measured.detours_share * 1e9 / mean_ns if mean_ns > 0 else 0.0
    lines = [
        "[work]",
        _line(
            "detours_per_s",
            round(per_s, 1),
            f"measured: {measured.detours_share:.2%} of a busy CPU's time in gaps",
        ),
        _line("detour", _list(detour), "ns"),
    ]
    if sizes["smt"] > 1:
        lines.append(_line("smt_slowdown", 1.6, "estimate"))
    return lines


def _wake_tables(name: str, series: dict[int, dict[str, list[float]]], less_ns: float) -> list[str]:
    lines: list[str] = []
    for index, (us, spreads) in enumerate(series.items()):
        calls = ascending([value - less_ns for value in spreads["call_ns"]])
        latencies = ascending([value - less_ns for value in spreads["latency_ns"]])
        lines += [
            f"[[{name}]]",
            _line("idle_us", 0 if index == 0 else us, f"measured after {us} us" if us else "measured"),
        ]
        lines += [f"call_ns = {_list(calls)}", f"ns = {_list(latencies)}"]
    return lines


def _one_cpu(measured: Measured) -> list[str]:
    lines = ["[[wake]] # estimate: one CPU wakes no other", "idle_us = 0", "call_ns = [0, 0, 0, 0, 0, 0]"]
    return [*lines, f"ns = {_list([measured.turn_ns] * 6)}"]


def _wakes(measured: Measured) -> list[str]:
    call_ns = measured.costs["syscall_ns"]
    lines = ["# The caller has been awake for 100 us.", *_wake_tables("wake", measured.wakes, call_ns)]
    lines = lines if measured.wakes else _one_cpu(measured)
    if measured.fresh_wakes:
        lines += [
            "# The caller's CPU was idle until it called.",
            *_wake_tables("fresh_wake", measured.fresh_wakes, call_ns),
        ]
    if measured.kicks:
        lines.append("# Another thread runs there, and has to go.")
        lines += _wake_tables("kick", measured.kicks, call_ns)
    for index, (us, late) in enumerate(measured.timers.items()):
        lines += ["[[timer]]", _line("idle_us", 0 if index == 0 else us, f"measured: sleeps of {us} us")]
        lines.append(f"ns = {_list(ascending(late))}")
    lines.append("# Code and data of 4 KiB each after a sleep, the first time less the second.")
    for index, (us, longer) in enumerate(measured.cold.items()):
        lines += ["[[cold]]", _line("idle_us", 0 if index == 0 else us, f"measured: sleeps of {us} us")]
        lines.append(f"ns = {_list(ascending(longer))}")
    return lines


def machine_text(title: str, sizes: dict[str, int], measured: Measured) -> str:
    head = ["# SPDX-License-Identifier: BSD-3-Clause", "# Written by ci/simulate calibrate."]
    head += [f"# {note}" for note in measured.notes]
    parts = [
        [*head, f'title = "{title}"'],
        _cpus(sizes),
        _memory(measured),
        _kernel(measured),
        _scheduler(sizes, measured),
        _work(sizes, measured),
        _wakes(measured),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"
