# SPDX-License-Identifier: BSD-3-Clause
"""The report on very many runs."""

import itertools
import json
import os
import random
import resource
import subprocess
import sys

import pytest
from golden_files import ROOT
from made_up import at, checked, run

from nrbench.sweep.figures import DECODING, RX, SYMBOLS

POOLS = (("old", 1.0), ("new", 0.8))  # with their times
VARIED = {"repeat": "%d", "began": "%s", "figures": dict.fromkeys((SYMBOLS, DECODING, RX), "%.1f")}
SETTINGS = 20000


def lines(repeats):
    """Those of a setting differ in their figures only, and are made of one text."""
    random_numbers = random.Random(1)
    of_cases = itertools.product(range(10), range(6, 26, 2), range(0, 20, 2), (1, 2, 3, 4))
    for host, snr_db, mcs, layers in of_cases:
        us = 200 * layers * (1 + mcs / 10)
        settings = [("inline", 0, us)]
        settings += [(pool, n, factor * us / n**0.7) for pool, factor in POOLS for n in (1, 4)]
        for pool, threads, mean_us in settings:
            one = run(pool, 0, 1, threads, "ac"[host % 2], snr_db=snr_db, sweep=f"{host:012x}")
            one |= {"case": f"mcs{mcs}-{layers}l-{snr_db}dB", "scenario": "many"}
            one["host"] |= {"label": f"lab {host}", "id": f"{host:08x}"}
            text = json.dumps(checked([one])[0].model_dump(mode="json") | VARIED, separators=(",", ":"))
            text = text.replace('"%d"', "%d").replace('"%.1f"', "%.1f")
            for repeat in range(repeats):
                rx = mean_us * random_numbers.lognormvariate(0, 0.02)
                yield f"{text}\n" % (repeat, at(repeat), rx / 5, 2 * rx / 5, rx)


@pytest.mark.alone
def test_a_million_runs_in_two_minutes_of_cpu_time_and_two_gb(tmp_path):
    """In a process of its own. CPU time: the machine may have other work."""
    path = tmp_path / "runs.ndjson"
    repeats = int(os.environ.get("WS_LARGE_RUNS", "1000000")) // SETTINGS
    with path.open("w", encoding="utf-8") as out:
        out.writelines(lines(repeats))
    words = [sys.executable, "-m", "nrbench", "report", str(path), "--out", str(tmp_path / "out")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, cwd=ROOT / "nr_ulsim_bench", capture_output=True, text=True, timeout=3600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{repeats * SETTINGS} runs: {cpu_s:.0f} s of CPU time, {after.ru_maxrss >> 10} MiB")
    assert after.ru_maxrss < 2 << 20  # KiB
    assert cpu_s < 150  # about 90 on two CPUs of 2023 that were very busy
