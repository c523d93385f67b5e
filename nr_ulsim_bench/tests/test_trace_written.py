# SPDX-License-Identifier: BSD-3-Clause
"""What `tpool-ws-trace report` prints and writes, of a trace made here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from trace_log import FUNC, POOL, Log, LogTrace, burst

from nrbench.trace import cli, report
from nrbench.trace import events as ev
from nrbench.trace.events import SYMBOL_PROCESSING, ULSCH_DECODING

pytestmark = pytest.mark.usefixtures("no_pictures")
ROOT = Path(__file__).resolve().parent.parent
FOLDER = "t"  # of the trace; it is not looked at
NEEDED = ("jinja2", "matplotlib")


@pytest.fixture
def reported(monkeypatch, capsys, tmp_path):
    """Runs the command on a trace of these logs. @return status, standard output, standard error"""

    def run(logs, *words: str, damage: str = "", about=None):
        (tmp_path / FOLDER).mkdir(exist_ok=True)
        (tmp_path / FOLDER / "recorded.json").write_text(json.dumps(about or {}))
        monkeypatch.setattr(report, "Trace", lambda path: LogTrace(*logs, damage=damage))
        status = cli.main(["report", str(tmp_path / FOLDER), *words])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def slots_and_bursts(count: int = 3) -> Log:
    """Bursts come first; then slots of two phases."""
    log, at = Log(), 0
    log.pool()
    for _ in range(count):
        at = burst(log, at) + 1000
    for number in range(count):
        for name in (ULSCH_DECODING, SYMBOL_PROCESSING):
            log.begin(at, name, frame=number)
            log.push(at + 10, 1)
            log.run(at + 20, at + 300 + number, 1, 100)
            log.join(at + 15, at + 310 + number)
            log.end(at + 320 + number, tasks=1, name=name, frame=number)
            at += 1000
    return log


def names_of(said: str) -> list[str]:
    return [phase["name"] for phase in json.loads(said)["phases"]]


def test_phases_are_filtered_and_unknown_ones_are_an_error(reported):
    every = ["ulsch_decoding", "symbol_processing", "0x1000 in p"]
    assert names_of(reported([slots_and_bursts()], "--json")[1]) == every
    assert names_of(reported([slots_and_bursts()], "--json", "--phase", "burst")[1]) == every[2:]
    words = ["--phase", "symbol_processing", "--phase", "decod"]
    assert names_of(reported([slots_and_bursts()], "--json", *words)[1]) == every[:2]
    status, said, error = reported([slots_and_bursts()], "--phase", "nothing")
    assert status == 2 and said == ""
    assert "no such phase in the trace; there are: 0x1000 in p, symbol_processing, ulsch_decoding" in error


def two_processes() -> tuple[Log, Log]:
    first, second = slots_and_bursts(), Log(pid=2)
    second.events = [(kind, now + 7, 2, *rest) for kind, now, _, *rest in slots_and_bursts().events]
    second.add(ev.PROGRAM, 0, 5, "nr_ulsim")
    return first, second


@pytest.mark.parametrize(
    "about, words, says",
    [
        ({"pid": 2}, [], True),
        ({"pid": 2}, ["--process", "2"], False),
        ({"pid": 3}, [], False),
        ({}, [], False),
        ({"pid": "2"}, [], False),
        ({"pid": [2]}, [], False),
        ({"pid": None}, [], False),
    ],
)
def test_the_recorded_command_is_told_from_other_processes(reported, about, words, says):
    status, said, _ = reported(two_processes(), *words, about=about)
    line = "The trace has 2 processes with a pool. The recorded command is nr_ulsim[2]: --process 2 shows"
    assert (said.startswith(line), status) == (says, 0)
    notes = json.loads(reported(two_processes(), "--json", *words, about=about)[1])["notes"]
    assert [note.startswith(line) for note in notes] == [True] * says


def test_of_one_process_nothing_is_said(reported):
    assert json.loads(reported([slots_and_bursts()], "--json", about={"pid": 1})[1])["notes"] == []


# Files


def test_the_files_of_a_report(reported, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    status, _, error = reported(two_processes(), "--out", str(tmp_path / "out"), about={"pid": 2})
    assert status == 0 and "written to" in error
    files = ["report.html", "report.json", "slot.png", "tails.png"]
    assert sorted(os.listdir(tmp_path / "out")) == files
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "The recorded command is nr_ulsim[2]" in html and "No event was lost." in html
    assert "<td>process id of the command</td><td>2</td>" in html
    assert json.loads((tmp_path / "out" / "report.json").read_text())["warnings"] == []


def test_damage_is_told_once_though_it_is_come_upon_twice(reported, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    status, said, _ = reported([slots_and_bursts()], "--out", str(tmp_path / "out"), damage="is cut off")
    assert status == 2 and said.count("is cut off") == 1
    assert json.loads((tmp_path / "out" / "report.json").read_text())["warnings"] == ["is cut off"]
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert html.count("is cut off") == 1 and "No event was lost" not in html


def test_pictures_show_the_phases_of_the_tables_in_the_same_colours(reported, tmp_path, monkeypatch):
    plots = pytest.importorskip("nrbench.trace.plots")
    gantt = pytest.importorskip("nrbench.trace.gantt")
    pytest.importorskip("jinja2")
    curves, palettes = [], []
    monkeypatch.setattr(plots, "draw_tails", lambda shown, path: curves.append(shown))
    monkeypatch.setattr(gantt, "draw", lambda scene, names, path, palette: palettes.append(palette))
    monkeypatch.setattr("nrbench.trace.page.write", lambda *_: None)
    kinds = [(1, ULSCH_DECODING), (1, SYMBOL_PROCESSING), (1, (POOL, FUNC))]
    for words, shown, colored in (
        ([], kinds, kinds),
        (["--phase", "symbol"], [kinds[1]], [kinds[1], kinds[0], kinds[2]]),
        (["--phase", "burst"], [kinds[2]], [kinds[2], *kinds[:2]]),
    ):
        reported([slots_and_bursts()], "--out", str(tmp_path / "out"), *words)
        names = {"ulsch_decoding": kinds[0], "symbol_processing": kinds[1], "0x1000 in p": kinds[2]}
        assert [names[curve.name] for curve in curves[-1]] == shown
        assert palettes[-1] == dict(zip(colored, gantt.COLORS))
        assert [curve.color for curve in curves[-1]] == [palettes[-1][kind] for kind in shown]


@pytest.mark.parametrize("name", ["slot.png", "tails.png", "report.json", "report.html"])
def test_a_full_disk_is_told_in_one_line(reported, tmp_path, name):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to("/dev/full")
    status, _, error = reported([slots_and_bursts()], "--out", str(tmp_path / "out"))
    assert status == 2
    assert error.splitlines()[1:] == [f"tpool-ws-trace: --out {tmp_path}/out: No space left on device"]


def test_folders_that_cannot_be_written_are_told_in_one_line(reported, tmp_path):
    (tmp_path / "file").touch()
    for out, why in ((tmp_path / "file", "File exists"), (tmp_path / "file" / "f", "Not a directory")):
        status, _, error = reported([slots_and_bursts()], "--out", str(out))
        assert status == 2 and error.splitlines()[1:] == [f"tpool-ws-trace: --out {out}: {why}"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_told_in_one_line(reported, tmp_path):
    (tmp_path / "out").mkdir(mode=0o500)
    status, _, error = reported([slots_and_bursts()], "--out", str(tmp_path / "out"))
    assert status == 2 and error.endswith(f"--out {tmp_path}/out: Permission denied\n")


# In a process of its own

RUN = """
import sys
from nrbench.trace import cli, report
from test_trace_written import *
report.Trace = lambda path: LogTrace(globals()[sys.argv[1]]())
sys.exit(cli.main(["report", "t", *sys.argv[2:]]))
"""


def a_pool() -> Log:
    log = Log()
    log.pool()
    return log


def apart(*words: str, log=slots_and_bursts, **more) -> subprocess.CompletedProcess:
    for package in NEEDED:
        pytest.importorskip(package)
    changes = ("MPLCONFIGDIR", "COLUMNS", "PYTHONUNBUFFERED")  # what is tested here
    without = {key: value for key, value in os.environ.items() if key not in changes}
    environment = without | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"} | more.pop("env", {})
    return subprocess.run(
        [sys.executable, "-c", RUN, log.__name__, *words],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        timeout=100,
        **more,
    )


@pytest.mark.parametrize("log", [a_pool, slots_and_bursts])
@pytest.mark.parametrize("words", [["--json"], []])
def test_standard_output_that_is_full_is_told_in_one_line(words, log):
    """What fits into its buffer is written at last, the rest at once."""
    with open("/dev/full", "w") as full:
        answer = apart(*words, log=log, stdout=full)
    assert answer.returncode == 2
    assert answer.stderr == "tpool-ws-trace: standard output: No space left on device\n"


@pytest.mark.parametrize("log", [a_pool, slots_and_bursts])
def test_a_reader_that_has_gone_is_no_error_to_tell(log):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as pipe:
        answer = apart(log=log, stdout=pipe)
    assert (answer.returncode, answer.stderr) == (141, "")


def test_matplotlib_leaves_nothing_in_the_report(tmp_path):
    out, temporary = tmp_path / "out", tmp_path / "temporary"
    temporary.mkdir()
    answer = apart("--out", str(out), env={"TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL)
    assert answer.returncode == 0, answer.stderr
    assert sorted(os.listdir(out)) == ["report.html", "report.json", "slot.png", "tails.png"]
    assert os.listdir(temporary) == []


def test_matplotlib_s_own_folder_is_respected(tmp_path):
    out, own = tmp_path / "out", tmp_path / "own"
    own.mkdir()
    answer = apart("--out", str(out), env={"MPLCONFIGDIR": str(own)}, stdout=subprocess.DEVNULL)
    assert answer.returncode == 0, answer.stderr
    assert [name for name in os.listdir(own) if name.startswith("fontlist")]


def widest_note(said: str) -> int:
    """Of the lines that are wrapped."""
    return max(len(line) for line in said.splitlines() if line.startswith("  ") and "  " not in line.strip())


@pytest.mark.parametrize("columns, least, most", [("61", 45, 61), ("160", 140, 160), ("9", 30, 40)])
def test_notes_are_as_wide_as_the_terminal(columns, least, most):
    leader, follower = os.openpty()
    with open(leader, "rb", buffering=0) as screen:
        with open(follower, "w") as terminal:
            answer = apart(stdout=terminal, env={"COLUMNS": columns})
            assert answer.returncode == 0
        said = b""
        try:
            while data := screen.read(4096):
                said += data
        except OSError:  # all has been read
            pass
    assert least < widest_note(said.decode().replace("\r", "")) <= most


def test_notes_have_a_width_of_their_own_where_there_is_no_terminal():
    answer = apart(stdout=subprocess.PIPE, env={"COLUMNS": "40"})
    assert 100 < widest_note(answer.stdout) <= 108
