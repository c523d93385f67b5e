# SPDX-License-Identifier: BSD-3-Clause
"""The models of OAI's build and what builds them are those of the hook's tests."""

from __future__ import annotations

import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "ci"))

from oai_model.conftest import pytest_configure  # noqa: E402, F401
from oai_model.test_hook import new_build  # noqa: E402, F401
