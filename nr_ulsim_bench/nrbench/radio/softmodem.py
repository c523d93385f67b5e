# SPDX-License-Identifier: BSD-3-Clause
"""The user's builds, and how their gNBs and UEs are started: configuration, command lines, environments, and
where the radio devices of the two sides meet. All slots of the cell are full."""

import contextlib
import re
from itertools import product
from pathlib import Path
from string import Template
from typing import Mapping, NamedTuple, Sequence

from nrbench.driver import quiet_environment
from nrbench.progress import say
from nrbench.radio.record import NO_SPIN, SIDES, Cell, Pool, SideName
from nrbench.record import ResultsError
from nrbench.sweep.configuration import OAI_POOL
from nrbench.sweep.simulator import BuildError, Simulator, find, refuse
from nrbench.system import CAP_SYS_NICE, System

PROGRAMS: dict[SideName, str] = {"gnb": "nr-softmodem", "ue": "nr-uesoftmodem"}
MODULES = ("vrtsim", "ldpc", "dfts", "params_libconfig")
RADIO = "libvrtsim.so"
SHARED_MEMORY = Path("/dev/shm")
SOCKET = Path("/tmp/vrtsim_socket")  # of v2.3.0, which has no option for it
CHANNEL = "nrbench-radio"  # of shared memory, where the device has an option for it
OWN_CHANNEL = "vrtsim_channel"  # of newer devices, which have none
PIECE = 16  # bytes of a name that lie together where the compiler copies it by vector registers
MARK = b"TPOOL_WS_SPIN"  # what only a program with this pool contains
_SERVER_FILE = "connection_descriptor"  # option of newer devices
# Slots of a period that are filled: the seven of the downlink, and the two of the uplink at its end. 28: the
# largest MCS.
_LOAD = "-D 127 -U 768 -m 28 -t 28 -M {prb} -T {prb}"


class Carrier(NamedTuple):
    sample_rate: float
    location: int  # and bandwidth of its only bandwidth part, as TS 38.214 clause 5.1.2.2.2 writes it


Programs = Mapping[tuple[SideName, Pool], Simulator]
CARRIERS = {106: Carrier(61.44e6, 28875), 273: Carrier(122.88e6, 1099)}  # of 40 and of 100 MHz, by PRB


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
        build = f"cmake --build {found.program.parent} --target {' '.join(absent)}"
        raise BuildError(f"{option} {found.program}: lib{absent[0]}.so is not beside it; build it: {build}")
    program = found.program.read_bytes()  # with the names of parameters that it reads, or pieces of them
    for name in re.findall(r"(\w+) =", configuration(side)):
        if name.removesuffix("0")[:PIECE].encode() not in program:  # uicc0 is the first uicc
            why = f"does not know the parameter {name!r}. Versions from v2.3.0 to v2.4.0 are known to work"
            raise BuildError(f"{option} {found.program}: {why}")
    return found


def find_all(builds: Mapping[Pool, Path], oai: str | None, any_pool: bool) -> Programs:
    """@raise BuildError  a build lacks a program, or has the other pool"""
    found: dict[tuple[SideName, Pool], Simulator] = {}
    for (pool, path), side in product(builds.items(), SIDES):
        simulator = found[side, pool] = find_softmodem(path, f"--{pool}", side, oai)
        is_new = MARK in simulator.program.read_bytes()
        if is_new != (pool == "new"):
            name = "thread_pool_ws: name it as --new" if is_new else f"{OAI_POOL}: name it as --old"
            refuse(f"--{pool} {simulator.program} has {name}", any_pool)
    return found


def cells(
    programs: Programs, pools: Sequence[tuple[Pool, Pool]], spins: Sequence[str], prb: int
) -> list[Cell]:
    """Builds are compared whatever their versions.

    @param pools  of the gNB and the UE"""
    versions = sorted({simulator.build.oai for simulator in programs.values() if simulator.build.oai})
    if len(versions) > 1:
        say(f"the builds are of different versions of OAI: {', '.join(versions)}")
    version = " and ".join(versions) or None
    return [
        Cell(version, prb, gnb, ue, spin)
        for gnb, ue in pools
        if ("gnb", gnb) in programs and ("ue", ue) in programs
        for spin in (spins if "new" in (gnb, ue) else (NO_SPIN,))
    ]


def check_privileges(system: System) -> None:
    """@raise BuildError  softmodems of this user would run without real-time priorities"""
    if system.has_capability(CAP_SYS_NICE) is False:
        why = "gNB and UE have no real-time priorities, and every figure is another one: run as root"
        raise BuildError(f"without CAP_SYS_NICE {why}")


def check_free() -> None:
    """@raise ResultsError  another program of this machine is on vrtsim"""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            if f"/{RADIO}\n" in maps.read_text():
                raise ResultsError(f"process {maps.parent.name} is on vrtsim already; end it, and go on")


class Meeting(NamedTuple):
    """Where the devices of the two sides meet."""

    shared_memory: Path
    file: Path  # appears when the gNB's device waits for the UE's
    options: tuple[str, ...]

    def clear(self) -> None:
        self.file.unlink(missing_ok=True)
        self.shared_memory.unlink(missing_ok=True)


def meeting(gnb: Simulator, folder: Path) -> Meeting:
    """@param folder  of the run"""
    if _SERVER_FILE.encode() in (gnb.program.parent / RADIO).read_bytes():
        file = folder / "connection"
        return Meeting(SHARED_MEMORY / OWN_CHANNEL, file, (f"--vrtsim.{_SERVER_FILE}", str(file)))
    return Meeting(SHARED_MEMORY / CHANNEL, SOCKET, ("--vrtsim.channel_name", CHANNEL))


class Pair(NamedTuple):
    """What is run."""

    programs: Programs
    cell: Cell
    timescale: float
    seconds: float  # the steady stretch, wall time
    variables: Mapping[str, str] = {}  # for both programs

    def program(self, side: SideName) -> Simulator:
        return self.programs[side, getattr(self.cell, side)]

    def command(self, side: SideName, folder: Path, where: Meeting) -> list[str]:
        """@param folder  its working directory, with its configuration; beside that of the other side"""
        words = [str(self.program(side).program), "-O", str(folder / f"{side}.conf"), "--phy-test", "--noS1"]
        words += ["--device.name", "vrtsim", "--vrtsim.role", "server" if side == "gnb" else "client"]
        words += ["--vrtsim.timescale", repr(self.timescale), *where.options]
        words += ["-q", "--log_config.global_log_options", "nocolor,level"]  # -q: it times its steps
        if side == "gnb":
            return words + _LOAD.format(prb=self.cell.prb).split()
        for name in ("reconfig", "rbconfig"):
            words += [f"--{name}-file", str(folder.with_name("gnb") / f"{name}.raw")]
        return words

    def environment(self, side: SideName) -> dict[str, str]:
        """The whole of it."""
        given, folder = quiet_environment(), str(self.program(side).program.parent)
        given["LD_LIBRARY_PATH"] = ":".join(filter(None, (folder, given.get("LD_LIBRARY_PATH"))))
        spin = {"TPOOL_WS_SPIN": self.cell.spin} if getattr(self.cell, side) == "new" else {}
        return given | spin | dict(self.variables)
