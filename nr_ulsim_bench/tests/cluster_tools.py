# SPDX-License-Identifier: BSD-3-Clause
"""A Dask scheduler and workers on the loopback. Each worker stands on a made-up machine of its own."""

import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import machine_tree
from fake import a_program, printing
from part_runs import WAIT_S, free_port, until

from nrbench.sweep.process import end_with_parent
from nrbench.sweep.record import identity, read_runs
from nrbench.system import CPU

ROOT = Path(__file__).resolve().parents[1]
STARTER = ThreadPoolExecutor(1)  # a thread's children end with it: this one lasts
CASES = ("--cases", "quick:prb106-mcs9", "--threads", "1,2", "--spin", "auto")
RUNS = 6  # of a round of these: inline with each build, each pool with 1 and 2 threads


def make_builds(folder):
    """Each prints a recorded output, and first does what the file `old.py` or `new.py` says: Python, with
    `host`, the name of the made-up machine. @return words of the command line"""
    for pool in ("old", "new"):
        before = folder / f"{pool}.py"
        before.touch()
        first = "host = os.path.basename(os.path.dirname(os.environ.get('XDG_CACHE_HOME', '')))\n"
        first += f"exec(open({str(before)!r}).read())\n"
        a_program(folder / pool, first + printing(f"v2.1.0-{pool}-2-threads.txt"))
    return "--old", folder / "old", "--new", folder / "new", "--out", folder / "out"


def runs_of(folder):
    path = folder / "out" / "runs.ndjson"
    return read_runs(path) if path.exists() else []


def rounds_of(folder):
    """How many runs each host has. No run was taken twice."""
    runs = runs_of(folder)
    keys = [(run.host.id, *identity(run, run.repeat)) for run in runs if run.status == "ok"]
    assert len(keys) == len(set(keys)) == len(runs)
    return {name: count / RUNS for name, count in Counter(r.host.label.split(":")[0] for r in runs).items()}


@contextlib.contextmanager
def meanwhile(action):
    """The action in a thread; its error is that of the test."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(action)
        yield
    future.result()


class Lab:
    """Processes of a cluster; `end` leaves none of them."""

    def __init__(self, folder):
        self.folder, self.processes = folder, {}
        folder.mkdir(exist_ok=True)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DASK_CONFIG": str(folder / "dask"),
            "DASK_TEMPORARY_DIRECTORY": str(folder / "scratch"),
            "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
        }

    def run(self, command, name, **variables):
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = STARTER.submit(
                subprocess.Popen, list(map(str, command)),
                env=self.environment | variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=end_with_parent, cwd=self.folder,
            ).result()  # fmt: skip

    def listens(self, name, port):
        """Waits until that process does."""

        def is_there():
            assert self.processes[name].poll() is None, (self.folder / f"{name}.log").read_text()
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        until(is_there, f"{name} that listens")

    def scheduler(self):
        port = free_port()
        self.address = f"tcp://127.0.0.1:{port}"
        words = ("--host", "127.0.0.1", "--port", port, "--no-dashboard")
        self.run([sys.executable, "-m", "distributed.cli.dask_scheduler", *words], "scheduler")
        self.listens("scheduler", port)

    def own(self, name, **changes):
        """Variables of a made-up machine. @param changes  of its files, by path"""
        root = self.folder / "machines" / name
        if not root.exists():
            files = {
                "/etc/machine-id": hashlib.md5(name.encode()).hexdigest(),
                "/proc/sys/kernel/random/boot_id": f"boot of {name}\n",
                f"{CPU}/online": "0\n",
                "/proc/loadavg": "0.00 0.00 0.00 1/200 4711\n",
            }
            (root / "tmp").mkdir(parents=True)
            machine_tree.tuned(str(root), files | changes)
        return {"NRBENCH_SYSTEM_ROOT": f"{root}", "NRBENCH_MACHINE_LOCK": f"{root}/lock",
                "XDG_CACHE_HOME": f"{root}/cache", "TMPDIR": f"{root}/tmp"}  # fmt: skip

    def worker(self, name, *words, machine=None, **changes):
        scratch = ("--memory-limit", "0", "--local-directory", self.folder / "scratch" / name)
        alone = ("--nworkers", "1", "--nthreads", "2", "--no-nanny", "--no-dashboard", "--name", name)
        program = (sys.executable, "-m", "distributed.cli.dask_worker", self.address)
        self.run([*program, *alone, *scratch, *words], name, **self.own(machine or name, **changes))

    def wait_for_workers(self, count):
        """A client that comes earlier may end before the last of them has joined."""
        from distributed import Client

        with Client(self.address, timeout=f"{WAIT_S}s", set_as_default=False) as client:
            client.wait_for_workers(count, timeout=WAIT_S)

    def kill(self, name, number=signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.processes[name].pid, number)
        if number == signal.SIGKILL:
            self.processes[name].wait()

    def begin(self, *names):
        """A scheduler, and a worker of each name, which has joined."""
        self.scheduler()
        for name in names:
            self.worker(name)
        if names:
            self.wait_for_workers(len(names))

    def end(self):
        for name in self.processes:
            self.kill(name)


def lab(folder, *names, **more):
    return begun(Lab(folder), *names, **more)


@contextlib.contextmanager
def begun(made, *names, **more):
    try:
        made.begin(*names, **more)
        yield made
    finally:
        made.end()
