# SPDX-License-Identifier: BSD-3-Clause
"""tpool-ws on pages that a test writes, with a thread in the guard's place."""

import fcntl
import json
import mmap
import os
import random
import re
import threading
import time

import pytest

from nrbench.live import page as layout
from nrbench.live import processes
from nrbench.live.ab import Ab, Plan, verdicts
from nrbench.live.cli import program
from nrbench.live.page import File, LiveError, Page, Settings, parse_change
from nrbench.live.rates import quantile_us

SIZE = layout.sizeof(File)


class Made:
    """A page of this process with one pool."""

    def __init__(self, folder, pid=None, began=None, version=1, space=None):
        pid, space = pid or os.getpid(), space or processes.inode("/proc/self/ns/pid")
        self.path = folder / f"{processes.PREFIX}{space}.{pid}"
        self.path.write_bytes(bytes(SIZE))
        with self.path.open("r+b") as file:
            self.file = File.from_buffer(mmap.mmap(file.fileno(), SIZE))
        began = began or processes.start_ticks(os.getpid())
        self.file.head = layout.Head(layout.MAGIC, version, SIZE, 0, pid, began)
        self.part = self.file.parts[0]
        self.part.known = layout.Known(5, 0, b"gNB#1\x1b[2J", 0, Settings(2, 10), Settings(2, 10))
        self.part.stats.workers, self.part.stats.decided[7] = 2, 22
        self.part.prewake.level, self.part.prewake.late_by[0] = 1, 151
        self.ended, self.thread = threading.Event(), threading.Thread(target=self.guard)
        self.write()

    def write(self, sequence=2):
        self.part.known.written_ns = time.monotonic_ns()
        self.part.sequence = sequence

    def guard(self):
        known = self.part.known
        while not self.ended.wait(0.002):
            if (number := self.part.request) != known.answered:
                asked = layout.Request.from_buffer_copy(self.part.asked)
                self.part.sequence = 1
                known.was, known.answered = known.settings, number
                known.refusal = b"no record" if asked.what & layout.RECORD else b""
                if asked.what & layout.SPIN:
                    known.settings.spin, known.settings.lead_ns = asked.wanted.spin, asked.wanted.lead_ns
                self.write()


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setattr("nrbench.live.cli.ANSWER_S", 60.0)
    scan = processes.scan
    monkeypatch.setattr(processes, "scan", lambda: (scan()[0], [tmp_path]))
    page = Made(tmp_path)
    page.thread.start()
    yield page
    page.ended.set()


def tool(capsys, *words):
    with pytest.raises(SystemExit) as end:
        program.app([*words], prog_name="tpool-ws")
    return end.value.code, *capsys.readouterr()


def set_(capsys, setting, pid=None):
    return tool(capsys, "set", "--pid", str(pid or os.getpid()), setting)


def test_set_prints_what_was_and_what_is(made, capsys):
    out = "pool gNB#1[2J: spin=auto spin_cpu_max=10 -> spin=fixed:12.5 spin_cpu_max=10\n"
    assert set_(capsys, "spin=fixed:12.5") == (0, out, "")
    assert set_(capsys, "record=1") == (2, "", "tpool-ws: pool gNB#1[2J refuses: no record\n")


def test_a_pool_that_does_not_answer(made, capsys, monkeypatch):
    monkeypatch.setattr("nrbench.live.cli.ANSWER_S", 0.1)
    with made.path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert "another program holds its lock" in set_(capsys, "spin=off")[2]
    made.ended.set()
    made.thread.join()
    assert "has not answered within 0.1 s: its watchdog thread last ran" in set_(capsys, "spin=off")[2]
    made.write(sequence=3)
    with pytest.raises(LiveError, match="incomplete for 0.2 s"):
        list(Page(made.path).pools())
    assert "no page is there of process" in set_(capsys, "spin=off", os.getpid() + 1)[2]


def test_another_version_is_named(made, capsys):
    made.file.head.version = 9
    assert "has version 9" in set_(capsys, "spin=off")[2]
    made.path.write_bytes(made.path.read_bytes()[:1000])
    assert tool(capsys, "top", "--once")[0] == 0


def test_pages_of_ended_processes(tmp_path, made, monkeypatch):
    """One that was killed is removed; one of another container is seen by its writes."""
    monkeypatch.setattr(processes, "SILENT_S", 1e9)
    killed, other = Made(tmp_path, began=1, pid=os.getppid()), Made(tmp_path, space=1, pid=77)
    assert [one.pid for one, _ in processes.find()[0]] == [77, os.getpid()]
    assert not killed.path.exists()
    monkeypatch.setattr(processes, "SILENT_S", 0)
    assert [one.pid for one, _ in processes.find()[0]] == [os.getpid()] and other.path.exists()


def test_top(made, capsys, monkeypatch):
    monkeypatch.setattr("nrbench.live.top.SPAN_S", 0.01)
    made.part.starts[100] = 4
    (row,) = json.loads(tool(capsys, "top", "--once", "--json")[1])
    assert (row["name"], row["counts"]["start:burst early"], len(row["workers"])) == ("gNB#1[2J", 151, 2)
    out = tool(capsys, "top", "--once")[1]
    assert "pool gNB#1[2J" in out and "spin=auto spin_cpu_max=10" in out
    assert max(map(len, out.splitlines())) <= 80
    assert quantile_us(made.part.starts, 0.5) == pytest.approx(0.128 * 2**12 * 13 / 8, rel=0.13)


@pytest.mark.parametrize(
    "word", "spin spin=hot spin=fixed spin=off:1 spin=fixed:-1 cap= cap=-1 spin_cpu_max=ten spin=off,".split()
)
def test_invalid_settings(word):
    with pytest.raises(LiveError, match=re.escape(f'"{word}": no setting')):
        parse_change([word])
    change = parse_change(["SPIN=fixed:12.5", "cap=3"])
    assert (change.what, str(change.wanted)) == (
        layout.SPIN | layout.CAP,
        "spin=fixed:12.5 spin_cpu_max=0 cap=3",
    )


def test_ab_compares_and_restores(made, monkeypatch):
    """Off, each start takes eight times as long."""
    seen, settings = [], made.part.known.settings

    def sleep(_):
        seen.append(settings.spin)
        made.part.starts[80 if settings.spin == 2 else 104] += 100 + len(seen) % 5

    settings.spin, settings.lead_ns = 1, 7000
    ((page, _),), _ = processes.find(os.getpid())
    plan, run = Plan.of("1s", "12s", ["spin=auto", "spin=off"]), Ab(page, list(page.pools()), sleep)
    run.run(plan, random.Random(1))
    assert len(run.rounds) == 6 and seen.count(0) == seen.count(2) == 12
    assert (settings.spin, settings.lead_ns) == (1, 7000)
    lines = list(verdicts(run.rounds, list(plan.changes)))
    assert "difference +100 [+100, +100]: more" in lines[1]
    assert "ratio 8.000 [8.000, 8.000]: slower" in lines[2]

    made.ended.set()
    made.thread.join()
    monkeypatch.setattr("nrbench.live.ab.ANSWER_S", 0.01)
    with pytest.raises(LiveError, match="has not answered within 0.01 s: .*; not set back: spin=fixed:7 "):
        run.run(plan, random.Random(1))

    for times in (["1s", "11s"], ["0s", "1h"], ["1s", "x"]):
        with pytest.raises(LiveError):
            Plan.of(*times, ["spin=auto", "spin=off"])
