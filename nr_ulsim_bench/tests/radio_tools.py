# SPDX-License-Identifier: BSD-3-Clause
"""Programs that stand for nr-softmodem and nr-uesoftmodem. They meet at a socket, keep a clock in shared
memory, have counters where vrtsim has them, and print at their end what vrtsim prints."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import stat
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from nrbench.radio import cell, parse
from nrbench.radio.record import BUDGET_BINS

if TYPE_CHECKING:
    import pytest

RATE = cell.SAMPLE_RATES[106]
NEW = "thread_pool_ws 0.1.0: shape B2, pool gNB-tpool: 2 workers, spin {}"
REPORT = """thread_pool_ws: report of pool 1
  bursts     100 after a pause, 90 of them when expected (90.0 %); 3 expected, did not come
  pre-wakes  in time 80, too late 7, for no burst 2; found no task left 1
  busy-poll  12.5 ms in all; each worker 3.0 us a burst
"""
END = """[HW]   I VRTSIM: Realtime issues: TX {tx:.2f}%, RX 0.00%
[HW]   I VRTSIM: Read/write too early (suspected radio implementaton error) TX: 0, RX: 0
[HW]   I VRTSIM: Average TX budget 2476.250 uS
[HW]   I VRTSIM: TX budget histogram: 7517 samples
"""
MAC = """UE RNTI 1234 CU-UE-ID 1 in-sync PH 0 dB PCMAX 0 dBm, average RSRP 0 (0 meas)
UE 1234: dlsch_rounds {blocks}/2/1/0, dlsch_errors 3, pucch0_DTX 4, BLER 0.00010 MCS (0) 23
UE 1234: ulsch_rounds {blocks}/5/4/3, ulsch_errors 104, ulsch_DTX 9, BLER 0.00020 MCS (0) 23 (Qm 6) NPRB 106
UE 1234: MAC:    TX            100 RX {received:14d} bytes
"""
STEPS = {
    "gnb": """I0 (dBm) 0, rows that are no times: 7 us
         L1 Rx processing:          572.125 us; {count:15d};        5622.500 us;
""",
    "ue": """     PHY_PROC_TX:          174.250 us; {count:15d};         516.125 us;
\0""",
}


def a_build(
    folder: Path, pool: str = "old", knows: str | None = None, newer: bool = False, **behaviour: object
) -> Path:
    """A build folder with both programs.

    @param newer      sides meet at a file, as since 2025.w37
    @param knows      names of parameters in the programs (default: all that are needed)
    @param behaviour  of the sides: gnb="crash" (at its start), "silent" (no report), "stuck" (no end);
                      ue="deaf" (never attaches), "crash" (when it has attached)"""
    folder.mkdir(parents=True, exist_ok=True)
    words = cell.gnb_text(106) + cell.ue_text() if knows is None else knows
    (folder / "behaviour.json").write_text(json.dumps({"pool": pool, **behaviour}))
    for name in ("vrtsim", "ldpc", "dfts", "params_libconfig"):
        (folder / f"lib{name}.so").write_text("connection_descriptor" if newer else "channel_name")
    for name in ("nr-softmodem", "nr-uesoftmodem"):
        comment = "".join(f"# {line}\n" for line in words.splitlines())
        path = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
        body = f"import sys\nsys.path[:0] = {path}\nimport radio_tools\nradio_tools.main()\n"
        (folder / name).write_text(f"#!{sys.executable}\n{comment}{body}")
        (folder / name).chmod(stat.S_IRWXU)
    return folder


def apart(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Names of its own for all that runs of one machine share, and no more waiting than the programs need."""
    from nrbench.radio import pair, softmodem  # which the programs do without

    address = folder / "socket"
    monkeypatch.setenv("FAKE_SOCKET", str(address))
    monkeypatch.setattr(softmodem, "SOCKET", address)
    monkeypatch.setenv("FAKE_CHANNEL", f"nrbench-own-{os.getpid()}")
    monkeypatch.setattr(softmodem, "OWN_CHANNEL", f"nrbench-own-{os.getpid()}")
    monkeypatch.setattr(softmodem, "CHANNEL", f"nrbench-{os.getpid()}")
    monkeypatch.setattr(pair, "_LOCK", f"\0nrbench-{os.getpid()}")
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "temporary"))
    (folder / "temporary").mkdir()
    for name, seconds in {"SETTLE_S": 0.1, "LOOK_S": 0.01}.items():
        monkeypatch.setattr(pair, name, seconds)


class _Device:
    """In the heap, as in vrtsim: half of the first samples are late, and none later."""

    def __init__(self, timescale: float) -> None:
        libc = ctypes.CDLL(None)
        libc.calloc.restype = ctypes.c_void_p
        self.reads, self.writes = libc.calloc(1, 256), libc.calloc(1, 512)
        self.timescale, self.samples = ctypes.c_float(timescale).value, 0  # as OAI reads it
        self.advance()

    def advance(self) -> None:
        self.samples += 1000
        head = struct.pack("<2d3QQ", self.timescale, RATE, 0, 0, self.samples, self.writes)
        bins = [0] * BUDGET_BINS
        bins[24] = self.samples // 1000
        tail = struct.pack(
            f"<3Qd{BUDGET_BINS}Q2id", 500, 0, self.samples, 2476.25, *bins, bins[24], 100, 3000.0
        )
        ctypes.memmove(self.reads, head, len(head))
        ctypes.memmove(self.writes, tail, len(tail))

    def end(self) -> None:
        print(END.format(tx=50000 / self.samples), end="")
        for number in range(BUDGET_BINS):
            print(f"[HW]   I Bin {number}\t[{100 * number}.0 - {100 * number + 100}.0uS]:\t\t{number}")


class _Ended(Exception):
    pass


def _ended(*_: object) -> None:
    raise _Ended


def _meet(gnb: bool, file: str | None) -> None:
    """@param file  None: at the socket"""
    address = os.environ["FAKE_SOCKET"]
    if gnb:
        for name in ("reconfig.raw", "rbconfig.raw"):
            Path(name).write_text("x")
        if file:
            Path(file).touch()
            return
        server = socket.socket(socket.AF_UNIX)
        server.bind(address)
        server.listen(1)
        server.accept()
        return
    assert Path(sys.argv[sys.argv.index("--reconfig-file") + 1]).read_text() == "x"
    if file:
        assert Path(file).exists()
    else:
        socket.socket(socket.AF_UNIX).connect(address)


def _run(gnb: bool, way: str, device: _Device, clock: Path, file: str | None) -> None:
    attached = Path("..") / "attached"
    _meet(gnb, file)
    if not gnb and way != "deaf":
        attached.touch()
    memory = os.open(clock, os.O_RDWR | os.O_CREAT) if gnb else -1
    blocks = 0
    side = "gnb" if gnb else "ue"
    while True:
        time.sleep(0.01)
        device.advance()
        if "-q" in sys.argv:
            Path("next_steps").write_text(STEPS[side].format(count=device.samples))
            os.replace("next_steps", parse.STEP_STATISTICS[side])
        if gnb:
            blocks += 1
            os.pwrite(memory, struct.pack("<4iQ", 0x12345678, 1, 1, 0, device.samples), 0)
            received = blocks if attached.exists() else 0
            Path("next").write_text(MAC.format(blocks=1000 + blocks, received=received))
            os.replace("next", "nrMAC_stats.log")
        elif way == "crash":
            print("\nAssertion (channel) failed!\nIn f() a.c:1\nthe channel went away\n", flush=True)
            os.abort()


def main() -> None:
    options = dict(zip(sys.argv[1:], sys.argv[2:]))
    gnb = Path(sys.argv[0]).name == "nr-softmodem"
    behaviour = json.loads(Path(sys.argv[0]).with_name("behaviour.json").read_text())
    way, is_new = behaviour.get("gnb" if gnb else "ue", ""), behaviour["pool"] == "new"
    if is_new:
        print(NEW.format(os.environ.get("TPOOL_WS_SPIN")), flush=True)
    if gnb and way == "crash":
        said = "Assertion (ret == 0) failed!\nIn g() b.c:2\nError in pthread_create(): ret: 1, errno: 0"
        print(f"\n{said}\n", flush=True)
        os.abort()
    file = options.get("--vrtsim.connection_descriptor")
    clock = Path("/dev/shm") / (options.get("--vrtsim.channel_name") or os.environ["FAKE_CHANNEL"])
    device = _Device(float(options["--vrtsim.timescale"]))
    signal.signal(signal.SIGINT, signal.SIG_IGN if way == "stuck" else _ended)
    try:
        _run(gnb, way, device, clock, file)
    except _Ended:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if gnb and way != "leaves":
        clock.unlink(missing_ok=True)
    if way != "silent":
        device.end()
    if is_new:
        print(REPORT, end="")
