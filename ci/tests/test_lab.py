# SPDX-License-Identifier: BSD-3-Clause
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from labs.kind import SILENT, Kind, Machine

PASSED = "TEST 0 one\nRESULT 0 0 1.5\nTEST 1 two\nRESULT 1 77 1.6\n"
BROKEN = "TEST 0 one\nKernel panic\n"
SINGLE = "tcg,thread=single"  # no thread runs what another one rewrites
BOOTS = (
    ((SINGLE, PASSED), "passed skipped"),
    ((SINGLE, BROKEN), "FAILED NOT BEGUN"),  # by the test: not once more
    ((SINGLE, "Kernel panic\n", PASSED), "passed skipped"),
    ((SINGLE, "Kernel panic\n", "Kernel panic\n"), "NOT BEGUN NOT BEGUN"),
    ((SINGLE, BROKEN + SILENT, PASSED), "passed skipped"),
    (("kvm", BROKEN, PASSED), "passed skipped"),
)


class LabTest(unittest.TestCase):
    def test_a_machine_that_does_not_boot_is_booted_once_more(self) -> None:
        for (accelerator, *said), expected in BOOTS:
            kind = Kind("kind", (), ())
            kind.accelerator = accelerator
            with mock.patch.object(kind, "boot", side_effect=said) as boot:
                found = kind.run_machine(Machine("machine", ("one", "two")), Path())
            self.assertEqual(" ".join(one.result for one in found), expected)
            self.assertEqual((kind.accelerator, boot.call_count), (SINGLE, len(said)))

    def test_a_machine_with_a_mutant_ends_at_the_first_failure(self) -> None:
        said = f"{PASSED}TEST 2 three\nRESULT 2 1 1.7\n"
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, PATH=f"{folder}:/bin"):
            (qemu := Path(folder, "qemu-system-none")).write_text(
                f"#!/bin/sh\necho '{said}'; exec sleep 1000"
            )
            qemu.chmod(0o755)
            (kind := Kind("kind", (), (), architecture="none")).folder = Path(folder)
            kind.until_failed = True
            self.assertEqual(kind.boot(Machine("machine", ()), Path()), f"{said}\n")
