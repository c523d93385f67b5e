# SPDX-License-Identifier: BSD-3-Clause
"""Where this project's tree has its programs and recorded slots: defaults of options."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
SIMULATE = ROOT.parent / "ci" / "simulate"
PROGRAMS = ROOT.parent / "build-bench" / "nr_ulsim_bench" / "bin"  # where ci/bench builds
