# SPDX-License-Identifier: BSD-3-Clause
"""A sweep that is ended from outside: what is there is whole, and no program of it lives on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fake import a_program
from part_runs import WAIT_S, is_gone, until

from nrbench.sweep.record import read_runs

pytestmark = pytest.mark.alone
ROOT = Path(__file__).parent.parent
OUTPUT = Path(__file__).parent / "outputs" / "v2.1.0-new-2-threads.txt"


def heed_interrupts() -> None:
    """Who starts the tests in the background may have Ctrl-C ignored, and all that they start inherits it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def sweep(tmp_path):
    """Its second run writes its process id and then hangs. The one of two slots asks for the pool."""
    body = (
        f"mark = {str(tmp_path / 'mark')!r}\n"
        "if '-n2' not in options and os.path.exists(mark):\n"
        f"  print(os.getpid(), file=open({str(tmp_path / 'hangs')!r}, 'w'), flush=True)\n"
        "  import time; time.sleep(1000)\n"
        "if '-n2' not in options: open(mark, 'w')\n"
        f"sys.stdout.write(open({str(OUTPUT)!r}, errors='replace').read())"
    )
    folder = a_program(tmp_path / "build", body)
    words = ["--new", str(folder), "--cases", "quick:prb106-mcs9", "--threads", "1", "--spin", "auto"]
    words += ["--cpus", str(min(os.sched_getaffinity(0)))]  # no runs side by side
    process = subprocess.Popen(
        [sys.executable, "-m", "nrbench", "sweep", *words, "--repeats", "2", "--out", str(tmp_path / "out")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    hangs = tmp_path / "hangs"
    until(lambda: hangs.exists() and hangs.read_text().endswith("\n"))
    yield process, int(hangs.read_text())
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_a_report(sweep, number, tmp_path):
    process, run = sweep
    process.send_signal(number)
    _, said = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    assert "interrupted: 1 of 4 runs taken; the same command takes the rest" in said
    assert is_gone(run)
    assert len(read_runs(tmp_path / "out" / "runs.ndjson")) == 1
    assert (tmp_path / "out" / "report.html").is_file()
    report = (tmp_path / "out" / "report.txt").read_text().split()
    assert "WARNING: interrupted: 1 of 4 runs taken;" in " ".join(report)


def test_a_sweep_that_is_killed_takes_its_program_with_it(sweep, tmp_path):
    process, run = sweep
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=WAIT_S)
    until(lambda: is_gone(run))
    assert len(read_runs(tmp_path / "out" / "runs.ndjson")) == 1
