# SPDX-License-Identifier: BSD-3-Clause
"""tpool-ws on pages that a test writes, in the place of the pools' watchdog threads."""

import fcntl
import io
import json
import math
import os
import pty
import re
import resource
import signal
import socket
import struct
import sys
import termios
import threading
import time
from collections import Counter
from contextlib import nullcontext, suppress
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from nrbench.live import ab, cli, export, processes, top
from nrbench.live import page as layout
from nrbench.live.page import DEADLINE_AUTO, HOLD, LiveError, Settings
from nrbench.live.rates import Span, quantile_us
from nrbench.live.signals import ENDING, Stopped, raise_stopped

PID, AUTO = os.getpid(), Settings(2, 10)


def put(data, of, at=0, **values):
    """Change fields of a structure that lies there."""
    fields = {**of.read(data, at), **values}
    flat = [one for value in fields.values() for one in (value if isinstance(value, tuple) else [value])]
    of.struct.pack_into(data, at, *flat)


class Made:
    """A page of this process, which calls itself 1, with pools of two workers; it has the lock until end().
    refuses: place of a pool that does nothing; is_stopped: its watchdog threads do not look."""

    def __init__(self, path, *names, settings=AUTO, magic=layout.MAGIC, version=layout.VERSION):
        self.path, self.refuses, self.is_stopped, self.before = path, -1, False, {}
        self.lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self.file = os.open(path, os.O_RDWR)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        head = bytearray(layout.HEAD.struct.size)
        put(head, layout.HEAD, magic=magic, version=version, pid=1, pools=len(names), unseen=3,
            unseen_name=b"resampler")  # fmt: skip
        os.pwrite(self.file, head, 0)
        self.parts = [bytearray(layout.PART_BYTES) for _ in names]
        for place, name in enumerate(names):
            put(self.parts[place], layout.STATS, layout.STATS_AT, workers=2)
            self.write(place, id=place + 1, name=name.encode(), **{"is": layout.SETTINGS.pack(*settings)})

    def write(self, place, **known):
        put(self.parts[place], layout.PART, **{"sequence": 2, "real_ns": time.time_ns()} | known)
        os.pwrite(self.file, self.parts[place], layout.PARTS_AT + place * layout.PART_BYTES)

    def known(self, place=0):
        return layout.PART.read(self.parts[place])

    def look(self):
        """Of the watchdog threads: a second has passed, and a burst has begun, in bucket 80, or, with
        pre-wake off, in bucket 104, which is eight times as late."""
        if self.is_stopped or not layout.lock(self.file, layout.TAKE):
            return
        words = os.pread(self.file, layout.REQUEST.size, layout.REQUEST_AT).ljust(layout.REQUEST.size, b"\0")
        _, number, what, pool, wanted, _, _ = layout.REQUEST.unpack(words)
        if not (is_asked := not layout.lock(self.file, layout.ASKER)):
            layout.lock(self.file, layout.ASKER, free=True)
        for place, known in ((place, self.known(place)) for place in range(len(self.parts))):
            change, spin = {}, layout.SETTINGS.unpack(known["is"])[0]
            if is_asked and pool == known["id"] and number not in (0, known["answered"]):
                change = {"answered": number, "was": known["is"], "reason": b"no record"}
                if place != self.refuses:
                    self.before.setdefault(place, known["is"])
                    spin, _, lead_ns, *_ = layout.SETTINGS.unpack(wanted)
                    now = Settings(*layout.SETTINGS.unpack(known["is"]))._replace(spin=spin, lead_ns=lead_ns)
                    change |= {"is": layout.SETTINGS.pack(*now), "reason": b"", "held": what // HOLD}
            elif known["held"] and not is_asked:
                change = {"held": 0, "is": self.before[place]}
            bucket = 80 if spin else 104
            starts = tuple(n + (at == bucket) for at, n in enumerate(known["starts"]))
            self.write(place, written_ns=known["written_ns"] + 10**9, starts=starts, **change)
        layout.lock(self.file, layout.TAKE, free=True)

    def end(self):
        os.close(self.lock)


class World:
    """Sleeps pass at once, and no other time does: the pages' watchdog threads look, and what is set for that
    sleep happens."""

    def __init__(self, folder):
        self.folder, self.pages, self.sleeps, self.now_s, self.at = folder, [], 0, 0.0, {}

    def make(self, *names, **how):
        path = self.folder / f"{processes.PREFIX}{len(self.pages)}.{PID}"
        self.pages.append(Made(path, *names, **how))
        return self.pages[-1]

    def sleep(self, seconds):
        self.sleeps, self.now_s = self.sleeps + 1, self.now_s + seconds
        for page in self.pages:
            page.look()
        self.at.get(self.sleeps, lambda: None)()

    def after(self, sleeps, then):
        self.at = {self.sleeps + sleeps: then}


@pytest.fixture
def world(tmp_path, monkeypatch):
    made = World(tmp_path)
    monkeypatch.setattr(processes, "SHM", str(tmp_path))
    monkeypatch.setattr(time, "sleep", made.sleep)
    monkeypatch.setattr(time, "monotonic", lambda: made.now_s)
    yield made
    for page in made.pages:
        os.close(page.file)
        with suppress(OSError):
            page.end()


@pytest.fixture
def tool(world, capsys):
    """@return what runs it. It: its exit status or the signal that ended it, its output, its errors"""

    def run(*words):
        try:
            status = cli.run([*map(str, words)])
        except Stopped as stopped:
            status = stopped.number
        return status, *capsys.readouterr()

    return run


def stop(number=signal.SIGTERM):
    os.kill(PID, number)


def stopped():
    raise Stopped(signal.SIGTERM)


def test_set_prints_a_change_once_and_what_is_refused(world, tool):
    world.make("gnb", "gnb", "other").refuses = 2
    said = "pool gnb (1), pool gnb (2): spin=auto spin_cpu_max=10 -> spin=hot spin_cpu_max=10\n"
    refusal = "tpool-ws: pool other (3) refuses: no record\n"
    assert tool("set", "--pid", PID, "spin=hot") == (2, said, refusal)
    said = "pool gnb (2): spin=hot spin_cpu_max=10 -> spin=fixed:7.5 spin_cpu_max=10\n"
    assert tool("set", "--pid", PID, "--pool", "2", "spin=fixed:7.5") == (0, said, "")
    said = "pool gnb (1): spin=hot spin_cpu_max=10 -> spin=auto spin_cpu_max=10\n"
    world.after(2, stopped)
    assert tool("set", "--pid", PID, "spin=auto") == (signal.SIGTERM, said, "")
    for words, error in (
        (("spin=fixed",), '"spin=fixed": no setting'),
        (("--pool", "9", "cap=1"), "no pool 9: its pools are gnb (1)"),
    ):
        assert error in tool("set", "--pid", PID, *words)[2]


@pytest.mark.parametrize("words", ["", "set spin=off", "top --pid x", "ab --pid 1 --every", "top --o"])
def test_a_wrong_command_line(words):
    with pytest.raises(SystemExit, match="2"):
        cli.run(words.split())


def test_a_request_without_an_answer_is_withdrawn(world, tool, monkeypatch):
    monkeypatch.setattr(cli, "ANSWER_S", 0.01)
    monkeypatch.setattr(layout, "TAKE_S", 0.01)
    made, words = world.make("gnb"), ("set", "--pid", PID, "spin=off")
    (page,), change = processes.pages_of(PID), layout.parse_change(["spin=off"])
    (pool,) = page.pools()
    made.is_stopped = True
    assert re.search("within 0.01 s: its watchdog thread last ran .* is withdrawn\n", tool(*words)[2])
    made.write(0, sequence=3)  # it stopped in the middle
    assert page.pool(0).id == 1
    made.write(0)
    made.is_stopped = False
    with page.ask("a test", 1) as asker:
        made.look()
        asker._write(1, 1, change)  # and is killed
    made.look()
    with page.ask("a test", 1) as asker:
        made.look()
        assert made.known()["answered"] == 0
        made.is_stopped = layout.lock(made.file, layout.TAKE)
        with pytest.raises(LiveError, match="it stopped in the middle, and may do it later"):
            asker.change(pool, change, 0)
    made.write(0, id=0)
    with pytest.raises(LiveError, match=r"pool gnb \(1\) has ended"):
        page.now(pool)
    made.end()
    with pytest.raises(LiveError, match=f"process {PID} has ended, or has made its page anew"):
        page.now(pool)
    with pytest.raises(LiveError, match="no page is there of process 1 "):
        processes.pages_of(1)


def test_files_that_are_no_pages(world, monkeypatch):
    made, killed = world.make("gnb"), world.make()
    world.make(version=9)
    world.make(magic=7)
    finder, names = processes.Finder(), (world.folder / f"{processes.PREFIX}{letter}.1" for letter in "abcd")
    first = finder.look()
    assert len(first) == 2 and first == finder.look()  # opened once
    assert sorted(error.split(": ", 1)[1] for error in finder.errors) == [
        "no page of thread_pool_ws",
        "the process's page has version 9; this tpool-ws reads version 4: use that of its thread_pool_ws",
    ]
    killed.end()
    os.mkfifo(next(names))
    next(names).mkdir()
    next(names).symlink_to("/dev/zero")
    next(names).touch()  # begins just now
    for number in range(300):  # which no process has locked
        (world.folder / f"{processes.PREFIX}0{number}.1").touch()
    assert [page.path for page in finder.look()] == [str(made.path)] and killed.path.exists()
    monkeypatch.setattr(processes, "uids", lambda pid: [77] * 4)
    monkeypatch.setattr(next(iter(finder.pages.values())), "uid", 78)
    assert not finder.look() and any("of user 78, but process" in error for error in finder.errors)


def test_what_cannot_be_read_is_said(world, monkeypatch):
    paths = [str(world.make("gnb").path) for _ in "ab"]

    def seen():
        found, errors = processes.find()
        return [page.path for page, _ in found], " ".join(errors)

    for page, _ in processes.find()[0]:
        page.uid = 77
    monkeypatch.setattr(os, "getuid", lambda: 77)
    monkeypatch.setattr(processes, "uids", lambda pid: [])  # hidepid=2
    assert seen() == (paths, "")
    os.truncate(paths[1], 0)
    assert seen()[0] == paths[:1] and paths[1] in seen()[1]
    monkeypatch.setattr(os, "access", lambda path, _: path != paths[1])
    assert seen()[0] == paths[:1] and f"{paths[1]}: no rights: run it as root" in seen()[1]
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with open(os.devnull) as last:
        resource.setrlimit(resource.RLIMIT_NOFILE, (last.fileno(), limits[1]))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                processes.find()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_process_that_is_not_visible(world, tool, monkeypatch):
    monkeypatch.setattr(processes, "locks", dict)
    world.make("gnb")
    (page,) = processes.pages_of(1)
    assert f"process 1 of user {page.user} in another container, pool gnb (1)\n" in tool("top", "--once")[1]
    assert tool("set", "--pid", 1, "spin=off")[0] == 0
    world.make("gnb")
    assert "several processes that are not visible have the number 1" in tool("set", "--pid", 1, "cap=1")[2]


def test_top_tells_pools_apart_and_says_since_when(world, tool, monkeypatch):
    made = world.make('L1 "é\\', "gnb\x1b[2J")
    world.make(version=9)
    made.write(0, ledger=(500, *[0] * 7, 4, *[0] * 41, 3, *[0] * 13))
    status, said, _ = tool("top", "--once")
    assert status == 0 and f' {PID}, pool L1 "é\\ (1)\n' in said and f" {PID}, pool gnb[2J (2)\n" in said
    assert "4 of 500 since the pool began: no CPU 4\n" in said and "version 9" in said
    assert "3 threads, for whose events there was no room\n" in said
    assert f" {PID}: 3 more pools, such as resampler, are not shown: its log has the reason\n" in said
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
        missing = tool("top", "--once", "--json")[2]
        rows = json.loads(sys.stdout.buffer.getvalue())
    assert "version 9" in missing and "3 more pools" in missing
    assert [(row["pool"], row["name"]) for row in rows] == [(1, 'L1 "é\\'), (2, "gnb[2J")]
    assert rows[0]["counts"]["burst:no CPU"] == 4 and rows[0]["last"]["seconds"] == 1
    world.after(1, made.end)
    assert f" {PID}, pool gnb[2J (2)\n" in tool("top", "--once")[1]  # it lived when it was asked for


@pytest.mark.parametrize("number", ENDING)
def test_top_leaves_a_clean_screen(world, monkeypatch, number):
    """A terminal of 16 lines of 60 letters."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 16, 60, 0, 0))
    world.make("gnb", "gnb", "other")
    world.after(3, lambda: stop(number))
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(side, "w") as terminal:
        monkeypatch.setattr("sys.stdout", terminal)
        with nullcontext() if number == signal.SIGINT else pytest.raises(Stopped):
            assert cli.run(["top"]) == 0
        text = ""
        while not text.endswith(top.LEAVE):
            text += os.read(main, 65536).decode()
    os.close(main)
    begin, *pictures = text.split("\x1b[H")
    assert begin.endswith(top.ENTER) and len(pictures) == 2 and pictures[1].endswith(f"\x1b[J{top.LEAVE}")
    lines = pictures[0].split("\x1b[K\r\n")
    assert len(lines) == 16 and "more lines: --pid N" in lines[15] and max(map(len, lines[:15])) <= 60


def test_a_pipe_gets_a_picture_each_time(world, tool):
    world.make("gnb")
    world.after(4, stop)
    status, said, _ = tool("top")
    assert (status, said.count("pool gnb (1)"), "\x1b" in said) == (signal.SIGTERM, 3, False)


def test_ab_compares_and_sets_back(world, tool, monkeypatch):
    monkeypatch.setattr(ab, "BUSY_S", 0)
    world.make("gnb", settings=Settings(1, 10, 7000))
    words = ["ab", "--pid", PID, "--seed", 1, "--every", "1s", "--for", "12s", "spin=auto", "spin=off"]
    status, said, error = tool(*words)
    first, *lines = said.splitlines()
    assert (status, error, first.split(",")[0]) == (0, "", "6 rounds")
    assert [re.sub(" +", " ", line) for line in lines] == [
        "spin=off, compared with spin=auto:",
        " start p50 8.000 [8.000, 8.000]: slower",
        " start p99 8.000 [8.000, 8.000]: slower",
        " spinning +0.000 [+0.000, +0.000] cores: same",
        "pool gnb (1): in force: spin=fixed:7 spin_cpu_max=10, as before",
    ]
    with processes.pages_of(PID)[0].ask("tpool-ws ab, ann", 1):
        refusal = f"process {PID} (tpool-ws ab, ann) changes pools of this process now: wait for its end"
        assert tool(*words) == (2, "", f"tpool-ws: {refusal}\n")


def test_ab_counts_late_bursts_where_bursts_are_judged():
    """And shows no figure as 4e-05, nor a sign of one that is 0 as shown."""
    first = Counter({"judged_bursts": 100, "burst:no CPU": 1, "spin_ns": 41090})
    second = Counter({"judged_bursts": 100, "burst:no CPU": 6})
    spans = {"a": Span(1, first, (1,)), "b": Span(1, second, (1,))}
    _, _, late, *_, spinning = ab.verdicts([spans] * 6, "ab")
    assert late.split(maxsplit=2) == ["late", "bursts", "+5.000 [+5.000, +5.000] %: more"]
    assert spinning.split(maxsplit=1) == ["spinning", "+0.000 [+0.000, +0.000] cores: same"]


def test_ab_says_what_has_ended_and_what_is_in_force(world, tool):
    made, words = world.make("gnb", "other"), ["ab", "--pid", PID, "--pool", "1", "--seed", 0]
    words += ["spin=auto", "spin=off"]  # off is the first in this order
    is_stopped, in_force = "stopped by SIGTERM after 0 rounds\n", "pool gnb (1): in force: spin="
    world.after(2, stopped)
    assert tool(*words)[:2] == (15, f"{is_stopped}{in_force}auto spin_cpu_max=10, as before\n")
    world.after(2, lambda: [setattr(made, "is_stopped", True), stopped()])
    later = "; when its watchdog thread gets a CPU: spin=auto spin_cpu_max=10\n"
    assert tool(*words)[:2] == (15, f"{is_stopped}{in_force}off spin_cpu_max=10{later}")
    made.is_stopped = False
    for end, gone in (
        (lambda: made.write(0, id=0), "pool gnb (1) has ended"),
        (made.end, f"process {PID} has ended, or has made its page anew"),
    ):
        made.write(0, id=1)
        world.after(2, end)
        assert tool(*words) == (2, f"{gone}\n", f"tpool-ws: {gone}\n")


@pytest.mark.parametrize("times", ["1s 11s", "0s 1h", "1s x"])
def test_ab_without_an_interval(times):
    with pytest.raises(LiveError):
        ab.Plan.of(*times.split(), ["spin=auto", "spin=off"])


def test_an_interval_holds_the_median_with_95_percent():
    assert ab.interval(range(5)) is None and ab.interval([3, 9, 1, 4, 1, 5]) == (1, 9)
    for count in range(6, 200):
        low, high = ab.interval(range(count))
        outside = sum(math.comb(count, k) for k in range(low + 1))
        assert low + high == count - 1 and outside <= 0.025 * 2**count < outside + math.comb(count, low + 1)


def test_quantiles_are_those_of_the_pool():
    starts = [4 * (n == 100) for n in range(184)]
    assert quantile_us(starts, 0.5) == pytest.approx(0.128 * 2**12 * 13 / 8, rel=0.13)


def test_the_exporter_has_each_series_once(world, monkeypatch):
    """Two gNBs are process 1 in containers."""
    monkeypatch.setattr(processes, "locks", dict)
    made = world.make('L1 "fast\\', "b", settings=Settings(2, 10, 0, 500_000))
    made.write(0, starts=tuple(2 * (n == 40) for n in range(184)))
    world.make("b", settings=Settings(2, 10, 0, DEADLINE_AUTO))
    world.make(version=9)
    lines = [line for line in export.Exposition.now().splitlines() if line[0] != "#"]
    values = {
        name.removeprefix("thread_pool_ws_"): text for name, text in (line.rsplit(" ", 1) for line in lines)
    }
    pages = ["{:x}:{}".format(*page.key) for page in processes.FINDER.pages.values()]
    labels = [f'page="{page}",pid="1",program="?",pool="1",name=' for page in pages]
    given, learnt = sorted(labels, key=lambda of: f'deadline_seconds{{{of}"b"}}' in values)
    given += r'"L1 \"fast\\"'
    assert len(values) == len(lines) and values["unreadable_pages{}"] == "1"
    assert values[f"deadline_seconds{{{given}}}"] == "0.0005"
    assert values[f'deadline_seconds{{{learnt}"b"}}'] == "0"
    buckets = [values[key] for key in values if key.startswith(f"start_lateness_seconds_bucket{{{given}")]
    # A counter does not fall, as the number of those that are not examined yet does.
    assert f"unexamined_bursts{{{given}}}" in values and not any("not examined" in key for key in values)
    assert buckets == ["0", "0", *["2"] * 15] and values[f"start_lateness_seconds_count{{{given}}}"] == "2"


@pytest.mark.parametrize(
    "listen, host", [("127.0.0.1:0", "127.0.0.1"), (":0", "127.0.0.1"), ("[::1]:0", "[::1]")]
)
def test_the_exporter_answers_metrics_only(world, listen, host):
    world.make("gnb")
    try:
        server = export.server(listen)
    except LiveError as error:
        pytest.skip(str(error))  # no IPv6
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for method, path, found in (
            ("GET", "/metrics?x", True),
            ("HEAD", "/metrics", True),
            ("GET", "/", False),
            ("HEAD", "/x", False),
        ):
            ask = Request(f"http://{host}:{server.socket.getsockname()[1]}{path}", method=method)
            with nullcontext() if found else pytest.raises(HTTPError, match="404"):
                with urlopen(ask, timeout=60) as answer:
                    assert (method == "HEAD") == (b"\nthread_pool_ws_workers{" not in answer.read())
                    assert int(answer.headers["Content-Length"]) > 1000
        server.shutdown()


def test_clients_that_say_little_do_not_stop_the_exporter(world, monkeypatch):
    world.make("gnb")
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


@pytest.mark.parametrize("listen", ["9477", ":x", ":70000", "no.such.host.invalid:1", "127.0.0.1:-1"])
def test_a_wrong_address(listen):
    with pytest.raises(LiveError, match=re.escape(f'--listen "{listen}": ')):
        export.server(listen)


def test_the_first_signal_ends_and_nohup_stays(world):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    raise_stopped()
    stop(signal.SIGHUP)
    with pytest.raises(Stopped) as caught:
        stop()
    assert caught.value.number.name == "SIGTERM"
    stop(signal.SIGINT)
