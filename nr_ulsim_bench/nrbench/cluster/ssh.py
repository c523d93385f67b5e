# SPDX-License-Identifier: BSD-3-Clause
"""The way ssh:FILE: a scheduler on this machine's loopback, and a worker on each host of the file by ssh.

All of Dask's connections go through the ssh sessions, between loopback addresses, and both ends of each prove
themselves by the command's own certificates: other users of these machines reach nothing."""

from __future__ import annotations

import contextlib
import json
import random
import shlex
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Iterator, Sequence

from nrbench.cluster.certificates import Certificates
from nrbench.driver import BenchError
from nrbench.progress import say

LOOPBACK = "127.0.0.1"
PORTS = range(20000, 32000)  # on a host, for the tunnels: below those that the kernel gives away
TRIES = 5  # of a session that ends, until a worker of it has joined
LOOK_S = 0.5
END_S = 15.0  # for all workers to end
OPTIONS = (
    "-T",
    "-oBatchMode=yes",
    "-oExitOnForwardFailure=yes",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=4",
    "-oConnectTimeout=20",
)
KEYS = ("name", "python", "nrbench", "port", "config")
_LOG_BYTES = 2000
REMEDIES = {
    "No module named 'nrbench": "name nrbench=… or another python=… in the file of hosts",
    "No module named": "run ci/setup bench there, and name its python=… in the file of hosts",
}


@dataclass(frozen=True)
class Entry:
    """A line of the file of hosts: [USER@]HOST [KEY=VALUE]..."""

    target: str
    name: str
    python: str = "python3"
    nrbench: str = ""  # the folder that holds the package; empty: it is installed
    port: str = ""
    config: str = ""  # of ssh

    def command(self, forwards: Sequence[str]) -> list[str]:
        more = [*(["-p", self.port] if self.port else []), *(["-F", self.config] if self.config else [])]
        path = [f"PYTHONPATH={self.nrbench}"] if self.nrbench else []
        remote = ["exec", "env", *path, self.python, "-m", "nrbench.cluster.worker"]
        return ["ssh", *OPTIONS, *more, *forwards, self.target, shlex.join(remote)]


def read_hosts(path: Path) -> list[Entry]:
    """@raise BenchError  names file and line"""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"--cluster ssh:{path}: {getattr(error, 'strerror', None) or error}") from error
    entries: dict[str, Entry] = {}
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        pairs = dict(word.partition("=")[::2] for word in words[1:])
        bad = next(
            (word for word in words[1:] if word.partition("=")[0] not in KEYS or "=" not in word), None
        )
        if bad or words[0].startswith("-"):
            raise BenchError(f"{path}:{number}: {bad or words[0]!r} is not {'=… '.join(KEYS)}=…")
        entry = Entry(words[0], **{"name": words[0].rpartition("@")[2], **pairs})
        if entry.name in entries:
            raise BenchError(f"{path}:{number}: a second host {entry.name}; tell them apart by name=…")
        entries[entry.name] = entry
    if not entries:
        raise BenchError(f"{path}: names no host")
    return list(entries.values())


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


@dataclass
class Session:
    """One host's ssh, started again when it ends."""

    entry: Entry
    scheduler_port: int
    own: Certificates
    process: subprocess.Popen[bytes] | None = None
    log: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    tries: int = 0
    given_up: str = ""

    def start(self) -> None:
        listen, back, contact = random.choice(PORTS), random.choice(PORTS), free_port()
        forwards = ["-L", f"{LOOPBACK}:{contact}:{LOOPBACK}:{listen}"]
        forwards += ["-R", f"{LOOPBACK}:{back}:{LOOPBACK}:{self.scheduler_port}"]
        orders = {
            "scheduler": f"tls://{LOOPBACK}:{back}",
            "port": listen,
            "contact": f"tls://{LOOPBACK}:{contact}",
            "name": self.entry.name,
            **self.own._asdict(),
        }
        self.tries += 1
        self.log.close()
        self.log = tempfile.TemporaryFile()  # the one before has its own place to write at
        command = self.entry.command(forwards)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=self.log, stderr=self.log, start_new_session=True
        )
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(orders).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended: look() names the reason

    def last_words(self) -> str:
        self.log.seek(0)
        lines = self.log.read()[-_LOG_BYTES:].decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else "no output"
        remedy = next((text for words, text in REMEDIES.items() if words in last), "")
        return f"{last}; {remedy}" if remedy else last

    def look(self) -> None:
        """Starts a session that has ended again."""
        if self.given_up or self.process is None or self.process.poll() is None:
            return
        words = self.last_words()
        if self.tries >= TRIES:
            self.given_up = f"{self.entry.name}: no worker: {words}"
            say(self.given_up)
            return
        self.start()

    def ask_to_end(self) -> None:
        """The worker ends when its standard input does."""
        if self.process and self.process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()

    def end(self, limit_s: float) -> None:
        if self.process:
            try:
                self.process.wait(limit_s)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()


class Sessions:
    """Of all hosts, looked after by a thread."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.sessions = sessions
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_after, daemon=True)

    def _look_after(self) -> None:
        while not self._over.wait(LOOK_S):
            for session in self.sessions:
                session.look()

    def joined(self, name: str) -> None:
        """A worker that has joined may be lost and started as often again."""
        for session in self.sessions:
            if session.entry.name == name:
                session.tries = 0

    @property
    def awaited(self) -> int:
        """Hosts that are not given up."""
        return sum(not session.given_up for session in self.sessions)

    def __enter__(self) -> Sessions:
        for session in self.sessions:
            session.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for session in self.sessions:
            session.ask_to_end()
        until = time.monotonic() + END_S
        for session in self.sessions:
            session.end(max(0.1, until - time.monotonic()))


@contextmanager
def started(entries: Sequence[Entry], scheduler_port: int, own: Certificates) -> Iterator[Sessions]:
    with Sessions([Session(entry, scheduler_port, own) for entry in entries]) as sessions:
        yield sessions
