# SPDX-License-Identifier: BSD-3-Clause
"""How the user's gNB and UE are started: programs, configuration, command lines, environments, and where the
radio devices of the two sides meet. All slots of the cell are full."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import NamedTuple

from nrbench.driver import quiet_environment
from nrbench.radio.record import SideName
from nrbench.sweep.simulator import BuildError, Simulator, find
from nrbench.system import CAP_SYS_NICE, System

PROGRAMS: dict[SideName, str] = {"gnb": "nr-softmodem", "ue": "nr-uesoftmodem"}
MODULES = ("vrtsim", "ldpc", "dfts", "params_libconfig")
RADIO = "libvrtsim.so"
SHARED_MEMORY = Path("/dev/shm")
SOCKET = Path("/tmp/vrtsim_socket")  # of v2.3.0, which has no option for it
CHANNEL = "nrbench-radio"  # of shared memory, where the device has an option for it
OWN_CHANNEL = "vrtsim_channel"  # of newer devices, which have none
_SERVER_FILE = "connection_descriptor"  # option of newer devices
# Slots of a period that are filled: the seven of the downlink, and the two of the uplink at its end. 28: the
# largest MCS.
_LOAD = "-D 127 -U 768 -m 28 -t 28 -M {prb} -T {prb}"


class Carrier(NamedTuple):
    sample_rate: float
    location: int  # and bandwidth of its only bandwidth part, as TS 38.214 clause 5.1.2.2.2 writes it


CARRIERS = {106: Carrier(61.44e6, 28875), 273: Carrier(122.88e6, 1099)}  # of 40 and of 100 MHz, by PRB


class BusyError(RuntimeError):
    """Another program of this machine uses what a run needs; says what."""


def configuration(side: SideName, prb: int = 106) -> str:
    """Its file, as libconfig reads it."""
    text = Path(__file__).with_name(f"{side}.conf").read_text(encoding="utf-8")
    return Template(text).substitute(prb=prb, location=CARRIERS[prb].location)


def find_softmodem(path: Path, option: str, side: SideName, oai: str | None = None) -> Simulator:
    """@param option  of the command line, for errors
    @raise BuildError  the build cannot run a cell on vrtsim"""
    found = find(path, option, oai, PROGRAMS[side], MODULES)
    absent = found.absent_modules()
    if absent:
        build = f"cmake --build {found.folder} --target {' '.join(absent)}"
        raise BuildError(f"{option} {found.program}: lib{absent[0]}.so is not beside it; build it: {build}")
    program = found.program.read_bytes()  # it holds the name of each parameter that it reads
    for name in re.findall(r"(\w+) =", configuration(side)):
        if name.removesuffix("0").encode() not in program:  # uicc0 is the first uicc
            raise BuildError(
                f"{option} {found.program}: does not know the parameter {name!r}. "
                "Versions from v2.3.0 to 2025.w37 are known to work"
            )
    return found


def check_privileges(system: System) -> None:
    """@raise BuildError  softmodems of this user would run without real-time priorities"""
    if system.has_capability(CAP_SYS_NICE) is False:
        raise BuildError(
            "nr-softmodem and nr-uesoftmodem need CAP_SYS_NICE for real-time priorities. "
            "Without it they go on in the normal class, and every figure is another one: run as root"
        )


def check_free() -> None:
    """@raise BusyError  another program of this machine is on vrtsim"""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            if f"/{RADIO}\n" in maps.read_text():
                raise BusyError(f"process {maps.parent.name} is on vrtsim already; end it first")


@dataclass(frozen=True)
class Meeting:
    """Where the devices of the two sides meet."""

    shared_memory: Path
    file: Path  # appears when the gNB's device waits for the UE's
    options: tuple[str, ...]

    def clear(self) -> None:
        self.file.unlink(missing_ok=True)
        self.shared_memory.unlink(missing_ok=True)


def meeting(gnb: Simulator, folder: Path) -> Meeting:
    """@param folder  of the run"""
    if _SERVER_FILE.encode() in (gnb.folder / RADIO).read_bytes():
        file = folder / "connection"
        return Meeting(SHARED_MEMORY / OWN_CHANNEL, file, (f"--vrtsim.{_SERVER_FILE}", str(file)))
    return Meeting(SHARED_MEMORY / CHANNEL, SOCKET, ("--vrtsim.channel_name", CHANNEL))


def command(
    side: SideName, program: Path, folder: Path, where: Meeting, prb: int, timescale: float
) -> list[str]:
    """@param folder  its working directory, with its configuration; beside that of the other side"""
    role = {"gnb": "server", "ue": "client"}[side]
    words = [str(program), "-O", str(folder / f"{side}.conf"), "--phy-test", "--noS1"]
    words += ["--device.name", "vrtsim", "--vrtsim.role", role, "--vrtsim.timescale", repr(timescale)]
    words += [
        *where.options,
        "--log_config.global_log_options",
        "nocolor,level",
        "-q",
    ]  # -q: times of the steps
    if side == "gnb":
        return words + _LOAD.format(prb=prb).split()
    for name in ("reconfig", "rbconfig"):
        words += [f"--{name}-file", str(folder.with_name("gnb") / f"{name}.raw")]
    return words


def environment(folder: Path, spin: str | None) -> dict[str, str]:
    """The whole of it.

    @param folder  of the program and its libraries
    @param spin    pre-wake mode; None: OAI's own pool"""
    given = quiet_environment()
    libraries = ":".join(filter(None, (str(folder), given.get("LD_LIBRARY_PATH"))))
    return given | {"LD_LIBRARY_PATH": libraries} | ({} if spin is None else {"TPOOL_WS_SPIN": spin})
