# SPDX-License-Identifier: BSD-3-Clause
"""How the user's gNB and UE are started: programs, command lines, environments, CPUs, and where the radio
devices of the two sides meet."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from nrbench.driver import quiet_environment
from nrbench.radio import cell
from nrbench.radio.record import SideName
from nrbench.sweep.simulator import BuildError, Simulator, find
from nrbench.system import CAP_SYS_NICE, System, format_cpus

PROGRAMS: dict[SideName, str] = {"gnb": "nr-softmodem", "ue": "nr-uesoftmodem"}
MODULES = ("vrtsim", "ldpc", "dfts", "params_libconfig")
RADIO = "libvrtsim.so"
APART_CPUS = 3
SHARED_MEMORY = Path("/dev/shm")
SOCKET = Path("/tmp/vrtsim_socket")  # of v2.3.0, which has no option for it
CHANNEL = "nrbench-radio"  # of shared memory, where the device has an option for it
OWN_CHANNEL = "vrtsim_channel"  # of newer devices, which have none
_SERVER_FILE = "connection_descriptor"  # option of newer devices
_SETTINGS = {"TPOOL_WS_REPORT": "1"}


class BusyError(RuntimeError):
    """Another gNB of this machine uses what a run needs; says what."""


def find_softmodem(path: Path, option: str, side: SideName, oai: str | None = None) -> Simulator:
    """@param option  of the command line, for errors
    @raise BuildError  the build cannot run a cell on vrtsim"""
    found = find(path, option, oai, PROGRAMS[side], MODULES)
    absent = found.absent_modules()
    if absent:
        build = f"cmake --build {found.folder} --target {' '.join(absent)}"
        raise BuildError(f"{option} {found.program}: lib{absent[0]}.so is not beside it; build it: {build}")
    unknown = cell.unknown_names(found.program.read_bytes(), side)
    if unknown:
        raise BuildError(
            f"{option} {found.program}: does not know the parameter {unknown[0]!r}. "
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


@dataclass(frozen=True)
class Meeting:
    """Where the devices of the two sides meet."""

    shared_memory: Path
    file: Path  # appears when the gNB's device waits for the UE's
    options: tuple[str, ...]

    @property
    def is_up(self) -> bool:
        return self.file.exists()

    def clear(self) -> None:
        """Removes what programs that were killed have left."""
        for path in (self.file, self.shared_memory):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()

    def check_free(self) -> None:
        """@raise BusyError  a gNB is there already"""
        with contextlib.suppress(OSError):
            if any(
                line.endswith(f" {self.file}") for line in Path("/proc/net/unix").read_text().splitlines()
            ):
                raise BusyError(f"{self.file}: another gNB on vrtsim waits there for its UE; end it first")
        user = next(iter(_users(self.shared_memory)), None) if self.shared_memory.exists() else None
        if user:
            raise BusyError(f"{self.shared_memory}: process {user} is on vrtsim already; end it first")


def _users(file: Path) -> list[int]:
    """Processes that have it in their memory."""
    found = []
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            if f" {file}\n" in maps.read_text():
                found.append(int(maps.parent.name))
    return found


def meeting(gnb: Simulator, folder: Path) -> Meeting:
    """@param folder  of the run"""
    if _SERVER_FILE.encode() in (gnb.folder / RADIO).read_bytes():
        file = folder / "connection"
        return Meeting(SHARED_MEMORY / OWN_CHANNEL, file, (f"--vrtsim.{_SERVER_FILE}", str(file)))
    return Meeting(SHARED_MEMORY / CHANNEL, SOCKET, ("--vrtsim.channel_name", CHANNEL))


def command(
    side: SideName, program: Path, configuration: Path, where: Meeting, prb: int, timescale: float
) -> list[str]:
    """@param configuration  in the working directory of the side; that of the gNB is beside the UE's"""
    role = {"gnb": "server", "ue": "client"}[side]
    words = [str(program), "-O", str(configuration), "--phy-test", "--noS1", "--device.name", "vrtsim"]
    words += ["--vrtsim.role", role, "--vrtsim.timescale", repr(timescale), *where.options]
    words += ["--log_config.global_log_options", "nocolor,level", "-q"]  # -q: times of the steps
    if side == "gnb":
        return words + cell.load_options(prb)
    files = configuration.parent.parent / "gnb"
    return words + [
        "--reconfig-file",
        str(files / "reconfig.raw"),
        "--rbconfig-file",
        str(files / "rbconfig.raw"),
    ]


def environment(folder: Path, spin: str | None) -> dict[str, str]:
    """The whole of it.

    @param folder  of the program and its libraries
    @param spin    pre-wake mode; None: OAI's own pool"""
    given = quiet_environment()
    libraries = ":".join(filter(None, (str(folder), given.get("LD_LIBRARY_PATH"))))
    own = {} if spin is None else _SETTINGS | {"TPOOL_WS_SPIN": spin}
    return given | {"LD_LIBRARY_PATH": libraries} | own


def cpus_of(side: SideName, placement: str, usable: set[int]) -> list[int] | None:
    """None: all that nrbench may use. Apart, the gNB has the lower half and the UE the upper one. The sample
    clock of the gNB's device busy-polls at OAI's highest priority: a gNB that has one CPU does not get on.

    @raise ValueError  there are too few CPUs"""
    if placement == "floating":
        return None
    cpus = sorted(usable)
    if len(cpus) < APART_CPUS:
        raise ValueError(
            f"placement {placement}: the gNB needs 2 CPUs, one of them for vrtsim's clock, and the UE 1; "
            f"usable here: {format_cpus(cpus)}"
        )
    half = (len(cpus) + 1) // 2
    return cpus[:half] if side == "gnb" else cpus[half:]
