# SPDX-License-Identifier: BSD-3-Clause
"""Simulated slots: when they come, how large they are, how near they are to measured ones.

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

    def test_gaps_are_those_of_the_name(self) -> None:
        """Their 10th, 50th and 90th percentile, and their mean, in periods."""
        for name, percentiles, mean in (
            ("regular", (1, 1, 1), 1),
            ("exponential", (0.105, 0.693, 2.303), 1),
            ("onoff", (1, 1, 3.23), 2.25),  # one gap of 8 is 1 + 10 in the mean
            ("first", (0.6, 1, 1.4), 1),
        ):
            with self.subTest(name):
                found = figures(*SLOTS, f"arrivals={name}")
                for got, wanted in zip(found["gaps_us"], percentiles):
                    self.assertAlmostEqual(got / 1000, wanted, delta=0.06 if wanted < 2 else 0.4)
                self.assertAlmostEqual(20e6 / found["tasks_per_s"] / 1000, mean, delta=0.1 * mean)

    def test_sizes_lie_between_a_quarter_and_all(self) -> None:
        """Of 20 tasks 5 to 20, in the mean 12.5. On one CPU the bound is the work."""
        varied, whole = (figures(*SLOTS, "cpus=1", f"varied={flag}") for flag in (1, 0))
        self.assertAlmostEqual(varied["bound_us"], 12.5 * 5, delta=2)
        self.assertAlmostEqual(varied["p50_us"] / whole["p50_us"], 12.5 / 20, delta=0.1)

    def test_a_seed_has_the_same_bursts_for_each_pool(self) -> None:
        ws, again, mutexes, other = (
            figures(*SLOTS, "arrivals=exponential", "varied=1", *more)
            for more in (("seed=5",), ("seed=5",), ("seed=5", "pool=mutex-per-worker"), ("seed=6",))
        )
        self.assertEqual(ws, again)
        self.assertEqual(ws["bound_us"], mutexes["bound_us"])
        for mine, theirs in zip(ws["gaps_us"], mutexes["gaps_us"]):
            self.assertAlmostEqual(mine, theirs, delta=40)  # how late a timer and a slow slot are
        self.assertNotEqual(ws["bound_us"], other["bound_us"])

    def test_what_cannot_be_is_refused(self) -> None:
        self.assertIn('"arrivals=seldom" is no option', figures(*SLOTS, "arrivals=seldom")["error"])
        self.assertIn("arrivals need period_us=", figures(*SLOTS, "arrivals=first", "period_us=0")["error"])
