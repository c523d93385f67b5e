# SPDX-License-Identifier: BSD-3-Clause
"""What all tests here share."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oai_model.test_hook import new_build  # noqa: E402, F401
