# SPDX-License-Identifier: BSD-3-Clause
"""One program that stands for those of OAI and of ci/bench: it plays the one by whose name it is called.

Its figures depend on what it is asked and how often it was asked that before, and on nothing else. In its
folder behaviour.json has what is wrong with it, and `asked` a line for each time that it was asked. The
softmodems meet at a socket, leave shared memory behind, and have counters where vrtsim has them."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import socket
import stat
import struct
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterator

if TYPE_CHECKING:
    import pytest

HERE = Path(__file__).parent
OF_BENCH = ("ws-bench", "ws-scan", "ws-latch", "ws-prewake", "ws-trace-cost", "ws-ticks", "simulate")
FEW = "-n2"  # an nr_ulsim that is asked which pool it has: no run
Line = dict[str, Any]


def install(folder: Path, *names: str, **behaviour: object) -> Path:
    """Puts the programs into a folder.

    @param behaviour  pool="new" (of nr_ulsim and the softmodems); status=2 (of simulate);
                      fails={"a word that nr_ulsim is asked": "crash", "undecoded" or "negative"};
                      at={"5": "interrupt"} (at the fifth run, the program that asks)
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "behaviour.json").write_text(json.dumps(behaviour))
    for name in names:
        executable(folder / name, _script(f"# {behaviour.get('pool')}\n"))
    return folder


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(stat.S_IRWXU)
    return path


def _script(comment: str = "") -> str:
    """Without packages it starts sooner."""
    body = f"import sys\nsys.path.insert(0, {str(HERE)!r})\nimport fake\nfake.main()\n"
    return f"#!{sys.executable} -SE\n{comment}{body}"


def a_program(folder: Path, body: str, name: str = "nr_ulsim") -> Path:
    """A build folder whose program is this text; `threads` and `options` are at its hand."""
    folder.mkdir(parents=True, exist_ok=True)
    words = "threads = int(next((word[2:] for word in options if word.startswith('-C')), 0))"
    text = f"#!{sys.executable} -SE\nimport os, sys\noptions = sys.argv[1:]\n{words}\n{body}\n"
    executable(folder / name, text)
    return folder


def printing(output: str, more: str = "") -> str:
    """The body of a program that prints a file of outputs/. @param more  follows it"""
    shown = f"sys.stdout.write(open({str(HERE / 'outputs' / output)!r}, errors='replace').read())"
    return f"{shown}; sys.stdout.flush(); {more}"


def limit_when(monkeypatch: pytest.MonkeyPatch, holds: Callable[[], bool]) -> None:
    """The limit of a run passes when the condition holds, whatever the clock shows."""
    from part_runs import until

    class Limit(threading.Timer):
        def run(self) -> None:
            until(lambda: self.finished.is_set() or holds())
            if not self.finished.is_set():
                self.function()

        def cancel(self) -> None:
            """Wait, too: a look that is under way could use up the condition of the next run's limit."""
            super().cancel()
            if self.is_alive():
                self.join()

    monkeypatch.setattr(threading, "Timer", Limit)


class Asked:
    """What a program was asked: here, now and before."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        self.folder, self.words = folder, words
        self.given = dict(word.split("=", 1) for word in words if "=" in word)
        self.behaviour = json.loads((folder / "behaviour.json").read_text())
        line, path = " ".join(words), folder / "asked"
        before = path.read_text().splitlines() if path.exists() else []
        self.number = before.count(line)
        self.count = sum(FEW not in one.split() for one in [*before, line])
        self.key = re.sub(r"\S*/|\b(limit_s|seed)=\S+", "", line)
        with path.open("a") as file:
            file.write(f"{line}\n")

    def near(self, value: float, name: str, spread: float = 0.03) -> float:
        share = zlib.crc32(f"{self.key} {self.number} {name}".encode()) / 2**32
        return float(f"{value * (1 + spread * (2 * share - 1)):.6g}")

    def number_of(self, name: str, default: float = 0.0) -> float:
        return float(self.given.get(name, default))

    def wrong(self) -> str | None:
        fails = self.behaviour.get("fails", {})
        return next((what for word, what in fails.items() if word in self.words), None)

    def suffer(self) -> None:
        """What is to happen to it, or by it, now."""
        if FEW in self.words:
            return
        what = self.behaviour.get("at", {}).get(str(self.count)) or self.wrong()
        if what == "interrupt":
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(600)
        if what == "crash":
            os.abort()


NEW_POOL = "thread_pool_ws 0.1.0: shape B2, pool gNB-tpool: {threads} workers on 2 CPUs, spin {spin}"
SPEED = {"old": (0.75, 26.0), "off": (0.92, 9.0), "auto": (0.95, 4.0)}  # efficiency, µs a thread
OUTPUT = """SNR 40.000000: n_errors ({errors}/{n},0/0,0/0,0/0) (negative CRC), false_positive 0/{n}
gNB RX
Total PHY proc rx                      {rx:.2f} us ({n} trials)
 Statistics std=9.00, median=0.00, q1=0.00, q3=0.00 µs (on 0 trials)
|__ RX PUSCH time                      {pusch:.2f} us ({n} trials)
    |__ ULSCH channel estimation time  30.00 us ({n} trials)
        |__ Antenna Processing time    10.00 us ({n} trials)
    |__ RX PUSCH Symbol Processing time  {symbols:.2f} us ({n} trials)
|__ ULSCH total decoding time          {decoding:.2f} us ({n} trials)
*************
{end}
"""


def nr_ulsim(asked: Asked) -> None:
    """On 273 PRB a slot takes 1380 µs inline: 300 the symbols, 900 the decoding, 180 what nothing divides."""
    options = {word[:2]: word[2:] for word in asked.words}
    threads, n, share = int(options["-C"]), int(options["-n"]), int(options["-R"]) / 273
    is_new, spin = asked.behaviour.get("pool") == "new", os.environ.get("TPOOL_WS_SPIN", "off")
    if is_new:
        print(NEW_POOL.format(threads=threads, spin=spin), flush=True)
    asked.suffer()
    efficiency, delay_us = SPEED[spin if is_new else "old"]
    parts = {"symbols": 300 * share, "decoding": 900 * share}
    if threads:
        computing = efficiency * min(threads + is_new, 4)
        parts = {name: us / computing + delay_us * threads**0.5 for name, us in parts.items()}
    asked.key += f" {is_new} {spin}"
    parts = {name: asked.near(us, name) for name, us in parts.items()}
    rx = (-1 if asked.wrong() == "negative" else 1) * (sum(parts.values()) + 180 * share)
    bad = asked.wrong() == "undecoded"
    end = "Num RB:\t273" if bad else "PUSCH test OK"
    print(OUTPUT.format(rx=rx, pusch=rx - parts["decoding"], errors=bad * n, n=n, end=end, **parts))


BACKENDS = ("ws", "alone", "mutex-per-worker", "onetbb", "ws-tpool")
SLOWNESS = {"ws": 1.0, "ws-tpool": 1.01, "onetbb": 1.2, "openmp-gcc": 1.1, "mutex-per-worker": 1.5}
SLOWNESS |= {"alone": 1.9}
TASK_NS = {"empty": 0.0, "nested": 40000.0}  # 8000 the others


def _times(asked: Asked, prefix: str, us: float) -> Line:
    factors = {"p50": 1, "p99": 1.3, "p999": 2}
    return {f"{prefix}_{p}_us": asked.near(us * k, p + prefix) for p, k in factors.items()}


def _slot(asked: Asked, slowness: float) -> Line:
    bursts = [burst.split("x") for burst in asked.given["bursts"].split("+")]
    work_us = sum(int(tasks) * float(us) for tasks, us in bursts)
    slots, bound = int(asked.number_of("slots")), work_us / 2
    found: Line = {"slots": slots, "bound_us": bound, "work_s": work_us * slots * 1e-6}
    found |= {"wall_s": slots * asked.number_of("period_us") * 1e-6}
    found |= {"stopped_callers": asked.number}
    found |= _times(asked, "makespan", 1.1 * bound * slowness)
    found |= {f"ratio_{p}": found[f"makespan_{p}_us"] / bound for p in ("p50", "p99")}
    found |= {f"makespan_{name}_us": k * found["makespan_p50_us"] for name, k in (("mean", 1.05), ("max", 3))}
    found["cpu_s"] = asked.near(1.5 * found["work_s"] * (2 if "mode=hot" in asked.words else 1), "cpu")
    if asked.number_of("histogram"):
        ns = [round(1000 * found[f"makespan_{name}_us"]) for name in ("p50", "p99", "max")]
        found["makespan_histogram_ns"] = [ns[0], slots - 12, ns[1], 10, ns[2], 2]
    return found


def _stream(asked: Asked, slowness: float) -> Line:
    slots = int(asked.number_of("slots"))
    found = {"slots": slots, "work_s": slots * 1e-5, "wall_s": slots * asked.number_of("period_ns") * 1e-9}
    found |= {"cpu_s": 1.3 * found["wall_s"] + found["work_s"], "overtaken": 0}
    return found | _times(asked, "lag", 5 * slowness)


def _coliseum(asked: Asked, slowness: float) -> Line:
    tasks, work = asked.number_of("tasks"), asked.given["work"]
    work_s = tasks * TASK_NS.get(work, 8000.0) * 1e-9
    wall_s = asked.near((work_s / 2 + tasks * 20e-9) * slowness, "wall", 0.01)
    found = {"tasks": tasks, "work_s": work_s, "wall_s": wall_s, "cpu_s": 1.9 * wall_s}
    found |= {"ns_per_task": wall_s * 1e9 / tasks, "inline_tasks": 0, "ctx_switches": 100}
    found |= {"user_s": 1.8 * wall_s, "system_s": 0.1 * wall_s, "ctx_involuntary": 30, "page_faults": 7}
    counted = {"migrations": 4, "ipc": 3.0, "branch_misses": 0.25, "retiring": 55, "bad_speculation": 5}
    counted |= {"frontend_bound": 10, "backend_bound": 30}
    return found | (counted if slowness == 1 else {"counters_missing": "Permission denied"})


def _wake(asked: Asked, slowness: float) -> Line:
    slots, us = int(asked.number_of("slots")), 20 * slowness
    found = {"slots": slots, "other_cpu_starts": slots - 1, "other_cpu_p50_us": asked.near(us, "other")}
    return found | {f"{p}_us": asked.near(us * k, p) for p, k in (("p50", 1), ("p99", 3))}


def _pi(asked: Asked, slowness: float) -> Line:
    ns = 2e6 * slowness * (1.05 if "mode=pinned" in asked.words else 1.0)
    threads = asked.number_of("workers") + 1
    return {"ns": asked.near(ns / threads, "ns"), "pi_error": 1e-15, "threads": int(threads)}


def _replay(asked: Asked, slowness: float) -> Line:
    slots, us = int(asked.number_of("slots")), 1000 * slowness / (1 + asked.number_of("workers"))
    factors = {"mean": 1, "p50": 0.98, "p99": 1.5, "max": 2}
    found = {name: asked.near(us * k, name) for name, k in factors.items()}
    times = {f"makespan_{name}_us": value for name, value in found.items()}
    bursts = [round(found["mean"] * share, 3) for share in (0.1, 0.3, 0.5)]
    return times | {"slots": slots, "burst_mean_us": bursts, "wall_s": 0.1, "cpu_s": 0.05, "ctx_switches": 7}


BENCHES: dict[str, Callable[[Asked, float], Line]] = {
    "slot": _slot,
    "stream": _stream,
    "coliseum": _coliseum,
    "wake": _wake,
    "idle": lambda asked, _: {"cpu_s": asked.near(2e-5, "cpu"), "ctx_switches": 0},
    "replay": _replay,
    "pi": _pi,
}


def ws_bench(asked: Asked) -> Line:
    bench, backend = asked.given["bench"], asked.given.get("backend", "ws").removesuffix("-untraced")
    if backend not in BACKENDS:
        return {"error": f"libbench_{backend}.so: no such file"}
    if bench == "info":
        about = dict.fromkeys(("has_workers", "waiter_helps", "nests"), backend != "alone")
        return about | {"version": "1.0", "waiter_helps": backend != "mutex-per-worker"}
    asked.suffer()
    slowness = SLOWNESS[backend] * (0.8 if "mode=hot" in asked.words else 1.0)
    return BENCHES[bench](asked, slowness)


SCANS = {"one": 10.0, "nodes": 10.1, "parallel": 18.0, "hints": 18.1, "read": 18.5}


def ws_scan(asked: Asked) -> Iterator[Line]:
    asked.key = asked.given["how"]  # whatever the size
    rate = asked.near(SCANS[asked.key], "rate")
    yield {"gb_per_s": rate, "threads": 2, "nodes": 1, "misplaced_blocks": 0}


COSTS = {"yield_ns": 50, "hand_over_ns": 200, "spawn_ns": 300, "spawn_many_ns": 100, "sleep_cpu_ms": 200}
COSTS |= {"late_p50_us": 40, "late_p99_us": 90}


def ws_latch(asked: Asked) -> Iterator[Line]:
    how = asked.given["how"]
    if how.startswith("cost"):
        slowness = 1 if how == "cost-ws" else 1.5
        about = {"version": "1.83", "sleepers": 10000}
        yield about | {name: asked.near(value * slowness, name) for name, value in COSTS.items()}
        return
    held = asked.number_of("hold_us")
    rate = asked.near(5e5 / (1 + held / (40 if how in ("tasks", "regions") else 2000)), "rate")
    factors = {"p50": 1, "p99": 2}
    found = {f"scan_{p}_us": asked.near(k * (64 + held), p) for p, k in factors.items()}
    yield found | {"workers": 2, "nodes": 1, "work_us": 4.0, "hold_us": held, "blocks_per_s": rate}


def ws_ticks(asked: Asked) -> Iterator[Line]:
    """CPU 1 has no tick."""
    runs, ns = int(asked.number_of("count")), round(1000 * asked.near(20, "run"))
    late = 1 if asked.given["cpu"] == "1" else runs // 100
    found = {"runs": runs, "lost_percent": 25 * late / runs, "max_us": (ns + 5000) / 1000}
    yield found | {"histogram": [ns, runs - late, ns + 5000, late]}


def ws_prewake(asked: Asked) -> Iterator[Line]:
    """Recorded answers of the kind that is asked for, a little longer or shorter."""
    recorded = [json.loads(line) for line in (HERE / "prewake.ndjson").read_text().splitlines()]
    lines = [line for line in recorded if line["kind"] == "regret"]
    envs = {line["env"] for line in lines}
    env = "wake30" if "wake30" in envs and "inject_us=30" in asked.words else sorted(envs)[0]
    labels = ("bench", "kind", "env", "scenario", "workers")
    for line in (line for line in lines if line["env"] == env):
        found = {name: value for name, value in line.items() if name not in labels}
        for name, value in found.items():
            if name.endswith("_us") and isinstance(value, float):
                found[name] = asked.near(value, name)
            elif name.endswith("_us") and isinstance(value, list):
                found[name] = [asked.near(us, f"{name} {place}") for place, us in enumerate(value)]
        yield found


def ws_trace_cost(asked: Asked) -> Iterator[Line]:
    for what, ns in (("loop", 1.0), ("phase", 4.0), ("run_begin", 5.0)):
        about = {"bench": "trace-cost", "what": what, "lttng": False, "recorded": False}
        yield about | {"ns_min": ns, "ns_p50": asked.near(1.1 * ns, what)}


POINT = {"bench": "scale-point", "producers": 1, "smt": 1, "whole_us": 28.0, "machine": "epyc-64"}
POINT |= {"workload": "22x28", "pool": "ws", "cpus": 24, "time": 224.0, "bound_us": 200.0}


def simulate(asked: Asked) -> Iterator[Line]:
    """ci/simulate scale: writes a point into the file that the last word names, and tells its words."""
    yield {"asked": " ".join(asked.words)}
    if "--report" not in asked.words:
        Path(asked.words[-1]).write_text(json.dumps(POINT))
        asked.suffer()
        sys.exit(asked.behaviour.get("status", 0))


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
STEP_FILES = {"gnb": "nrL1_stats.log", "ue": "nrL1_UE_stats-0.log"}
RATE = 61.44e6  # samples a second, 106 PRB


def a_build(
    folder: Path, pool: str = "old", knows: str | None = None, newer: bool = False, **behaviour: object
) -> Path:
    """A build folder with both programs.

    @param newer      sides meet at a file, as since 2025.w37; names of parameters in pieces, as in v2.4.0
    @param knows      names of parameters in the programs (default: all that are needed)
    @param behaviour  of the sides: gnb="crash" (at its start); "empty" (no counters);
                      ue="deaf" (never attaches), "crash" (when it has attached)"""
    folder.mkdir(parents=True, exist_ok=True)
    from nrbench.radio.softmodem import configuration  # which the programs do without

    words = configuration("gnb") + configuration("ue") if knows is None else knows
    words = re.sub(r"(\w{16})", r"\1 ", words) if newer else words
    words += "TPOOL_WS_SPIN\n" if pool == "new" else ""
    (folder / "behaviour.json").write_text(json.dumps({"pool": pool, **behaviour}))
    for name in ("vrtsim", "ldpc", "dfts", "params_libconfig"):
        (folder / f"lib{name}.so").write_text("connection_descriptor" if newer else "channel_name")
    for name in ("nr-softmodem", "nr-uesoftmodem"):
        comment = "".join(f"# {line}\n" for line in words.splitlines())
        executable(folder / name, _script(comment))
    return folder


def apart(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Names of its own for all that runs of one machine share, and no more waiting than the programs need."""
    from nrbench.radio import pair, softmodem

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

    def __init__(self, rate: float) -> None:
        libc = ctypes.CDLL(None)
        libc.calloc.restype = ctypes.c_void_p
        self.reads, self.writes = libc.calloc(1, 256), libc.calloc(1, 512)
        self.rate, self.samples = rate, 0
        self.advance()

    def advance(self) -> None:
        self.samples += 1000
        head = struct.pack("<2d3QQ", 0.3, self.rate, 0, 0, self.samples, self.writes)
        tail = struct.pack("<3Qd240x2id", 500, 0, self.samples, 2476.25, self.samples // 1000, 100, 3000.0)
        ctypes.memmove(self.reads, head, len(head))
        ctypes.memmove(self.writes, tail, len(tail))


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
    if gnb:
        clock.touch()
    blocks = 0
    side = "gnb" if gnb else "ue"
    while True:
        time.sleep(0.01)
        device.advance()
        if "-q" in sys.argv:
            Path("next_steps").write_text(STEPS[side].format(count=device.samples))
            os.replace("next_steps", STEP_FILES[side])
        if gnb:
            blocks += 1
            received = blocks if attached.exists() else 0
            Path("next").write_text(MAC.format(blocks=1000 + blocks, received=received))
            os.replace("next", "nrMAC_stats.log")
        elif way == "crash":
            print("\nAssertion (channel) failed!\nIn f() a.c:1\nthe channel went away\n", flush=True)
            os.abort()


def softmodem() -> None:
    options = dict(zip(sys.argv[1:], sys.argv[2:]))
    gnb = Path(sys.argv[0]).name == "nr-softmodem"
    behaviour = json.loads(Path(sys.argv[0]).with_name("behaviour.json").read_text())
    way, is_new = behaviour.get("gnb" if gnb else "ue", ""), behaviour["pool"] == "new"
    if is_new:
        print(NEW_POOL.format(threads=2, spin=os.environ.get("TPOOL_WS_SPIN")), flush=True)
    if gnb and way == "crash":
        said = "Assertion (ret == 0) failed!\nIn g() b.c:2\nError in pthread_create(): ret: 1, errno: 0"
        print(f"\n{said}\n", flush=True)
        os.abort()
    file = options.get("--vrtsim.connection_descriptor")
    clock = Path("/dev/shm") / (options.get("--vrtsim.channel_name") or os.environ["FAKE_CHANNEL"])
    device = _Device(0.0 if way == "empty" else RATE)
    _run(gnb, way, device, clock, file)


def main() -> None:
    name, folder = Path(sys.argv[0]).name, Path(sys.argv[0]).parent
    if name in ("nr-softmodem", "nr-uesoftmodem"):
        softmodem()
    elif name == "ws-bench":
        print(json.dumps(ws_bench(Asked(folder, sys.argv[1:]))))
    elif name == "nr_ulsim":
        nr_ulsim(Asked(folder, sys.argv[1:]))
    else:
        for answer in globals()[name.replace("-", "_")](Asked(folder, sys.argv[1:])):
            print(json.dumps(answer))
