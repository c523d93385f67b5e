# SPDX-License-Identifier: BSD-3-Clause
"""What gNB and UE need on OAI's radio vrtsim: shared memory, no files of a run that crashed, a steady wall
clock."""

from __future__ import annotations

import numpy as np

from nrbench import facts
from nrbench.doctor import remedy as do
from nrbench.doctor.finding import Finding, Target, area, good, note, visible, warn
from nrbench.doctor.scheduling import WINDOW_S, activity

AREA = "Radio without hardware (OAI's vrtsim)"
check = area(AREA)

NEEDED_MIB = 66  # a ring of 8,601,600 samples of 4 bytes in each direction, with one antenna
SOFTMODEMS = {"nr-softmodem", "nr-uesoftmodem"}
SETTERS = {"chronyd", "ntpd", "phc2sys", "systemd-timesyn"}  # names of processes have 15 characters
STEP_US = 100  # of some 1000 us between the write of a slot and its use
RATE_PPM = 1000


@check("shared memory")
def shared_memory(target: Target) -> Finding:
    free_mib, folder = target.see(facts.SHARED_MEMORY) >> 20, facts.SHARED_MEMORY.name
    text = f"{free_mib} MiB free in {folder}"
    if free_mib >= NEEDED_MIB:
        return good(text)
    why = (
        f"With one receive antenna each, gNB and UE share {NEEDED_MIB} MiB. If there is less, the gNB ends "
        "with a bus error."
    )
    container = do.advice("in a container: docker run --shm-size 1g")
    return note(text, why, do.command(f"mount -o remount,size=1G {folder}"), container)


@check("leftovers")
def leftovers(target: Target) -> Finding:
    left = " ".join(facts.vrtsim_files(target.system))
    running = sorted(SOFTMODEMS.intersection(target.system.processes().values()))
    if not left or running:
        return good(f"{left} in use by {', '.join(running)}" if left else "none")
    why = (
        "The memory stays occupied. A gNB of another user cannot replace these files, and ends. A UE that "
        "starts before its gNB may use the old memory."
    )
    return note(left, why, do.command(f"rm {left}"))


def _clocks_ns(target: Target) -> np.ndarray:
    return np.array(visible(facts.clocks_ns(target.system), "this is not the machine that runs"))


@activity("wall clock")
def wall_clock(target: Target) -> Finding:
    """A step moves CLOCK_REALTIME alone. A rate changes CLOCK_MONOTONIC too, but not the raw clock."""
    before_ns = _clocks_ns(target)
    target.wait(WINDOW_S)
    steady_ns, wall_ns, raw_ns = (_clocks_ns(target) - before_ns).tolist()
    step_us, rate_ppm = (wall_ns - steady_ns) / 1000, 1e6 * (steady_ns / raw_ns - 1)
    setters = ", ".join(sorted(SETTERS.intersection(target.system.processes().values())))
    text = f"step of {step_us:.0f} us, rate {rate_ppm:+.0f} ppm, over {WINDOW_S:g} s"
    text += f"; {setters} may change it" if setters else ""
    if abs(step_us) < STEP_US and abs(rate_ppm) < RATE_PPM:
        return good(text)
    why = (
        "vrtsim counts its samples by this clock. After a step forward some slots are late, after a step "
        "back all of them."
    )
    stop = do.advice("stop the program that sets the clock, also the host's, while nrbench radio runs")
    return warn(text, why, stop)
