# SPDX-License-Identifier: BSD-3-Clause
"""Mutants fit the sources, and the table of which test finds which has a row for each of them."""

from __future__ import annotations

import csv
import tempfile
import unittest
from pathlib import Path

from simulate.kills import HEADS, NAMES_MAX, failures, keys_of, read_table, store, summary, write_table
from simulate.mutate import MODULE, SIM, find_mutants

OUTPUT = """
Suite: park
  Test: a_case ...passed
  Test: another ...
some output
FAILED
    1. test_park.c:12  - CU_ASSERT(false)
Suite: wake
  Test: in_a_child ...
Run Summary:    Type  Total    Ran Passed Failed Inactive
passed
"""
ENDS_HERE = "  Test: the_last ..."


class TestMutants(unittest.TestCase):
    """A change of a line must not leave a defect untried."""

    def test_each_replaces_one_place(self) -> None:
        for mutant in find_mutants():
            texts = {edit.file: (MODULE / edit.file).read_text() for edit in mutant.edits}
            for edit in mutant.edits:
                with self.subTest(mutant.name, file=edit.file):
                    self.assertEqual(texts[edit.file].count(edit.old), 1)
                    texts[edit.file] = texts[edit.file].replace(edit.old, edit.new)


class TestKills(unittest.TestCase):
    def test_the_table_names_each_mutant_and_no_other(self) -> None:
        with (SIM / "kills.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        names = [mutant.name for mutant in find_mutants()]
        self.assertEqual(
            [row["mutant"] for row in rows], names, "ci/simulate kills --show adds and drops rows"
        )

    def test_a_cell_names_the_cases(self) -> None:
        self.assertEqual(failures("test_sleep", OUTPUT, "Failed"), ["park: another"])
        for how, text, end in (
            ("SEGFAULT", "", "SEGFAULT"),
            ("Timeout", "", "hang"),
            ("Failed", "\nWATCHDOG: ", "hang"),
        ):
            found = failures("test_sleep", OUTPUT + ENDS_HERE + text, how)
            self.assertEqual(found, ["park: another", f"wake: the_last ({end})"])
        self.assertEqual(failures("contract_cxx", "", "SEGFAULT"), ["contract_cxx (SEGFAULT)"])

    def test_a_result_is_kept_with_its_key(self) -> None:
        mutants = find_mutants()[:2]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kills.csv"
            rows = read_table(path, mutants)
            store(rows[mutants[0].name], "units", "12ab", [f"park: case{i}" for i in range(NAMES_MAX + 2)])
            store(rows[mutants[0].name], "explore", "34cd", [])
            write_table(path, rows | {"gone": dict.fromkeys(HEADS, "") | {"mutant": "gone"}})
            rows = read_table(path, mutants)
        self.assertEqual(list(rows), [mutant.name for mutant in mutants])
        row = rows[mutants[0].name]
        self.assertEqual(keys_of(row), {"units": "12ab", "explore": "34cd"})
        self.assertTrue(row["units"].endswith("; and 2 more"))
        self.assertEqual(row["explore"], "-")
        self.assertEqual(list(summary(rows, mutants))[-1], f"units only (1): {mutants[0].name}")


if __name__ == "__main__":
    unittest.main()
