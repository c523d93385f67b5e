# SPDX-License-Identifier: BSD-3-Clause
"""What `tpool-ws-trace report` prints of small traces: tests/trace/<case>.log, as babeltrace2 prints it."""

import golden_files
import pytest
from trace_tools import CASES


@pytest.mark.parametrize("case", sorted(path.stem for path in CASES.glob("*.log")))
def test_the_figures_are_those_of_before(tool, case):
    tool.take(case)
    golden_files.check(f"../trace/{case}.json", tool.report("--json"))


@pytest.mark.parametrize("case", sorted(path.stem for path in CASES.glob("*.txt")))
def test_the_tables_are_those_of_before(tool, case):
    tool.take(case)
    golden_files.check(f"../trace/{case}.txt", tool.report())
