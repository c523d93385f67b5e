# SPDX-License-Identifier: BSD-3-Clause
"""Real recordings, where WS_TRACE_BUILD names a build folder and LTTng is there: steps 59 and 77.

No time is judged, only numbers that the benchmark itself has said. Other programs of the same user may be
recorded at the same time, so processes are told by their numbers.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from trace_tools import events_of

from nrbench.trace.figures import summarize
from nrbench.trace.process import read
from nrbench.trace.reader import Trace, packets
from nrbench.trace.record import running
from nrbench.trace.walk import WAITS

BUILD = os.environ.get("WS_TRACE_BUILD", "")
BIN = Path(BUILD) / "nr_ulsim_bench" / "bin"
PROVIDER = BIN / "libthread_pool_ws_lttng.so.0"
TOOL = Path(__file__).resolve().parent.parent / "tpool-ws-trace"
MODULE = TOOL.parent.parent / "common/utils/thread_pool_ws"
WARM, SLOTS = 5, 57
SLOT_BENCH = [
    "bench=slot", "backend=ws", "workers=1", "bursts=12x6+22x28", "period_us=1000", f"slots={SLOTS}",
    f"warm={WARM}",
]  # fmt: skip
SUBBUF_KIB = 128
SMALL = "--subbuf-kib", str(SUBBUF_KIB)  # 1 MiB for each CPU fits into a container's shared memory
NAME = f"ws-{os.getpid()}"


def missing() -> str | None:
    if not BUILD:
        return "WS_TRACE_BUILD names no build of ws-bench; ci/test trace makes one"
    if shutil.which("lttng") is None:
        return "lttng is not installed"
    return "babeltrace2 is not installed" if shutil.which("babeltrace2") is None else None


REASON = missing()
pytestmark = [pytest.mark.alone, pytest.mark.skipif(REASON is not None, reason=str(REASON))]


def run(*words: object, status: int = 0, **more) -> subprocess.CompletedProcess:
    answer = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=300, **more
    )
    assert answer.returncode == status, answer.stderr
    assert "Traceback" not in answer.stderr
    return answer


# Programs wait for the session daemon however long it takes.
PATIENT = os.environ | {"LTTNG_UST_REGISTER_TIMEOUT": "-1"}


def record(out: Path, *words: object, env: dict = PATIENT, **more) -> subprocess.CompletedProcess:
    return run(TOOL, "record", "--out", out, *words, env=env, **more)


def bench(folder: Path) -> Path:
    """The benchmark, under a name by which its processes are told from those of another run of the tests."""
    program = folder / NAME
    if not program.is_symlink():
        program.symlink_to(BIN / "ws-bench")
    return program


def report(trace: Path, *words: object, status: int = 0) -> dict:
    return json.loads(run(TOOL, "report", trace, "--json", *words, status=status).stdout)


def phases(summary: dict, kind: str, count: int) -> list[dict]:
    return [phase for phase in summary["phases"] if phase["kind"] == kind and phase["count"] == count]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A trace of the slot benchmark, and what the benchmark said. With more CPUs no buffer would be full."""
    out = tmp_path_factory.mktemp("recorded") / "trace"
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:4]))
    answer = record(out, *SMALL, "--", "taskset", "-c", cpus, bench(out.parent), *SLOT_BENCH)
    return out, json.loads(answer.stdout)


@pytest.mark.gate
def test_the_numbers_are_those_of_the_program(recorded):
    trace, said = recorded
    summary = report(trace, "--process", NAME)
    count = WARM + said["slots"]
    (symbols,) = phases(summary, "symbol_processing", count)
    (decoding,) = phases(summary, "ulsch_decoding", count)
    assert (symbols["tasks"], decoding["tasks"]) == (count * 12, count * 22)
    assert symbols["missing"] == decoding["missing"] == 0
    (pool,) = summary["pools"]
    assert pool["workers"] == 1 and pool["pushes"] == pool["runs"] >= count * 34
    assert sum(row["count"] for row in summary["functions"]) == pool["runs"]
    unparks = pool["unparks"]
    assert sum(unparks.values()) <= pool["parks"] <= sum(unparks.values()) + 1
    assert summary["lost_events"] == 0 and summary["warnings"] == []
    assert sum(of["count"] + of["missing"] for of in summary["slots"]) == count
    # the benchmark's own clock, around the same
    assert said["makespan_p50_us"] * 0.5 < summary["slowest"][0]["duration_us"]
    assert decoding["duration"]["p50_us"] < said["makespan_max_us"]
    for phase in (symbols, decoding):
        path = phase["critical_path"]
        assert sum(path["mean_us"].values()) == pytest.approx(phase["duration"]["mean_us"])
        assert phase["task_time"]["count"] == phase["start_lag"]["count"] == phase["tasks"]


def compiled(source: Path, folder: Path, *parts: str) -> Path:
    """A C program, linked with these parts of the library."""
    program = folder / source.stem
    archives = [next(Path(BUILD).rglob(f"libthread_pool_ws{part}.a")) for part in (*parts, "")]
    run(
        "cc", source, f"-I{MODULE}/include", f"-I{MODULE}/api", f"-I{MODULE}", *archives,
        "-ldl", "-pthread", "-o", program,
    )  # fmt: skip
    return program


BESIDE = PATIENT | {"LD_LIBRARY_PATH": str(BIN)}  # where the provider lies


@pytest.mark.gate
def test_every_kind_of_event_is_recorded_and_counted(tmp_path):
    """By a session daemon, of a real pool; its header names the events."""
    program = compiled(Path(__file__).parent / "trace/every_event.c", tmp_path)
    record(tmp_path / "t", *SMALL, "--", program, PROVIDER, env=BESIDE)
    kinds = set(re.findall(r"^  X\((\w+)", (MODULE / "trace/ws_probe.h").read_text(), re.MULTILINE))
    pid = json.loads((tmp_path / "t" / "recorded.json").read_text())["pid"]
    lines = run("babeltrace2", "--names=context,payload", tmp_path / "t").stdout.splitlines()
    own = [line for line in lines if re.search(rf"vpid = {pid}\b", line)]
    seen = Counter(kind for line in own for kind in re.findall(r"oai_tpool_ws:(\w+)", line))
    assert len(kinds) > 15 and seen.keys() == kinds
    assert seen["run_begin"] == seen["run_end"] == seen["push"] == 25  # two phases of twelve, one stolen
    assert seen["run_as"] == sum(int(n) for line in own for n in re.findall(r"units = (\d+)", line)) == 24
    assert seen["join_begin"] == seen["join_end"] == 3
    summary = report(tmp_path / "t", "--process", pid)
    assert [(phase["kind"], phase["count"], phase["tasks"]) for phase in summary["phases"]] == [
        ("symbol_processing", 1, 12),
        ("ulsch_decoding", 1, 12),
    ]  # the phase took the place of the burst
    assert {row["name"]: row["count"] for row in summary["functions"]} == {"users": 24, "stolen": 1}
    assert summary["lost_events"] == 0 and summary["warnings"] == []


@pytest.mark.gate
def test_a_burst_has_the_tasks_of_its_own_group(tmp_path):
    """Two threads push tasks that are alike but for their group, and tasks push them, too."""
    program = compiled(Path(__file__).parent / "trace/groups.c", tmp_path)
    record(tmp_path / "t", *SMALL, "--", program, 50, env=BESIDE)
    summary = report(tmp_path / "t", "--process", program.name)
    assert summary["lost_events"] == 0
    assert sorted((of["count"], of["missing"], of["tasks_each"]) for of in summary["phases"]) == [
        (50, 0, 8),
        (50, 0, 30),
    ]
    assert all(of["start_lag"]["count"] == of["tasks"] for of in summary["phases"])


@pytest.mark.gate
def test_where_events_were_lost_nothing_stays_open(tmp_path):
    proto = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    program = compiled(Path(__file__).parent / "trace/groups.c", tmp_path)
    answer = record(tmp_path / "t", "--subbuf-kib", "4", "--", program, 5000, env=BESIDE)
    if "were LOST" not in answer.stderr:
        pytest.skip("the machine is idle: nothing was lost")
    summary = report(tmp_path / "t", "--process", program.name)
    assert all(of["tasks_each"] in (None, 8, 30) for of in summary["phases"])  # what is shown is whole
    assert sum(of["missing"] for of in summary["phases"]) > 0
    assert sum(of["count"] + of["missing"] for of in summary["phases"]) <= 5000 * len(summary["phases"])
    run(TOOL, "export", tmp_path / "t", "--perfetto", tmp_path / "file")
    still: dict[int, list[str]] = defaultdict(list)
    for event in (
        packet.track_event for packet in proto.Trace.FromString((tmp_path / "file").read_bytes()).packet
    ):
        if event.type == proto.TrackEvent.TYPE_SLICE_BEGIN:
            still[event.track_uuid].append(event.name)
        elif event.type == proto.TrackEvent.TYPE_SLICE_END:
            still[event.track_uuid].pop()
    assert {name for names in still.values() for name in names} <= {"asleep"}


@pytest.mark.gate
def test_a_task_of_a_library_that_is_loaded_late_has_its_name(tmp_path):
    """The recorder looks at what the program has loaded before it ends it. Where it has not looked, LTTng's
    list may lack the library: then the report says so."""
    source, library = Path(__file__).parent / "trace/late_library.c", tmp_path / "late.so"
    run("cc", "-shared", "-fPIC", "-DLIBRARY", source, f"-I{MODULE}/include", "-o", library)
    words = [*SMALL, "--", compiled(source, tmp_path), library]
    command = [TOOL, "record", "--out", tmp_path / "t", *words, "stay"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=BESIDE) as recorder:
        assert recorder.stdout.readline() == b"ran\n"
        recorder.terminate()
    assert recorder.returncode == 128 + signal.SIGTERM
    (function,) = report(tmp_path / "t", "--process", source.stem)["functions"]
    assert (function["name"], function["count"]) == ("in_library", 2)
    record(tmp_path / "short", *words, env=BESIDE)
    summary = report(tmp_path / "short", "--process", source.stem)
    (function,), said = summary["functions"], "".join(summary["warnings"])
    assert function["name"] == "in_library" or function["name"][:2] == "0x" and "no names for 1 func" in said


@pytest.mark.gate
def test_a_part_is_read_without_the_rest(recorded, tmp_path):
    """The slowest slot alone: in the report by its time, in the export by its name."""
    whole = report(recorded[0], "--process", NAME)
    slot = whole["slowest"][0]
    end_s = slot["at_s"] + slot["duration_us"] / 1e6
    part = ("--begin", slot["at_s"] - 1e-6, "--end", end_s + 1e-6)
    found = report(recorded[0], "--process", NAME, *part)
    assert found["slowest"][0]["duration_us"] == slot["duration_us"]
    assert found["slowest"][0]["cause"] and len(found["slowest"]) == 1
    names = [one["name"] for of in (whole, found) for one in of["pools"] + of["functions"]]
    of_whole = {one["name"] for of in ("pools", "functions") for one in whole[of]}
    assert found["functions"] and set(names) == of_whole
    assert "no such process" in run(TOOL, "report", recorded[0], "--process", "none", status=2).stderr
    # a slow slot may have events of each packet: without the first full one there are fewer
    source, full = Trace(recorded[0]), SUBBUF_KIB * 1024 // 2
    rows = np.concatenate([packets(index) for index in recorded[0].rglob("index/*.idx")])
    ended_ns = int(rows[rows[:, 1] > full, 3].min()) + source.offset_ns
    after = ("--begin", (ended_ns - source.first_ns) / 1e9 + 1e-6)
    (pool,), (of_part,) = whole["pools"], report(recorded[0], "--process", NAME, *after)["pools"]
    assert 0 < of_part["pushes"] < pool["pushes"]


def test_a_task_of_an_interface_has_the_users_function(tmp_path):
    """Three tasks of the example on ws_sched: they all call add_up."""
    program = compiled(MODULE / "api/examples/ws_sched.c", tmp_path, "_api")
    record(tmp_path / "trace", "--", program, env=BESIDE)
    (function,) = report(tmp_path / "trace", "--process", program.name)["functions"]
    assert (function["name"], function["count"]) == ("add_up", 3)


@pytest.mark.gate
def test_the_page_and_the_file_for_perfetto(recorded, tmp_path):
    answer = run(TOOL, "report", recorded[0], "--out", tmp_path)
    assert "Critical path" in answer.stdout
    html = (tmp_path / "report.html").read_text()
    assert "symbol_processing" in html and "bench=slot" in html  # the command
    run(TOOL, "export", recorded[0], "--perfetto", tmp_path / "all", "--process", NAME)
    run(TOOL, "export", recorded[0], "--perfetto", tmp_path / "slot", "--slot", "0.7")
    assert 0 < (tmp_path / "slot").stat().st_size < (tmp_path / "all").stat().st_size
    answer = run(TOOL, "export", recorded[0], "--perfetto", tmp_path / "x", "--slot", "999.0", status=2)
    assert "no such slot" in answer.stderr and answer.stderr.count("\n") == 1


def streams(trace: Path) -> list[Path]:
    """From the largest."""
    found = [
        path
        for path in [*trace.rglob("tpool_ws_*"), *trace.rglob("state_*")]
        if path.is_file() and path.suffix != ".idx"
    ]
    return sorted(found, key=lambda path: -path.stat().st_size)


def test_a_trace_that_was_cut_off(recorded, tmp_path):
    """The file that the error names is moved away, as it says."""
    shutil.copytree(recorded[0], tmp_path / "cut")
    cut = streams(tmp_path / "cut")[0]
    with cut.open("r+b") as file:
        file.truncate(cut.stat().st_size - 100)
    error = run(TOOL, "report", tmp_path / "cut", status=2).stderr
    assert "babeltrace2 cannot read it" in error and cut.name in error and error.count("\n") == 1
    cut.unlink()
    assert report(tmp_path / "cut")["events"] > 0


def test_a_trace_without_its_streams_or_without_metadata(recorded, tmp_path):
    shutil.copytree(recorded[0], tmp_path / "t")
    for path in streams(tmp_path / "t"):
        path.unlink()
    assert "none of its 0 events" in run(TOOL, "report", tmp_path / "t", status=2).stderr
    next((tmp_path / "t").rglob("metadata")).unlink()
    assert run(TOOL, "report", tmp_path / "t", status=2).stderr.count("\n") == 1


def test_events_that_are_lost_are_counted(tmp_path):
    words = ["bench=coliseum", "backend=ws", "workers=1", "work=empty", "tasks=60000"]
    answer = record(tmp_path / "t", "--subbuf-kib", "4", "--", bench(tmp_path), *words)
    assert "were LOST" in answer.stderr
    said = json.loads((tmp_path / "t" / "recorded.json").read_text())["lost_events"]
    summary = report(tmp_path / "t")
    assert 0 < summary["lost_events"] <= said
    assert not phases(summary, "burst", 60000)


def test_a_pool_of_a_child_belongs_to_the_child(tmp_path):
    """Two children of a program that has the provider when it forks: it is preloaded."""
    program = compiled(Path(__file__).parent / "trace/forks.c", tmp_path)
    script = f'LD_PRELOAD="$LD_PRELOAD {PROVIDER}" exec {program} 23 29'
    record(tmp_path / "t", "--follow-forks", "--", "sh", "-c", script)
    summary = report(tmp_path / "t", "--process", program.name)
    first, second = phases(summary, "ulsch_decoding", 23)[0], phases(summary, "ulsch_decoding", 29)[0]
    assert first["pid"] != second["pid"] and (first["tasks"], second["tasks"]) == (92, 116)


def test_what_runs_already(start, tmp_path):
    words = ["bench=slot", "backend=ws", "workers=1", "bursts=4x20", "slots=1000000", "limit_s=600"]
    wanted = PATIENT | {"TPOOL_WS_TRACE": "1"}
    start(bench(tmp_path), *words, stdout=subprocess.DEVNULL, env=wanted)
    record(tmp_path / "t", "--seconds", "2")
    summary = report(tmp_path / "t", "--process", NAME)
    assert [pool["name"] for pool in summary["pools"]] == ["ws"]  # as its workers' threads
    (phase,) = summary["phases"]
    assert phase["kind"] == "ulsch_decoding"
    assert phase["count"] > 0 and phase["tasks"] == 4 * phase["count"]


LOADER = """
import ctypes, pathlib, sys, time
ctypes.CDLL(sys.argv[1])
while not pathlib.Path(sys.argv[2], "ust").exists():
    time.sleep(0.1)
time.sleep(1)
ctypes.CDLL(sys.argv[3])
print("loaded", flush=True)
sys.stdin.read()
"""


def test_libraries_that_are_loaded_later_have_names(tmp_path):
    command = [sys.executable, "-c", LOADER, PROVIDER, tmp_path / "t", BIN / "libbench_glib.so"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        recorder = subprocess.Popen([TOOL, "record", "--out", tmp_path / "t", "--seconds", "200"])
        assert program.stdout.readline() == b"loaded\n"
        recorder.send_signal(signal.SIGINT)
        recorder.wait(300)
        program.stdin.close()
    events = [event for event in events_of(Trace(tmp_path / "t")) if event["pid"] == program.pid]
    images = {event["text"] for event in events if event["kind"] == "bin_info"}
    assert {Path(image).name for image in images} >= {PROVIDER.name, "libbench_glib.so"}


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root, to be another user"
)
def test_no_session_daemon_can_be_started():
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/nonexistent"]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        shutil.copytree(TOOL.parent / "nrbench", Path(folder) / "nrbench")
        words = [sys.executable, "-m", "nrbench.trace", "record", "--out", f"{folder}/t", "--", "true"]
        answer = run(*nobody, *words, status=2, cwd=folder)
    assert "'lttng create' failed" in answer.stderr and "HOME must be writable" in answer.stderr


def test_a_session_daemon_ends_with_its_recording(tmp_path):
    before = running()
    record(tmp_path / "t", "--", sys.executable, "-c", "print(1)", status=2)
    assert running() == before


BENCHES = {
    "slots": ["bench=slot", "bursts=12x6+22x28", "period_us=1000", "slots=200"],
    "late wakes": ["bench=slot", "bursts=4x20", "period_us=9000", "slots=30"],
    "nested": ["bench=coliseum", "work=nested", "tasks=100"],
}


@pytest.mark.parametrize("work", BENCHES)
@pytest.mark.parametrize("workers", [1, 3])
def test_every_event_is_where_it_has_to_be(tmp_path, work, workers):
    """No push without its run, no wake without its waking, and all that begins ends."""
    words = ["backend=ws", f"workers={workers}", *BENCHES[work]]
    record(tmp_path / "trace", "--", bench(tmp_path), *words)
    trace = Trace(tmp_path / "trace")
    (process,) = read(trace, NAME)
    table, (pool,) = process.walk.table, summarize(trace, [process])["pools"]
    assert not trace.lost and table.is_ended.all() and not process.walk.pending
    assert ((table.push >= 0) | (table.pool == WAITS)).all()
    assert pool["pushes"] == pool["runs"] > 100 and len(process.walk.wakes) == pool["unparks"]["woken"] > 0
    assert process.is_of("complete").any() and process.is_of("pool_stop").any()
