# SPDX-License-Identifier: BSD-3-Clause
"""The screen with which ci/bench ends, word for word, of a short run on 2 CPUs beside compilers (screen/)."""

import shutil
from pathlib import Path

import pytest

from nrbench import bench
from nrbench.engine import Part, Request, plain
from nrbench.render import Section, Table
from nrbench.screen import LIVES, PAGE, POOLS, REPLAY, TABLES, screen

RECORDED = Path(__file__).parent / "screen"
ALL = (LIVES, POOLS, REPLAY)
SCREEN = """\
This pool on AMD EPYC, 2 cores, Linux 6.18.44-fc-v669, commit a252c8f9ff11, load 4.44 at the start

                                                              median [95% interval]  this pool is
recorded slots of nr_ulsim ÷ the sketch of OAI's pool             0.71 [0.64, 1.08]     not known
slots ÷ the sketch of OAI's pool                                  0.51 [0.43, 0.79]        faster
slots ÷ the best other pool, mutex-per-worker 2w                  0.51 [0.43, 0.79]        faster
slots ÷ no pool                                                   0.55 [0.19, 0.80]        faster
many small jobs ÷ the best other pool, glib 2w                                 1.06     not known
CPU time of slots ÷ the sketch of OAI's pool                      0.96 [0.90, 1.01]     not known
CPU time of slots ÷ the best other pool, mutex-per-worker 2w      0.96 [0.90, 1.01]     not known
worst of 8 lives ÷ no pool                                                     1.02          same

below 1: this pool takes less; same: within 3%; not known: the repeats do not tell
slots and jobs: all threads in the normal class
note: load 4.44 at the start: the figures show other programs, too
tables, verdicts and plots: out/report.html; as text: out/tables.txt
"""


@pytest.fixture
def out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out" / "replay").mkdir(parents=True)
    for name in ALL:
        shutil.copy(RECORDED / Path(name).name, tmp_path / "out" / name)
    return Path("out")


class Printing(Part):
    """Measures nothing: its results lie there."""

    def measure(self, request):
        return 0

    def shown(self, out):
        print(f"600 lines of {self.name}")
        return [Section(self.name, [Table("", [], [], [f"of {self.name}"])])]


PARTS = [Printing(name, lambda results: (), stem=Path(file).with_suffix("").as_posix())
         for name, file in zip(("lives", "pools", "replay"), ALL)]  # fmt: skip


def test_all_parts_end_with_one_screen_and_tables_are_in_a_file(out, monkeypatch, capsys):
    monkeypatch.setattr(bench, "chosen", lambda request: [(part, request) for part in PARTS])
    assert bench.run(Request(out=out)) == 0
    assert capsys.readouterr().out == SCREEN
    assert (out / TABLES).read_text() == "\n".join(f"600 lines of {part.name}\n" for part in PARTS)
    assert all(f"of {part.name}" in (out / PAGE).read_text() for part in PARTS)


def test_a_report_of_all_parts_ends_with_it_too(out, monkeypatch, capsys):
    monkeypatch.setattr(Part, "shown", Printing.shown)
    monkeypatch.setattr(bench.Replay, "shown", Printing.shown)
    monkeypatch.setattr(bench.session, "report", lambda folder: None)
    bench.report_again(out)
    assert capsys.readouterr().out == SCREEN
    assert (out / TABLES).read_text() == "".join(f"600 lines of {part.name}\n" for part in PARTS)


def test_parts_that_are_asked_for_print_their_tables(out, monkeypatch, capsys):
    monkeypatch.setattr(bench, "chosen", lambda request: [(part, request) for part in PARTS[:2]])
    assert bench.run(Request(out=out, only=("slot", "lives"))) == 0
    said = "600 lines of lives\n\n600 lines of pools\n"
    assert capsys.readouterr().out == f"{said}written to out/: {PAGE}\n"
    assert not (out / TABLES).exists()


def test_what_was_not_measured_is_not_known(out):
    """Results of another run that lie there do not count."""
    lines = plain(list(screen(out, [LIVES]))).splitlines()
    assert sum("not measured" in line for line in lines) == 8
    assert sum(line.endswith("not known") for line in lines) == 7
    assert list(screen(out / "nowhere", ALL)) == []
