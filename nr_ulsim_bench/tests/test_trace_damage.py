# SPDX-License-Identifier: BSD-3-Clause
"""Traces that are damaged, and folders that are none: one line that names the cause, and no more memory than
is allowed. The traces are written here, byte by byte."""

import os
import struct
import types
from pathlib import Path

import machine_tree
import pytest

from nrbench.system import CPU, System
from nrbench.trace import apart, cli, ctf_files, lttng
from nrbench.trace.events import PROGRAM, TraceError

METADATA = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 8; align = 8; signed = false; } := u8;
trace { major = 1; minor = 8; byte_order = le; uuid = "00000000-0000-0000-0000-000000000000";
  packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; u64 stream_instance_id; }; };
clock { name = "monotonic"; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time_t;
stream { id = 0;
  event.header := struct { u32 id; time_t timestamp; };
  event.context := struct { s32 _vpid; s32 _vtid; };
  packet.context := struct { time_t timestamp_begin; time_t timestamp_end; u64 content_size;
    u64 packet_size; }; };
event { id = 0; stream_id = 0; name = "lttng_ust_statedump:procname";
  fields := struct { string procname; }; };
event { id = 1; stream_id = 0; name = "lttng_ust_statedump:build_id";
  fields := struct { u32 __length; u8 _build_id[__length]; }; };
"""
PROGRAMS = 3 * 512 + 7
DAMAGED = 4_000_000  # some 500 MiB, as Babeltrace makes them


def program(time_ns: int, name: bytes) -> bytes:
    return struct.pack("<IQii", 0, time_ns, 5, 6) + name + b"\0"


def build_id(time_ns: int, length: int) -> bytes:
    return struct.pack("<IQiiI", 1, time_ns, 5, 6, length) + b"12345678"


def trace(folder: Path, *events: bytes) -> Path:
    """One stream of one packet."""
    (folder / "ust").mkdir(parents=True)
    (folder / "ust" / "metadata").write_text(METADATA)
    body = b"".join(events)
    bits = 8 * (ctf_files.STREAM_HEADER + len(body))
    head = struct.pack("<I16xIQQQQQ", ctf_files.STREAM_MAGIC, 0, 0, 0, 10**6, bits, bits)
    (folder / "ust" / "stream_0").write_bytes(head + body)
    return folder


def many(count: int = PROGRAMS) -> list[bytes]:
    return [program(at, b"ws") for at in range(count)]


def read(folder: Path) -> tuple[list[tuple], list[str], int]:
    pytest.importorskip("bt2")
    from nrbench.trace.reader import Trace

    with Trace(folder) as found:
        return list(found.events()), found.warnings, found.event_count


def test_a_whole_trace(tmp_path):
    events, warnings, count = read(trace(tmp_path, *many(), build_id(PROGRAMS, 8)))
    assert (len(events), count, warnings) == (PROGRAMS, PROGRAMS + 1, [])
    assert events[7] == (PROGRAM, 7, 5, 6, "ws")


def test_a_length_that_is_damaged_takes_no_more_memory_than_is_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr(apart, "DATA_BYTES", 64 << 20)
    events, warnings, count = read(trace(tmp_path, *many(), build_id(PROGRAMS, DAMAGED)))
    # What came before, in whole batches; Babeltrace 2.1 reads a batch ahead.
    assert len(events) == count and count in (2 * 512, 3 * 512)
    (warning,) = warnings
    assert (
        f"stopped after {count} events: the reading process crashed, or needed more than 64 MiB of memory "
        "(SIG" in warning
    )


def test_the_same_before_any_event(tmp_path, monkeypatch):
    monkeypatch.setattr(apart, "DATA_BYTES", 64 << 20)
    with pytest.raises(
        TraceError, match="cannot read it: the reading process crashed, or needed more than 64 MiB"
    ):
        read(trace(tmp_path, build_id(1, DAMAGED)))


def test_an_event_that_is_none_ends_the_reading(tmp_path):
    damaged = struct.pack("<IQii", 77, PROGRAMS, 5, 6)
    events, warnings, count = read(trace(tmp_path, *many(), damaged))
    assert len(events) == count == PROGRAMS and "damaged: Babeltrace stopped" in warnings[0]


def test_a_name_that_is_no_text(tmp_path):
    events, warnings, _ = read(trace(tmp_path, *many(9), program(10, b"\xff\xfe")))
    assert len(events) >= 9 and len(warnings) == 10 - len(events)


def test_what_another_process_yields_arrives_and_its_end_is_told():
    def source():
        yield from ([number, "text", None] for number in range(3))
        raise MemoryError("no more")

    items = apart.items(source)
    assert [next(items)[0] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(apart.Died, match="MemoryError: no more"):
        next(items)
    with pytest.raises(apart.Died, match="SIGABRT"):
        list(apart.items(lambda: iter([os.abort()])))
    items = apart.items(lambda: iter(range(10**9)))
    assert next(items) == 0
    items.close()  # ends the process, too
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


class Discarded:
    """A message of Babeltrace's that says how much was lost between two times."""

    def __init__(self, count: int | None) -> None:
        self.count = count
        self.beginning_default_clock_snapshot = types.SimpleNamespace(value=10)
        self.end_default_clock_snapshot = types.SimpleNamespace(value=20)


class DiscardedPackets(Discarded):
    pass


@pytest.mark.parametrize("kind, at", [(Discarded, 5), (DiscardedPackets, 6)])
@pytest.mark.parametrize(
    "counts, total",
    [([3, 4], 7), ([500_000, 2**64 - 481_673, 100], 18_427), ([2**64 - 5, 5], 0), ([None, 2], 2)],
)
def test_a_counter_that_goes_back(kind, at, counts, total):
    from nrbench.trace.reader import Trace

    trace = Trace.__new__(Trace)
    trace._bt2 = types.SimpleNamespace(
        _DiscardedEventsMessageConst=Discarded, _DiscardedPacketsMessageConst=DiscardedPackets
    )
    lost = [trace._lost(kind(count)) for count in counts]
    assert sum(event[at] or 0 for event in lost) == total
    assert all(event[1] == 10 and event[4] == 20 and event[11 - at] == 0 for event in lost)


def test_a_folder_into_which_nothing_was_recorded(tmp_path):
    (tmp_path / ctf_files.RECORD_FILE).write_text("{}")
    with pytest.raises(TraceError, match="nothing was recorded into this folder"):
        ctf_files.find(tmp_path)


def test_a_package_of_the_report_cannot_be_imported(monkeypatch, capsys):
    break_import(monkeypatch, "nrbench.trace", ImportError("libfoo.so: no such file"), "report")
    assert cli.main(["report", "x"]) == 2
    assert "is missing or broken: libfoo.so: no such file" in capsys.readouterr().err


def break_import(monkeypatch, name: str, error: ImportError, part: str | None = None) -> None:
    import builtins

    real = builtins.__import__

    def imports(wanted, globals=None, locals=None, fromlist=(), level=0):
        if wanted == name and (part is None or part in (fromlist or ())):
            raise error
        return real(wanted, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", imports)


@pytest.mark.parametrize("text, count", [("0-127\n", 128), ("0\n", 1), ("0,2-5\n", 6)])
def test_buffers_are_for_all_cpus_that_may_come(monkeypatch, tmp_path, text, count):
    monkeypatch.setattr(lttng, "SYSTEM", machine_tree.tuned(tmp_path / "a", {f"{CPU}/possible": text}))
    assert lttng.Buffers(4096, 2).bytes == 8192 * count
    monkeypatch.setattr(lttng, "SYSTEM", System(tmp_path / "none"))
    assert lttng.Buffers(4096, 2).bytes == 8192 * os.cpu_count()
