# SPDX-License-Identifier: BSD-3-Clause
"""Machine files are checked: each shipped one is read, and an error names file and key."""

import tempfile
import unittest
from pathlib import Path

from simulate.machine import MACHINES, MachineError, find_machine, read_machine
from simulate.workload import WorkloadError, default_period_us, workload_words


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
            ("llc_ns = 55", "llc_ns = -1", "llc_ns: -1: neither a number"),
            ("llc_ns = 55", "llc_nz = 55", "llc_nz: unknown key"),
            ("llc_ns = 55", "", "llc_ns: missing"),
            ("cpus = 72\n", "cpus = 71\n", "cpus: 71 is not a multiple of"),
            ("2200, 2700", "2700, 2200", "wake: .* ascending percentiles"),
            ("[[wake]]\nidle_us = 0", "[[wake]]\nidle_us = 5", "wake.idle_us: expected 0 first"),
            ("[[wake]]\nidle_us = 0", "[[wake]]", "wake: expected tables"),
            ("[memory]", "[memory", ""),
            ("[memory]", "[wider]\ncpus = 72\n[memory]", "wider.cpus: expected more than 72"),
            ("[memory]", "[wider]\ncpus = 144\nlanes = 2\n[memory]", "lanes: unknown key"),
        ):
            with self.subTest(new):
                self.assertIn(old, good)
                with self.assertRaisesRegex(MachineError, f"some.toml: {message}"):
                    read_machine(self.written(good.replace(old, new, 1)))

    def test_wider_changes_counts_and_numbers(self) -> None:
        wide = find_machine("xeon-2x28").wider
        assert wide is not None
        self.assertEqual((wide.cpus, wide.smt, wide.wider), (112, 2, None))
        self.assertIn("smt_slowdown=1.6", wide.words)
        self.assertIsNone(find_machine("grace-72").wider)


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
