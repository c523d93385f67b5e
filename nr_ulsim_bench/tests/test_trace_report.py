# SPDX-License-Identifier: BSD-3-Clause
"""Tables, page and errors of `tpool-ws-trace report`, and the files of a trace; no LTTng is needed."""

import builtins
import json
import struct
from pathlib import Path

import pytest
from test_trace_analysis import phase_with_a_woken_worker
from trace_log import Log, burst, summary_of

from nrbench.trace import cli, ctf_files, report
from nrbench.trace import events as ev
from nrbench.trace.events import TraceError
from nrbench.trace.text import text


def test_the_summary_has_the_figures_in_us():
    (phase,) = summary_of(phase_with_a_woken_worker())["phases"]
    assert phase["duration"] == {"count": 1, "p50_us": 0.6, "p99_us": 0.6, "max_us": 0.6, "mean_us": 0.6}
    assert phase["tasks_each"] == 2 and phase["steal_share"] == 0.5
    assert phase["critical_path"]["mean_us"]["wake"] == 0.2
    assert phase["critical_path"]["share"]["wake"] == pytest.approx(1 / 3)
    assert json.loads(json.dumps(phase)) == phase


def test_tables_name_everything():
    log = phase_with_a_woken_worker()
    burst(log, at=5000)
    lines = list(text(summary_of(log) | {"warnings": ["careful"]}))
    assert lines[0] == "WARNING: careful"
    assert "symbol_processing" in "\n".join(lines) and "0x1000 in p" in "\n".join(lines)
    for title in ("Phases", "Tasks", "Wakes", "Critical path", "Pools"):
        assert title in lines
    assert max(map(len, lines)) < 140


def test_phases_are_chosen_by_kind_or_by_a_part_of_the_name():
    log = phase_with_a_woken_worker()
    burst(log, at=5000)
    names = [phase["name"] for phase in summary_of(log)["phases"]]
    assert names == ["symbol_processing", "0x1000 in p"]
    assert [p["name"] for p in summary_of(log, wanted={"burst"})["phases"]] == names[1:]
    assert [p["name"] for p in summary_of(log, wanted={"symbol"})["phases"]] == names[:1]


def test_several_processes_are_told_apart():
    first, second = phase_with_a_woken_worker(), Log(pid=2)
    second.pool()
    second.add(ev.PROGRAM, 0, 5, "ue")
    burst(second)
    assert [p["name"] for p in summary_of(first, second)["phases"]] == [
        "process[1] symbol_processing",
        "ue[2] 0x1000 in p",
    ]


def test_the_page_needs_nothing_else_and_escapes_what_it_shows(tmp_path):
    page = pytest.importorskip("nrbench.trace.page")
    log = phase_with_a_woken_worker()
    log.events = [
        event[:5] + ("<b>&pool",) + event[6:] if event[0] == ev.POOL_START else event for event in log.events
    ]
    picture = tmp_path / "p.png"
    picture.write_bytes(b"\x89PNG")
    summary = summary_of(log) | {"warnings": ["<script>"]}
    page.write(
        tmp_path / "r.html", tmp_path / "<t>", summary, {"cpu": "<i>", "lost_events": 0},
        [page.Picture("Slot", "words", picture)],
    )  # fmt: skip
    html = (tmp_path / "r.html").read_text()
    assert "<b>&pool" not in html and "&lt;b&gt;&amp;pool" in html
    assert "<script>" not in html and "<i>" not in html and "data:image/png;base64,iVBORw==" in html
    assert "http" not in html and 'src="data:' in html


def error_of(capsys, *words: str) -> str:
    """The only line of an error, and the exit status 2."""
    assert cli.main(["report", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    return captured.err


@pytest.fixture
def bt2():
    return pytest.importorskip("bt2")


def stream(path: Path, packets: int, rest: int = 0, size: int = 4096) -> Path:
    """A file of packets as LTTng writes them, and some bytes more."""
    head = struct.pack("<I16sIQQQQQ", ctf_files.STREAM_MAGIC, bytes(16), 0, 0, 10, 20, size * 8, size * 8)
    path.write_bytes((head + bytes(size - len(head))) * packets + head[:rest])
    return path


def metadata(path: Path, text: str, cut: int = 0) -> None:
    body = text.encode()
    size = 37 + len(body)
    head = struct.pack(
        "<I16sIIIBBBBB", ctf_files.METADATA_MAGIC, bytes(16), 0, size * 8, size * 8, 0, 0, 0, 1, 8
    )
    path.write_bytes((head + body)[: size - cut])


def test_no_bindings(capsys, monkeypatch, tmp_path):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "bt2":
            raise ModuleNotFoundError("No module named 'bt2'")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "package python3-bt2" in error_of(capsys, str(tmp_path))


def test_no_pictures(capsys, monkeypatch, tmp_path):
    """Said before the trace is read."""
    monkeypatch.setattr(report, "missing", lambda modules: [module for module in modules if module[0] == "m"])
    said = error_of(capsys, str(tmp_path), "--out", str(tmp_path / "out"))
    assert "packages are missing: matplotlib (" in said


def test_what_is_no_trace(bt2, capsys, tmp_path):
    assert "no such folder" in error_of(capsys, str(tmp_path / "none"))
    assert "nothing was recorded into this folder" in error_of(capsys, str(tmp_path))
    (tmp_path / "notes.txt").write_text("hello")
    assert "not a trace: no file 'metadata'" in error_of(capsys, str(tmp_path))
    assert "is a file" in error_of(capsys, str(tmp_path / "notes.txt"))


def test_metadata_that_is_empty_or_cut(bt2, capsys, tmp_path):
    (tmp_path / "metadata").touch()
    assert "is empty" in error_of(capsys, str(tmp_path))
    for cut in (1, 60, 80):
        metadata(tmp_path / "metadata", "x" * 50, cut)
        assert "is cut off after" in error_of(capsys, str(tmp_path))
    metadata(tmp_path / "metadata", "nonsense {")
    assert "Babeltrace cannot read it" in error_of(capsys, str(tmp_path))


def test_a_slot_that_is_none(bt2, capsys, tmp_path):
    assert "expected FRAME.SLOT" in error_of(capsys, str(tmp_path), "--slot", "x")


def test_streams_are_cut_after_their_last_whole_packet(tmp_path):
    whole = stream(tmp_path / "tp_0", 3)
    cut = stream(tmp_path / "tp_1", 2, rest=40)
    short = stream(tmp_path / "tp_2", 2)
    with short.open("r+b") as file:
        file.truncate(4096 + 100)
    metadata(tmp_path / "metadata", "x")
    (tmp_path / "notes.txt").write_text("no stream")
    cuts = ctf_files.cut_streams(tmp_path)
    assert cuts == [ctf_files.Cut(cut, 8192, 8232, 20), ctf_files.Cut(short, 4096, 4196, 20)]
    fixed = ctf_files.repaired(tmp_path, cuts, tmp_path / "fixed" / "0")
    assert (fixed / "tp_0").read_bytes() == whole.read_bytes()
    assert [(fixed / name).stat().st_size for name in ("tp_1", "tp_2")] == [8192, 4096]
    assert ctf_files.cut_streams(fixed) == []


def test_cut_metadata_is_named(tmp_path):
    metadata(tmp_path / "metadata", "x" * 50, cut=3)
    with pytest.raises(TraceError, match="is cut off after 84 bytes"):
        ctf_files.check_metadata(tmp_path)


class Unread:
    """A trace of which too little was read."""

    warnings = ["stream_1: is cut off"]
    event_count = 7

    def events(self):
        return iter(())


def test_a_trace_whose_pool_was_not_read_says_what_is_damaged(tmp_path):
    with pytest.raises(TraceError, match="no event of the pool was read. stream_1: is cut off"):
        report.read(Unread(), report.Options(tmp_path), None)
