# SPDX-License-Identifier: BSD-3-Clause
"""`tpool-ws-trace record` with a model of LTTng that writes down what it is told, and programs that have the
name of its session daemon."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import pytest
from fake import executable
from part_runs import until

from nrbench.system import System
from nrbench.trace import record
from nrbench.trace.record import TraceError

ROOT = Path(__file__).resolve().parent.parent
MODEL = """#!/bin/sh
echo "$*" >> "$LTTNG_LOG"
case "$*" in
  *list*) cat "$LTTNG_LIST" 2>/dev/null || exit 1 ;;
  create*) for word in "$@"; do case "$word" in --output=*) out=${word#--output=} ;; esac; done
    [ -z "$LTTNG_METADATA" ] || mkdir -p "$out/ust"
    [ -z "$LTTNG_METADATA" ] || printf '%s' "$LTTNG_METADATA" > "$out/ust/metadata" ;;
esac
[ "${1#-}" != "$LTTNG_FAIL" ] || { echo "Error: $LTTNG_SAYS" >&2; exit 1; }
"""
DECLARED = 'event { name = "oai_tpool_ws:push"; }'
# The program, with no limit that a slow machine reaches.
RECORDER = """
from pathlib import Path
from nrbench.trace import __main__, record
record.run_folder = lambda: Path("/none")  # of daemons that run beside the test nothing is seen
record.DUMPS_S, record.GRACE_S = {dumps_s}, 600.0
__main__.main()
"""
LOST = """<command xmlns="https://lttng.org/xml/ns/lttng-mi"><channel><attributes>
<discarded_events>{events}</discarded_events><lost_packets>{packets}</lost_packets>
</attributes></channel></command>"""


class Model:
    program: list[str] | None = None  # in the recorder's place
    dumps_s: tuple[float, ...] = ()  # when programs report their libraries, after the start

    def __init__(self, folder: Path) -> None:
        self.folder, self.out, self.log = folder, folder / "out", folder / "lttng.log"
        (folder / "bin").mkdir()
        program = executable(folder / "bin" / "lttng", MODEL)
        own = {"LOG": str(self.log), "LIST": str(folder / "list.xml"), "METADATA": DECLARED, "FAIL": "none"}
        self.environment = os.environ | {f"LTTNG_{name}": text for name, text in own.items()}
        self.environment |= {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        self.lists(LOST.format(events=0, packets=0))

    def words(self, *words: str) -> list[str]:
        recorder = [sys.executable, "-c", RECORDER.format(dumps_s=self.dumps_s)]
        return [*(self.program or recorder), "record", "--out", str(self.out), *words]

    def record(self, *words: str, **environment: str) -> subprocess.CompletedProcess:
        given = {"env": self.environment | environment, "capture_output": True, "text": True, "timeout": 300}
        return subprocess.run(self.words(*words), cwd=self.folder, **given)

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen]:
        """With a command that has begun and does not end."""
        words = self.words("--", "sh", "-c", "echo started; exec sleep 1000")
        more = {"env": self.environment, "stdout": subprocess.PIPE, "start_new_session": True}
        with subprocess.Popen(words, **more) as recorder:
            assert recorder.stdout.readline() == b"started\n"
            yield recorder

    def lists(self, text: str) -> None:
        (self.folder / "list.xml").write_text(text)

    def told(self) -> list[str]:
        """The commands that LTTng was given, their first words."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.split()[0] for line in lines]


@pytest.fixture
def model(tmp_path):
    return Model(tmp_path)


WHOLE = ["--mi=xml", "create", *["enable-channel", "enable-event", "add-context"] * 2, "start"]
END = ["stop", "--mi=xml", "destroy"]
TIMED_END = ["regenerate", *END]


def test_a_session_around_a_command_whose_exit_status_is_passed_on(model):
    """The command loads the provider."""
    answer = model.record("--", "sh", "-c", "echo $TPOOL_WS_TRACE; exit 7")
    assert (answer.returncode, answer.stdout) == (7, "1\n")
    assert model.told() == WHOLE + END
    log = model.log.read_text()
    assert f" --output={model.out}" in log
    assert "--subbuf-size=1024k --num-subbuf=8" in log and "--buffers-uid" in log
    assert "lttng_ust_statedump:procname,lttng_ust_statedump:bin_info,oai_tpool_ws:pool_start" in log
    assert log.count("--type=vpid --type=vtid --type=pid_ns") == 2
    assert (model.out / "recorded.json").is_file()


def test_the_size_of_the_buffers(model):
    model.record("--subbuf-kib", "50", "--", "sh", "-c", "echo $$")
    assert "--subbuf-size=64k --num-subbuf=8" in model.log.read_text()
    about = json.loads((model.out / "recorded.json").read_text())
    assert about["buffers"] == "8 x 64 KiB for each CPU" and about["pid"] > 1


STEPS = ("create", "enable-channel", "enable-event", "add-context", "start", "stop")


@pytest.mark.parametrize("step", STEPS)
def test_whatever_fails_the_session_is_destroyed_if_there_is_one(model, step):
    said = "No session daemon is available" if step == "create" else "something"
    answer = model.record("--", "true", LTTNG_FAIL=step, LTTNG_SAYS=said)
    assert answer.returncode == 2 and model.told()[-1] == (step if step == "create" else "destroy")
    *_, line = answer.stderr.splitlines()
    assert line.startswith(f"tpool-ws-trace: 'lttng {step}' failed: Error: {said}")
    assert ("lttng-sessiond --verbose" in line) == (step == "create") and "Traceback" not in answer.stderr


def test_lost_events_are_said(model):
    model.lists(LOST.format(events=1234, packets=5))
    answer = model.record("--", "true")
    assert answer.returncode == 0
    assert "1234 events and 5 packets were LOST" in answer.stderr and "--subbuf-kib=2048" in answer.stderr


def test_a_program_without_tracepoints(model):
    answer = model.record("--", "true", LTTNG_METADATA="")
    assert answer.returncode == 2 and "no event of oai_tpool_ws was recorded. Check" in answer.stderr
    model.out = model.folder / "other"
    answer = model.record("--", "sh", "-c", "exit 3", LTTNG_METADATA='event { name = "other:push"; }')
    assert answer.returncode == 3 and "no event of oai_tpool_ws was recorded" in answer.stderr


@pytest.mark.parametrize(
    "words, error",
    [
        (["--", "no-such-program"], "no-such-program: command not found"),
        ([], "nothing to record"),
        (["--seconds", "1", "--", "true"], "nothing to record"),
        (["--subbuf-kib", "3", "--", "true"], "Invalid value for '--subbuf-kib'"),
        (["--subbuf-kib", "1000000000", "--", "true"], "MiB free, the buffers need"),
        (["--seconds", "0"], "Invalid value for '--seconds'"),
        (["--out", ROOT, "--", "true"], "the folder is not empty"),
        (["--out", "/dev/null/x", "--", "true"], "tpool-ws-trace: /dev/null/x: Not a directory"),
        (["--out", "/proc/x", "--", "true"], "tpool-ws-trace: /proc/x: No such file"),
    ],
)
def test_what_is_wrong_before_anything_is_started(model, words, error):
    answer = model.record(*map(str, words))
    assert answer.returncode == 2 and "Traceback" not in answer.stderr and model.told() == []
    assert error in answer.stderr.splitlines()[-1]


def test_lttng_is_not_installed(model):
    answer = model.record("--", sys.executable, PATH=str(model.folder))
    said = "lttng is not installed: Debian and Ubuntu packages lttng-tools, liblttng-ust-dev"
    assert (answer.returncode, answer.stderr) == (2, f"tpool-ws-trace: {said}\n")


@pytest.mark.parametrize("path", [None, "/a folder:/other"])
def test_the_command_has_the_callers_python_path(model, path):
    """The program that runs without installation finds its package in another way."""
    del model.environment["PYTHONPATH"]
    model.program = [str(ROOT / "tpool-ws-trace")]
    given = {} if path is None else {"PYTHONPATH": path}
    answer = model.record("--", "sh", "-c", 'echo "${PYTHONPATH-none}" "$1"', "sh", "a b", **given)
    assert (answer.returncode, answer.stdout) == (0, f"{path or 'none'} a b\n"), answer.stderr
    assert [word for word in model.told() if word != "regenerate"] == WHOLE + END  # or it took a second


def test_without_a_command_for_a_time(model):
    answer = model.record("--seconds", "0.1")
    assert answer.returncode == 0 and model.told() == WHOLE + TIMED_END


@pytest.mark.parametrize(
    "number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_command_and_session(model, number, status):
    """Ctrl-C reaches the command, too; the others are passed on."""
    with model.started() as recorder:
        if number == signal.SIGINT:
            os.killpg(recorder.pid, number)
        else:
            recorder.send_signal(number)
        assert recorder.wait(300) == status
    assert model.told() == WHOLE + END


@pytest.mark.alone
def test_a_second_signal_does_not_leave_the_session_behind(model):
    held, slow = model.folder / "held", model.folder / "bin" / "lttng"
    slow.write_text(MODEL.replace("case", f"while [ -e {held} ]; do sleep 0.05; done\ncase", 1))
    with model.started() as recorder:
        held.touch()
        for _ in range(5):
            os.killpg(recorder.pid, signal.SIGINT)
            time.sleep(0.1)
        held.unlink()
        assert recorder.wait(300) == 130
    assert model.told() == WHOLE + END


# Folders and daemons


def test_programs_say_what_they_have_loaded_while_they_run(model):
    """The command ends when LTTng has been told so. That this fails is of no consequence."""
    model.dumps_s = (0.1,)
    command = f"until grep -q regen {model.log}; do sleep 0.1; done"
    answer = model.record("--", "sh", "-c", command, LTTNG_FAIL="regenerate")
    assert answer.returncode == 0 and model.told() == [*WHOLE, "regenerate", *END]
    assert "regenerate statedump --session=tpool-ws-" in model.log.read_text()


LEFT = """<command><output><sessions><session><name>tpool-ws-{pid}</name><path>/some/trace</path>
</session></sessions></output></command>"""


def test_a_session_of_a_recorder_that_was_killed(model):
    """It is named; that of a recorder that runs is not."""
    killed = subprocess.Popen(["true"])
    killed.wait()
    model.lists(LEFT.format(pid=killed.pid))
    answer = model.record("--", "true")
    assert (
        f"tpool-ws-{killed.pid} of a recorder that was killed still records into /some/trace" in answer.stderr
    )
    assert f"to end it: lttng destroy tpool-ws-{killed.pid}\n" in answer.stderr
    assert model.told() == WHOLE + END
    model.out = model.folder / "other"
    with subprocess.Popen(["sh", "-c", "read x", "tpool-ws-trace"], stdin=subprocess.PIPE) as runs:
        model.lists(LEFT.format(pid=runs.pid))
        assert "was killed" not in model.record("--", "true").stderr


MAPS = """\
00400000-00500000 r-xp 00000000 08:01 11         /bin/gnb
7f00000-7f10000 r--p 00000000 08:01 12           /x/libldpc.so
7f10000-7f40000 r-xp 00020000 08:01 12           /x/libldpc.so
7f40000-7f50000 rw-p 00050000 08:01 12           /x/libldpc.so
7f60000-7f70000 rw-p 00000000 00:00 0
7f80000-7f90000 r--p 00000000 08:01 14           /x/a table
7fa0000-7fc0000 r-xp 00000000 08:01 13           /x/libthread_pool_ws_lttng.so.0
"""


def test_what_the_recorder_sees_in_proc(tmp_path):
    """Of programs that have loaded the provider, in their own namespaces."""
    (tmp_path / "ns").touch()
    for pid, maps in ((10, MAPS), (11, MAPS.replace("_lttng", ""))):
        for thread, name in ((pid, "gnb"), (pid + 5, "L1_rx_thread")):
            folder = tmp_path / f"proc/{pid}/task/{thread}"
            folder.mkdir(parents=True)
            ids = f"NStgid:\t{pid}\t7\nNSpid:\t{thread}\t{thread - pid + 7}\n"
            (folder / "status").write_text(f"Name:\t{name}\n{ids}")
        (tmp_path / f"proc/{pid}/maps").write_text(maps)
        (tmp_path / f"proc/{pid}/exe").symlink_to("/bin/gnb")
        (tmp_path / f"proc/{pid}/ns").mkdir()
        (tmp_path / f"proc/{pid}/ns/pid").symlink_to(tmp_path / "ns")
    space = (tmp_path / "ns").stat().st_ino
    found = {f"{space}:7:7": "gnb", f"{space}:7:12": "L1_rx_thread"}
    session = record.Session("s", tmp_path)
    session.look(System(tmp_path))
    assert session.threads == found
    assert session.images == {
        f"{space}:7:{0x7F00000}:/x/libldpc.so": 0x40000,
        f"{space}:7:{0x7FA0000}:/x/libthread_pool_ws_lttng.so.0": 0x20000,
    }


NONE = "<command><output><sessions/></output></command>"
ONE = "<command><output><sessions><session><name>s</name></session></sessions></output></command>"


class Daemons:
    """Of this test alone: their folder is the test's."""

    listed: str | None = NONE

    def __init__(self, monkeypatch, folder, begin) -> None:
        self.folder, self.begin = folder, begin
        self.program = shutil.copy(shutil.which("sleep"), folder / record.SESSIOND)
        monkeypatch.setattr(record, "run_folder", lambda: folder)
        monkeypatch.setattr(record, "SESSIOND_END_S", 0.0)  # a child stays in /proc until it is waited for
        monkeypatch.setattr(record, "run_lttng", lambda *_: self.list())

    def list(self) -> str:
        if self.listed is None:
            raise TraceError("'lttng list' failed")
        return self.listed

    def start(self) -> subprocess.Popen:
        started = self.begin(self.program, "1000")
        (self.folder / f"{record.SESSIOND}.pid").write_text(f"{started.pid}\n")
        until(record.running)  # a new program has its name a moment after its start
        return started


@pytest.fixture
def daemons(monkeypatch, tmp_path, start):
    return Daemons(monkeypatch, tmp_path, start)


def test_a_daemon_that_was_started_meanwhile_ends_also_when_the_recording_fails(daemons):
    with pytest.raises(KeyboardInterrupt), record.ends_with_block():
        started = daemons.start()
        raise KeyboardInterrupt
    assert started.wait(600) == -15


@pytest.mark.parametrize("listed", [NONE, ONE, None, "no XML"])
def test_one_that_ran_before_or_that_others_may_record_with_is_left_alone(daemons, listed):
    daemons.listed = listed
    if listed == NONE:
        started = daemons.start()
    with record.ends_with_block():
        started = started if listed == NONE else daemons.start()
    assert record.running() == started.pid and started.poll() is None


@pytest.mark.parametrize("number", ["", "no number", "1", "4194304999"])
def test_a_number_that_is_no_daemons(daemons, number):
    (daemons.folder / f"{record.SESSIOND}.pid").write_text(number)
    assert record.running() is None


def test_where_a_users_daemon_has_its_files(monkeypatch):
    monkeypatch.setattr(record.os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.delenv("LTTNG_HOME", raising=False)
    assert str(record.run_folder()) == "/somewhere/.lttng"
    monkeypatch.setenv("LTTNG_HOME", "/elsewhere")
    assert str(record.run_folder()) == "/elsewhere/.lttng"
