# SPDX-License-Identifier: BSD-3-Clause
"""Reports and comparisons of sweeps, and reports of radio sessions: what they refuse, what they warn about,
what may stand in one table, and the page."""

import json
import os
import signal
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from golden_files import ROOT
from made_up import RADIO, at, failed, nrbench, rows, run, runs, write
from radio_runs import run as radio

from nrbench.sweep.record import Run

pytestmark = pytest.mark.usefixtures("no_pictures")
VOID = {"meta", "img", "br"}
OLD_RUNS = ROOT / "docs" / "results" / "2-cores-sweep-v2.3.0.ndjson"
BUILD = run("new", 0, 1)["build"]


class Page(HTMLParser):
    """Texts by element, references, and whether all elements are closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.references, self.texts = [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.references += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        for tag in set(self.open):
            self.texts[tag] = self.texts.get(tag, "") + data


@pytest.fixture
def report(tmp_path):
    """What the command says of these runs, in one line."""

    def made(lines, *words, status=0, command="report"):
        path = write(tmp_path / "runs.ndjson", lines)
        given = ("--report", path) if command == "radio" else (path,)
        return " ".join(nrbench(command, *given, "--out", tmp_path / "out", *words, status=status).split())

    return made


def of_rx(tmp_path):
    return [row for row in rows(tmp_path / "out" / "results.csv") if row["figure"] == "rx_us"]


def of_host(**changes):
    return {"host": run("old", 0, 1)["host"] | changes}


# What is read


def test_two_results_of_one_run_name_their_files(tmp_path):
    files = [
        write(tmp_path / f"{n}.ndjson", [run("old", 0, us, began=at(us))]) for n, us in enumerate((1, 2))
    ]
    said = nrbench("report", *files, "--out", tmp_path / "out", status=2)
    assert f"{files[0]} and {files[1]}: two results of one run of sweep" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "before, after, reason",
    [
        ('"status":"ok"', '"status":"fine"', "not a run of a sweep: status: "),
        ('"wall_s":1.0', '"wall_s":-1.0', "not a run of a sweep: wall_s: "),
        ('"wall_s":1.0', '"wall_s":1.0,"more":2', "not a run of a sweep: more: "),
        ('"repeat":3', '"repeat":-3', "not a run of a sweep: repeat: "),
        ('"errors":', '"errors":x', "not JSON: "),
    ],
)
def test_a_wrong_line_is_named(tmp_path, before, after, reason):
    """It is the fourth of a setting, of which the first was checked whole."""
    lines = [Run.model_validate(one).model_dump_json() for one in runs("old", 1, 2, 3, 4, 5, wall_s=1.0)]
    assert lines[3].count(before) == 1
    lines[3] = lines[3].replace(before, after)
    path = tmp_path / "runs.ndjson"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert f"{path}:4: {reason}" in nrbench("report", path, "--out", tmp_path / "out", status=2)


def test_the_order_of_fields_and_a_line_that_was_cut_off_change_nothing(tmp_path):
    lines = [*runs("old", *range(100, 106)), *runs("new", *range(50, 56)), failed("new", 7)]
    whole = [Run.model_validate(one).model_dump_json() for one in lines]
    turned = [json.dumps(dict(sorted(one.items()))) for one in lines]
    found = []
    for name, texts in (("whole", whole), ("turned", [*turned, turned[0][:-40]])):
        path = tmp_path / name / "runs.ndjson"
        path.parent.mkdir()
        path.write_text("\n".join(texts), encoding="utf-8")
        nrbench("report", path.parent, "--out", path.parent)
        found.append([(path.parent / of).read_text() for of in ("results.csv", "report.txt")])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "lines",
    [
        runs("new", 1),
        [failed("old", 0)],
        runs("inline", 1, threads=0),
        runs("glib", 10, 11, 12, 13, 14, kind="replay", spin=None, environment={}),
    ],
    ids=["one run", "only failed", "only inline", "one pool of others"],
)
def test_little_is_enough(report, tmp_path, lines):
    assert "report.html" in report(lines)
    Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))


def test_no_runs_and_no_folder_are_errors(report, tmp_path):
    assert "holds no runs" in report([], status=2)
    (tmp_path / "file").write_text("")
    path = write(tmp_path / "runs.ndjson", runs("new", 1))
    assert "file/out: Not a directory" in nrbench(
        "report", path, "--out", tmp_path / "file" / "out", status=2
    )


# The page


def test_the_page_needs_no_other_file_and_escapes_names(report, tmp_path):
    evil = "<script>alert(1)</script> & \"x\" 'y' é"
    changes = {"case": evil, "options": [evil], **of_host(label=evil)}
    report([run("old", 0, 1, **changes), run(evil, 0, 1, **changes), failed("new", 0, error=evil, **changes)])
    text = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "<script" not in text and page.texts["td"].count(evil) >= 3 and evil in page.texts["h2"]
    assert page.references and all(one.startswith(("data:image/", "#")) for one in page.references)
    assert "http" not in text and "@import" not in text and "url(" not in text
    assert evil in (tmp_path / "out" / "report.txt").read_text(encoding="utf-8")


def test_each_case_is_linked(report, tmp_path):
    report([run("new", 0, 1, case=case, machine=machine) for case in "xy" for machine in "ab"])
    text = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    anchors = {one for one in Page(text).references if one.startswith("#")}
    assert len(anchors) >= 4 and all(f'id="{anchor[1:]}"' in text for anchor in anchors)


# Warnings


def test_what_is_mixed_in_a_sweep_is_warned_about(report):
    said = report([
        run("new", 0, 1, options=["-m28"], **of_host(load=2.1)),
        run("new", 1, 1, options=["-m9"], **of_host(load=2.1)),
        run("new", 2, 1, options=["-m9"], **of_host(governor="powersave")),
        run("new", 0, 1, **of_host(id="99999999")),
    ])  # fmt: skip
    assert "2 different lists of options taken together: -m28 | -m9" in said
    assert "frequency governor" in said and "changed between runs" in said
    assert "the machine was busy when the runs began (load 2.1 on 4 CPUs)" in said
    assert "a (aaaaaaaa)" in said and "a (99999999)" in said


def test_what_is_mixed_in_a_radio_session_is_warned_about(report):
    busy = RADIO["host"] | {"load": 7.5, "cores_online": 2}
    line = {"gnb": RADIO["sides"]["gnb"] | {"pool": {"line": "thread_pool_ws 0.1.0"}, "program": "1" * 12}}
    ue = {"ue": RADIO["sides"]["ue"] | {"pool": None}}
    shared = {"host": busy, "sides": line | ue}
    runs_ = [radio(number=0, commit="abc", seconds=60.0, environment={}, **shared)]
    runs_.append(radio(number=1, commit="def", seconds=10.0, environment={"A": "b"}, **shared))
    said = report(runs_, command="radio")
    assert "the gNB given as --old (program 111111111111) has thread_pool_ws 0.1.0" in said
    assert "the UE given" not in said and "busy when the runs began (load 7.5 on 2 CPUs)" in said
    assert "runs with different commit taken together: abc, def" in said
    assert "runs with different seconds taken together: 60.0, 10.0" in said
    assert "runs with different environment taken together: -, A=b" in said


# What may stand in one table


def sweeps(*changes):
    """A run of each pool in each. @param changes  of each sweep"""
    return [
        run(pool, 0, 1, sweep=f"{number}" * 12, began=at(86_400 * number // 24), **change(pool))
        for number, change in enumerate(changes)
        for pool in ("old", "new")
    ]


def of_build(**changes):
    return lambda pool: {
        "build": run(pool, 0, 1)["build"] | changes if pool == "new" else run(pool, 0, 1)["build"]
    }


@pytest.mark.parametrize(
    "second, names",
    [
        (of_build(), {""}),  # nothing differs
        (lambda pool: {"build": BUILD | {"oai": "v2.1.0", "sha256": "3" * 12}}, {"OAI v2.3.0", "OAI v2.1.0"}),
        (of_build(sha256="3" * 12), {"new 111111111111 of 2026-01-02", "new 333333333333 of 2026-01-02"}),
        (
            lambda pool: {"environment": {"TPOOL_WS_SPIN_CPU_MAX": "10"} if pool == "new" else {}},
            {"nothing set for the pool", "TPOOL_WS_SPIN_CPU_MAX=10"},
        ),
    ],
    ids=["the same", "versions", "a pool that was built anew", "the environment of the new pool"],
)
def test_what_differs_has_tables_of_its_own(report, tmp_path, second, names):
    report(sweeps(lambda _: {}, second))
    found = of_rx(tmp_path)
    assert {row["configuration"] for row in found} == names
    assert {row["runs"] for row in found} == {"2" if len(names) == 1 else "1"}


def test_of_many_cases_the_slowest_and_the_means_are_shown(report, tmp_path):
    """The new pool takes 0.50 of OAI's time in the first case, 1.12 in the last."""
    lines = []
    for number in range(63):
        us = 50 + number
        lines += runs("old", *[100] * 5, case=f"c{number}") + runs("new", *[us] * 5, case=f"c{number}")
    said = report(lines)
    assert "63 cases: of each the figures are in results.csv" in said
    assert "Slowest cases" in said and "a slides / c62 2 new auto 1.12 slower [1.12, 1.12]" in said
    assert "all 63 ratios: faster 50, slower 12, same 1" in said and "c42" not in said
    assert len(of_rx(tmp_path)) == 2 * 63
    page = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert "Slowest cases" in page.texts["h3"] and "slides / c62" in page.texts["td"]


def test_builds_that_differ_in_more_than_the_pool_are_named(report, tmp_path):
    release = {"CMAKE_BUILD_TYPE": "Release", "CMAKE_C_COMPILER": "gcc"}
    debug = {"CMAKE_BUILD_TYPE": "Debug", "CMAKE_C_COMPILER": "gcc", "AVX512": "ON"}

    def built(pool, options):
        return runs(pool, 9, 9.1, build=run(pool, 0, 1)["build"] | {"options": options})

    said = report(built("old", debug) + built("new", release))
    assert "differ in more than the pool: CMAKE_BUILD_TYPE Debug / Release; AVX512 ON / not set" in said
    page = (tmp_path / "out" / "report.html").read_text()
    assert "pool thread_pool_ws 0.1.0" in page and "CMake CMAKE_BUILD_TYPE=Release" in page
    assert "more than the pool" not in report(built("old", release) + built("new", release))


PROGRAM, PREFLIGHT = ("-m", "nrbench"), (ROOT / "ci" / "oai-preflight",)


@pytest.mark.parametrize(
    "words, status",
    [
        ((*PROGRAM, "scenarios"), 141),
        ((*PROGRAM, "doctor", "--quick"), 141),
        ((*PREFLIGHT, "--help"), -signal.SIGPIPE),
    ],
)
def test_a_reader_that_has_gone_is_no_result(tmp_path, words, status):
    """1 is one of each of these."""
    read, write_end = os.pipe()
    os.close(read)
    command = [sys.executable, *map(str, words)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "nr_ulsim_bench")}
    done = subprocess.run(command, env=environment, stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (status, "")


def test_matplotlib_has_no_settings_of_the_user(tmp_path):
    (tmp_path / "mine").write_text("text.usetex: True\nbackend: no-such\n")
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\n")
    user = {"MPLBACKEND": "module://no_such", "MATPLOTLIBRC": str(tmp_path / "mine"), "MPLCONFIGDIR": "."}
    command = [sys.executable, "-m", "nrbench", "report", str(OLD_RUNS), "--out", "out"]
    environment = os.environ | user | {"PYTHONPATH": str(ROOT / "nr_ulsim_bench")}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "out" / "report.html").is_file()
