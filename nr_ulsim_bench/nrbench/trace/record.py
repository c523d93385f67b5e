# SPDX-License-Identifier: BSD-3-Clause
"""Records a command, or for some seconds all programs of this user, in an LTTng session.

LTTng is used by its command line. `lttng create` starts a session daemon where none runs, and it stays: every
program that loads lttng-ust then waits for it. So a daemon that a recording has started ends with it.
"""

import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator, Sequence

from nrbench import host
from nrbench.live.record import MAPPED
from nrbench.needed import STATUS
from nrbench.programs import handled
from nrbench.system import System

PROVIDER = "oai_tpool_ws"
STATEDUMP = "lttng_ust_statedump"
# What names and numbers come from: rare, and recorded in buffers of its own, so that a part of a trace can be
# read without the rest. Other events of the state have arrays, whose length is not checked when a trace is
# damaged.
MARKS = [f"{STATEDUMP}:procname", f"{STATEDUMP}:bin_info"]
MARKS += [f"{PROVIDER}:{name}" for name in ("pool_start", "pool_stop", "late_burst")]
PHASES = ("symbol_processing", "ulsch_decoding")
MARKS += [f"{PROVIDER}:{name}_{end}" for name in PHASES for end in ("begin", "end")]
# All others, each by its name: lttng-sessiond 2.13.9 ends by SIGSEGV when it lists a pattern with exceptions.
NAMES = "push run_begin run_as run_end decide wake steal complete join_begin join_end park unpark prewake"
OTHERS = [f"{PROVIDER}:{name}" for name in f"{NAMES} sleep_begin sleep_end idle".split()]
CHANNEL, STATE = "tpool_ws", "state"
WANTED = {"TPOOL_WS_TRACE": "1"}  # the environment in which a program loads the pool's provider of events
SYSTEM, PROC = System(), "/proc"
SHARED_MEMORY = Path("/dev/shm")
# Of each CPU. They hold some 150 000 events: what a CPU makes in half a second of full load, in which the
# consumer need not run at all.
SUBBUF_KIB, SUBBUFS = 1024, 8
STATE_KIB = 64
WAIT_S = 120.0
DUMP_S = 0.2  # in which the programs write down their state
NOT_INSTALLED = "lttng is not installed: Debian and Ubuntu packages lttng-tools, liblttng-ust-dev"
OVERFLOW = 1 << 63  # LTTng adds it where a count seems to have shrunk
DAEMON_HELP = (
    "Start a session daemon by hand to see its errors: lttng-sessiond --verbose. A daemon that runs as "
    "root serves root and the group 'tracing'. $LTTNG_HOME or $HOME must be writable"
)
SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
SESSIOND = "lttng-sessiond"
SESSIOND_END_S = 10.0
RECORD_FILE = "recorded.json"  # describes the recording, beside the trace
FULL_BYTES = 1 << 20  # a disk with less free space has no room for the next sub-buffer
LOOK_S = 0.1  # between looks for a signal, or for the end of the command
GRACE_S = 10.0  # for the command to end after a signal
DUMPS_S = tuple(2.0**n for n in range(16))  # after the start; nr_ulsim takes a second to load its decoder
REMEDY = (
    "Check that the program was built with tracing and uses the pool, that libthread_pool_ws_lttng.so.0 lies "
    "beside it and liblttng-ust is on this machine, that the program runs as this user and, if it ran before "
    "the recording, was started with TPOOL_WS_TRACE=1"
)


ENDING, ENDING_LOOKS, ENDING_S = "another instance is running", 60, 0.5  # a daemon that still ends


class TraceError(Exception):
    """Names the input and, where there is one, the remedy."""


def run_lttng(*words: str, wait_s: float = WAIT_S) -> str:
    """@return its standard output. It runs in a session of its own, which Ctrl-C does not reach."""
    try:
        answer = subprocess.run(
            ["lttng", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
            start_new_session=True, timeout=wait_s,
        )  # fmt: skip
    except FileNotFoundError:
        raise TraceError(NOT_INSTALLED) from None
    except subprocess.TimeoutExpired:
        silent = f"'lttng {' '.join(words)}' has not answered for {wait_s:g} s"
        raise TraceError(f"{silent}: is lttng-sessiond stopped?") from None
    if answer.returncode != 0:
        text = answer.stderr + answer.stdout
        reason = re.search("^Error.*", text, re.MULTILINE) or re.search(".*", text.strip())
        remedy = f". {DAEMON_HELP}" if "session daemon" in text or "sessiond" in text else ""
        raise TraceError(f"'lttng {words[0]}' failed: {reason and reason[0]}{remedy}")
    return answer.stdout


def listed(*words: str) -> str:
    """LTTng's answer in XML; empty if there is none."""
    with suppress(TraceError):
        return run_lttng("--mi=xml", "list", *words)
    return ""


class Session:
    """A recording session. It is stopped and destroyed when its block ends, also by an error."""

    def __init__(self, name: str, out: Path, subbuf_kib: int = SUBBUF_KIB) -> None:
        self.name, self.out = name, out
        self.subbuf_kib = 1 << (subbuf_kib - 1).bit_length()  # a power of two, as LTTng wants it
        self.lost: dict[str, int] = {}  # lost_events and lost_packets, as LTTng counts; empty: no answer
        # Of the programs that it has seen: names by SPACE:PID:TID, sizes in memory by SPACE:PID:BASE:FILE.
        self.threads, self.images = dict[str, str](), dict[str, int]()
        self._recording = False

    def check_memory(self) -> None:
        """The buffers lie in shared memory, of which containers have little. Without room nothing is
        recorded."""
        cpus = max(SYSTEM.possible()) + 1  # also those plugged in later
        needed = (self.subbuf_kib + STATE_KIB) * SUBBUFS * cpus
        free = shutil.disk_usage(SHARED_MEMORY).free >> 10 if SHARED_MEMORY.is_dir() else needed
        if needed > free:
            there = f"{SHARED_MEMORY} has {free >> 10} MiB free, the buffers need {needed >> 10} MiB"
            each = f"({SUBBUFS} of {self.subbuf_kib} KiB for each CPU)"
            remedy = "Use a smaller --subbuf-kib, or give a container more: --shm-size"
            raise TraceError(f"{there} {each}. {remedy}")

    def _create(self) -> None:
        """Starts a daemon where none runs. One that still ends stands in its way: it is waited for."""
        for look in range(ENDING_LOOKS + 1):
            try:
                run_lttng("create", self.name, f"--output={self.out.resolve()}")
                return
            except TraceError as error:
                if ENDING not in str(error) or look == ENDING_LOOKS:
                    raise
            time.sleep(ENDING_S)

    def __enter__(self) -> "Session":
        self._create()
        try:
            for channel, kib, events in ((CHANNEL, self.subbuf_kib, OTHERS), (STATE, STATE_KIB, MARKS)):
                for step, *words in map(str.split, (
                    f"enable-channel {channel} --buffers-uid --subbuf-size={kib}k --num-subbuf={SUBBUFS}",
                    f"enable-event --channel={channel} {','.join(events)}",
                    f"add-context --channel={channel} --type=vpid --type=vtid --type=pid_ns",
                )):  # fmt: skip
                    run_lttng(step, "--userspace", f"--session={self.name}", *words)
            run_lttng("start", self.name)
        except BaseException:
            run_lttng("destroy", self.name)
            raise
        self._recording = True
        return self

    def stop(self) -> None:
        """Ends the recording. All events are on disk when this returns."""
        if not self._recording:
            return
        self._recording = False
        run_lttng("stop", self.name)
        if answer := listed(self.name):
            for name, told in (("lost_events", "discarded_events"), ("lost_packets", "lost_packets")):
                counts = map(int, re.findall(rf"<{told}>(\d+)<", answer))
                self.lost[name] = sum(count % OVERFLOW for count in counts)

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            run_lttng("destroy", self.name)

    def look(self, system: System = SYSTEM) -> None:
        """Into /proc, at programs that have loaded the provider, whose ids are those in the events."""
        for at in (f"{PROC}/{name}" for name in system.names(PROC) if name.isdigit()):
            if "libthread_pool_ws_lttng" in (maps := system.text(f"{at}/maps") or ""):
                with suppress(OSError, KeyError):  # it has ended
                    exe = str(system.path(f"{at}/exe").readlink())
                    space = system.path(f"{at}/ns/pid").stat().st_ino
                    for thread in system.names(f"{at}/task"):
                        of = system.fields(f"{at}/task/{thread}/status")
                        process = f"{space}:{of['NStgid'].split()[-1]}"
                        self.threads[f"{process}:{of['NSpid'].split()[-1]}"] = of["Name"]
                    base, file = 0, ""
                    for begin, end, mode, offset, path in MAPPED.findall(maps):
                        if int(offset, 16) == 0:
                            base, file = int(begin, 16), path
                        if "x" in mode and path == file != exe:  # whose addresses LTTng knows
                            self.images[f"{process}:{base}:{path}"] = int(end, 16) - base

    def dump_state(self) -> None:
        """Programs report again what they have loaded. If that fails, the trace lacks only some names."""
        self.look()
        with suppress(TraceError):
            run_lttng("regenerate", "statedump", f"--session={self.name}", wait_s=10.0)
            time.sleep(DUMP_S)


def run_folder() -> Path:
    """Where lttng-sessiond of this user has its sockets."""
    home = Path(os.environ.get("LTTNG_HOME") or os.environ.get("HOME", "/"))
    return Path("/var/run/lttng") if os.geteuid() == 0 else home / ".lttng"


def running() -> int | None:
    """@return the process id of this user's daemon; None where none runs"""
    with suppress(OSError, ValueError):
        pid = int((run_folder() / f"{SESSIOND}.pid").read_text())
        return pid if SYSTEM.process_name(pid) == SESSIOND else None
    return None


@contextmanager
def ends_with_block() -> Iterator[None]:
    """Ends a daemon that was started in the block, unless it has sessions of others."""
    was_running = running() is not None
    try:
        yield
    finally:
        pid = running()
        if pid and not was_running and re.search("<sessions */>|<sessions></sessions>", listed()):
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)
            end = time.monotonic() + SESSIOND_END_S
            while running() == pid and time.monotonic() < end:
                time.sleep(0.02)


def say(text: str) -> None:
    print(f"tpool-ws-trace: {text}", file=sys.stderr, flush=True)


def name_left() -> None:
    """Sessions of recorders that were killed: they record on."""
    for name, pid, folder in re.findall(r"<name>(tpool-ws-(\d+))</name><path>([^<]*)<", listed()):
        if "trace" in (SYSTEM.text(f"{PROC}/{pid}/cmdline") or ""):
            continue
        say(f"the session {name} of a recorder that was killed still records into {folder}")
        say(f"to end it: lttng destroy {name}")


def check(session: Session, command: Sequence[str], seconds: float | None) -> None:
    """Finds errors before anything is started."""
    if bool(command) == (seconds is not None):
        raise TraceError("nothing to record: name a command after --, or use --seconds; not both")
    if command and shutil.which(command[0]) is None:
        raise TraceError(f"{command[0]}: command not found, or not executable")
    session.check_memory()
    session.out.mkdir(parents=True, exist_ok=True)
    if any(session.out.iterdir()):
        raise TraceError(f"--out {session.out}: the folder is not empty; name another one")


def record(session: Session, command: Sequence[str], seconds: float | None, follow_forks: bool) -> int:
    """@return the command's exit status; 2 if the command succeeded and no event of the pool was recorded"""
    check(session, command, seconds)
    name_left()
    came: list[int] = []  # signals: an exception in the middle of a step would leave a session behind
    with handled(SIGNALS, lambda number, _: came.append(number)), ends_with_block():
        with session:
            say(f"recording into {session.out}")
            process = _start(command, follow_forks) if command else None
            try:
                status = _run(session, process, seconds or math.inf, came)
            finally:
                if process and process.poll() is None:
                    process.kill()
                    process.wait()
        pid = process.pid if process else None
        _write_about(session, {"command": shlex.join(command), "pid": pid, "seconds": seconds})
        return _judge(session, status)


def _write_about(session: Session, about: dict[str, Any]) -> None:
    """Describes the machine and the recording for the report."""
    about = host.facts() | about | session.lost
    about |= {"threads": session.threads, "images": session.images}
    about["buffers"] = f"{SUBBUFS} x {session.subbuf_kib} KiB for each CPU"
    del about["bench"]
    try:
        (session.out / RECORD_FILE).write_text(json.dumps(about, indent=1) + "\n")
    except OSError as error:
        say(f"{session.out / RECORD_FILE}: {error.strerror}")


def _wait(process: subprocess.Popen[bytes] | None, end_s: float, came: list[int]) -> int | None:
    """For the end of the command, a signal, or a time, whatever comes first.
    @return the command's exit status as shells have it; a signal's number, negative; None: the time"""
    while time.monotonic() < end_s and not came:
        code = process.poll() if process is not None else None
        if code is not None:
            return code if code >= 0 else 128 - code
        time.sleep(LOOK_S)
    return -came[0] if came else None


def _run(session: Session, process: subprocess.Popen[bytes] | None, seconds: float, came: list[int]) -> int:
    """Waits for the command, or for the time. @return the exit status

    At DUMPS_S, and before it ends a program or the recording, it looks at what programs have loaded: LTTng's
    own list of their libraries races with dlopen().
    """
    begin_s, status = time.monotonic(), None
    for at_s in (*(at_s for at_s in DUMPS_S if at_s < seconds), seconds):
        if status is None:
            status = _wait(process, begin_s + at_s, came)
            if status is None or process is None:
                session.dump_state()
            elif status < 0:
                session.look()
    if process is None:  # Ctrl-C is a way to end such a recording
        return 0 if status in (None, -signal.SIGINT) else 128 - (status or 0)
    return status if status is not None and status >= 0 else _end(process, came[0])


def _start(command: Sequence[str], follow_forks: bool) -> subprocess.Popen[bytes]:
    environment = os.environ | WANTED
    if follow_forks:
        library = "liblttng-ust-fork.so.1"
        environment["LD_PRELOAD"] = " ".join(filter(None, [library, environment.get("LD_PRELOAD")]))
    return subprocess.Popen(list(command), env=environment)


def _end(process: subprocess.Popen[bytes], number: int) -> int:
    """Passes a signal on, and ignores further ones. A Ctrl-C has most likely reached the command already.
    @return the exit status"""
    status = _wait(process, time.monotonic() + (number == signal.SIGINT), [])
    if status is None:
        process.send_signal(number)
        status = _wait(process, time.monotonic() + GRACE_S, [])
    if status is None:
        say(f"the command has not ended {GRACE_S:g} s after the signal; killing it")
        process.kill()
        status = _wait(process, math.inf, [])
    return status or 0


def _judge(session: Session, status: int) -> int:
    """Says whether the recording is complete."""
    out = session.out
    if shutil.disk_usage(out).free < FULL_BYTES:
        say(f"the disk of {out} is full: the trace is not complete")
    # These files declare the events of each program that the recorder has seen.
    if not any(f"{PROVIDER}:".encode() in file.read_bytes() for file in out.rglob("metadata")):
        say(f"{out}: no event of {PROVIDER} was recorded. {REMEDY}")
        return status or STATUS
    if any(session.lost.values()):
        lost = "{lost_events} events and {lost_packets} packets were LOST: the buffers were full"
        lost = lost.format_map(session.lost)
        say(f"{lost}. Record again with larger ones: --subbuf-kib={session.subbuf_kib * 2}")
    say(f"recorded; next: tpool-ws-trace report {out}")
    return status
