# SPDX-License-Identifier: BSD-3-Clause
"""Pre-wake: the plan, the judgement on recorded answers, and the program. No figure is judged."""

from pathlib import Path

import pytest
from part_runs import PROGRAMS
from typer.testing import CliRunner

from nrbench import bench, cli
from nrbench.bench import report_again
from nrbench.driver import ask
from nrbench.engine import Part, Request
from nrbench.parts import prewake
from nrbench.parts import prewake_judge as judge
from nrbench.parts.prewake import KINDS, STEP_TEXT, Planner, parse_scenario, report
from nrbench.stats import Results, read_lines

HERE = Path(__file__).parent
DATA = HERE.parent / "data"
RECORDED = HERE / "prewake.ndjson"
PROGRAM = PROGRAMS / "ws-prewake"
needs_program = pytest.mark.program("ws-prewake")


def make_plan(quick=False, seed=1, **choice):
    request = Request(cores=2, data=DATA, quick=quick, seed=seed)
    return Planner(request, **{"realtime": True, **choice}).all()


def kind(step):
    return step.labels["kind"]


def mode(cost, **fields):
    return {"round_cost_us": cost, **fields}


@pytest.fixture(scope="module")
def results():
    return Results(read_lines(RECORDED))


def test_causes_of_late_starts_are_listed_by_size():
    line = mode([1.0], **{"late: timer late": 3, "late: gave up early": 6, "lates": 9, "late_slots": 1})
    assert list(prewake.causes(line).items()) == [("gave up early", 6), ("timer late", 3)]
    cases = {
        judge.CaseKey("regret", "rrall", "12x6", 1): {"auto": line},
        judge.CaseKey("regret", "rrall", "38x0.5", 1): {"auto": mode([1.0])},
    }
    title, *rows = prewake.cause_table(cases)
    assert "90th percentile" in title
    assert len(rows) == 2  # the head, and the case that had late starts
    assert rows[1].split() == ["rrall", "12x6", "9", "gave", "up", "early", "67%,", "timer", "late", "33%"]


def test_the_full_plan_fits_six_minutes_and_the_quick_one_a_minute():
    assert sum(case.seconds for case in make_plan()) <= 360
    assert sum(case.seconds for case in make_plan(quick=True)) <= 60


def test_the_full_plan_covers_what_is_to_be_shown():
    plan = make_plan()
    words = {word for case in plan if kind(case) == "regret" for word in case.words}
    wanted = {"class=rrall", "hog=1", "quota_percent=120", "dma_latency=0", "slack_ns=1", "jitter_us=0"}
    wanted |= {"jitter_us=5", "jitter_us=20", "jitter_us=50", "slot_us=500", "slot_us=1000"}
    wanted |= {"inject_us=5", "inject_us=30", "inject_us=100", "bimodal=20", "cap=10", "spin_price=9"}
    assert wanted <= words
    assert {kind(case) for case in plan} == set(KINDS)
    steady = [case.labels for case in plan if kind(case) == "steady"]
    assert {(case["env"], case["workers"]) for case in steady} == {
        (sched_class, workers) for sched_class in ("other", "rrall") for workers in (1, 2)
    }


def test_without_permission_no_case_asks_for_a_real_time_class():
    assert not [case for case in make_plan(realtime=False) if "class=rrall" in case.words]


def test_the_seed_alone_decides_the_order():
    assert make_plan() == make_plan() != make_plan(seed=2)


def test_a_scenario_is_a_name_or_says_all_of_itself():
    own = parse_scenario("1000:DU:7:3x50+4x5:drift_ppm=50", DATA)
    assert own.words() == ("slot_us=1000", "pattern=DU", "jitter_us=7", "bursts=3x50+4x5", "drift_ppm=50")
    (case,) = make_plan(envs=("hog",), scenarios=("500:UD:20:12x6",))
    labels = {"kind": "regret", "env": "hog", "scenario": "500:UD:20:12x6"}
    assert labels.items() <= case.labels.items()
    for wrong in ("nonsense", "500:UX:0:12x6", "500:U::12x6", "500:U:0"):
        with pytest.raises(ValueError, match="none of steady"):
            parse_scenario(wrong, DATA)
    with pytest.raises(ValueError, match="none of normal"):
        make_plan(envs=("warm",))


def test_a_constant_is_chosen_in_one_half_of_the_rounds_and_paid_in_the_other():
    # Even rounds choose a (1 < 2), odd ones b (1 < 9); both pay what the other half says.
    costs = {"fixed:1": [1.0, 9.0, 1.0, 9.0], "fixed:2": [2.0, 1.0, 2.0, 1.0]}
    assert judge.best_constant(costs) == "fixed:2"
    assert judge.tuned_cost(costs) == pytest.approx((9.0 + 9.0 + 2.0 + 2.0) / 4)
    assert judge.tuned_cost({"off": [4.0], "fixed:1": [3.0]}) == 3.0


def test_regret_counts_off_among_the_constants_but_not_hot():
    modes = {"off": mode([10.0] * 4), "fixed:20": mode([20.0] * 4), "hot": mode([1.0] * 4)}
    modes["auto"] = mode([10.9] * 4)
    found = judge.regret(modes)
    assert (found.best, found.ratio, found.rounds) == ("off", pytest.approx(1.09), 4)
    assert found.low == found.high == pytest.approx(found.ratio)
    assert found.passed and not judge.regret({**modes, "auto": mode([11.2] * 4)}).passed
    assert judge.regret({"auto": mode([1.0]), "off": mode([1.0])}) is None


def test_rounds_in_which_others_had_the_cpus_do_not_count_while_enough_are_left():
    others = [0.0, 0.1, 0.9, 0.15, -0.1]
    modes = {name: mode([10.0] * 5, round_others=others) for name in ("off", "fixed:9")}
    modes["auto"] = mode([9.0, 9.0, 99.0, 9.0, 9.0], round_others=others)
    found = judge.regret(modes)
    assert (found.ratio, found.rounds, found.all_rounds) == (pytest.approx(0.9), 4, 5)
    modes["auto"]["round_others"] = [0.9, 0.9, 0.9, 0.0, 0.0]
    assert judge.regret(modes).rounds == 5


def times(p50, p99, name="lateness"):
    return {f"{name}_p50_us": p50, f"{name}_p99_us": p99}


def test_lateness_is_judged_where_off_is_late():
    late = judge.cut({"off": times(40, 60), "auto": times(12, 30)}, "lateness")
    assert late.passed and (late.p50, late.p99) == (pytest.approx(0.7), pytest.approx(0.5))
    assert not judge.cut({"off": times(40, 60), "auto": times(12.1, 30)}, "lateness").passed
    assert not judge.cut({"off": times(40, 60), "auto": times(1, 31)}, "lateness").passed
    assert judge.cut({"off": times(10, 60), "auto": times(99, 99)}, "lateness").passed is None
    assert judge.cut({"off": times(40, 60)}, "lateness") is None


@pytest.mark.parametrize(
    "spin, worst, extra, kept",
    [(10, 11, 15, True), (10.1, 10.1, 9, False), (5, 11.1, 9, False), (5, 5, 16, False)],
)
def test_the_cap_holds_by_the_count_of_the_pool_and_of_the_kernel(spin, worst, extra, kept):
    auto = {"spin_percent": spin, "spin_percent_max": worst, "worker_extra_percent": extra}
    assert judge.cpu_kept({"auto": auto, "off": {"worker_extra_percent": 5}}, 10) is kept


def test_a_step_is_over_when_two_windows_in_a_row_are_near_where_it_settles():
    line = {"window_s": 0.1, "window_lateness_us": [50, 9, 30, 9, 8, 30, 4, 4, 5, 4, 4, 30]}
    found = judge.recovery(line)
    assert (found.first_us, found.settled_us, found.seconds) == (50, 4, pytest.approx(0.3))
    assert found.passed
    assert not judge.recovery({**line, "window_s": 1.0}).passed
    assert not judge.recovery({**line, "window_lateness_us": [11] * 12}).passed


def test_limits_on_steady_slots_and_on_rest():
    slot = {"bound_us": 100, "makespan_p50_us": 108, "cpu_per_work": 2.0}
    assert judge.steady_passed(slot)
    assert not judge.steady_passed({**slot, "makespan_p50_us": 108.1})
    assert not judge.steady_passed({**slot, "cpu_per_work": 2.1})
    assert judge.idle_passed({"cpu_us": 100, "ctx_switches": 0})
    assert not judge.idle_passed({"cpu_us": 1, "ctx_switches": 1})


@pytest.mark.parametrize("off, auto, passed", [(0.9, 0.79, True), (0.9, 0.77, False), (0.1, 0.04, False)])
def test_a_normal_thread_keeps_its_share_but_for_the_cap(off, auto, passed):
    modes = {"off": {"canary_share": [0.9, off]}, "auto": {"canary_share": [0.9, auto]}}
    assert judge.canary_passed(modes, 10) is passed


def test_the_report_judges_each_recorded_case_and_names_what_was_skipped(results):
    text = "\n".join(report(results))
    parts = ("normal", "wake30", "steady 500 us", "Steps", "a new pool", "idle for a second", "share of each")
    assert all(part in text for part in parts)
    assert "  quota, steady: no control group with the cpu controller" in text
    assert "in 2 of 2 cases" in text
    assert max(len(line) for line in text.splitlines()) <= 130


def test_a_case_without_a_single_burst_is_named_not_judged():
    labels = {"bench": "prewake", "kind": "regret", "env": "normal", "scenario": "none", "workers": 1}
    lines = [{**labels, "mode": mode, "slots": 0} for mode in ("off", "auto")]
    text = list(report(Results(lines)))
    assert "  normal, none: no slot had a burst" in text


def test_a_report_can_be_made_again_with_its_figure(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "prewake.ndjson").write_text(RECORDED.read_text())
    report_again(tmp_path)
    assert "Regret" in capsys.readouterr().out
    assert (tmp_path / "prewake.txt").is_file() and (tmp_path / "prewake.png").stat().st_size > 1000


def test_the_command_line_takes_the_part_alone(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(Part, "run", lambda part, request: asked.append((part, request)))
    words = ["prewake", "--env", "hog", "--kind", "regret", "--seed", "3", "--out", str(tmp_path)]
    (tmp_path / "p").touch()
    assert CliRunner().invoke(cli.app, [*words, "--program", str(tmp_path / "p")]).exit_code == 0
    ((part, request),) = asked
    assert (request.out, request.seed, request.quick) == (tmp_path, 3, False)
    steps = part.plan(request).steps
    assert steps and {(step.labels["kind"], step.labels["env"]) for step in steps} == {("regret", "hog")}


@pytest.mark.parametrize(
    "words, parts",
    [
        ([], ["lives", "pools", "short replay", "quick prewake"]),
        (["--quick"], ["lives", "pools", "short replay"]),
        (["--backends", "glib"], ["pools", "short replay"]),
        (["--only", "wake"], ["pools"]),
        (["--only", "replay"], ["full replay"]),
        (["--only", "replay", "--quick"], ["short replay"]),
        (["--only", "prewake"], ["full prewake"]),
        (["--only", "prewake", "--only", "wake", "--quick"], ["pools", "quick prewake"]),
        (["--only", "scan"], ["scan"]),
        (["--only", "lives", "--only", "wake"], ["lives", "pools"]),
        (["--only", "pi", "--only", "scan", "--only", "trace"], ["trace", "scan", "pi"]),
        (["--only", "tail", "--only", "latch"], ["latch", "tail"]),
    ],
)
def test_a_run_of_everything_has_the_short_versions(words, parts, tmp_path, monkeypatch):
    ran = []

    def note(part, request):
        quick = {"prewake": "quick " if request.quick else "full "}.get(part.name, "")
        ran.append(f"{quick}{part.name}")
        return 0

    def note_replay(asked):
        ran.append("short replay" if asked.short else "full replay")
        return 0

    monkeypatch.setattr(Part, "run", note)
    monkeypatch.setattr(bench.sweep_replay, "run", note_replay)
    (tmp_path / "ws-prewake").touch()
    answer = CliRunner().invoke(cli.app, ["run", "--program", str(tmp_path / "ws-bench"), *words])
    assert answer.exit_code == 0 and ran == parts


def test_a_program_that_was_killed_is_asked_once_more(tmp_path):
    program = tmp_path / "ws-prewake"
    program.write_text('#!/bin/sh\necho x >>"$0.asked"\necho \'{"error": "no result; killed"}\'\n')
    program.chmod(0o755)
    plan = prewake.plan(Request(tmp_path / "ws-bench", data=DATA, quick=True))
    assert plan.ask(plan.steps[0]) == [{"error": "no result; killed"}]
    assert (tmp_path / "ws-prewake.asked").read_text() == "x\nx\n"


def ask_for(*words):
    return ask(PROGRAM, ["warm_ms=5", "measure_ms=20", "block_ms=4", *words], 60)


@needs_program
def test_each_mode_gives_one_answer_and_one_named_twice_has_twice_the_slots():
    answers = ask_for("modes=off,auto,fixed:20,auto", "bursts=12x6+3x20", "pattern=DU")
    assert [(a["mode"], a["lead_us"]) for a in answers] == [("off", 0), ("auto", 0), ("fixed:20", 20)]
    slots = [a["slots"] for a in answers]
    assert slots[0] > 0 and slots == [slots[0], 2 * slots[0], slots[0]]
    assert all(a["work_us"] == pytest.approx(132) for a in answers)
    assert all(len(a["round_cost_us"]) == len(answers[0]["round_cost_us"]) for a in answers)
    assert answers[0]["hits"] == 0


@needs_program
def test_recorded_slots_are_work_too():
    (answer,) = ask_for("modes=auto", f"file={HERE / 'synthetic.slots'}")
    assert answer["slots"] > 0 and answer["work_us"] > 0


@needs_program
@pytest.mark.parametrize(
    "words",
    [
        ("quota_percent=100", "hog=1"),
        ("dma_latency=0", "slack_ns=1"),
        ("class=rrall", "occupancy=50"),
        ("pin=1", "inject_us=50", "bimodal=50"),
    ],
)
def test_an_environment_is_had_or_the_reason_is_told(words):
    for answer in ask_for("modes=off", *words):
        assert answer.get("slots") or answer["skipped"]


@needs_program
def test_each_step_has_an_answer():
    answers = ask_for("bench=step", "pattern=DU", "next_pattern=UUD", "inject_us=30", "measure_ms=200")
    assert [a["mode"] for a in answers] == list(STEP_TEXT)
    assert all(len(a["window_lateness_us"]) == 2 for a in answers)


@needs_program
def test_idle_and_canary_answer_for_each_mode():
    (idle,) = ask_for("bench=idle")
    assert idle["wall_s"] >= 1 and idle["cpu_us"] >= 0
    canary = ask_for("bench=canary")
    assert [a["mode"] for a in canary] == ["off", "auto"]
    assert all(len(a["canary_share"]) == a["cores"] for a in canary)


@needs_program
@pytest.mark.parametrize(
    "word, error",
    [
        ("modes=off,fixed", "request: 'modes' with value 'off,fixed' is not understood"),
        ("pattern=DD", "request: 'pattern' with value 'DD' is not understood"),
        ("period_us=500", "request: 'period_us' with value '500' is not understood"),
        ("workers=0", "request: 'workers' with value '0' is not understood"),
        ("file=none.slots", "none.slots: No such file or directory"),
    ],
)
def test_a_request_that_makes_no_sense_is_explained(word, error):
    assert ask(PROGRAM, [word], 60) == [{"error": error}]
