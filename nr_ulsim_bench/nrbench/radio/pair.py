# SPDX-License-Identifier: BSD-3-Clause
"""One run: a gNB and a UE, from their start to the fields of a record. Whatever happens, no process, socket,
shared memory or file of them is left."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

from nrbench.facts import load
from nrbench.host import REAL
from nrbench.radio import cell, parse, watch
from nrbench.radio.device import Counters, Device, find_device
from nrbench.radio.record import SIDES, Outcome, Pool, Side, SideName, Step
from nrbench.radio.softmodem import BusyError, Meeting, command, cpus_of, environment, meeting
from nrbench.scratch import scratch_folder
from nrbench.sweep.process import OUTPUT_MAX_BYTES, bound_to, kill_group, signal_name, start
from nrbench.sweep.simulator import Simulator

UP_LIMIT_S = 120.0  # until the gNB's device waits for the UE
ATTACH_LIMIT_S, ATTACH_LIMIT_SCALED_S = 15.0, 10.0  # wall time, and sample time
SETTLE_S = 3.0  # after the attach; samples are late at the start
END_LIMIT_S = 20.0  # from the SIGINT: the device sleeps for a second and then prints
LOOK_S = 0.1
_LOCK = "\0nrbench-radio"  # in the abstract namespace: it is gone with its process

Taken = dict[str, Any]  # fields of a RadioRun


@dataclass(frozen=True)
class Pair:
    """What is run. All times are wall times."""

    programs: Mapping[SideName, Simulator]
    pools: Mapping[SideName, Pool]
    spin: str  # pre-wake mode of the new pools
    prb: int
    timescale: float
    placement: str = "floating"
    seconds: float = 60.0  # the steady stretch

    @property
    def attach_limit_s(self) -> float:
        return ATTACH_LIMIT_S + ATTACH_LIMIT_SCALED_S / self.timescale


class _Failed(Exception):
    def __init__(self, outcome: Outcome, error: str) -> None:
        super().__init__(error)
        self.outcome = outcome


@dataclass
class _Program:
    side: SideName
    process: subprocess.Popen[bytes]
    output: Path
    is_asked: bool = False  # to end

    def text(self) -> str:
        with open(self.output, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - OUTPUT_MAX_BYTES))
            return parse.plain(file.read().decode("utf-8", errors="replace"))

    def why(self) -> str:
        """It ended."""
        name = signal_name(self.process.poll() or 0)
        return (f"ended by {name}; " if name else "") + parse.cause(self.text())

    def ask(self) -> None:
        """Once: a second SIGINT would end the program before its device prints."""
        if not self.is_asked and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.is_asked = True


@dataclass(frozen=True)
class _Moment:
    """An end of the steady stretch."""

    monotonic_s: float
    cpu_times: tuple[int, int]
    threads: dict[SideName, dict[str, watch.Thread]]
    counters: dict[SideName, Counters | None]
    steps: dict[SideName, dict[str, Step]]
    traffic: parse.Traffic | None


@dataclass
class _Run:
    pair: Pair
    folder: Path
    where: Meeting
    programs: dict[SideName, _Program] = field(default_factory=dict)

    def start(self, side: SideName) -> None:
        simulator, folder = self.pair.programs[side], self.folder / side
        folder.mkdir()
        configuration, output = folder / f"{side}.conf", folder / "output.txt"
        configuration.write_text(cell.gnb_text(self.pair.prb) if side == "gnb" else cell.ue_text())
        words = command(
            side, simulator.program, configuration, self.where, self.pair.prb, self.pair.timescale
        )
        spin = self.pair.spin if self.pair.pools[side] == "new" else None
        cpus = cpus_of(side, self.pair.placement, os.sched_getaffinity(0))
        with open(output, "wb") as out, bound_to(cpus):
            try:
                process = start(words, out, folder, environment(simulator.folder, spin))
            except OSError as error:
                raise _Failed(_died(side), f"cannot be started: {error.strerror}") from error
        self.programs[side] = _Program(side, process, output)

    def check(self) -> None:
        """@raise _Failed  a program has ended"""
        for side, program in self.programs.items():
            if program.process.poll() is not None:
                raise _Failed(_died(side), program.why())

    def until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """@return whether it came true in time"""
        end = time.monotonic() + limit_s
        while not condition():
            self.check()
            if time.monotonic() >= end:
                return False
            time.sleep(min(LOOK_S, max(0.0, end - time.monotonic())))
        return True

    def written(self, side: SideName, name: str) -> str:
        """What a program has in a file of its working directory."""
        with contextlib.suppress(OSError):
            return (self.folder / side / name).read_text(errors="replace")
        return ""

    def traffic(self) -> parse.Traffic | None:
        return parse.traffic(self.written("gnb", parse.MAC_STATISTICS))

    def has_attached(self) -> bool:
        traffic = self.traffic()
        return traffic is not None and traffic.is_attached

    def devices(self) -> dict[SideName, Device | None]:
        rate = cell.SAMPLE_RATES[self.pair.prb]
        return {
            side: find_device(program.process.pid, self.pair.timescale, rate)
            for side, program in self.programs.items()
        }

    def moment(self, devices: Mapping[SideName, Device | None]) -> _Moment:
        pids = {side: program.process.pid for side, program in self.programs.items()}
        return _Moment(
            time.monotonic(),
            watch.cpu_times(REAL),
            {side: watch.threads(pid) for side, pid in pids.items()},
            {side: device.read() if device else None for side, device in devices.items()},
            {side: parse.steps(self.written(side, parse.STEP_STATISTICS[side])) for side in pids},
            self.traffic(),
        )

    def end(self) -> None:
        """The UE first, while its device still has a clock. A program that goes on is killed."""
        for side in reversed(SIDES):
            if side in self.programs:
                program = self.programs[side]
                program.ask()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    program.process.wait(END_LIMIT_S)
        self.kill()

    def kill(self) -> None:
        for program in self.programs.values():
            kill_group(program.process)
            program.process.wait()
        self.where.clear()


def _died(side: SideName) -> Outcome:
    return "gnb-died" if side == "gnb" else "ue-died"


@contextlib.contextmanager
def _running(pair: Pair) -> Iterator[_Run]:
    """@raise BusyError  another run is under way"""
    with contextlib.ExitStack() as stack:
        lock = stack.enter_context(socket.socket(socket.AF_UNIX))
        try:
            lock.bind(_LOCK)
        except OSError as error:
            raise BusyError("another nrbench radio runs on this machine; wait for its end") from error
        folder = stack.enter_context(scratch_folder("radio"))
        where = meeting(pair.programs["gnb"], folder)
        where.check_free()
        where.clear()
        run = _Run(pair, folder, where)
        stack.callback(run.kill)
        try:
            yield run
        finally:
            run.end()


def take(pair: Pair) -> Taken:
    """
    Runs the pair once.

    @raise BusyError          another gNB uses the device; nothing was started
    @raise KeyboardInterrupt  after the pair has ended; a second one kills it
    """
    taken: Taken = {"outcome": "ok", "error": None, "load": load(REAL)}
    with _running(pair) as run:
        try:
            taken |= _measure(run)
        except _Failed as failed:
            taken |= {"outcome": failed.outcome, "error": str(failed)}
        run.end()
        return _complete(run, taken)


def _measure(run: _Run) -> Taken:
    """From the start to the end of the steady stretch."""
    run.start("gnb")
    if not run.until(lambda: run.where.is_up, UP_LIMIT_S):
        cause = parse.cause(run.programs["gnb"].text())
        raise _Failed("gnb-died", f"no radio device after {UP_LIMIT_S:.0f} s; {cause}")
    begin = time.monotonic()
    run.start("ue")
    if not run.until(run.has_attached, run.pair.attach_limit_s):
        raise _Failed("no-attach", f"no uplink block was decoded in {run.pair.attach_limit_s:.0f} s")
    attach_s = time.monotonic() - begin
    devices = run.devices()
    run.until(lambda: False, SETTLE_S)
    return {"attach_s": round(attach_s, 2)} | _steady(run, devices)


def _steady(run: _Run, devices: Mapping[SideName, Device | None]) -> Taken:
    sampler = watch.Sampler(run.where.shared_memory)
    before = run.moment(devices)
    sampler.start()
    try:
        run.until(lambda: False, run.pair.seconds)
    finally:
        clock = sampler.end()
    after = run.moment(devices)
    sides = {}
    for side in SIDES:
        first, last = before.counters[side], after.counters[side]
        counted = last.since(first) if first and last else None
        sides[side] = {
            "steady": counted,
            "steps": parse.steps_since(before.steps[side], after.steps[side]),
            **watch.spent(before.threads[side], after.threads[side]),
        }
    return {
        "steady_s": round(after.monotonic_s - before.monotonic_s, 2),
        "sides": sides,
        "traffic": (before.traffic, after.traffic),
        "clock": clock,
        "steal_share": watch.steal_share(before.cpu_times, after.cpu_times),
    }


def _complete(run: _Run, taken: Taken) -> Taken:
    """With what the programs print at their end, and what the gNB has written."""
    sides = taken.get("sides", {})
    before, after = taken.pop("traffic", (None, None))
    found = {}
    for side, program in run.programs.items():
        text = program.text()
        sha256 = run.pair.programs[side].build.sha256
        found[side] = Side(
            program=sha256,
            exit_code=program.process.poll(),
            radio=parse.radio(text),
            pool=parse.pool(text),
            **sides.get(side, {}),
        )
        if taken["outcome"] == "ok" and found[side].radio is None:
            taken |= {"outcome": "no-report", "error": f"{side}: {program.why()}"}
    last = after or run.traffic()  # blocks are lost while the UE ends
    for direction in ("ul", "dl"):
        of = [getattr(traffic, direction) if traffic else None for traffic in (before, after, last)]
        taken[direction] = parse.blocks(*of)
    return taken | {"sides": found}
