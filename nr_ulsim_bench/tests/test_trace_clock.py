# SPDX-License-Identifier: BSD-3-Clause
"""What readers show of recordings under load lies between the times that the program (trace/clocked.c) itself
has read. By hand: WS_TRACE_RECORDINGS=100 WS_TRACE_SEED=1 pytest -s test_trace_clock.py"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pytest
from test_trace_lttng import BIN, PATIENT, TOOL, compiled, pytestmark  # noqa: F401

from nrbench.trace.process import read
from nrbench.trace.record import TraceError
from nrbench.trace.rings import open_trace

SEED = int(os.environ.get("WS_TRACE_SEED", time.time()))
COUNT = int(os.environ.get("WS_TRACE_RECORDINGS", 5))
KINDS = ["burst", "symbol_processing", "ulsch_decoding", "slot"]
ROW = np.dtype([("pid", "i4"), ("tid", "i4"), ("kind", "i4"), ("tasks", "i4"), ("ns", "i8", 4)])
MARGIN_NS, FOREVER, NEAR_NS, NEAR = 5000, 1 << 62, 200_000, 0.02
HOG = [sys.executable, "-c", "while True: pass"]
APART = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]  # each life has the process id 1
GROUPS = next(filter(Path.is_dir, map(Path, ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup"))))


def quota(stack: ExitStack, percent: int) -> list[str]:
    """Words before a command, which then has that share of a CPU."""
    group = GROUPS / f"ws_clocked_{os.getpid()}"
    group.mkdir()
    stack.callback(group.rmdir)
    file, whole = ("cpu.cfs_quota_us", "") if GROUPS.name == "cpu" else ("cpu.max", " 100000")
    (group / file).write_text(f"{percent}000{whole}")
    return ["sh", "-c", f'echo 0 >{group}/cgroup.procs && exec "$@"', "-"]


def disturb(rng: random.Random, process: subprocess.Popen, how: set[str], kill_s: float) -> None:
    begin_s, pid = time.monotonic(), process.pid
    while process.poll() is None:
        time.sleep(rng.uniform(0.02, 0.4))
        if "apart" in how and pid == process.pid:
            pid = int(subprocess.run(["pgrep", "-P", str(pid)], capture_output=True).stdout or pid)
        with suppress(ProcessLookupError):
            if time.monotonic() - begin_s > kill_s:
                os.kill(pid, signal.SIGKILL)
                break
            if "stop" in how and rng.random() < 0.5:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(rng.uniform(0.001, 0.08))
                os.kill(pid, signal.SIGCONT)
        if "copy" in how and rng.random() < 0.3:
            subprocess.run([TOOL.parent / "tpool-ws", "set", f"--pid={pid}", "record=1"], capture_output=True)


def recorded(seed: int, folder: Path) -> None:
    program = compiled(Path(__file__).parent / "trace/clocked.c", folder)
    rng, out = random.Random(seed), [folder / "record", folder / "trace"]
    how = {name for name in ("copy", "stop", "quota", "load", "apart", "fork") if rng.random() < 0.4}
    is_traced, lives = rng.random() < 1 / 3, rng.choice([1, 1, 1, 2, 3])
    print(f"\nseed {seed}: {', '.join(sorted(how))}{', LTTng' * is_traced}", end="")
    out[0].mkdir()
    env = PATIENT | {"TPOOL_WS_RECORD": str(out[0]), "TPOOL_WS_LIVE": "1", "LD_LIBRARY_PATH": str(BIN)}
    with ExitStack() as stack:
        wrap = quota(stack, rng.choice([30, 60, 120])) if "quota" in how else []
        wrap += APART if "apart" in how else []
        if is_traced:
            words = [TOOL, "record", "--seconds=600", f"--out={out[1]}"]
            recorder = stack.enter_context(subprocess.Popen(words, stderr=subprocess.PIPE, env=PATIENT))
            stack.callback(recorder.communicate)
            stack.callback(recorder.send_signal, signal.SIGINT)
            while b"recording into" not in (line := recorder.stderr.readline()):
                assert line, "no recorder"
            env["TPOOL_WS_TRACE"] = "1"
            wrap += ["env", "LD_PRELOAD=liblttng-ust-fork.so.1"] if "fork" in how else []
        for _ in range(2 * ("load" in how)):
            stack.callback(stack.enter_context(subprocess.Popen(HOG)).kill)
        for life in range(lives):
            ms = rng.randint(300, 1500) if is_traced else rng.choice([1, 2, 2, 14]) * rng.randint(500, 1000)
            kill_s = rng.uniform(0.3, ms / 1e3) if rng.random() < 0.4 else FOREVER
            words = [ms, rng.randint(1, 15), rng.randint(1, 2), rng.choice([12, 60, 400, 2000])]
            words += map(rng.choice, ([1, 10, 60, 300], [0, 300, 3000, 20000], [0, 0, 1, 20000], [0, 0, 3]))
            words += [3 * ("fork" in how)]
            print(f"; {' '.join(map(str, words))}{' killed' * (kill_s < FOREVER)}", end="", flush=True)
            words = [*wrap, program, folder / "rows", *map(str, (seed + life, *words))]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            with subprocess.Popen(words, env=env, **pipes) as process:
                disturb(rng, process, how, kill_s)
                process.stdout.read()  # of its children, too
            assert process.returncode == 0 or kill_s < FOREVER


def compared(folder: Path, rows: np.ndarray, real_ns: int) -> tuple[dict[int, int], list[str]]:
    """@return durations of rows that are shown; what is wrong"""
    found, counts, wrong = dict[int, int](), Counter[str](), list[str]()
    try:
        trace = open_trace(folder)
        processes = read(trace, "clocked")
    except TraceError as error:  # it was killed at once
        print(f"\n  {error}", end="")
        return {}, []
    offset_ns = trace.offset_ns if folder.name == "trace" else real_ns
    of = defaultdict[tuple[int, ...], list[int]](list)
    for at in np.flatnonzero(rows["ns"][:, 0]).tolist():
        of[rows[["pid", "tid", "kind"]][at].item()].append(at)
    for process, window in ((one, window) for one in processes for window in one.windows):
        counts["shown" if window.is_valid else "left out"] += 1
        if not window.is_valid:
            continue
        kind = window.kind if window.kind in KINDS else window.spans[0].kind
        begin, end = window.begin_ns - offset_ns, window.end_ns - offset_ns
        ats = np.array(of[process.pid, process.walk.tid[window.spans[0].begin], KINDS.index(kind)], int)
        tasks = sum(span.tasks for span in window.spans)
        what, about = "invented", f"{kind} of {process.pid}: {begin} {(end - begin) / 1e3} us {tasks} tasks"
        ats = ats[: np.searchsorted(rows["ns"][ats, 0], begin + MARGIN_NS)][-2:]  # a burst may be short
        if len(ats := ats[rows["ns"][ats, 3] > begin - MARGIN_NS]):
            edges = rows["ns"][ats] * [-1, 1, -1, 1] + np.array([begin, -begin, end, -end])
            at, edges = ats[edges.min(1).argmax()], edges[edges.min(1).argmax()]
            what = "doubled" if at in found else "wrong" if edges.min() < -MARGIN_NS else ""
            what = what or "tasks" * bool(window.is_known and tasks != rows["tasks"][at])
            about += f", not {rows['tasks'][at]} {(edges // 100 / 10).tolist()}"
            found[at] = end - begin
        if what:
            counts[what] += 1
            wrong.append(f"{what}: {about}")
    print(f"\n  {folder.name}: {', '.join(f'{count} {name}' for name, count in counts.items())}", end="")
    return found, wrong


def check(folder: Path) -> list[str]:
    """@return what is wrong"""
    data = (folder / "rows").read_bytes()
    rows = np.frombuffer(data, ROW, -1, 8)[: int.from_bytes(data[:8], "little")].copy()
    rows["ns"][:, [1, 3]] += FOREVER * (rows["ns"][:, [1, 3]] == 0)  # it was killed before
    print(f"\n  made {len(rows)}", end="")
    pairs = ((time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(99))
    real_ns = min((after - before, real - (before + after) // 2) for before, real, after in pairs)[1]
    folders = filter(Path.is_dir, (folder / "record", folder / "trace"))
    shown, wrong = zip(*(compared(of, rows, real_ns) for of in folders))
    both = [(at, shown[0][at], ns) for at, ns in shown[-1].items() if at in shown[0] and ns >= NEAR_NS]
    slack = rows["ns"] @ [-1, 1, -1, 1]  # a thread may lose its CPU between an event's two notes
    far = [of for of in both if abs(of[1] - of[2]) > NEAR * of[2] + slack[of[0]]]
    if len(shown) > 1:
        near = sum(abs(one / other - 1) <= NEAR for _, one, other in both)
        print(f"\n  both {len(both)}, within 2 % {near}", end="")
    faults = sum(wrong, [f"apart: {of}" for of in far])
    print("".join(f"\n    {fault}" for fault in faults[:9]))
    return faults


@pytest.mark.parametrize("seed", range(SEED, SEED + COUNT))
def test_what_is_shown_lies_between_the_programs_own_times(seed, tmp_path):
    recorded(seed, tmp_path)
    assert not check(tmp_path)
