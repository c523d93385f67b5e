# SPDX-License-Identifier: BSD-3-Clause
"""Pre-wake does no harm on simulated machines whose kernel is unkind. All times are those of virtual clocks.

Needs ws_sim_time in the folder WS_SIM_BUILD."""

import os
import unittest
from statistics import median
from typing import Any

from simulate.machine import find_machine
from simulate.program import Job, program_path, run_job

SLOTS = ("bursts=400", "warm=800", "period_us=500", "workers=1")


def figures(machine: str, *words: str, spin: str = "auto") -> dict[str, Any]:
    job = Job((*find_machine(machine).words, *SLOTS, *words), {}, {"TPOOL_WS_SPIN": spin})
    return run_job(job, "ws_sim_time", 120.0)


@unittest.skipUnless(os.access(program_path("ws_sim_time"), os.X_OK), "ws_sim_time was not built")
class Lives(unittest.TestCase):
    def test_no_worker_stops_a_producer_that_the_kernel_moves(self) -> None:
        """Real-time workers, and a normal producer that balancing moves to the CPU where a worker sleeps.
        While the pause between two moves of a worker grew, the producer was stopped 0.1 to 6 times a slot.
        In one life of 150 it is stopped 0.06 to 0.12 times a slot, so the median of three lives counts."""
        for machine in ("vm-2-amd", "container-2.5", "laptop-4c8t"):
            for slots in (1, 4, 16):
                with self.subTest(machine=machine, slots=slots):
                    words = ("slot=12x6", "class=rr", f"roam={slots}")
                    lives = [figures(machine, *words, f"seed={seed}")["preempted"] for seed in (3, 4, 5)]
                    self.assertLess(median(lives), 0.03)

    def test_no_pinned_worker_is_woken_in_the_place_of_the_producer(self) -> None:
        """Real-time workers that are pinned, and a normal producer that balancing moves to their CPUs. When
        pushes and timers woke the worker there, the producer was stopped 0.4 to 2.6 times a slot."""
        cases = (("vm-2-amd", 1), ("container-2.5", 1), ("laptop-4c8t", 1), ("laptop-4c8t", 8))
        for machine, workers in cases:
            with self.subTest(machine=machine, workers=workers):
                words = ("slot=22x28", "class=rr", "pinned=1", f"workers={workers}", "period_us=1000")
                found = figures(machine, *words, "roam=16", "seed=3")
                self.assertLess(found["preempted"], 0.1)

    def test_a_spin_keeps_no_thread_of_its_priority_off_the_cpu(self) -> None:
        """Two CPUs, one of them taken by a thread that polls, all real-time with one priority: a gNB beside
        the clock of vrtsim. While spins offered their CPU to no thread, `auto` took 1.9 times `off`."""
        for slot in ("12x6", "22x28", "4x20"):
            with self.subTest(slot=slot):
                words = (f"slot={slot}", "class=rrall", "poll=1", "seed=3")
                off, auto = (figures("vm-2-amd", *words, spin=spin) for spin in ("off", "auto"))
                self.assertLess(auto["p50_us"], 1.02 * off["p50_us"])
                self.assertLess(auto["p99_us"], 1.02 * off["p99_us"])

    def test_a_host_that_takes_cpus_away_does_not_end_pre_wake(self) -> None:
        """All real-time. While an offer of the CPU that took long counted as an interruption, 4x20 beside the
        second host took 1.7 times as long as alone."""
        for slot in ("12x6", "4x20"):
            alone = figures("vm-2-amd", f"slot={slot}", "class=rrall", "seed=3")
            for on_us, off_us in ((300, 6000), (1500, 15000), (60, 700)):
                with self.subTest(slot=slot, on_us=on_us):
                    host = (f"host_on_us={on_us}", f"host_off_us={off_us}")
                    found = figures("vm-2-amd", f"slot={slot}", "class=rrall", *host, "seed=3")
                    self.assertLess(found["p50_us"], 1.05 * alone["p50_us"])
