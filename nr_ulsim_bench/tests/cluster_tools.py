# SPDX-License-Identifier: BSD-3-Clause
"""A Dask scheduler and workers on the loopback. Each worker stands on a made-up machine of its own."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import machine_tree
from fake import a_program
from typer.testing import CliRunner

from nrbench import cli
from nrbench.sweep.process import end_with_parent
from nrbench.sweep.record import identity, read_runs
from nrbench.system import CPU

ROOT = Path(__file__).resolve().parents[1]
WAIT_S = 600  # for what takes a moment: only a watchdog
STARTER = ThreadPoolExecutor(1)  # a thread's children end with it: this one lasts
OUTPUTS = Path(__file__).parent / "outputs"
CASES = ("--cases", "quick:prb106-mcs9", "--threads", "1,2", "--spin", "auto")


def nrbench(*words):
    answer = CliRunner().invoke(cli.app, [str(word) for word in words])
    print(answer.output)  # shown when the test fails
    return answer


def make_builds(folder):
    """Each prints a recorded output, and first does what the file `old.py` or `new.py` says: Python, with
    `host`, the name of the made-up machine. @return words of the command line"""
    for pool in ("old", "new"):
        output, before = OUTPUTS / f"v2.1.0-{pool}-2-threads.txt", folder / f"{pool}.py"
        before.touch()
        first = "host = os.path.basename(os.path.dirname(os.environ['XDG_CACHE_HOME']))\n"
        first += f"exec(open({str(before)!r}).read())\n"
        a_program(folder / pool, f"{first}sys.stdout.write(open({str(output)!r}, errors='replace').read())")
    return "--old", folder / "old", "--new", folder / "new", "--out", folder / "out"


def runs_of(folder):
    path = folder / "out" / "runs.ndjson"
    return read_runs(path) if path.exists() else []


def assert_nothing_doubled(runs, count):
    keys = [(run.host.id, *identity(run, run.repeat)) for run in runs if run.status == "ok"]
    assert len(keys) == len(set(keys)) == count


def until(true, what, limit_s=WAIT_S):
    """Looks again and again. @return the first true answer"""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        answer = true()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {limit_s} s")


@contextlib.contextmanager
def meanwhile(action):
    """The action in a thread; its error is that of the test."""
    errors = []

    def run():
        try:
            action()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join(WAIT_S)
    assert not errors and not thread.is_alive(), errors


class Lab:
    """Processes of a cluster; `kill` and `end` leave none of them."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.address = None
        self.workers = {}
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DASK_CONFIG": str(folder / "dask"),
            "DASK_TEMPORARY_DIRECTORY": str(folder / "scratch"),
            "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": f"{WAIT_S}s",  # a machine may be cut off for long
        }

    def start(self, name, *words, **variables):
        """A Python module."""
        return self.run([sys.executable, "-m", *words], name, **variables)

    def run(self, command, name, **variables):
        with open(self.folder / f"{name}.log", "ab") as log:
            process = STARTER.submit(
                subprocess.Popen, command,
                env=self.environment | variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=end_with_parent, cwd=self.folder,
            ).result()  # fmt: skip
        self.processes.append(process)
        return process

    def scheduler(self, port=0, host="127.0.0.1"):
        place = self.folder / "scheduler.json"
        place.unlink(missing_ok=True)
        words = (
            "--host",
            host,
            "--port",
            str(port),
            "--dashboard-address",
            "127.0.0.1:0",
            "--scheduler-file",
            str(place),
        )
        process = self.start("scheduler", "distributed.cli.dask_scheduler", *words)

        def address():
            with contextlib.suppress(FileNotFoundError, ValueError, KeyError):
                return json.loads(place.read_text())["address"]

        self.address = until(address, "the scheduler's file")
        return process

    def machine(self, name, **changes):
        """A folder with the files of a made-up machine. @param changes  of files, by path"""
        root = self.folder / "machines" / name
        if not root.exists():
            own = {
                "/etc/machine-id": hashlib.md5(name.encode()).hexdigest(),
                "/proc/sys/kernel/random/boot_id": f"boot of {name}\n",
                f"{CPU}/online": "0\n",
                "/proc/loadavg": "0.00 0.00 0.00 1/200 4711\n",
            }
            (root / "tmp").mkdir(parents=True)
            machine_tree.tuned(str(root), own | changes)
        return root

    def worker(self, name, *words, resources="machine=1", machine=None, lock=None, **changes):
        root = self.machine(machine or name, **changes)
        more = ("--resources", resources) if resources else ()
        scratch = ("--memory-limit", "0", "--local-directory", str(self.folder / "scratch" / name))
        alone = ("--nworkers", "1", "--nthreads", "2", "--no-nanny", "--no-dashboard", "--name", name)
        process = self.start(
            name, "distributed.cli.dask_worker", self.address, *alone, *scratch, *more, *words,
            XDG_CACHE_HOME=str(root / "cache"), TMPDIR=str(root / "tmp"), NRBENCH_SYSTEM_ROOT=str(root),
            NRBENCH_MACHINE_LOCK=str(lock or root / "lock"),
        )  # fmt: skip
        self.workers[name] = process
        return process

    def wait_for_workers(self, count):
        """A client that comes earlier may end before the last of them has joined."""
        from distributed import Client

        with Client(self.address, timeout=f"{WAIT_S}s", set_as_default=False) as client:
            client.wait_for_workers(count, timeout=WAIT_S)

    def kill(self, process, number=signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        if number == signal.SIGKILL:
            process.wait()

    def end(self):
        for process in self.processes:
            self.kill(process)


@contextlib.contextmanager
def lab(folder, *names):
    """With a scheduler, and a worker of each name, which has joined."""
    folder.mkdir(exist_ok=True)
    made = Lab(folder)
    try:
        made.scheduler()
        for name in names:
            made.worker(name)
        if names:
            made.wait_for_workers(len(names))
        yield made
    finally:
        made.end()
