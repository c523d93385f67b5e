# SPDX-License-Identifier: BSD-3-Clause
"""How runs end: well, by exit status, by a signal, not at all."""

import os
import sys
import time

import pytest

from nrbench.sweep.process import OUTPUT_MAX_BYTES, bound_to, run_program


def run(script, tmp_path, limit_s=60, **more):
    return run_program(
        [sys.executable, "-c", script], folder=tmp_path, environment=dict(os.environ), limit_s=limit_s, **more
    )


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


def test_a_run_that_hangs_is_killed_with_its_children(tmp_path):
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        "print(child.pid, flush=True); time.sleep(1000)"
    )
    ended = run(script, tmp_path, limit_s=5)
    assert ended.hung
    child = int(ended.output)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{child}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    return
        except FileNotFoundError:
            return
        time.sleep(0.01)
    pytest.fail("the child lives on")


def test_bytes_that_are_no_text_and_endless_output(tmp_path):
    script = f"import sys; sys.stdout.buffer.write(b'x' * {OUTPUT_MAX_BYTES} + b'\\xb5s end\\n')"
    ended = run(script, tmp_path)
    assert ended.output.endswith("\ufffds end\n") and len(ended.output) <= OUTPUT_MAX_BYTES


def test_a_program_that_cannot_be_started(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        run_program([str(tmp_path / "absent")], folder=tmp_path, environment={}, limit_s=1)


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
