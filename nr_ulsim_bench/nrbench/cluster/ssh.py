# SPDX-License-Identifier: BSD-3-Clause
"""The way ssh:FILE: a worker on each host of the file, by ssh, for a scheduler on this machine's loopback.

All of Dask's connections go through the ssh sessions, between loopback addresses. Both ends of each prove
themselves by the cluster's own certificates, which a worker gets on its standard input: other users of these
machines reach nothing."""

import asyncio
import contextlib
import json
import logging
import random
import shlex
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable

from distributed import Scheduler
from distributed.deploy.spec import ProcessInterface, SpecCluster
from distributed.security import Security
from pydantic import Field, ValidationError

from nrbench.driver import BenchError
from nrbench.record import Strict, first_error

LOOPBACK = "127.0.0.1"
PORTS = range(20000, 32000)  # for the tunnels: below those that the kernel gives away
END_S = 15.0  # for a worker to end
LOG_BYTES = 2000
OPTIONS = ("-T", "-oBatchMode=yes", "-oExitOnForwardFailure=yes", "-oServerAliveInterval=15",
           "-oServerAliveCountMax=4", "-oConnectTimeout=20")  # fmt: skip
LINE = "[USER@]HOST [name=…] [python=…] [nrbench=…] [port=…] [config=…]"
REMEDY = "; run ci/setup bench there, and name its python=… and its nrbench=… in the file of hosts"


class Entry(Strict):
    """A line of the file of hosts: [USER@]HOST [KEY=VALUE]..."""

    target: str = Field(pattern="^[^-]")
    name: str
    python: str = "python3"
    nrbench: str = ""  # the folder that holds the package; empty: it is installed
    port: str = ""
    config: str = ""  # of ssh

    def command(self, *forwards: str) -> list[str]:
        more = [*(["-p", self.port] if self.port else []), *(["-F", self.config] if self.config else [])]
        path = [f"PYTHONPATH={self.nrbench}"] if self.nrbench else []
        remote = ["exec", "env", *path, self.python, "-m", "nrbench.cluster.worker"]
        return ["ssh", *OPTIONS, *more, *forwards, self.target, shlex.join(remote)]


def read_hosts(path: Path) -> list[Entry]:
    """@raise BenchError, OSError, ValueError  names file and line"""
    lines = [line.partition("#")[0].split() for line in path.read_text().splitlines()]
    entries: dict[str, Entry] = {}
    for number, (target, *words) in ((number, line) for number, line in enumerate(lines, 1) if line):
        pairs = dict(word.partition("=")[::2] for word in words)
        try:
            entry = Entry(**{"target": target, "name": target.rpartition("@")[2], **pairs})
        except ValidationError as error:
            raise BenchError(f"{path}:{number}: {first_error(error)}; a line is {LINE}") from error
        if entry.name in entries:
            raise BenchError(f"{path}:{number}: a second host {entry.name}; tell them apart by name=…")
        entries[entry.name] = entry
    if not entries:
        raise BenchError(f"{path}: names no host")
    return list(entries.values())


class Worker(ProcessInterface):  # type: ignore[misc]
    """Of a SpecCluster: one host's ssh. It is lost when its session ends."""

    def __init__(self, scheduler: str, entry: Entry, security: Any, name: str = "") -> None:
        self.entry, self.scheduler, self.security = entry, scheduler, security
        self.name, self.log = name or entry.name, tempfile.TemporaryFile()
        self.process: subprocess.Popen[bytes] | None = None
        super().__init__(scheduler=scheduler, name=self.name)

    async def start(self) -> None:
        """Does not wait for the worker: a host that does not answer must not hold up the others."""
        listen, back, contact = random.sample(PORTS, 3)
        port = self.scheduler.rpartition(":")[2]
        there, here = f"{contact}:{LOOPBACK}:{listen}", f"{back}:{LOOPBACK}:{port}"
        command = self.entry.command("-L", f"{LOOPBACK}:{there}", "-R", f"{LOOPBACK}:{here}")
        orders = {"port": listen, "name": self.entry.name, "key": self.security.tls_worker_key}
        orders |= {"scheduler": f"tls://{LOOPBACK}:{back}", "contact": f"tls://{LOOPBACK}:{contact}"}
        orders |= {"certificate": self.security.tls_ca_file}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=self.log, stderr=self.log, start_new_session=True
        )
        with contextlib.suppress(BrokenPipeError):  # it has ended: why() names the reason
            assert self.process.stdin
            self.process.stdin.write(json.dumps(orders).encode() + b"\n")
            self.process.stdin.flush()
        await super().start()

    def why(self) -> str:
        """@return why the session has ended; empty: it goes on"""
        if self.process is None or self.process.poll() is None or self.log.closed:
            return ""
        self.log.seek(0)
        lines = self.log.read()[-LOG_BYTES:].decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else "no output"
        return f"{self.name}: no worker: {last}{REMEDY if 'No module named' in last else ''}"

    async def close(self) -> None:
        """The worker ends when its standard input does."""
        if self.process:
            with contextlib.suppress(BrokenPipeError):
                assert self.process.stdin
                self.process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self.process.wait, END_S)
            self.process.kill()
            self.process.wait()
        self.log.close()
        await super().close()


def started(entries: list[Entry], stack: ExitStack) -> tuple[Any, Callable[[], list[str]]]:
    """@return the cluster, and what returns why workers did not come"""
    security = Security.temporary()
    options = {"host": LOOPBACK, "protocol": "tls://", "security": security, "dashboard": False}
    shared = {"security": security}
    workers = {one.name: {"cls": Worker, "options": {"entry": one} | shared} for one in entries}
    scheduler = {"cls": Scheduler, "options": options}
    cluster = SpecCluster(workers, scheduler, security=security, silence_logs=logging.CRITICAL)
    stack.enter_context(cluster)
    return cluster, lambda: [why for one in cluster.workers.values() if (why := one.why())]
