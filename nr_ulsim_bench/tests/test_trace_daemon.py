# SPDX-License-Identifier: BSD-3-Clause
"""A session daemon that a recording has started ends with it; others are left alone. With programs that have
the daemon's name, and, where LTTng is there (step 77), with the daemon itself."""

import shutil
import subprocess
import sys
import time

import pytest
from test_trace_lttng import REASON, record

from nrbench.trace import lttng
from nrbench.trace.events import TraceError

NONE = "<command><output><sessions/></output></command>"
ONE = "<command><output><sessions><session><name>s</name></session></sessions></output></command>"


class Daemons:
    """Of this test alone: their folder is the test's."""

    def __init__(self, monkeypatch, folder) -> None:
        self.folder, self.started, self.listed = folder, [], NONE
        self.program = shutil.copy(shutil.which("sleep"), folder / lttng.SESSIOND)
        monkeypatch.setattr(lttng, "run_folder", lambda: folder)
        monkeypatch.setattr(lttng, "SESSIOND_END_S", 0.0)  # a child stays in /proc until it is waited for
        monkeypatch.setattr(lttng, "run_lttng", lambda *_: self.list())

    def list(self) -> str:
        if self.listed is None:
            raise TraceError("'lttng list' failed")
        return self.listed

    def start(self) -> subprocess.Popen:
        self.started.append(subprocess.Popen([self.program, "1000"]))
        (self.folder / f"{lttng.SESSIOND}.pid").write_text(f"{self.started[-1].pid}\n")
        while lttng.running() is None:
            time.sleep(0.01)  # a new program has its name a moment after its start
        return self.started[-1]


@pytest.fixture
def daemons(monkeypatch, tmp_path):
    made = Daemons(monkeypatch, tmp_path)
    yield made
    for process in made.started:
        process.kill()
        process.wait()


def runs(process: subprocess.Popen) -> bool:
    return process.poll() is None


class Answers:
    """In the place of lttng: each call raises the next text, or succeeds where it is empty."""

    def __init__(self, monkeypatch, texts) -> None:
        self.texts, self.calls = list(texts), 0
        monkeypatch.setattr(lttng, "run_lttng", self.run)
        monkeypatch.setattr(lttng, "ENDING_S", 0.0)

    def run(self, *_words) -> str:
        self.calls += 1
        text = self.texts.pop(0)
        if text:
            raise TraceError(text)
        return ""


def create(tmp_path) -> None:
    lttng.Session("name", tmp_path, lttng.Buffers())._create()


def test_a_daemon_that_still_ends_is_waited_for(monkeypatch, tmp_path):
    ending = f"Could not get lock file, {lttng.ENDING}."
    answers = Answers(monkeypatch, [ending, ending, ""])
    create(tmp_path)
    assert answers.calls == 3
    answers = Answers(monkeypatch, [ending] * 100)
    with pytest.raises(TraceError, match="lock file"):
        create(tmp_path)
    assert answers.calls == lttng.ENDING_LOOKS


def test_other_errors_of_the_daemon_are_told_at_once(monkeypatch, tmp_path):
    answers = Answers(monkeypatch, ["no such group", ""])
    with pytest.raises(TraceError, match="no such group"):
        create(tmp_path)
    assert answers.calls == 1


def test_one_that_was_started_meanwhile_ends(daemons):
    with lttng.ends_with_block():
        started = daemons.start()
    assert started.wait(600) == -15


def test_also_when_the_recording_fails(daemons):
    with pytest.raises(KeyboardInterrupt), lttng.ends_with_block():
        started = daemons.start()
        raise KeyboardInterrupt
    assert started.wait(600) == -15


def test_one_that_ran_before_is_left_alone(daemons):
    started = daemons.start()
    with lttng.ends_with_block():
        pass
    assert lttng.running() == started.pid and runs(started)


@pytest.mark.parametrize("listed", [ONE, None, "no XML"])
def test_one_that_others_may_record_with_is_left_alone(daemons, listed):
    daemons.listed = listed
    with lttng.ends_with_block():
        started = daemons.start()
    assert runs(started)


@pytest.mark.parametrize("number", ["", "no number", "1", "4194304999"])
def test_a_number_that_is_no_daemons(daemons, number):
    (daemons.folder / f"{lttng.SESSIOND}.pid").write_text(number)
    assert lttng.running() is None


def test_where_a_users_daemon_has_its_files(monkeypatch):
    monkeypatch.setattr(lttng.os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.delenv("LTTNG_HOME", raising=False)
    assert str(lttng.run_folder()) == "/somewhere/.lttng"
    monkeypatch.setenv("LTTNG_HOME", "/elsewhere")
    assert str(lttng.run_folder()) == "/elsewhere/.lttng"


@pytest.mark.alone
@pytest.mark.skipif(REASON is not None, reason=str(REASON))
def test_a_real_one_ends_with_its_recording(tmp_path):
    before = lttng.running()
    record(tmp_path / "t", "--seconds", "0.1", "--", sys.executable, "-c", "print(1)", status=2)
    assert lttng.running() == before
