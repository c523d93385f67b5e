# SPDX-License-Identifier: BSD-3-Clause
"""Pages that a test writes, with a thread in the guard's place; and which files are pages."""

import fcntl
import os
import resource
import socket
import threading
import time
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from nrbench.live import export, processes
from nrbench.live import page as layout
from nrbench.live.page import HOLD, LiveError, Settings, parse_change

PATH = "thread_pool_ws.live{}.{}"


def put(data, of, at=0, **values):
    """Change fields of a structure that lies there."""
    fields = {**of.read(data, at), **values}
    flat = [one for value in fields.values() for one in (value if isinstance(value, tuple) else [value])]
    of.struct.pack_into(data, at, *flat)


class Made:
    """A page with one pool, of this process: it has the lock until end()."""

    def __init__(self, folder, number=1, pid=None, magic=layout.MAGIC, version=layout.VERSION):
        self.path, self.data = folder / PATH.format(number, os.getpid()), bytearray(layout.PART_BYTES)
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self.own = os.open(self.path, os.O_RDWR)
        fcntl.flock(self.file, fcntl.LOCK_EX)
        head = bytearray(layout.HEAD.struct.size)
        put(head, layout.HEAD, magic=magic, version=version, pid=pid or os.getpid(), pools=1,
            unseen=3, unseen_name=b"resampler")  # fmt: skip
        os.pwrite(self.own, head, 0)
        put(self.data, layout.STATS, layout.STATS_AT, workers=2)
        self.write(2, id=5, name=b"gNB#1\x1b[2J", is_spin=2, is_cpu=10)

    def write(self, sequence, **known):
        put(self.data, layout.PART, sequence=sequence, real_ns=time.time_ns(), **known)
        os.pwrite(self.own, self.data, layout.PARTS_AT)

    def look(self):
        """What the guard does. @return whether it has answered"""
        if not layout.lock(self.own, layout.TAKE):
            return False
        words = layout.REQUEST.unpack(os.pread(self.own, layout.REQUEST.size, layout.REQUEST_AT))
        _, number, what, pool, *wanted, _, _ = words
        there = not layout.lock(self.own, layout.ASKER)
        if not there:
            layout.lock(self.own, layout.ASKER, free=True)
        known = layout.PART.read(self.data)
        is_new = there and pool == 5 and number not in (0, known["answered"])
        if is_new:
            reason = b"no record" if what & layout.RECORD else b""
            self.write(2, answered=number, held=what // HOLD, reason=reason, was_spin=known["is_spin"],
                       is_spin=known["is_spin"] if reason else wanted[0])  # fmt: skip
        elif known["held"] and not there:
            self.write(2, held=0)
        layout.lock(self.own, layout.TAKE, free=True)
        return is_new

    @contextmanager
    def guarded(self):
        ended = threading.Event()
        thread = threading.Thread(target=lambda: [self.look() for _ in iter(lambda: ended.wait(0.002), True)])
        thread.start()
        yield
        ended.set()
        thread.join()

    def end(self):
        os.close(self.file)


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "SHM", str(tmp_path))
    page = Made(tmp_path)
    yield page
    for file in (page.file, page.own):
        with processes.suppress(OSError):
            os.close(file)


def test_a_pool_is_changed_and_held(made):
    ((page, pools),), errors = processes.find(os.getpid())
    assert (page.pid, page.uid, page.hidden, errors) == (os.getpid(), os.getuid(), (3, "resampler"), [])
    assert (str(pools[0]), len(pools[0].workers), pools[0].silent_s < 60) == ("pool gNB#1[2J (5)", 2, True)
    with made.guarded():
        with page.ask("tpool-ws ab, ann", 1) as asker:
            now = asker.change(pools[0], parse_change(["spin=off"]), 60, hold=True)
            assert (now.was, now.settings.spin, now.held) == (Settings(2), 0, True)
            with pytest.raises(LiveError, match=rf"process {os.getpid()} \(tpool-ws ab, ann\) changes pools"):
                with page.ask("tpool-ws set", 0):
                    pass
            with pytest.raises(LiveError, match="refuses: no record"):
                asker.change(pools[0], parse_change(["record=1"]), 60)
        assert [pool.held for pool in page.wait_unheld(pools, 60)] == [False]


def test_a_request_without_an_answer_is_withdrawn(made, monkeypatch):
    monkeypatch.setattr(layout, "TAKE_S", 0.01)
    (page,), change = processes.pages_of(os.getpid()), parse_change(["spin=off"])
    (pool,) = page.pools()
    with page.ask("a test", 1) as asker:
        with pytest.raises(LiveError, match=r"within 0 s: its watchdog thread last ran .* is withdrawn"):
            asker.change(pool, change, 0)
        assert not made.look()
        asker._write(1, 5, change)  # it asks, and is killed
    assert not made.look()
    with page.ask("a test", 1) as asker:
        assert not made.look()  # that was another program's
        asker._write(1, 5, change)
        assert made.look() and asker._withdraw(pool, 1, 0).settings.spin == 0
        assert layout.lock(made.own, layout.TAKE)
        with pytest.raises(LiveError, match="it stopped in the middle of it, and may do it later"):
            asker.change(pool, change, 0)
        layout.lock(made.own, layout.TAKE, free=True)
        made.write(3)  # it stopped in the middle
        assert page.pool(0).id == 5
        made.write(2, id=0)
        with pytest.raises(LiveError, match="has ended"):
            asker.change(pool, change, 60)
    made.path.unlink()
    with pytest.raises(LiveError, match="made it anew"), Made(made.path.parent) and page.ask("a test", 1):
        pass
    with pytest.raises(LiveError, match="no page is there of process 1 "):
        processes.pages_of(1)


def test_who_gets_the_lock_removes_the_file(made, tmp_path):
    finder, killed, living = processes.Finder(), Made(tmp_path, 2), Made(tmp_path, 3)
    first = finder.look()
    assert len(first) == 3 and first == finder.look()  # opened once
    killed.end()
    living.path.rename(tmp_path / "elsewhere")
    killed.path.rename(living.path)
    killed.path.write_bytes(b"")  # begins just now
    assert [page.path for page in finder.look()] == [str(made.path)] and not finder.errors
    assert not living.path.exists() and killed.path.exists() and (tmp_path / "elsewhere").exists()


def test_a_process_that_is_not_visible(made, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "locks", dict)
    (page,) = processes.pages_of(os.getpid())
    assert (page.pid, page.program, page.own_pid, page.user) == (0, "", os.getpid(), "root")
    Made(tmp_path, 2)
    with pytest.raises(LiveError, match="several processes that are not visible have the number"):
        processes.pages_of(os.getpid())


def test_files_that_are_no_pages(made, tmp_path, monkeypatch):
    Made(tmp_path, 2, version=9)
    Made(tmp_path, 3, magic=7)
    os.mkfifo(tmp_path / PATH.format(4, 1))
    (tmp_path / PATH.format(5, 1)).mkdir()
    (tmp_path / PATH.format(6, 1)).symlink_to("/dev/zero")
    finder = processes.Finder()
    assert [page.path for page in finder.look()] == [str(made.path)]
    assert sorted(error.split(": ", 1)[1] for error in finder.errors) == [
        "no page of thread_pool_ws",
        "the process's page has version 9; this tpool-ws reads version 3: use that of its thread_pool_ws",
    ]
    for number in range(300):  # which no process has locked
        os.close(os.open(tmp_path / PATH.format(f"0{number}", 1), os.O_CREAT | os.O_RDWR))
    assert [page.path for page in finder.look()] == [str(made.path)]
    monkeypatch.setattr(processes, "uids", lambda pid: [77] * 4)
    monkeypatch.setattr(next(iter(finder.pages.values())), "uid", 78)
    assert not finder.look() and any("of user 78, but process" in error for error in finder.errors)


def test_what_cannot_be_read_is_said(made, tmp_path, monkeypatch):
    other = Made(tmp_path, 2)

    def seen():
        found, errors = processes.find()
        return [page.path for page, _ in found], " ".join(errors)

    both = [str(made.path), str(other.path)]
    for page, _ in processes.find()[0]:
        page.uid = 77
    monkeypatch.setattr(os, "getuid", lambda: 77)
    monkeypatch.setattr(processes, "uids", lambda pid: [])  # hidepid=2
    assert seen() == (both, "")
    os.truncate(other.path, 0)
    assert seen()[0] == both[:1] and both[1] in seen()[1]
    monkeypatch.setattr(os, "access", lambda path, _: path != both[1])
    assert seen()[0] == both[:1] and f"{both[1]}: no rights: run it as root" in seen()[1]
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with open(os.devnull) as last:
        resource.setrlimit(resource.RLIMIT_NOFILE, (last.fileno(), limits[1]))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                processes.find()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_clients_that_say_little_do_not_stop_the_exporter(made, monkeypatch):
    monkeypatch.setattr(export, "CLIENTS", 3)
    with export.server("127.0.0.1:0") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host, port = server.socket.getsockname()
        clients = [socket.create_connection((host, port), timeout=60) for _ in range(4)]
        assert clients[0].recv(1) == b""  # before Answer.timeout
        with urlopen(f"http://{host}:{port}/metrics", timeout=60) as answer:
            assert b"\nthread_pool_ws_workers{" in answer.read()
        monkeypatch.setattr(export, "find", lambda: os.open("/no", 0))
        with pytest.raises(HTTPError, match="503"):
            urlopen(f"http://{host}:{port}/metrics", timeout=60)
        server.shutdown()
    for client in clients:
        client.close()
