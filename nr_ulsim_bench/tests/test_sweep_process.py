# SPDX-License-Identifier: BSD-3-Clause
"""How runs end: well, by exit status, by a signal, not at all."""

import os
import signal
import sys
import threading

import pytest
from fake import limit_when
from part_runs import is_gone, until

from nrbench.sweep.process import OUTPUT_MAX_BYTES, run_at_once


def run(script, tmp_path, cpus_of_each=(None,), limit_s=600):
    more = {"environment": dict(os.environ), "limit_s": limit_s, "cpus_of_each": cpus_of_each}
    return run_at_once([sys.executable, "-c", script], folder=tmp_path, **more)


PAIR = "import os, time; open(f'pid-{os.getpid()}', 'w').close(); "


def pair(script, tmp_path):
    return run(PAIR + script, tmp_path, (None, None))


def pids(tmp_path):
    return [int(path.name[4:]) for path in tmp_path.glob("pid-*")]


def test_runs_side_by_side_that_hang_are_all_killed(tmp_path, monkeypatch):
    limit_when(monkeypatch, lambda: len(pids(tmp_path)) == 2)
    ended = pair("time.sleep(1000)", tmp_path)
    assert all(one.hung and one.exit_code == -signal.SIGKILL for one in ended)
    assert all(map(is_gone, pids(tmp_path)))


@pytest.mark.alone
def test_an_interrupt_ends_all_that_run_side_by_side(tmp_path, monkeypatch):
    are_listed, wait = threading.Event(), os.wait4
    monkeypatch.setattr(os, "wait4", lambda *words: (are_listed.set(), wait(*words))[1])

    def interrupt():
        are_listed.wait(600)
        until(lambda: len(pids(tmp_path)) == 2)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        threading.Thread(target=interrupt).start()
        pair("time.sleep(1000)", tmp_path)
    until(lambda: all(map(is_gone, pids(tmp_path))))


def test_bytes_that_are_no_text_and_endless_output(tmp_path):
    script = f"import sys; sys.stdout.buffer.write(b'x' * {OUTPUT_MAX_BYTES} + b'\\xb5s end\\n')"
    (ended,) = run(script, tmp_path)
    assert ended.output.endswith("\ufffds end\n") and len(ended.output) <= OUTPUT_MAX_BYTES
