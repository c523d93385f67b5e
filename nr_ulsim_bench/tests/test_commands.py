# SPDX-License-Identifier: BSD-3-Clause
"""Commands from the first option to the report, on one program that stands for those that they run (fake.py):
its figures are the same each time."""

import html
import itertools
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from fake import OF_BENCH, a_build, apart, install
from golden_files import check, plain, table
from made_up import nrbench, ran
from radio_runs import take

from nrbench.parts import scale
from nrbench.stats import read_lines as lines

pytestmark = pytest.mark.usefixtures("no_pictures")
DATA = Path(__file__).parent
CPU = str(min(os.sched_getaffinity(0)))  # of all runs: none goes beside another
OF_HOST = ["host", "host_label", "began", "cpus"]


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """Two CPUs, all classes."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(os, "sched_setscheduler", lambda *_: None)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def programs(tmp_path):
    """Those of ci/bench, two of the rivals' modules beside them."""
    folder = install(tmp_path / "bin", *OF_BENCH)
    for name in ("libbench_onetbb.so", "liblatch_boost.so"):
        (folder / name).touch()
    return folder


# nrbench sweep


@pytest.fixture
def sweep(tmp_path):
    """The words of one case with two threads; what is wrong with the new build."""

    def words(repeats, *more, **behaviour):
        (tmp_path / "new" / "asked").unlink(missing_ok=True)
        install(tmp_path / "old", "nr_ulsim", pool="old")
        install(tmp_path / "new", "nr_ulsim", pool="new", **behaviour)
        builds = ("--old", tmp_path / "old", "--new", tmp_path / "new", "--out", tmp_path / "out")
        case = ("--cases", "quick:prb273-mcs25", "--threads", "2", "--cpus", CPU)
        return ("sweep", *builds, *case, "--repeats", repeats, *more)

    return words


def settings(folder):
    """How often each was taken."""
    runs = lines(folder / "runs.ndjson")
    return Counter((run["build"]["sha256"], run["pool"], run["spin"], run["repeat"]) for run in runs)


def test_a_sweep(sweep, tmp_path):
    said = nrbench(*sweep(5, "--spin", "off,auto", "--trials", "50", "--env", "OAI_RNGSEED=7"))
    assert "given as --" not in said  # of wrong pools
    runs = lines(tmp_path / "out" / "runs.ndjson")
    assert {(run["environment"]["OAI_RNGSEED"], run["trials"]) for run in runs} == {("7", 50)}
    rows = table(tmp_path / "out" / "results.csv", OF_HOST).splitlines(keepends=True)
    check("part-sweep.csv", "".join(row for row in rows if ",s," not in row))
    assert "Summary" in (tmp_path / "out" / "report.txt").read_text()
    assert {"report.html", "results.csv", "runs.ndjson"} < {
        path.name for path in (tmp_path / "out").iterdir()
    }


def test_more_rounds_go_on_where_the_sweep_ended(sweep, tmp_path):
    nrbench(*sweep(1))
    assert "4 runs are there from before" in nrbench(*sweep(2))
    assert len(settings(tmp_path / "out")) == 8 and set(settings(tmp_path / "out").values()) == {1}
    assert "nothing left to do" in nrbench(*sweep(2))


def test_an_interrupted_sweep_reports_and_goes_on(sweep, tmp_path):
    said = nrbench(*sweep(2, "--spin", "auto", at={"2": "interrupt"}), status=130)
    count = len(lines(tmp_path / "out" / "runs.ndjson"))
    assert f"interrupted: {count} of 8 runs taken; the same command takes the rest" in said
    assert "WARNING: interrupted" in (tmp_path / "out" / "report.txt").read_text()
    nrbench(*sweep(2, "--spin", "auto"))
    assert len(settings(tmp_path / "out")) == 8 and set(settings(tmp_path / "out").values()) == {1}


@pytest.mark.parametrize(
    "what, said",
    [
        ("crash", "crash: ended by SIGABRT"),
        ("undecoded", "failed: not decoded: 100 of 100 slots in their first round"),
        ("negative", "unparsable: figures.rx_us: Input should be greater than or equal to 0"),
    ],
)
def test_runs_that_fail_are_named_and_the_rest_goes_on(sweep, tmp_path, what, said):
    answer = nrbench(*sweep(2, fails={"-C2": what}), status=1)
    assert f"quick:prb273-mcs25 new auto 2 threads: {said}" in answer
    assert "2 of 8 runs gave no figures" in answer and " 1 failed  quick:" in answer
    assert Counter(run["status"] for run in lines(tmp_path / "out" / "runs.ndjson"))["ok"] == 6


def test_runs_that_failed_are_taken_again(sweep, tmp_path):
    nrbench(*sweep(1, fails={"-C2": "crash"}), status=1)
    nrbench(*sweep(1))
    assert len(lines(tmp_path / "out" / "runs.ndjson")) == 5
    assert "1 failed runs were taken again" in (tmp_path / "out" / "report.txt").read_text()


def test_recorded_slots_on_each_pool(programs, tmp_path):
    """A sweep without builds."""
    words = ("sweep", "--program", programs / "ws-bench", "--data", DATA, "--backends", "ws,mutex-per-worker")
    nrbench(*words, "--threads", "1,2", "--repeats", "5", "--out", tmp_path / "out")
    check("part-replay.csv", table(tmp_path / "out" / "results.csv", OF_HOST))


# nrbench run, which ci/bench calls


def measured(text):
    """Without the machine."""
    text = re.sub(r".*, (\d+) cores, Linux .* load [\d.]+ at the start", r"<machine>, \1 cores", text)
    text = re.sub(r"\A(?:[^\n]*\n)*?(?=rounds )", "", text)
    text = re.sub(r"^note: .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"a table of \d+ MiB|caches \d+ MiB", "<memory>", text)
    return re.sub(r"^written to .*$", "", text, flags=re.MULTILINE)


UNHURRIED = ("--budget", "100000")  # on a loaded machine, too, all rounds are taken
PARTS = {
    "slot": ("--backends", "ws,alone,mutex-per-worker,onetbb", "--class", "other"),
    "stream": ("--backends", "ws,alone,mutex-per-worker,onetbb", "--class", "other"),
    "coliseum": ("--backends", "ws,alone,mutex-per-worker,onetbb,ws-tpool", "--class", "other"),
    "wake": ("--backends", "ws,mutex-per-worker", "--class", "other"),
    "lives": ("--class", "other"),
    "tail": ("--class", "other"),
    "pi": (),
    "scan": (),
    "latch": ("--rounds", "1"),
    "prewake": (),
    "trace": (),
    "judged": (),
    "contest": (),
    "ticks": (),
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_benchmark(part, programs, tmp_path, monkeypatch):
    """Measured and reported, then reported again. Of two CPUs the second has no tick."""
    monkeypatch.setattr(scale, "SIMULATE", programs / "simulate")
    monkeypatch.setattr("nrbench.system.System.online", lambda _: frozenset({0, 1}))
    monkeypatch.setattr("nrbench.facts.nohz_full", lambda _: frozenset({1}))
    words = ("run", "--only", part, "--quick", "--rounds", "5", *UNHURRIED, *PARTS[part])
    said = ran(*words, "--program", programs / "ws-bench", "--out", tmp_path / "out", "--data", DATA).stdout
    check(f"part-{part}.txt", plain(measured(said), tmp_path))
    source = (tmp_path / "out" / "report.html").read_text()
    page = html.unescape(re.sub(r"<[^>]*>|data:image\S*", " ", source))
    numbers = (re.findall(r"\d[\d.]*", word) for word in said.split() if word[0].isdigit())
    assert not {*itertools.chain(*numbers)} - {*re.findall(r"\d[\d.]*", page)}
    assert not re.search(r"<td[^>]*>\d+\.\d+/\d", source) and not re.search(r"\bus\b", page)
    assert ran("report", "--out", tmp_path / "out").stdout == said


def test_the_screen_of_the_whole_benchmark(programs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("run", "--quick", "--rounds", "3", *UNHURRIED, "--class", "other")
    words += ("--program", programs / "ws-bench")
    said = nrbench(*words, "--data", DATA)
    check("part-screen.txt", measured(said[said.index("This pool on") :]))
    assert "Verdicts:" in (tmp_path / "out" / "tables.txt").read_text()
    there = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")}
    wanted = "lives.ndjson results.ndjson replay/runs.ndjson report.txt replay/report.html"
    assert set(wanted.split()) < there


def test_the_page_keeps_the_parts_that_were_measured_before(programs, tmp_path):
    for part in ("lives", "scan"):
        words = ("run", "--only", part, "--quick", "--class", "other", "--program", programs / "ws-bench")
        said = nrbench(*words, "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "quantiles over the lives" not in said
    in_order = [page.index(text) for text in (">scan: ", ">lives: ", "no CPU for", "alone</h4>")]
    assert in_order == sorted(in_order)


# Python waits later for a program that it has killed.
@pytest.mark.filterwarnings("ignore:subprocess .* is still running")
def test_an_interrupted_simulation_goes_on(tmp_path, monkeypatch):
    """Ctrl-C reaches ci/simulate, too: it ends before nrbench does."""
    monkeypatch.setattr(scale, "SIMULATE", install(tmp_path, "simulate", at={"1": "interrupt"}) / "simulate")
    words = ("run", "--only", "scale", "--quick", "--out", tmp_path)
    assert "interrupted; the same command takes the rest" in nrbench(*words, status=130)
    assert "goes on" in nrbench(*words)
    taken = [line.split(" --out")[0] for line in (tmp_path / "asked").read_text().splitlines()]
    assert [line for line in taken if "--report" not in line] == ["scale --quick", "scale --quick --resume"]


@pytest.mark.filterwarnings("ignore:subprocess .* is still running")  # as above
def test_an_interrupted_benchmark_reports_and_goes_on(programs, tmp_path):
    """In the second part, and in the first; then it is measured anew, as after one that was not."""
    words = ("run", "--only", "lives", "--only", "pi", "--quick", "--class", "other", "--rounds", "1")
    words += ("--program", programs / "ws-bench", "--out", tmp_path / "out")
    lives, pi = (tmp_path / "out" / f"{name}.ndjson" for name in ("lives", "pi"))
    install(programs, "ws-bench", at={"4": "interrupt"})
    said = nrbench(*words, status=130)
    assert "interrupted; the same command takes the rest: 3 of 8" in said and "Verdicts:" in said
    first = lives.read_text()
    gap, page = "5 of 8 measurements: interrupted", (tmp_path / "out" / "report.html").read_text()
    for text in (f"lives: not taken: {gap}; the same", "pi: not taken: interrupted; the same"):
        assert text in said and text in page
    assert sum("step" in line for line in lines(lives)) == 3 and not pi.exists()
    install(programs, "ws-bench")
    said = nrbench(*words)
    assert "goes on" in said and "not taken" not in said
    assert lives.read_text().startswith(first) and pi.exists()
    assert sorted(line["step"] for line in lines(lives) if "step" in line) == [*range(8)]
    assert "goes on" not in nrbench(*words) and not lives.read_text().startswith(first)


def test_what_cannot_be_measured_is_named_in_a_line(programs, tmp_path):
    for reason, *words in (
        ("--backends: 'none' is none of ", "slot", "--program", programs / "ws-bench", "--backends", "none"),
        ("/nowhere/ws-scan: no such file; build it first", "scan", "--program", "/nowhere/ws-bench"),
    ):
        said = nrbench("run", "--out", tmp_path / "out", "--only", *words, status=2)
        assert reason in said and "Traceback" not in said


# nrbench radio


@pytest.fixture
def radio(tmp_path, monkeypatch):
    """Options of a session whose runs are made up: a combination lives up to its capacity."""
    monkeypatch.setattr("nrbench.radio.pair.take", take)
    monkeypatch.setattr("nrbench.radio.softmodem.check_privileges", lambda _: None)
    return radio_words(tmp_path)


def radio_words(folder):
    for pool in ("old", "new"):
        a_build(folder / pool, pool)
    builds = ("--old", folder / "old", "--new", folder / "new", "--oai", "v2.3.0", "--label", "made up")
    return ("radio", *builds, "--pools", "old-old,new-new", "--out", folder / "out")


def radio_report(folder):
    """Without warnings: of the load of the machine."""
    return (folder / "report.txt").read_text(encoding="utf-8").partition("WARNING")[0]


def test_a_radio_session_at_given_timescales(radio, tmp_path):
    words = (*radio, "--timescale", "0.2,0.3,0.5", "--runs", "5", "--seconds", "60")
    nrbench(*words)
    check("part-radio.txt", radio_report(tmp_path / "out"))
    assert len(lines(tmp_path / "out" / "radio.ndjson")) == 3 * 3 * 5
    nrbench(*words)
    assert len(lines(tmp_path / "out" / "radio.ndjson")) == 3 * 3 * 5


def test_a_radio_session_that_searches_the_capacity(radio, tmp_path):
    nrbench(*radio, "--capacity", "--timescale", "0.2:0.8", "--runs", "8", "--seconds", "60")
    check("part-radio-capacity.txt", radio_report(tmp_path / "out"))
    tried = Counter(run["spin"] for run in lines(tmp_path / "out" / "radio.ndjson"))
    assert tried == {"none": 8, "off": 8, "auto": 8}


@pytest.mark.alone
def test_a_radio_session_of_two_programs(tmp_path, monkeypatch):
    """They meet, keep time and are ended."""
    apart(monkeypatch, tmp_path)
    monkeypatch.setattr("nrbench.radio.softmodem.check_privileges", lambda _: None)
    nrbench(*radio_words(tmp_path), "--timescale", "0.3", "--runs", "1", "--seconds", "1", "--spin", "auto")
    runs = lines(tmp_path / "out" / "radio.ndjson")
    assert sorted((run["gnb"], run["outcome"]) for run in runs) == [("new", "ok"), ("old", "ok")]
    assert all(run["sides"]["gnb"]["steady"]["tx_late"] == 0 for run in runs)
