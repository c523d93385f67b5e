# SPDX-License-Identifier: BSD-3-Clause
"""Simulated slots: how near they are to measured ones.

Needs ws_sim_time in the folder WS_SIM_BUILD."""

import os
import unittest
from typing import Any

from simulate.machine import find_machine
from simulate.program import Job, program_path, run_job

MACHINE = find_machine("vm-16-intel")
SLOTS = ("workers=3", "slot=20x5", "bursts=1500", "warm=20", "period_us=1000")
MEASURED_US = {  # on 16 virtual CPUs: medians of 9 runs, for 15 and for 7 workers
    "12x6": (54.2, 54.8),
    "22x28": (103.7, 150.1),
    "50x5": (74.3, 84.4),
    "100x28": (263.2, 472.2),
}


def figures(*words: str) -> dict[str, Any]:
    return run_job(Job((*MACHINE.words, *words)), "ws_sim_time", 120.0)


@unittest.skipUnless(os.access(program_path("ws_sim_time"), os.X_OK), "ws_sim_time was not built")
class Slots(unittest.TestCase):
    def test_a_pool_that_does_not_change_takes_as_long_as_measured(self) -> None:
        for slot, times_us in MEASURED_US.items():
            for workers, measured_us in zip((15, 7), times_us):
                with self.subTest(slot=slot, workers=workers):
                    found = figures(*SLOTS, "pool=mutex-per-worker", f"slot={slot}", f"workers={workers}")
                    self.assertAlmostEqual(found["p50_us"] / measured_us, 1, delta=0.1)


if __name__ == "__main__":
    unittest.main()
