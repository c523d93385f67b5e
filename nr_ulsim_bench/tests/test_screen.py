# SPDX-License-Identifier: BSD-3-Clause
"""The screen with which ci/bench ends, word for word, of a short run on 2 CPUs beside compilers (screen/)."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from nrbench import bench
from nrbench.engine import Part, Request, plain
from nrbench.judge import judge, over_rounds
from nrbench.render import Section, Table
from nrbench.screen import LIVES, PAGE, POOLS, REPLAY, TABLES, screen
from nrbench.stats import read_lines

RECORDED = Path(__file__).parent / "screen"
ALL = (LIVES, POOLS, REPLAY)
SCREEN = (RECORDED / "screen.txt").read_text(encoding="utf-8")


@pytest.fixture
def out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out" / "replay").mkdir(parents=True)
    for name in ALL:
        shutil.copy(RECORDED / Path(name).name, tmp_path / "out" / name)
    with (tmp_path / "out" / POOLS).open("a") as file:  # its three rounds once more: six tell something
        for line in read_lines(RECORDED / POOLS)[1:]:
            file.write(json.dumps(line | {"round": line["round"] + 3}) + "\n")
    return Path("out")


class Printing(Part):
    """Measures nothing: its results lie there."""

    def measure(self, request):
        return 0

    def shown(self, out):
        print(f"600 lines of {self.name}")
        return [Section(self.name, [Table("", [], [], [f"of {self.name}"])])]


LABELS = {"lives": "noise", "pools": "backend", "replay": "pool"}
PARTS = [Printing(name, "", lambda results: (), label, stem=Path(file).with_suffix("").as_posix())
         for (name, label), file in zip(LABELS.items(), ALL)]  # fmt: skip


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


def test_what_was_killed_or_not_taken_stands_there_with_the_reason(out, monkeypatch, capsys):
    why, cut = "no result within 60.0 s; killed", "stopped after 86 s (--budget)"
    with (out / POOLS).open("a") as file:
        for line in ({"backend": "glib", "error": why}, {"bench": "host", "planned": 474, "cut": cut}):
            file.write(json.dumps(line) + "\n")
    run = read_lines(out / REPLAY)[0]
    with (out / REPLAY).open("a") as file:
        file.write(json.dumps(run | {"pool": "ws", "repeat": 9, "status": "hang", "error": why}) + "\n")
    monkeypatch.setattr(bench, "chosen", lambda request: [(part, request) for part in PARTS])
    assert bench.run(Request(out=out)) == 0
    gaps = [f"not taken: 474 of 474 measurements: {cut}", f"without a result: 1 times: glib: {why}"]
    told = [*(f"pools: {gap}" for gap in gaps), f"replay: without a result: 1 times: ws: {why}"]
    for text in (capsys.readouterr().out, (out / TABLES).read_text()):
        assert set(told) <= set(text.splitlines())
    assert all(text in (out / PAGE).read_text() for text in told)


def test_a_quick_run_has_no_verdicts(out):
    text = (out / POOLS).read_text()
    (out / POOLS).write_text(text.replace('"bench":"host"', '"bench":"host","quick":true', 1))
    shown = plain(list(screen(out, ALL)))
    assert shown.count("  not known  ") == 8 and "--quick gives this screen no verdicts" in shown


def test_what_was_not_measured_has_no_result(out):
    """Results of another run that lie there do not count."""
    lines = plain(list(screen(out, [LIVES]))).splitlines()
    assert sum("no result" in line for line in lines) == 7
    assert list(screen(out / "nowhere", ALL)) == []


# Verdicts


def verdict(ratios):
    """@param ratios  a row a case, a column a round"""
    ratio = over_rounds((number, value) for of_case in ratios for number, value in enumerate(of_case))
    return judge(ratio.interval)


@pytest.mark.parametrize("cases, rounds", [(1, 6), (3, 6), (8, 12)])
@pytest.mark.parametrize("of_round, of_value", [(0, 0.05), (0.1, 0.05)])
def test_equal_pools_have_a_verdict_in_one_run_of_twenty_at_most(cases, rounds, of_round, of_value):
    """However much of the noise a whole round shares."""
    drawn = np.random.default_rng(7)
    noise = drawn.normal(0, of_value, (400, cases, rounds)) + drawn.normal(0, of_round, (400, 1, rounds))
    assert sum(verdict(one) in ("faster", "slower") for one in np.exp(noise)) <= 20
    assert verdict(np.exp(noise[0]) * 0.01) == "faster" and verdict(np.exp(noise[0]) * 100) == "slower"


def test_cases_do_not_count_as_rounds():
    """Eight cases in three rounds, all half as long: three rounds do not tell."""
    assert verdict(np.full((8, 3), 0.5)) == "not known"
    assert verdict(np.full((8, 6), 0.5)) == "faster"


def test_a_round_without_all_cases_does_not_count():
    ratios = [(number, ratio) for number in range(6) for ratio in (0.5, 0.6)]
    assert over_rounds(ratios).interval is not None
    assert over_rounds(ratios[1:]).interval is None
    assert over_rounds([]) is None
