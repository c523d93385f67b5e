# SPDX-License-Identifier: BSD-3-Clause
from itertools import groupby
from types import SimpleNamespace

from nrbench.backends import BACKENDS, CLASSES, FACADES, Present
from nrbench.driver import Calibration
from nrbench.engine import Request
from nrbench.parts.pools.part import BUDGET_S, QUICK_BUDGET_S
from nrbench.parts.pools.plan import PARTS, Planner, make_plan

HELPERS = {"ws", *FACADES, "alone", "onetbb", "openmp-gcc", "openmp-llvm", "dispenso", "enkits"} | {
    "forkunion",
    "citor",
}
OPTIONAL = {"bs", "taskflow", "dispenso", "enkits", "forkunion", "libfork", "citor", "ocudu"}


def pools(optional=False):
    return tuple(
        Present(backend, "1", backend.name in HELPERS, backend.name != "alone", backend.name in HELPERS)
        for backend in BACKENDS
        if optional or backend.name not in OPTIONAL
    )


def planner(cores=2, optional=False, **options):
    request = Request(cores=cores, **{"only": PARTS, "classes": CLASSES, **options})
    return Planner(request, pools(optional), Calibration(3000, 5000, 8000, 90000))


def plan_of(cores=2, optional=False, budget_s=BUDGET_S, **options):
    return make_plan(planner(cores, optional, **options), budget_s)


def steps_of(cores=2, budget_s=BUDGET_S, **options):
    """Labels and words of the steps."""
    for step in plan_of(cores, budget_s=budget_s, **options).steps:
        yield SimpleNamespace(sched_class=step.labels["class"], words=step.words, **step.labels)


def test_the_full_plan_fits_its_budget_with_three_rounds_of_slots():
    plan = plan_of()
    assert plan.seconds <= BUDGET_S
    assert plan.rounds["slot"] >= 3
    assert plan.rounds["coliseum"] >= 9


def test_the_quick_plan_fits_its_budget():
    plan = plan_of(quick=True, budget_s=QUICK_BUDGET_S)
    assert plan.seconds <= QUICK_BUDGET_S
    assert plan.rounds["slot"] >= 2


def test_more_pools_make_less_of_each_measurement_not_fewer_of_them():
    few, many = plan_of(), plan_of(optional=True)
    assert many.seconds <= BUDGET_S
    assert (many.scale, sum(many.rounds.values())) < (few.scale, sum(few.rounds.values()))
    assert {step.labels["backend"] for step in many.steps} >= OPTIONAL


def number(measurement, name):
    return next(int(w.partition("=")[2]) for w in measurement.words if w.startswith(f"{name}="))


def slots(**options):
    return [m for m in steps_of(**options) if m.bench == "slot"]


def test_slots_count_only_after_the_pool_has_settled():
    for m in slots():
        before_us = (number(m, "start") + number(m, "warm")) * number(m, "period_us")
        assert before_us >= (500_000 if m.backend == "ws" else 90_000)
        assert number(m, "slots") >= 8


def test_the_start_is_the_first_tenth_of_a_second():
    for m in slots():
        assert abs(number(m, "start") * number(m, "period_us") - 100_000) <= number(m, "period_us") / 2


def test_tiny_tasks_are_compared_with_no_pool_in_all_classes_quick_or_not():
    for quick in (False, True):
        tiny = {(m.backend, m.sched_class) for m in slots(quick=quick) if m.case == "38x0.5"}
        assert tiny >= {(name, c) for name in ("ws", "alone") for c in ("other", "rr", "rrall")}


def test_what_the_coliseum_compares_is_measured_one_right_after_the_other():
    steps = steps_of(only=("coliseum",), rounds=2)
    runs = [key for key, _ in groupby((m.round, m.bench, m.case, m.sched_class) for m in steps)]
    assert len(runs) == len(set(runs))


def test_pools_that_are_chosen_by_name_take_part_everywhere():
    def classes(**options):
        return {m.sched_class for m in steps_of(**options) if m.backend == "eigen"}

    assert classes() == {"other"}
    assert classes(backends=("eigen",), budget_s=1e6) == {"other", "rr", "rrall"}


def test_a_stream_leaves_its_producer_a_core_and_settles_too():
    streams = [m for m in steps_of(cores=4, budget_s=1e6) if m.bench == "stream"]
    assert {m.workers for m in streams if m.backend != "alone"} == {3}
    for m in streams:
        before_ns = (number(m, "start") + number(m, "warm")) * number(m, "period_ns")
        assert before_ns >= (0.499e9 if m.backend == "ws" else 0.099e9)


def test_a_fan_is_measured_where_tasks_can_push():
    cases = {m.case for m in steps_of() if m.bench == "stream"}
    assert cases == {"1x10"}  # none of these pools says that they can


def test_a_coliseum_by_itself_has_more_rounds():
    alone = plan_of(only=("coliseum",))
    assert alone.rounds["coliseum"] == 25 and alone.seconds <= BUDGET_S


def test_every_round_holds_the_same_measurements_in_another_order():
    steps = list(steps_of(only=("wake",), rounds=2))
    first, second = ([m.words for m in steps if m.round == number] for number in (0, 1))
    assert first != second and sorted(first) == sorted(second)


def test_the_seed_alone_decides_the_order():
    plans = [plan_of(only=("wake",), rounds=1, seed=seed).steps for seed in (1, 1, 2)]
    assert plans[0] == plans[1] != plans[2]


def test_rivals_get_as_many_computing_threads_as_cores_in_real_time_classes():
    for config in planner().slot_configs():
        if config.pool.backend.name not in ("ws", "alone") and config.sched_class != "other":
            assert config.workers + config.pool.waiter_helps == 2


def test_the_own_pool_is_measured_with_more_workers_than_cores():
    counts = {c.workers for c in planner().slot_configs() if c.pool.backend.name == "ws"}
    assert counts == {1, 2, 8}


def test_openmp_is_told_by_its_environment_whether_to_sleep():
    words = {m.mode: m.words for m in steps_of() if m.backend == "openmp-gcc"}
    assert "env=OMP_WAIT_POLICY=passive" in words["default"]
    assert "env=OMP_WAIT_POLICY=active" in words["hot"]


def test_a_hog_runs_in_the_normal_class_only():
    hogged = [m for m in steps_of() if m.hog]
    assert hogged and all(m.sched_class == "other" and "hog=1" in m.words for m in hogged)


def test_nested_work_is_for_pools_that_join_inside_tasks():
    nested = {m.backend for m in steps_of() if m.case == "nested"}
    assert nested == {"ws", "alone", "onetbb", "openmp-gcc"}


def coliseum(**options):
    return list(steps_of(only=("coliseum",), **options))


def test_other_interfaces_of_this_pool_take_part_in_the_coliseum_by_itself_only():
    assert not set(FACADES) & {m.backend for m in steps_of()}
    facades = [m for m in coliseum() if m.backend in FACADES]
    assert {m.backend for m in facades} == set(FACADES)
    assert {(m.sched_class, m.workers) for m in facades} == {("other", 1)}
    assert "empty" in {m.case for m in facades}
