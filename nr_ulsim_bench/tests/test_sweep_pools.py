# SPDX-License-Identifier: BSD-3-Clause
"""--old and --new that name builds with the other pool: refused, or measured and said in every report."""

from __future__ import annotations

import os

import pytest
from fake import a_program, printing
from made_up import NEW_POOL, checked, nrbench, run, runs

from nrbench.sweep.configuration import wrong_pools
from nrbench.sweep.parse import pool_of

pytestmark = pytest.mark.usefixtures("no_pictures")
OAI, OURS = printing("v2.3.0-old-2-threads.txt"), printing("v2.3.0-new-2-layers.txt")


@pytest.fixture
def sweep(tmp_path):
    def run(old, new, *more, status=0):
        words = [
            *(("--old", a_program(tmp_path / "a", f"{old}# a")) if old else ()),
            *(("--new", a_program(tmp_path / "b", f"{new}# b")) if new else ()),
            *("--out", tmp_path / "out", "--cases", "quick:prb106-mcs9"),
            *("--threads", "2", "--repeats", "1", "--spin", "auto"),
            *("--cpus", min(os.sched_getaffinity(0))),  # no runs side by side
        ]
        return one_line(nrbench("sweep", *words, *more, status=status))

    return run


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_swapped_builds_are_refused_before_anything_is_measured(sweep, tmp_path):
    said = sweep(OURS, OAI, status=2)
    assert f"nrbench: --old {tmp_path}/a/nr_ulsim has thread_pool_ws 0.1.0: shape B2" in said
    assert f"--new {tmp_path}/b/nr_ulsim has OAI's own pool. --old takes a build of OAI with" in said
    assert "--any-pool" in said and not (tmp_path / "out").exists()


@pytest.mark.parametrize("old, new", [(OURS, OURS), (OAI, OAI), (None, OAI), (OURS, None)])
def test_one_wrong_build_is_refused_with_what_to_do(sweep, tmp_path, old, new):
    assert "-DCMAKE_PROJECT_OpenAirInterface_INCLUDE=" in sweep(old, new, status=2)
    assert not (tmp_path / "out").exists()


def test_with_any_pool_they_are_measured_and_all_reports_say_so(sweep, tmp_path):
    out, again = tmp_path / "out", tmp_path / "again"
    reports = [sweep(OURS, OAI, "--any-pool"), (out / "report.txt").read_text(encoding="utf-8")]
    assert "--old takes a build of OAI with its own pool" in reports[0]
    reports += [nrbench("report", out, "--out", again), (again / "report.html").read_text(encoding="utf-8")]
    for report in map(one_line, reports):
        assert "the build given as --old (program " in report
        assert "has thread_pool_ws 0.1.0: shape B2" in report
        assert "the build given as --new (program " in report


def test_a_program_that_does_not_come_as_far_is_not_refused(sweep, tmp_path):
    a_program(tmp_path / "falls", "os.abort()")
    assert "crash: ended by SIGABRT" in sweep(OAI, None, "--new", tmp_path / "falls", status=1)


def test_a_module_that_a_failing_program_lacks_is_named(sweep, tmp_path):
    folder = a_program(tmp_path / "c", "sys.exit('[LOADER] library libldpc.so is not loaded: no file')")
    said = sweep(OAI, None, "--new", folder, status=1)
    assert f"{folder}/nr_ulsim fails: [LOADER] library libldpc.so is not loaded: no file" in said


def test_the_program_is_asked_with_few_slots(sweep, tmp_path):
    log = tmp_path / "log"
    program = a_program(tmp_path / "b", OURS) / "nr_ulsim"
    program.write_text(program.read_text() + f"\nprint(*options, file=open({str(log)!r}, 'a'))\n")
    sweep(OAI, None, "--new", program.parent, "--trials", "40")
    asked, *measured = log.read_text().splitlines()
    assert "-n2 " in asked and "-C2" in asked
    assert len(measured) == 2 and all("-n40 " in line for line in measured)


def test_one_program_on_both_sides_is_refused_unless_asked_for(sweep, tmp_path):
    program = a_program(tmp_path / "one", OURS) / "nr_ulsim"
    twice = ("--old", program.parent, "--new", program.parent)
    said = sweep(None, None, *twice, status=2)
    assert f"one and the same program is given twice: --old {program}, --new {program}" in said
    assert "the build given as --old (program " in sweep(None, None, *twice, "--any-pool")


def test_the_gnbs_pool_is_taken_of_several():
    ours = "thread_pool_ws 0.1.0: shape B2, pool {}: 2 workers"
    text = f"\x1b[0m{ours.format('UE-tpool')}\r\n[PHY] {ours.format('gNB-tpool')} \nthread_pool_ws: report\n"
    assert pool_of(text) == ours.format("gNB-tpool")
    assert pool_of(ours.format("Tpool")) == ours.format("Tpool")
    assert pool_of("thread_pool_ws: report\nOAI") is None


def test_failed_runs_and_recorded_slots_tell_no_pool():
    def said(*times, pool="new", own=None, **changes):
        of = run("new", 0, 1)["build"] | {"pool": own}
        return len(list(wrong_pools(checked(runs(pool, *times, build=of, **changes)))))

    assert said(1.0, own=NEW_POOL) == 0 and said(1.0, 2.0) == 1
    assert said(1.0, status="failed", error="not decoded") == said(1.0, kind="replay") == 0
    assert said(1.0, pool="inline", own=NEW_POOL) == 0
