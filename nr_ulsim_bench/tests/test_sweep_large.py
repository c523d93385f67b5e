# SPDX-License-Identifier: BSD-3-Clause
"""The report on very many runs."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import sweep_large

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.alone
def test_a_million_runs_in_two_minutes_of_cpu_time_and_two_gb(tmp_path):
    """In a process of its own. CPU time: the machine may have other work."""
    path = tmp_path / "runs.ndjson"
    shape = {
        "hosts": 10,
        "snrs": range(6, 26, 2),
        "mcs": range(0, 20, 2),
        "layers": (1, 2, 3, 4),
        "threads": (1, 4),
    }
    repeats = int(os.environ.get("WS_LARGE_RUNS", "1000000")) // 20000
    assert sweep_large.write(path, **shape, repeats=repeats) == repeats * 20000
    words = [sys.executable, "-m", "nrbench", "report", str(path), "--out", str(tmp_path / "out")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{repeats * 20000} runs: {cpu_s:.0f} s of CPU time, {after.ru_maxrss >> 10} MiB")
    assert after.ru_maxrss < 2 << 20  # KiB
    assert cpu_s < 150  # about 90 on two CPUs of 2023 that were very busy
