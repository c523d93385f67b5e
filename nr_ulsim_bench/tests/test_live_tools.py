# SPDX-License-Identifier: BSD-3-Clause
"""What tpool-ws shows and says, on processes that are made up."""

import copy
import fcntl
import io
import json
import math
import os
import pty
import re
import signal
import struct
import sys
import termios
import threading
import time
from contextlib import contextmanager, nullcontext
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from nrbench.live import ab, cli, export, top
from nrbench.live.page import DEADLINE_AUTO, PART_BYTES, LiveError, Pool, Settings
from nrbench.live.rates import quantile_us
from nrbench.live.signals import ENDING, Stopped, raise_stopped

AUTO = Settings(2, 10)


def made_pool(number, name="gnb", settings=AUTO, **counts):
    pool = Pool(number, bytes(PART_BYTES))
    pool.id, pool.name, pool.settings, pool.real_ns, pool.held = number, name, settings, time.time_ns(), False
    pool.counts.update(workers=2, level=2, **counts)
    pool.workers = [
        dict.fromkeys("run_tasks works_ns looks_ns spin_ns cpu pinned_cpu realtime state".split(), 1)
    ] * 2
    return pool


class MadePage:
    """A process that does at once what it is asked to, but for the pool that refuses. At each look another
    burst has begun, in bucket 80; with pre-wake off in bucket 104, eight times as late."""

    def __init__(self, *pools, pid=4711, key=(28, 2)):
        self.its, self.pid, self.own_pid, self.key, self.user = list(pools), pid, 1, key, "oai"
        self.program, self.hidden = "gnb" if pid else "", (3, "resampler")
        self.alive, self.refuses, self.asker, self.found, self.held = True, "", "", {}, False
        self.interrupted = 0  # the change of this pool

    def pools(self):
        return self.its

    def pool(self, place):
        for at, pool in enumerate(self.its):
            if pool.place == place:
                self.its[at] = pool = copy.copy(pool)
                bucket = 80 if pool.settings.spin else 104
                pool.starts = [count + (at == bucket) for at, count in enumerate(pool.starts)]
                pool.written_ns += 10**9
                return pool
        return None

    def lives(self):
        return self.alive

    @contextmanager
    def ask(self, who, _):
        if self.asker:
            raise LiveError(f"process 88 ({self.asker}) changes pools of this process now")
        self.asker = who
        try:
            yield self
        finally:
            for pool in self.its:
                pool.settings = self.found.get(pool.id, pool.settings)

    def change(self, pool, change, _, hold=False):
        if pool.id == self.interrupted:
            stopped()
        if pool.name == self.refuses:
            raise LiveError(f"pool {pool.name} refuses: no record")
        now = self.pool(pool.place)
        if hold:
            self.found.setdefault(now.id, now.settings)
        now.was, now.settings = now.settings, now.settings._replace(spin=change.wanted.spin)
        return now

    def wait_unheld(self, pools, _):
        for pool in self.its:
            pool.held = self.held
        return self.its


@pytest.fixture
def pages(monkeypatch):
    """Of processes, as far as the tools see. Afterwards signals do what they did before."""
    handlers = [(number, signal.getsignal(number)) for number in (*ENDING, signal.SIGTSTP)]
    made = [MadePage(made_pool(1), made_pool(2), made_pool(3, "other"))]
    monkeypatch.setattr(cli, "pages_of", lambda pid: [one for one in made if one.pid == pid])
    for module in (top, export):
        monkeypatch.setattr(
            module, "find", lambda pid=None: ([(one, one.pools()) for one in made], ["bad\x1b[2J"])
        )
    monkeypatch.setattr(top, "SPAN_S", 0.01)
    yield made
    for number, handler in handlers:
        signal.signal(number, handler)


@pytest.fixture
def tool(pages, capsys):
    """@return what runs it. It: its exit status or the signal that ended it, its output, its errors"""

    def run(*words):
        try:
            status = cli.run([*map(str, words)])
        except Stopped as stopped:
            status = stopped.number
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def sleeps(monkeypatch):
    """Time passes at once. @return what sets a function that the sleep with this number calls"""

    def set_(number, function):
        calls = []
        sleep = lambda _: calls.append(1) or len(calls) == number and function()  # noqa: E731
        monkeypatch.setattr(time, "sleep", sleep)

    return set_


def stop(number=signal.SIGTERM):
    os.kill(os.getpid(), number)


def stopped():
    raise Stopped(signal.SIGTERM)


def test_set_prints_a_change_once_and_what_is_refused(pages, tool):
    pages[0].refuses = "other"
    said = "pool gnb (1), pool gnb (2): spin=auto spin_cpu_max=10 -> spin=off spin_cpu_max=10\n"
    refusal = "tpool-ws: pool other refuses: no record\n"
    assert tool("set", "--pid", 4711, "spin=off") == (2, said, refusal)
    pages[0].asker = ""
    said = "pool gnb (2): spin=off spin_cpu_max=10 -> spin=auto spin_cpu_max=10\n"
    assert tool("set", "--pid", 4711, "--pool", "2", "spin=auto") == (0, said, "")
    said = "pool gnb (1): spin=off spin_cpu_max=10 -> spin=auto spin_cpu_max=10\n"
    pages[0].interrupted, pages[0].asker = 2, ""
    assert tool("set", "--pid", 4711, "spin=auto") == (signal.SIGTERM, said, "")


@pytest.mark.parametrize("words", ["", "set spin=off", "top --pid x", "ab --pid 1 --every", "top --o"])
def test_a_wrong_command_line(words):
    with pytest.raises(SystemExit, match="2"):
        cli.run(words.split())


def test_top_tells_pools_apart_and_says_since_when(pages, tool, monkeypatch):
    late = {"judged_bursts": 500, "burst:no CPU": 4}
    pages[:] = [
        MadePage(made_pool(5, 'L1 "é\\', **late), made_pool(6)),
        MadePage(made_pool(1), pid=0, key=(29, 2)),
    ]
    status, said, _ = tool("top", "--once")
    assert status == 0 and 'gnb 4711, pool L1 "é\\ (5)\n' in said and "gnb 4711, pool gnb (6)\n" in said
    assert "4 of 500 since the pool began: no CPU 4\n" in said
    assert "process 1 of user oai in another container, pool gnb (1)\n" in said
    assert (
        "gnb 4711: its page has no room for 3 more pools, such as resampler\n" in said and "bad[2J\n" in said
    )
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    tool("top", "--once", "--json")
    rows = json.loads(sys.stdout.buffer.getvalue())
    names = [(row["pid"], row["program"], row["pool"], row["name"]) for row in rows]
    assert names == [(4711, "gnb", 5, 'L1 "é\\'), (4711, "gnb", 6, "gnb"), (1, "?", 1, "gnb")]
    assert rows[0]["counts"]["burst:no CPU"] == 4 and rows[0]["last"]["start_p50_us"] is None


@pytest.mark.parametrize("number", ENDING)
def test_top_leaves_a_clean_screen(pages, sleeps, monkeypatch, number):
    """A terminal of 16 lines of 60 letters."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 16, 60, 0, 0))
    sleeps(3, lambda: stop(number))
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


def test_a_pipe_gets_a_picture_each_time(pages, tool, sleeps):
    sleeps(4, stop)
    status, said, _ = tool("top")
    assert (status, said.count("pool other (3)"), "\x1b" in said) == (signal.SIGTERM, 3, False)


def test_ab_compares_and_sets_back(pages, tool, sleeps):
    sleeps(0, None)
    pages[0].its = [made_pool(1, settings=Settings(1, 10, 7000))]
    words = ["ab", "--pid", 4711, "--seed", 1, "--every", "1s", "--for", "12s", "spin=auto", "spin=off"]
    status, said, error = tool(*words)
    first, late, *lines = said.splitlines()
    assert (status, error, first.split(",")[0]) == (0, "", "6 rounds") and "(10 % with spin=auto)" in late
    assert [re.sub(" +", " ", line) for line in lines] == [
        "spin=off, compared with spin=auto:",
        " late starts +100 [+100, +100] %: more",
        " start p50 8.000 [8.000, 8.000]: slower",
        " start p99 8.000 [8.000, 8.000]: slower",
        " spinning +0 [+0, +0] cores: same",
        "pool gnb (1): in force: spin=fixed:7 spin_cpu_max=10, as before",
    ]
    second = f"tpool-ws: process 88 ({pages[0].asker}) changes pools of this process now\n"
    assert tool(*words) == (2, "", second) and "(tpool-ws ab, user " in second


def test_ab_says_what_has_ended_and_what_is_in_force(pages, tool, sleeps):
    page, words = pages[0], ["ab", "--pid", 4711, "--pool", "1", "spin=off", "spin=auto"]
    before = " spin=auto spin_cpu_max=10"
    sleeps(1, stopped)
    said = f"stopped by SIGTERM after 0 rounds\npool gnb (1): in force:{before}"
    assert tool(*words)[:2] == (15, f"{said}, as before\n")
    page.asker, page.held = "", True
    sleeps(1, stopped)
    assert tool(*words)[:2] == (15, f"{said}; when its watchdog thread gets a CPU:{before}\n")
    for end, what in (
        (lambda: page.its.clear(), "pool gnb (1)"),
        (lambda: setattr(page, "alive", False), "process 4711"),
    ):
        page.its, page.asker, page.held = [made_pool(1)], "", False
        sleeps(2, end)
        gone = f"tpool-ws: {what} has ended, after 0 rounds\n"
        assert tool(*words) == (2, "pool gnb (1) has ended\n", gone)


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
    assert quantile_us([4 * (n == 100) for n in range(184)], 0.5) == pytest.approx(
        0.128 * 2**12 * 13 / 8, rel=0.13
    )


def test_the_exporter_has_each_series_once(pages):
    """Two gNBs are process 1 in containers, a third one has two pools of one name."""
    given = made_pool(1, 'L1 "fast\\', Settings(2, 10, 0, 500_000))
    given.starts = [2 * (n == 40) for n in range(184)]
    learnt = MadePage(made_pool(1, settings=Settings(2, 10, 0, DEADLINE_AUTO)), pid=0, key=(29, 2))
    pages[:] = [MadePage(given, pid=0), learnt, MadePage(made_pool(1), made_pool(2), key=(28, 3))]
    lines = [line for line in export.Exposition.now().splitlines() if line[0] != "#"]
    values = {
        name.removeprefix("thread_pool_ws_"): text for name, text in (line.rsplit(" ", 1) for line in lines)
    }
    labels = r'page="1c:2",pid="1",program="?",pool="1",name="L1 \"fast\\"'
    assert len(values) == len(lines) and values["unreadable_pages{}"] == "1"
    assert values[f"deadline_seconds{{{labels}}}"] == "0.0005"
    assert values['deadline_seconds{page="1d:2",pid="1",program="?",pool="1",name="gnb"}'] == "0"
    buckets = [values[key] for key in values if key.startswith(f"start_lateness_seconds_bucket{{{labels}")]
    assert buckets == ["0", "0", *["2"] * 15] and values[f"start_lateness_seconds_count{{{labels}}}"] == "2"


@pytest.mark.parametrize(
    "listen, host", [("127.0.0.1:0", "127.0.0.1"), (":0", "127.0.0.1"), ("[::1]:0", "[::1]")]
)
def test_the_exporter_answers_metrics_only(pages, listen, host):
    try:
        server = export.server(listen)
    except LiveError as error:
        pytest.skip(str(error))  # no IPv6
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for method, path, found in (
            ("GET", "/metrics?x", True),
            ("HEAD", "/metrics", True),
            ("GET", "/", 0),
            ("HEAD", "/x", 0),
        ):
            ask = Request(f"http://{host}:{server.socket.getsockname()[1]}{path}", method=method)
            with nullcontext() if found else pytest.raises(HTTPError, match="404"):
                with urlopen(ask, timeout=60) as answer:
                    assert (method == "HEAD") == (b"\nthread_pool_ws_workers{" not in answer.read())
                    assert int(answer.headers["Content-Length"]) > 1000
        server.shutdown()


@pytest.mark.parametrize("listen", ["9477", ":x", ":70000", "no.such.host.invalid:1", "127.0.0.1:-1"])
def test_a_wrong_address(listen):
    with pytest.raises(LiveError, match=re.escape(f'--listen "{listen}": ')):
        export.server(listen)


def test_the_first_signal_ends_and_nohup_stays(pages):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    raise_stopped()
    stop(signal.SIGHUP)
    with pytest.raises(Stopped) as caught:
        stop()
    assert caught.value.number.name == "SIGTERM"
    stop(signal.SIGINT)
