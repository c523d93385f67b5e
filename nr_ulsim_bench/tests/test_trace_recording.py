# SPDX-License-Identifier: BSD-3-Clause
"""What may go wrong around a recording, with the model of LTTng: folders, disks, memory, killed recorders."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

import pytest
from test_trace_record import END, LOST, WHOLE, Model

from nrbench.trace import lttng, record, signals
from nrbench.trace.errors import TraceError
from nrbench.trace.lttng import Buffers, Losses, Session

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def model(tmp_path):
    return Model(tmp_path)


def one_line(answer: subprocess.CompletedProcess) -> str:
    assert "Traceback" not in answer.stderr and answer.stderr.count("\n") == 1
    return answer.stderr


@pytest.mark.parametrize("out, why", [("/dev/null/x", "Not a directory"), ("/proc/x", "No such file")])
def test_an_out_that_cannot_be_made(model, out, why):
    model.out = Path(out)
    answer = model.record("--", "true")
    assert answer.returncode == 2 and model.told() == []
    assert one_line(answer).startswith(f"tpool-ws-trace: --out {out}: {why}")


def test_an_out_that_may_not_be_looked_at(monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", refuse)
    with pytest.raises(TraceError, match="^--out .*/x: Permission denied$"):
        record.make_folder(tmp_path / "x")


def test_an_out_that_may_not_be_written_to(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(TraceError, match="Permission denied"):
        record.make_folder(tmp_path)


def test_what_cannot_be_written_down_does_not_take_the_exit_status(model):
    """The model makes a folder where the file should be."""
    answer = model.record("--", "sh", "-c", f"mkdir {model.out}/recorded.json; exit 7")
    assert answer.returncode == 7 and "recorded.json: Is a directory; the report" in answer.stderr
    assert "Traceback" not in answer.stderr and model.told() == WHOLE + END


@pytest.mark.parametrize("step", ["create", "start"])
def test_a_failed_start_leaves_no_folder(model, step):
    failed = {"LTTNG_FAIL": step, "LTTNG_METADATA": ""}
    assert model.record("--", "true", **failed).returncode == 2 and not model.out.exists()
    model.out.mkdir()
    assert model.record("--", "true", **failed).returncode == 2 and model.out.is_dir()  # not ours
    model.out.rmdir()
    assert model.record("--", "true", LTTNG_FAIL="start").returncode == 2
    assert (model.out / "ust" / "metadata").is_file()


def test_the_command_is_written_down(model):
    answer = model.record("--", "sh", "-c", "echo $$")
    assert json.loads((model.out / "recorded.json").read_text())["pid"] == int(answer.stdout)
    model.out = model.folder / "other"
    model.record("--seconds", "0.1")
    assert json.loads((model.out / "recorded.json").read_text())["pid"] is None


def test_programs_say_what_they_have_loaded_while_they_run(model):
    """The command ends when LTTng has been told so."""
    answer = model.record(
        "--name", "s", "--", "sh", "-c", f"until grep -q regen {model.log}; do sleep 0.1; done"
    )
    assert answer.returncode == 0 and model.told() == [*WHOLE, "regenerate", *END]
    assert "regenerate statedump --session=s\n" in model.log.read_text()


def test_that_this_fails_is_of_no_consequence(model):
    answer = model.record("--seconds", "0.1", LTTNG_FAIL="regenerate")
    assert answer.returncode == 0 and model.told() == [*WHOLE, "regenerate", *END]


class Clock:
    """Of which the waits take what they are asked to."""

    def __init__(self, monkeypatch, end_s: float) -> None:
        self.now, self.end_s = 0.0, end_s
        monkeypatch.setattr(record.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(signals, "wait", self.wait)

    def wait(self, _, seconds: float) -> signals.Event:
        self.now = min(self.now + seconds, self.end_s)
        return signals.Event(status=0) if self.now >= self.end_s else signals.Event()


class Told:
    def __init__(self, clock: Clock) -> None:
        self.clock, self.dumps = clock, []

    def dump_state(self) -> None:
        self.dumps.append(self.clock.now)


@pytest.mark.parametrize("end_s, dumps", [(0.5, []), (3, [1, 2]), (60, [1, 2, 4, 8, 16])])
def test_when_they_say_it(monkeypatch, end_s, dumps):
    clock = Clock(monkeypatch, end_s)
    told = Told(clock)
    assert record.Watch(told).wait(None, None).status == 0
    assert told.dumps == dumps


def test_a_wait_ends_in_time(monkeypatch):
    clock = Clock(monkeypatch, 60)
    assert record.Watch(Told(clock)).wait(None, 2.5) == signals.Event() and clock.now == 2.5


@pytest.mark.parametrize("per_process", [True, False])
def test_processes_that_found_no_memory(monkeypatch, capsys, tmp_path, per_process):
    """It was short while the command ran, and is free again."""
    clock, free = Clock(monkeypatch, 3), [1 << 40, (40 << 20) - 1, 1 << 40]
    monkeypatch.setattr(lttng, "POSSIBLE_CPUS", tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 10)
    monkeypatch.setattr(record, "free_memory", free.pop)
    watch = record.Watch(Told(clock))
    watch.wait(None, None)
    options = record.Options(tmp_path, "s", (), buffers=Buffers(1 << 20, 4), per_process=per_process)
    record._warn_of_memory(options, watch)
    assert ("had 39 MiB left, a process' buffers need 40 MiB" in capsys.readouterr().err) is per_process


def test_a_session_that_was_left_behind(model):
    """Of three recorders one has ended without having ended its session."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    names = [f"tpool-ws-{ended.pid}", f"tpool-ws-{os.getpid()}", "tpool-ws-mine", "other"]
    sessions = "".join(f"<session><name>{name}</name></session>" for name in names)
    (model.folder / "list.xml").write_text(
        LOST.format(events=0, packets=0).replace("<channel>", f"{sessions}<channel>")
    )
    said = model.record("--", "true").stderr
    assert f"end it: lttng destroy tpool-ws-{ended.pid}\n" in said and said.count("lttng destroy") == 1


@pytest.mark.parametrize("free, said", [(0, True), (1 << 30, False)])
def test_a_full_disk_is_named(monkeypatch, capsys, tmp_path, free, said):
    def fail(*words, **_):
        raise TraceError(f"'lttng {words[0]}' failed: Rotation failure")

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 30, 0, free))
    monkeypatch.setattr(lttng, "run_lttng", fail)
    with pytest.raises(TraceError) as error:
        Session("s", tmp_path, Buffers())._destroy()
    assert (f"Rotation failure. The disk of {tmp_path} is full" in str(error.value)) is said
    record._judge(record.Options(tmp_path, "s", ("x",)), Losses(0, 0), 0)
    assert (f"the disk of {tmp_path} is full" in capsys.readouterr().err) is said


def test_what_was_recorded_cannot_be_read(monkeypatch, tmp_path):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    assert record.what_is_missing(tmp_path) == f"{tmp_path}: Permission denied"


def test_lttng_is_looked_for_and_not_started(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("was started"))
    with pytest.raises(TraceError, match="lttng is not installed"):
        lttng.check_installed()


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root, to be nobody")
def test_another_users_folders():
    folder = Path(tempfile.mkdtemp())  # pytest's own are closed to others
    (folder / "closed" / "t").mkdir(parents=True)
    shutil.copytree(Path(record.__file__).parents[1], folder / "nrbench")
    folder.chmod(0o755)
    (folder / "closed").chmod(stat.S_IRWXU)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    words = [sys.executable, "-m", "nrbench.trace"]
    try:
        for more in (["record", "--out", f"{folder}/closed/t", "--", "true"], ["report", f"{folder}/closed"]):
            answer = subprocess.run(
                [*nobody, *words, *more], capture_output=True, text=True, cwd=folder, timeout=300
            )
            assert answer.returncode == 2 and "closed" in one_line(answer)
            assert "Permission denied" in answer.stderr
    finally:
        shutil.rmtree(folder)
