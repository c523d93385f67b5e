# SPDX-License-Identifier: BSD-3-Clause
"""Machine files are checked: each shipped one is read, and an error names file and key."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from simulate.machine import MACHINES, MachineError, find_machine, read_machine
from simulate.machinefile import ascending, machine_text, mean_of
from simulate.measured import Measured
from simulate.workload import WorkloadError, benchmark_period_us, default_period_us, workload_words

SPREAD = [1000.0, 2000.0, 3000.0, 4000.0, 5000.0, 6000.0]


def measured() -> Measured:
    names = ("load_ns", "add_ns", "fence_ns", "pause_ns", "clock_ns", "syscall_ns", "create_ns")
    wake = {20: {"call_ns": SPREAD, "latency_ns": SPREAD}}
    return Measured(
        costs={name: 10.0 for name in names},
        lines={"llc": {"swap_ns": 25.0, "store_ns": 50.0}},
        wakes=wake,
        fresh_wakes=wake,
        kicks=wake,
        timers={50: SPREAD},
        cold={50: SPREAD},
        detour=SPREAD,
        detours_share=0.01,
    )


class TestMachines(unittest.TestCase):
    def written(self, text: str) -> Path:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "some.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def test_every_shipped_file_is_good(self) -> None:
        names = sorted(path.stem for path in MACHINES.glob("*.toml"))
        self.assertIn("xeon-2x28", names)
        for name in names:
            self.assertEqual(find_machine(name).name, name)

    def test_an_unknown_name_lists_the_known(self) -> None:
        with self.assertRaisesRegex(MachineError, "nonsense: no such machine file; shipped: .*epyc-64"):
            find_machine("nonsense")

    def test_errors_name_file_and_key(self) -> None:
        good = (MACHINES / "grace-72.toml").read_text(encoding="utf-8")
        for old, new, message in (
            ("llc_ns = 55", "llc_ns = -1", r"some.toml: memory.llc_ns: -1 is not between 0 and"),
            ("llc_ns = 55", "llc_nz = 55", r"some.toml: memory.llc_nz: unknown key"),
            ("llc_ns = 55", "", r"some.toml: memory.llc_ns: missing"),
            ("cpus = 72\n", "cpus = 71\n", r"some.toml: cpus.cpus: 71 is not a multiple of node_cpus"),
            ("cpus = 72\n", 'cpus = "72"\n', r"some.toml: cpus.cpus: '72' is not an integer"),
            (
                "2200, 2700",
                "2700, 2200",
                r"some.toml: wake\[0\].ns: the percentiles are not in ascending order",
            ),
            (
                "[[wake]]\nidle_us = 0",
                "[[wake]]\nidle_us = 5",
                r"some.toml: wake\[0\].idle_us: expected 0 first",
            ),
            ("[memory]", "[memory", r"some.toml: "),
        ):
            with self.subTest(message):
                self.assertIn(old, good)
                with self.assertRaisesRegex(MachineError, message):
                    read_machine(self.written(good.replace(old, new, 1)))

    def test_wider_changes_counts_and_numbers(self) -> None:
        wide = find_machine("xeon-2x28").wider
        assert wide is not None
        self.assertEqual((wide.cpus, wide.smt, wide.wider), (112, 2, None))
        self.assertIn("smt_slowdown=1.6", wide.words)
        self.assertIsNone(find_machine("grace-72").wider)

    def test_errors_of_wider(self) -> None:
        good = (MACHINES / "grace-72.toml").read_text(encoding="utf-8")
        for more, message in (
            ("cpus = 72", r"some.toml: wider.cpus: expected more than 72"),
            ("cpus = 144\nlanes = 2", r"some.toml: wider.lanes: unknown key"),
            ("cpus = 80", r"some.toml: cpus.cpus: 80 is not a multiple of node_cpus"),
        ):
            with self.subTest(message), self.assertRaisesRegex(MachineError, message):
                read_machine(self.written(f"{good}\n[wider]\n{more}\n"))

    def test_what_calibrate_writes_can_be_read(self) -> None:
        sizes = {"cpus": 2, "smt": 1, "llc_cpus": 2, "node_cpus": 2}
        machine = read_machine(self.written(machine_text("a machine", sizes, measured())))
        self.assertEqual((machine.title, machine.cpus), ("a machine", 2))
        self.assertIn("llc_ns=25", machine.words)
        self.assertIn("call=0:990,1990,2990,3990,4990,5990", machine.words)

    def test_one_cpu_has_no_pair(self) -> None:
        one = measured()
        one.lines, one.wakes, one.fresh_wakes, one.kicks = {}, {}, {}, {}
        sizes = {"cpus": 1, "smt": 1, "llc_cpus": 1, "node_cpus": 1}
        self.assertEqual(read_machine(self.written(machine_text("one", sizes, one))).cpus, 1)

    def test_spreads(self) -> None:
        self.assertEqual(ascending([-1.0, 3.0, 2.0]), [0.0, 3.0, 3.0])
        self.assertAlmostEqual(mean_of([7.0] * 6), 7.0)


class TestWorkloads(unittest.TestCase):
    def test_words(self) -> None:
        self.assertEqual(workload_words("12x6+22x28"), ("slot=12x6+22x28",))
        self.assertEqual(workload_words("fib19"), ("slot=1x0", "nested=19"))
        self.assertEqual(workload_words("empty:1000"), ("slot=1000x0",))
        for text in ("12", "12x", "x6", "12x6+", "empty", "nothing.slots"):
            with self.subTest(text), self.assertRaises(WorkloadError):
                workload_words(text)

    def test_periods(self) -> None:
        self.assertEqual(default_period_us("22x28", 8, 1), 500)
        self.assertEqual(default_period_us("100x100", 2, 1), 7000)
        self.assertEqual(default_period_us("empty:1000", 2, 1), 0)
        self.assertEqual(benchmark_period_us("100x100", 2), 12000)
        self.assertEqual(benchmark_period_us("12x6", 2), 500)


if __name__ == "__main__":
    unittest.main()
