# SPDX-License-Identifier: BSD-3-Clause
"""The scaling figures: which are taken, what they are compared with, which goals hold, their tables."""

import json
import runpy
import tempfile
import unittest
from pathlib import Path
from typing import Any

from simulate.machine import MachineError, find_machine
from simulate.program import Job
from simulate.scale import plan
from simulate.scale.command import interrupted, left
from simulate.scale.plan import Curve, cpu_series, curves, workers_of
from simulate.scale.points import (
    curves_of,
    listed_us,
    median_us,
    point_lines,
    shared_us,
    slot_bounds,
)
from simulate.scale.report import report, turn_of, verdicts

CASES = Path(__file__).resolve().parents[6] / "nr_ulsim_bench" / "nrbench" / "cases.py"
GRACE = find_machine("grace-72")


def run(cpus: int, p50_us: float, workload: str = "22x28", seed: int = 1, **more: Any) -> dict[str, Any]:
    known = {"bench": "scale", "machine": "grace-72", "smt": 1, "producers": 1, "pool": "ws", "p99_us": 99.0}
    return known | {"workload": workload, "cpus": cpus, "p50_us": p50_us, "seed": seed} | more


def goals_of(*lines: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    return {one.goal: (one.is_met, one.worst) for one in verdicts(curves_of(lines))}


class TestPlan(unittest.TestCase):
    def test_a_file_ends_where_its_machine_does(self) -> None:
        self.assertEqual(cpu_series(GRACE), [1, 2, 4, 8, 16, 24, 32, 48, 64, 72])
        self.assertEqual(cpu_series(find_machine("xeon-2x28"))[-3:], [48, 56, 112])
        self.assertEqual(cpu_series(find_machine("epyc-64"))[-3:], [64, 96, 128])
        self.assertEqual(cpu_series(find_machine("epyc-64"), [1, 96]), [1, 96])
        with self.assertRaisesRegex(MachineError, "grace-72: 96 CPUs: expected 1 to 72"):
            GRACE.with_cpus(96)

    def test_more_cpus_are_those_of_wider(self) -> None:
        self.assertEqual(find_machine("xeon-2x28").with_cpus(112).smt, 2)
        self.assertEqual(GRACE.with_cpus(8).words[-1], "cpus=8")

    def test_threads_that_run_tasks(self) -> None:
        self.assertEqual(workers_of("ws", 8, 1), 7)
        self.assertEqual(workers_of("ws", 1, 1), 0)
        self.assertEqual(workers_of("mutex-queue", 8, 1), 8)

    def test_only_ws_nests_and_has_several_producers(self) -> None:
        found = set(curves(GRACE, plan.FULL))
        self.assertIn(Curve("grace-72", "22x28", 4, "ws"), found)
        self.assertNotIn(Curve("grace-72", "22x28", 4, "mutex-queue"), found)
        self.assertNotIn(Curve("grace-72", plan.NESTED, 1, "mutex-queue"), found)

    def test_every_slot_case_of_the_benchmark_is_in(self) -> None:
        self.assertLessEqual(set(runpy.run_path(str(CASES))["SLOT_CASES"]), set(plan.SLOTS))


class TestWhole(unittest.TestCase):
    def test_workloads(self) -> None:
        self.assertEqual(median_us(listed_us, "12x6+22x28", 8, 1), 2 * 6 + 3 * 28)
        self.assertEqual(median_us(listed_us, "22x28", 64, 4), 2 * 28)
        self.assertEqual(median_us(shared_us, "22x28", 2, 1), 11 * 28)
        self.assertIsNone(median_us(listed_us, "fib19", 8, 1))

    def test_a_recorded_slot_is_at_least_its_longest_task(self) -> None:
        whole, bound = (median_us(phase, plan.RECORDED[0], 64, 1) for phase in (listed_us, shared_us))
        self.assertTrue(whole and bound and whole >= bound > 30)


class TestBounds(unittest.TestCase):
    def test_slots(self) -> None:
        one, two, chain = (slot_bounds("epyc-64", name, 64) for name in ("12x6", "22x28", "12x6+22x28"))
        self.assertAlmostEqual(one["dealt_us"], 7.02, 2)
        self.assertAlmostEqual(two["passed_us"], 31.21, 2)
        both_us = one["passed_us"] + two["passed_us"] - 0.5  # the second is not cold
        self.assertAlmostEqual(chain["passed_us"], both_us)
        for machine, workload, cpus in (
            ("no-such", "12x6", 8), ("epyc-64", "fib19", 8), ("epyc-64", plan.RECORDED[0], 8),
            ("epyc-64", "12x6", 1),
        ):  # fmt: skip
            self.assertEqual(slot_bounds(machine, workload, cpus), {})


class TestPoints(unittest.TestCase):
    def test_points(self) -> None:
        for lines, keys, expected in (
            # the median of the runs that did not fail
            ([run(8, 90, seed=1), run(8, 100, seed=2), run(8, 85, seed=3), run(4, 1, error="none")],
             ("time", "time/whole_us", "time-whole_us", "none"), (90, 90 / 84, 6, None)),
            ([run(8, 500, "empty:10000", ns_per_task=50.0)], ("time", "time/whole_us"), (50, None)),
            # smt is compared with the cores
            ([run(112, 56, "100x28", smt=2)], ("time/whole_us",), (1.0,)),
        ):  # fmt: skip
            with self.subTest(keys):
                ((point,),) = curves_of(lines).values()
                self.assertEqual(tuple(map(point.get, keys)), expected)


class TestResume(unittest.TestCase):
    def test_the_rest_of_an_interrupted_command_is_taken(self) -> None:
        """Runs with a result are there; those that failed, and those of another command, are not."""
        head, jobs = {"commit": "abc"}, [Job((), {"cpus": cpus, "seed": 1}) for cpus in (1, 2, 4)]
        done, failed = jobs[0].label | {"p50_us": 3.0}, jobs[1].label | {"error": "none"}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "out"
            self.assertEqual(interrupted(path, head), [head])
            path.write_text("".join(json.dumps(line) + "\n" for line in (head, done, failed)))
            self.assertEqual(interrupted(path, head), [head, done])
            self.assertEqual(interrupted(path, {"commit": "def"}), [{"commit": "def"}])
        self.assertEqual(left(jobs, [head, done]), jobs[1:])


class TestGoals(unittest.TestCase):
    def test_met_and_not_met(self) -> None:
        goals = goals_of(run(8, 84), run(16, 61.6), run(32, 31), run(96, 33))
        up_to_64 = "22x28, 50x28, 100x28, 100x100: up to 64 CPUs, x whole tasks"
        self.assertEqual(goals[up_to_64], (False, "1.11: 22x28, 32 CPUs"))
        self.assertTrue(goals["22x28, 50x28, 100x28, 100x100: 65 to 128 CPUs, x whole tasks"][0])
        self.assertNotIn("12x6: time beyond whole tasks", goals)  # nothing to judge

    def test_microseconds_cpu_time_and_empty_tasks(self) -> None:
        goals = goals_of(
            run(16, 9.0, "12x6", cpu_per_work=2.1),
            run(16, 30, "38x0.5", cpu_per_work=9.0),
            run(64, 700, "empty:10000", ns_per_task=70.0),
            run(128, 900, "empty:10000", ns_per_task=90.0),
        )
        self.assertEqual(goals["12x6: time beyond whole tasks"], (True, "3.0 us: 12x6, 16 CPUs"))
        self.assertEqual(goals["all slot cases but 38x0.5: CPU time / work"], (False, "2.10: 12x6, 16 CPUs"))
        self.assertEqual(
            goals["empty tasks: up to 64 CPUs, time a task"], (False, "70.0 ns: empty:10000, 64 CPUs")
        )

    def test_other_pools_and_several_producers_are_not_judged(self) -> None:
        self.assertEqual(goals_of(run(8, 999, pool="mutex-queue"), run(8, 999, producers=4)), {})


class TestTurns(unittest.TestCase):
    def test_the_steepest_rise_from_any_fewer_to_any_more(self) -> None:
        """CPUs, and the times of two runs; the median lies between them."""
        for times, expected in (
            (((8, 90, 90), (16, 60, 60), (32, 61, 61), (64, 66, 66)), "16 to 64 CPUs +10 % up for certain"),
            (((8, 100, 100), (16, 103, 103)), "8 to 16 CPUs +3 %"),  # no turn
            (((8, 90, 110), (16, 100, 120)), "8 to 16 CPUs +10 % up"),  # runs that overlap
            (((8, 100, 100), (16, 60, 60)), "8 to 16 CPUs -40 %"),
        ):
            with self.subTest(expected):
                lines = [run(n, us, seed=seed) for n, *both in times for seed, us in enumerate(both)]
                turn = turn_of(next(iter(curves_of(lines).values())))
                assert turn is not None
                text = f"{turn}{' up' if turn.is_up else ''}{' for certain' if turn.certain else ''}"
                self.assertEqual(text, expected)


class TestTable(unittest.TestCase):
    def test_report(self) -> None:
        lines = [
            run(8, 88.2, cpu_per_work=1.05, wakes=2.0),
            run(16, 59.0, cpu_per_work=1.25, wakes=3.0),
            run(8, 117.0, pool="mutex-queue"),
            run(8, 50, producers=4),
            run(16, 55, producers=4),
        ]
        text = "\n".join(report(curves_of(lines)))
        self.assertTrue(text.startswith("SIMULATED"))
        self.assertIn("22x28 on grace-72, simulated", text)
        self.assertRegex(text, r"CPUs +8 +16\n")
        self.assertRegex(text, r"ws: p50 / whole tasks +1\.05 +1\.05\n")
        self.assertRegex(text, r"ws: CPU time / work +1\.05 +1\.25\n")
        self.assertRegex(text, r"mutex-queue: p50 us +117\.0\n")
        self.assertNotIn("start lag us", text.partition("22x28 on")[2])  # no run has it
        self.assertRegex(text, r"curve +machine +ws +mutex-queue\n +22x28 +grace-72 +no +-\n")
        self.assertRegex(text, r"  22x28, 4 producers +grace-72 +8 to 16 CPUs \+10 %")

    def test_point_lines(self) -> None:
        (line,) = point_lines(curves_of([run(8, 88.2)]))
        self.assertEqual((line["bench"], line["workload"], line["time"]), ("scale-point", "22x28", 88.2))
        self.assertEqual((line["simulated"], line["whole_us"]), (True, 84))
