# SPDX-License-Identifier: BSD-3-Clause
"""What all tests here share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oai_model.test_hook import new_build  # noqa: E402, F401


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: in ci/test full only")
