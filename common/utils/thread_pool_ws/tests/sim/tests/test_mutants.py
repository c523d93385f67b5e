# SPDX-License-Identifier: BSD-3-Clause
"""Mutants fit the sources, and the table of which test finds which has a row for each of them."""

import csv
import tempfile
import unittest
from pathlib import Path

from simulate.kills import (
    HEADS,
    NAMES_MAX,
    drop_gone,
    failures,
    keys_of,
    read_table,
    store,
    summary,
    write_table,
)
from simulate.mutate import MODULE, SIM, find_mutants
from simulate.named import Named, has

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
APART = """
Suite: order
  Test: a_job ...
Suite: order
  Test: a_job ...passed
Elapsed time =    0.012 seconds
passed
  Test: another ...
Suite: order
  Test: another ...FAILED
Elapsed time =    0.012 seconds
FAILED
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
        self.assertEqual(failures("contract_task", APART, "Failed"), ["order: another"])
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

    def test_a_case_that_is_gone_leaves_the_table(self) -> None:
        files = {
            "CMakeLists.txt": "add_test(contract_task) add_test(${name}_cxx)",
            "unit/core/test_push.c": "TEST_CASE(a_push)",
            "contract/order.c": "CONTRACT_CASE(a_job)",
            "scenes/full.c": '{"a_queue_of_" kind "_priority_grows"} "low"',
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, "tests", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            named = Named(Path(folder))
            row = dict.fromkeys(HEADS, "") | {
                "keys": "units=12 scenes=34 contract=56",
                "units": "push: a_pull (hang); search: a_push",
                "scenes": "full: a_queue_grows; full: a_queue_of_low_priority_grows (hang); and 3 more",
                "contract": "contract_fifo (exit 1); contract_task (exit 1); contract_task_cxx (crash); "
                "order: a_job (hang); order: b_job",
            }
            drop_gone(row, named)
        self.assertEqual((row["units"], row["keys"]), ("", "scenes=34 contract=56"))
        self.assertEqual(row["scenes"], "full: a_queue_of_low_priority_grows (hang); and 3 more")
        kept = "contract_task (exit 1); contract_task_cxx (crash); order: a_job (hang)"
        self.assertEqual(row["contract"], kept)

    def test_a_name_may_be_joined_from_parts(self) -> None:
        parts = {"of_", "low", "_end", "3", "0", "push"}
        for name, expected in (("push", True), ("of_low_end", True), ("of_30", True), ("lowpush", False)):
            self.assertEqual(has(name, parts), expected, name)
