# SPDX-License-Identifier: BSD-3-Clause
"""Published tables beside simulated figures: the arithmetic, the pairs, and a ping-pong on the engine. The
figures of ws_sim_line are of a virtual clock; it is needed in the folder WS_SIM_BUILD for the last class."""

from __future__ import annotations

import contextlib
import io
import os
import unittest
from typing import Any

from simulate import latencies, nested, shapes
from simulate.machine import find_machine
from simulate.program import Job, program_path, run_job
from simulate.published import ALIKE, FIB_N, FIB_US, ITSELF, LATENCIES, ONETBB_NS, Latency
from simulate.topology import DISTANCES

EPYC = find_machine("epyc-64")
EXACT = Latency("a CPU", "epyc-64", ALIKE, "llc", 20.0, 15.0, 30.0)
RANGE = Latency("a CPU", "grace-72", ALIKE, "llc", None, 30.0, 60.0)


class TestData(unittest.TestCase):
    def test_each_latency_is_of_a_shipped_machine_and_a_known_distance(self) -> None:
        for one in LATENCIES:
            with self.subTest(one.cpu, distance=one.distance):
                self.assertEqual(find_machine(one.machine).name, one.machine)
                self.assertIn(one.distance, DISTANCES)
                self.assertIn(one.how, ("swap", "store"))
                self.assertTrue(one.ns is not None or one.low is not None)
                ascending = [ns for ns in (one.low, one.ns, one.high) if ns is not None]
                self.assertEqual(ascending, sorted(ascending))

    def test_curves_have_the_same_numbers_of_threads(self) -> None:
        for values in ONETBB_NS.values():
            self.assertEqual(tuple(values), shapes.EMPTY_WORKERS)


class TestPairs(unittest.TestCase):
    def other(self, machine: str, distance: str) -> tuple[int, int] | None:
        pair = latencies.pair_of(find_machine(machine), distance)
        return (pair[0].cpus, pair[1]) if pair else None

    def test_the_first_cpu_at_the_distance(self) -> None:
        self.assertEqual(self.other("epyc-64", "llc"), (64, 1))
        self.assertEqual(self.other("epyc-64", "node"), (64, 8))
        self.assertEqual(self.other("xeon-2x28", "far"), (56, 28))

    def test_wider_has_what_the_machine_lacks(self) -> None:
        self.assertEqual(self.other("epyc-64", "far"), (128, 64))
        self.assertEqual(self.other("xeon-2x28", "smt"), (112, 1))

    def test_no_such_pair(self) -> None:
        self.assertIsNone(self.other("epyc-64", "smt"))
        self.assertIsNone(self.other("grace-72", "node"))
        self.assertIsNone(self.other("grace-72", "far"))

    def test_a_pair_is_run_once(self) -> None:
        jobs = latencies.jobs_for([EXACT, EXACT, RANGE, Latency("a CPU", "grace-72", ALIKE, "far", 9.0)])
        self.assertEqual([one.label["machine"] for one in jobs], ["epyc-64", "grace-72"])
        self.assertEqual(jobs[0].words[-2:], ("cpu=0", "other=1"))


class TestVerdicts(unittest.TestCase):
    def test_error(self) -> None:
        self.assertAlmostEqual(latencies.error_of(EXACT, 25.0), 0.25)
        for ns, error in ((20.0, -1 / 3), (45.0, 0.0), (66.0, 0.1)):
            self.assertAlmostEqual(latencies.error_of(RANGE, ns), error)

    def test_verdict(self) -> None:
        for ns, text in ((21.9, "within 10 %"), (29.0, "in the pairs' range"), (31.0, "no")):
            self.assertEqual(latencies.verdict(EXACT, ns), text)

    def test_a_row_names_what_cannot_be_simulated(self) -> None:
        self.assertEqual(latencies.row(EXACT, {})[-3:], ["-", "-", "no such pair"])
        ran = {("epyc-64", "llc"): {"swap_ns": 25.0, "store_ns": 50.0}}
        self.assertEqual(
            latencies.row(EXACT, ran)[-4:], ["15.0 to 30.0", "25.0", "+25", "in the pairs' range"]
        )

    def test_inside_a_range(self) -> None:
        self.assertEqual(latencies.verdict(RANGE, 45.0), "in the range")
        self.assertEqual(latencies.verdict(RANGE, 61.0), "within 10 %")
        self.assertEqual(latencies.verdict(RANGE, 90.0), "no")

    def test_summary_by_relation(self) -> None:
        ran = {("epyc-64", "llc"): {"swap_ns": 25.0, "store_ns": 50.0}}
        near = Latency("a CPU", "epyc-64", ITSELF, "llc", 25.0)
        lines = latencies.summary([EXACT, near, RANGE], ran)
        self.assertEqual(len(lines), 2)
        self.assertIn("same: 0 of 1 within 10 %, errors +25 to +25 %", lines[0])
        self.assertIn("source: 1 of 1", lines[1])


class TestNested(unittest.TestCase):
    def test_calls_are_counted(self) -> None:
        def fib(n: int) -> int:
            return 1 if n < 2 else 1 + fib(n - 1) + fib(n - 2)

        for n in (1, 2, 3, 10, 15):
            self.assertEqual(nested.calls(n), fib(n))
        self.assertEqual(nested.calls(FIB_N), 204668309)

    def test_published_figures(self) -> None:
        self.assertAlmostEqual(nested.ns_per_call(FIB_US["citor"], 64, FIB_N), 15.6, places=1)
        self.assertAlmostEqual(nested.ns_per_call(FIB_US["oneTBB"], 64, FIB_N), 67.4, places=1)

    def test_jobs(self) -> None:
        self.assertIn("workers=63", nested.job(EPYC, 27, 64).words)
        alone = nested.job(EPYC, 27, 1).words
        self.assertIn("workers=0", alone)
        self.assertIn("cpus=1", alone)

    def test_a_run_that_failed_is_left_out(self) -> None:
        results: list[dict[str, Any]] = [
            {"n": 19, "threads": 64, "error": "no"},
            {"n": 19, "threads": 64, "p50_us": 100.0},
        ]
        with contextlib.redirect_stderr(io.StringIO()) as text:
            rows = nested.rows(results, EPYC)
        self.assertEqual(len(rows), len(FIB_US) + 1)
        self.assertEqual(rows[-1][-1], f"{100e3 * 64 / nested.calls(19):.1f}")
        self.assertIn("fib19: no", text.getvalue())


class TestCurves(unittest.TestCase):
    def test_growth(self) -> None:
        self.assertAlmostEqual(shapes.growth({1: 50.0, 8: 40.0, 64: 100.0}), 2.0)

    def test_tables_are_chosen_by_name(self) -> None:
        self.assertEqual(shapes.parse(["--only", "nested,slides"]).only, ["nested", "slides"])
        self.assertEqual(shapes.parse(["--fib", "20,22"]).fib, [20, 22])
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            shapes.parse(["--only", "nonsense"])


@unittest.skipUnless(os.access(program_path("ws_sim_line"), os.X_OK), "ws_sim_line was not built")
class TestPingPong(unittest.TestCase):
    def test_a_line_that_is_fought_over_comes_in_the_files_time(self) -> None:
        """The program that measured vm-2-amd's 27.2 ns finds it again on the simulated machine."""
        simulated = latencies.simulate(LATENCIES, 1)
        self.assertAlmostEqual(simulated["vm-2-amd", "llc"]["swap_ns"], 27.2, delta=0.3)
        self.assertAlmostEqual(simulated["epyc-64", "node"]["swap_ns"], 107.0, delta=1.0)
        self.assertAlmostEqual(simulated["epyc-64", "far"]["swap_ns"], 197.0, delta=1.0)

    def test_wrong_words_are_named(self) -> None:
        for words, message in (
            (("cpu=0", "other=0"), "expected two of"),
            (("cpu=0", "other=64"), "expected two of 64 CPUs"),
            (("nonsense=1",), 'ws_sim_line: "nonsense=1" is no option'),
        ):
            with self.subTest(words):
                result = run_job(Job((*EPYC.words, *words)), "ws_sim_line", 60.0)
                self.assertIn(message, result["error"])


if __name__ == "__main__":
    unittest.main()
