# SPDX-License-Identifier: BSD-3-Clause
"""Late bursts are given to the noise that made them late. Needs ws_sim_time in the folder WS_SIM_BUILD."""

import os
import unittest

from simulate.ledger import LEAST, found, shares
from simulate.program import HOST_CPUS, program_path


@unittest.skipUnless(os.access(program_path("ws_sim_time"), os.X_OK), "ws_sim_time was not built")
class Ledger(unittest.TestCase):
    def test_noises_one_at_a_time(self) -> None:
        sums = found(["vm-2-amd", "arm-board-4"], 5, 60000, HOST_CPUS)
        for cause, given, right in shares(sums):
            with self.subTest(cause=cause):
                self.assertGreater(min(given, right), LEAST - 0.05)  # about 100 late bursts: by chance
