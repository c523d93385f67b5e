# SPDX-License-Identifier: BSD-3-Clause
"""How runs end: well, by exit status, by a signal, not at all."""

import os
import signal
import sys
import threading
import time

import pytest
from fake import limit_when
from part_runs import is_gone, until

from nrbench.sweep.process import OUTPUT_MAX_BYTES, bound_to, run_at_once


def run(script, tmp_path, limit_s=600, cpus=None, environment=None):
    command, given = [sys.executable, "-c", script], environment or dict(os.environ)
    return run_at_once(command, folder=tmp_path, environment=given, limit_s=limit_s, cpus_of_each=[cpus])[0]


def test_output_of_both_streams_and_costs(tmp_path):
    script = (
        "import sys; print('a', flush=True); print('b', file=sys.stderr, flush=True)\n"
        "sum(range(10**6)); sys.exit(3)"
    )
    ended = run(script, tmp_path)
    assert ended.output == "a\nb\n" and ended.last_line == "b"
    assert (ended.exit_code, ended.signal_name, ended.hung) == (3, None, False)
    assert ended.usage.ru_utime > 0 and ended.wall_s > 0 and ended.usage.ru_maxrss > 1024


def test_a_crash_tells_its_signal(tmp_path):
    ended = run("import os; os.abort()", tmp_path)
    assert (ended.exit_code, ended.signal_name, ended.hung) == (-6, "SIGABRT", False)
    assert run("import os; os.kill(os.getpid(), 36)", tmp_path).signal_name == "signal 36"


def test_a_run_that_hangs_is_killed_with_its_children(tmp_path, monkeypatch):
    limit_when(monkeypatch, (tmp_path / "hangs").exists)
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        "print(child.pid, flush=True); open('hangs', 'w').close(); time.sleep(1000)"
    )
    ended = run(script, tmp_path)
    assert ended.hung
    until(lambda: is_gone(int(ended.output)))


PAIR = "import os, time; open(f'pid-{os.getpid()}', 'w').close(); "


def pair(script, tmp_path, limit_s=600):
    return run_at_once(
        [sys.executable, "-c", PAIR + script],
        folder=tmp_path,
        environment=dict(os.environ),
        limit_s=limit_s,
        cpus_of_each=[None, None],
    )


def pids(tmp_path):
    return [int(path.name[4:]) for path in tmp_path.glob("pid-*")]


def test_runs_side_by_side_each_have_an_end_and_an_output(tmp_path):
    meet = "\nwhile sum(name.startswith('pid-') for name in os.listdir()) < 2: time.sleep(0.01)\n"
    ended = pair(f"{meet}print(os.getpid(), flush=True); os._exit(3)", tmp_path)
    assert [one.exit_code for one in ended] == [3, 3] and not any(one.hung for one in ended)
    assert {int(one.output) for one in ended} == set(pids(tmp_path))


def test_runs_side_by_side_that_hang_are_all_killed(tmp_path, monkeypatch):
    limit_when(monkeypatch, lambda: len(pids(tmp_path)) == 2)
    ended = pair("time.sleep(1000)", tmp_path)
    assert all(one.hung and one.signal_name == "SIGKILL" for one in ended)
    assert all(map(is_gone, pids(tmp_path)))


@pytest.mark.alone
def test_an_interrupt_ends_all_that_run_side_by_side(tmp_path, monkeypatch):
    are_listed, wait = threading.Event(), os.wait4
    monkeypatch.setattr(os, "wait4", lambda *words: (are_listed.set(), wait(*words))[1])

    def interrupt():
        are_listed.wait(600)
        while len(pids(tmp_path)) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            threading.Thread(target=interrupt).start()
            pair("time.sleep(1000)", tmp_path, limit_s=1000)
    finally:
        signal.signal(signal.SIGINT, before)
    until(lambda: all(map(is_gone, pids(tmp_path))))


def test_bytes_that_are_no_text_and_endless_output(tmp_path):
    script = f"import sys; sys.stdout.buffer.write(b'x' * {OUTPUT_MAX_BYTES} + b'\\xb5s end\\n')"
    ended = run(script, tmp_path)
    assert ended.output.endswith("\ufffds end\n") and len(ended.output) <= OUTPUT_MAX_BYTES


def test_a_program_that_cannot_be_started(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        run_at_once(["absent"], folder=tmp_path, environment={}, limit_s=1, cpus_of_each=[None])


def test_a_run_is_bound_to_cpus_and_the_caller_is_not(tmp_path):
    before = os.sched_getaffinity(0)
    cpu = min(before)
    ended = run("import os; print(os.sched_getaffinity(0))", tmp_path, cpus=[cpu])
    assert ended.output == f"{{{cpu}}}\n"
    assert os.sched_getaffinity(0) == before


def test_cpus_that_are_not_there_are_named():
    with pytest.raises(ValueError, match=r"CPUs \[4095\]: Invalid argument; usable here"):
        with bound_to([4095]):
            pass
