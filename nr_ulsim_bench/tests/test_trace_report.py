# SPDX-License-Identifier: BSD-3-Clause
"""`tpool-ws-trace report`: what it chooses, the files that it writes, and its errors."""

import ctypes
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from trace_tools import CASES, FAULT, line

from nrbench.live.record import MAPPED, function_at
from nrbench.trace.figures import distribution, histogram
from nrbench.trace.report import drawn

ROOT = Path(__file__).resolve().parent.parent


def names_of(summary: dict) -> list[str]:
    return [phase["name"] for phase in summary["phases"]]


@pytest.mark.parametrize("wanted", ["2", "nr-uesoftmodem"])
def test_one_process_is_reported_as_if_it_were_alone(tool, wanted):
    tool.take("two_processes")
    summary = tool.summary("--process", wanted)
    assert names_of(summary) == ["symbol_processing", "ulsch_decoding", "0x1000 in p"]
    assert sum(of["count"] + of["missing"] for of in summary["slots"]) == 2
    assert len(summary["pools"]) == len(summary["functions"]) == 1
    error = tool.error("report", tool.trace, "--process", "3")
    assert "no such process with a pool in the trace; there are: process[1], nr-uesoftmodem[2]" in error


# Files


def test_the_page(tool, tmp_path):
    tool.take("two_processes")
    tool.report("--out", tmp_path / "out")
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "nr-uesoftmodem[2] symbol_processing" in html and "No event was lost." in html
    assert "<td>pid</td><td>2</td>" in html


def test_the_page_needs_nothing_else_and_escapes_what_it_shows(tool, tmp_path):
    tool.take("lost")
    lines = (tool.trace / "lines").read_text().replace('name = "p"', 'name = "<b>&pool\u00b5"')
    (tool.trace / "lines").write_text(lines)
    (tool.trace / "recorded.json").write_text(json.dumps({"cpu": "<i>"}))
    tool.report("--out", tmp_path / "out")
    html = (tmp_path / "out" / "report.html").read_bytes().decode("utf-8")
    assert "<b>&pool" not in html and "&lt;b&gt;&amp;pool\u00b5" in html and "<i>" not in html
    assert "http" not in html
    warned = '<p class="warning">LOST, in 6 stretches of time: 7 events, 3 packets, an unknown number'
    assert "No event was lost" not in html and warned in html


def test_a_full_disk_is_told_in_one_line(tool, tmp_path):
    tool.take("path")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").symlink_to("/dev/full")
    status, _, error = tool.run("report", tool.trace, "--out", tmp_path / "out")
    assert (status, error) == (2, f"tpool-ws-trace: --out {tmp_path}/out: No space left on device\n")


def test_a_package_is_missing(tool, monkeypatch):
    """Said before the trace is read."""
    monkeypatch.setattr("nrbench.needed.find_spec", lambda name: None if name == "jinja2" else name)
    assert "packages are missing: jinja2 (" in tool.error("report", tool.trace)


# Standard output


@pytest.mark.parametrize("words", [["--json"], []])
def test_standard_output_that_is_full_is_told_in_one_line(tool, words):
    """In a process of its own."""
    tool.take("path")
    command = [sys.executable, "-m", "nrbench.trace", "report", tool.trace, *words]
    more = {"env": os.environ | {"PYTHONPATH": str(ROOT)}, "text": True, "timeout": 100}
    with open("/dev/full", "w") as full:
        answer = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, **more)
    assert answer.returncode == 2
    assert answer.stderr == "tpool-ws-trace: [Errno 28] No space left on device\n"


# What is no trace, and what is damaged


def test_what_is_no_trace(tool, tmp_path):
    (tool.trace / "metadata").unlink()
    assert "no file 'metadata' is in it or below: no traced" in tool.error("report", tool.trace)
    assert "no such folder" in tool.error("report", tmp_path / "none")
    (tool.trace / "metadata").touch()
    assert "is empty" in tool.error("report", tool.trace)


@pytest.mark.parametrize("cut", [1, 30, 50, 80])
def test_metadata_that_are_cut_off(tool, cut):
    """babeltrace2 would wait for the rest."""
    tool.take("path")
    packet = struct.pack("=I16sIIIBBBBB", 0x75D11D57, bytes(16), 0, 800, 800, 0, 0, 0, 1, 8).ljust(100)
    (tool.trace / "metadata").write_bytes(2 * packet)
    tool.report()
    (tool.trace / "metadata").write_bytes((2 * packet)[:-cut])
    assert f"is cut off after {200 - cut} bytes" in tool.error("report", tool.trace)


def test_babeltrace2_is_not_installed(tool, monkeypatch):
    monkeypatch.setenv("PATH", str(tool.trace))
    assert "Debian and Ubuntu package babeltrace2" in tool.error("report", tool.trace)


def test_what_babeltrace2_cannot_read_is_named(tool):
    (tool.trace / "lines").touch()
    assert "none of its 0 events is of oai_tpool_ws" in tool.error("report", tool.trace)
    (tool.trace / "fault").write_text(FAULT)
    error = tool.error("report", tool.trace)
    assert "babeltrace2 cannot read it: Failed to index CTF stream file 't/tpool_ws_0'. If that" in error


def test_a_trace_is_read_up_to_its_damage(tool, tmp_path):
    tool.take("woken_worker")
    (tool.trace / "fault").write_text(FAULT)
    status, out, _ = tool.run("report", tool.trace, "--out", tmp_path / "out")
    assert status == 2 and out.startswith(f"WARNING: {tool.trace}: damaged: babeltrace2 stopped after 19 ev")
    assert "symbol_processing      1" in out
    html = (tmp_path / "out" / "report.html").read_text()
    assert html.count("damaged") == 1 and "No event was lost" not in html


def test_traces_of_other_programs(tool):
    other = '[0.000000001] host other:push: { cpu_id = 0 }, { vpid = 1, vtid = 2 }, { name = "x" }\n'
    (tool.trace / "lines").write_text(other)
    assert "none of its 1 events is of oai_tpool_ws" in tool.error("report", tool.trace)
    (tool.trace / "lines").write_text("[0.000000001] host oai_tpool_ws:push: { cpu_id = 0 }, { pool = 1 }\n")
    assert "the events do not name their threads" in tool.error("report", tool.trace)
    (tool.trace / "lines").write_text(line(1, 2, "push", pool=1, func=1))
    assert "oai_tpool_ws:push has not the fields pool, func, arg, group" in tool.error("report", tool.trace)


# Values


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 199, 200, 201, 1050])
def test_quantiles_have_the_nearest_rank(count):
    summary = distribution(range(count, 0, -1))
    assert (summary["p50_us"], summary["p99_us"]) == (-(-count // 2) / 1e3, -(-99 * count // 100) / 1e3)
    assert (summary["count"], summary["max_us"]) == (count, count / 1e3)
    assert distribution([-5])["max_us"] == 0 and distribution([])["max_us"] is None


@pytest.mark.parametrize(
    "value, low", [(0, 1), (1, 1), (2, 2), (1023, 512), (1024, 1024), (2**40 + 1, 2**40)]
)
def test_a_time_counts_at_the_power_of_two_that_it_reaches(value, low):
    assert histogram(np.array([value])) == {str(low): 1}


def test_the_most_frequent_has_the_highest_block_and_none_has_a_dot():
    row = {"histogram": histogram(np.array([1] * 80 + [8] * 40 + [9, 17]))}
    head, cells = drawn([row, {"histogram": {"4": 1}}])
    assert (head, cells[0]) == ("0.00 .. 0.03", "█··▅▁")


def test_functions_have_names_where_the_file_is_still_the_same(tool):
    there = ctypes.cast(ctypes.CDLL(None).qsort, ctypes.c_void_p).value
    maps = [(path, int(begin, 16)) for begin, *_, path in MAPPED.findall(Path("/proc/self/maps").read_text())]
    library, _ = max((of for of in maps if of[1] <= there), key=lambda of: of[1])
    base = min(begin for path, begin in maps if path == library)
    address = there - base
    assert function_at(library, base, there, 1e12) == function_at(library, 0, address + 1, 1e12) == "qsort"
    assert function_at(library, base, 1, 1e12) is None and function_at("/none", base, there, 1e12) is None
    assert function_at(__file__, 0, 1, 1e12) is None
    image = {"baddr": 0x10000, "memsz": address + 100, "path": library, "is_pic": 1}
    told = line(1, 2, "x", **image).replace("oai_tpool_ws:x", "lttng_ust_statedump:bin_info")
    task = {"pool": 1, "worker": 0, "func": address + 0x10000, "arg": 7, "group": 0}
    (tool.trace / "lines").write_text(told + line(2, 2, "run_begin", **task) + line(9, 2, "run_end", **task))
    assert [row["name"] for row in tool.summary()["functions"]] == ["qsort"]
    told = line(1, 2, "x", procname="gnb").replace("oai_tpool_ws:x", "lttng_ust_statedump:procname")
    lines = told + line(2, 2, "run_begin", **task) + line(9, 2, "run_end", **task)
    (tool.trace / "lines").write_text(lines)
    for images, name, warned in (
        ({}, hex(task["func"]), 1),
        ({f"0:1:{0x10000}:{library}": 1 << 30}, "qsort", 0),
    ):
        (tool.trace / "recorded.json").write_text(json.dumps({"images": images}))
        summary = tool.summary()
        assert [row["name"] for row in summary["functions"]] == [name]
        assert [text[:33] for text in summary["warnings"]] == ["gnb[1]: no names for 1 functions:"] * warned
    os.utime(tool.trace / "metadata", (1, 1))  # recorded before the file was made
    assert [row["name"] for row in tool.summary()["functions"]] == [hex(address + 0x10000)]


# What belongs together


START = line(0, 100, "pool_start", pool=1, name="", workers=0, cpus=1, worker_cpus=1)


def test_processes_of_one_id_in_two_containers_are_two(tool):
    text = (CASES / "early_done.log").read_text()
    lines = (text.replace("vtid = ", f"pid_ns = {space}, vtid = ") for space in (8, 9))
    (tool.trace / "lines").write_text("".join(lines))
    names = [f"process[1] of PID namespace {space} symbol_processing" for space in (8, 9)]
    assert names_of(tool.summary()) == names


@pytest.mark.parametrize("start", [START, ""])
def test_a_process_with_the_id_of_a_killed_one_is_another(tool, start):
    """As in a container that starts again: each is process 1, of namespaces that may have one number."""
    told = line(9, 100, "x", procname="gnb").replace("oai_tpool_ws:x", "lttng_ust_statedump:procname")
    first, second = (line(at, 100, "push", pool=1, func=0x1000, arg=1, group=8) for at in (1, 11))
    end = line(30, 100, "join_end", pool=1, group=8, waits=1)
    (tool.trace / "lines").write_text(start + first + told + START + second + end)
    found = [(of["name"], of["missing"], of["duration"]["max_us"]) for of in tool.summary()["phases"]]
    names = [f"{process} 0x1000 in pool 1" for process in ("process[1] of life 1", "gnb[1] of life 2")]
    assert found == [(names[0], 1, None), (names[1], 0, 0.019)][not start :]


# Which slots were late, and why


def test_the_slowest_slots_have_a_reason(tool):
    """The slot 3.3 takes 500 in place of 310 ns: a woken worker came late."""
    tool.take("path")
    found = tool.summary()["slowest"]
    assert [(of["name"], of["is_late"]) for of in found[:2]] == [("3.3", True), ("0.3", False)]
    assert found[0]["cause"].startswith("wake +0.") and found[1]["cause"].startswith("run +0.")
    text = tool.report("--deadline-us", "0.3")
    row, *_ = (text for text in text.splitlines() if text.startswith("symbol_processing      5"))
    assert row.split()[7:10] == ["0.30", "3", "60.0%"]  # limit, late, share
    assert tool.summary("--deadline-us", "1")["slots"][0]["late"] == 0


def test_a_part_of_a_trace(tool):
    """What begins before it, or ends after it, is no part of it; names come from everywhere."""
    tool.take("path")
    (of,) = tool.summary("--begin", "0.000015", "--end", "0.000035")["slots"]
    assert of["count"] == 2
    lines = (tool.trace / "lines").read_text()
    (tool.trace / "lines").write_text(re.sub("frame = .", "frame = 0", lines))
    whole, part = (tool.summary("--begin", at)["slowest"] for at in ("0", "0.000015"))
    assert {(of["name"], of["at_s"]) for of in part} < {(of["name"], of["at_s"]) for of in whole}
    assert {of["name"] for of in part} == {"0.3#2", "0.3#3", "0.3#4"}
    (pool,) = tool.summary("--begin", "0.000015")["pools"]
    assert pool["name"] == tool.summary()["pools"][0]["name"] and pool["workers"] > 0
    assert "no event in this part of the recording" in tool.error("report", tool.trace, "--begin", "9")
    error = tool.error("report", tool.trace, "--begin", "2", "--end", "1")
    assert error == "tpool-ws-trace: --end 1 is not after --begin 2\n"


def test_a_pool_that_began_before_the_recording_is_called_as_its_workers(tool):
    task = {"pool": 1, "func": 0x1000, "arg": 7, "group": 0}
    lines = [line(1, 100, "push", worker=-1, **task), line(2, 200, "run_begin", worker=3, **task)]
    (tool.trace / "lines").write_text("".join([*lines, line(3, 200, "run_end", worker=3, **task)]))
    for threads, name in (
        ({}, "pool 1"),
        ({"0:1:200": "Tpool3"}, "Tpool"),
        ({"5:1:200": "Tpool3"}, "pool 1"),
    ):
        (tool.trace / "recorded.json").write_text(json.dumps({"threads": threads}))
        assert [pool["name"] for pool in tool.summary()["pools"]] == [name]
