# SPDX-License-Identifier: BSD-3-Clause
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it; tests send it
