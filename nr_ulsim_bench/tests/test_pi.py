# SPDX-License-Identifier: BSD-3-Clause
"""The part pi: tests of variances against known values, verdicts on made-up rounds; bench=pi of ws-bench."""

import random
from dataclasses import replace
from statistics import NormalDist

import pytest
from part_runs import PROGRAMS, ask, host

from nrbench.engine import Request
from nrbench.parts import pi
from nrbench.parts.pi import report, verdicts
from nrbench.stats import Results
from nrbench.variance import f_above, f_test, incomplete_beta, t_outside, welch_test

needs_program = pytest.mark.program("ws-bench")
HOST = host(200, intervals=2000000, warm=2, missing={"openmp-llvm": "not built"})


@pytest.mark.parametrize(
    "x, a, b, value",
    [
        (0.0, 2, 3, 0.0),
        (1.0, 2, 3, 1.0),
        (0.3, 1, 1, 0.3),
        (0.5, 7, 7, 0.5),
        (0.25, 2, 2, 0.15625),  # 3 x^2 - 2 x^3
        (0.2, 1, 5, 1 - 0.8**5),
        (0.9, 5, 1, 0.9**5),
        (0.5, 0.5, 0.5, 0.5),
        (0.25, 0.5, 0.5, 1 / 3),  # 2 / pi * asin(sqrt(x))
    ],
)
def test_the_incomplete_beta_function(x, a, b, value):
    assert incomplete_beta(x, a, b) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    "value, upper, lower, p",
    [
        (161.448, 1, 1, 0.05),  # from printed tables of the distribution
        (19.0, 2, 2, 0.05),
        (4.2565, 2, 9, 0.05),
        (2.9782, 10, 10, 0.05),
        (4.8491, 10, 10, 0.01),
        (1.3519, 120, 120, 0.05),
        (1.0, 199, 199, 0.5),
    ],
)
def test_the_f_distribution(value, upper, lower, p):
    assert f_above(value, upper, lower) == pytest.approx(p, rel=2e-4)


@pytest.mark.parametrize("value, degrees, p", [(12.7062, 1, 0.05), (2.2281, 10, 0.05), (2.5758, 1e7, 0.01)])
def test_students_distribution(value, degrees, p):
    assert t_outside(value, degrees) == pytest.approx(p, rel=2e-4)


def test_the_f_test_is_two_sided_and_has_no_order():
    one, other = [1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 4.0, 7.0, 10.0, 13.0]
    assert f_test(one, other).value == pytest.approx(1 / 9)
    assert f_test(one, other).p == pytest.approx(f_test(other, one).p)
    assert f_test(one, other).p == pytest.approx(2 * f_above(9, 4, 4))
    assert f_test(one, one).p == pytest.approx(1.0)
    far = [1e6 * value for value in one]
    assert 0 < f_test(one, far).p < 1e-20 and f_test(far, one).p == pytest.approx(f_test(one, far).p)
    assert f_test(one, [1.0]) is None and f_test(one, [2.0, 2.0]) is None


def test_welchs_test():
    found = welch_test([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])  # as many, of the same variance: 4 degrees
    assert found.value == pytest.approx(-3.674, abs=1e-3)
    assert found.p == pytest.approx(t_outside(3.6742346, 4))


def times_ms(mean, deviation, rounds, jitter):
    """Normally distributed, as exactly as so few can be; in an order of their own."""
    times = [NormalDist(mean, deviation).inv_cdf((number + 0.5) / rounds) for number in range(rounds)]
    return jitter.sample(times, rounds)


def lines_of(pinned=(10.0, 0.1), rival=(10.5, 0.1), rounds=200, outliers=0):
    """(mean, standard deviation) in ms; floating has (10, 0.2)."""
    jitter = random.Random(1)
    lines = []
    for how, (mean, deviation) in {"ws": (10.0, 0.2), "ws-pinned": pinned, "onetbb": rival}.items():
        for number, time_ms in enumerate(times_ms(mean, deviation, rounds, jitter)):
            late_ms = 5 if how == "ws" and number < outliers else 0
            labels = {"bench": "pi", "how": how, "round": number, "threads": 2}
            lines.append(labels | {"version": "1", "pi_error": 1e-14, "ns": (time_ms + late_ms) * 1e6})
    return [HOST, *lines]


def words_of(lines):
    return [verdict.split()[0] for verdict in verdicts(Results(lines))]


def test_less_deviation_equal_means_and_a_slower_rival():
    assert words_of(lines_of()) == ["met", "met", "met"]
    first = next(iter(verdicts(Results(lines_of()))))
    assert "standard deviation -50 %" in first and first.endswith(": significant")


def test_more_deviation_other_means_and_a_faster_rival():
    assert words_of(lines_of(pinned=(11.0, 0.4), rival=(9.0, 0.1))) == ["missed", "missed", "missed"]


def test_no_claim_without_significance():
    lines = lines_of(pinned=(10.0, 0.19), rival=(9.95, 0.5), rounds=20)
    assert words_of(lines)[0] == "not known" and words_of(lines)[2] == "not known"
    assert next(iter(verdicts(Results(lines)))).endswith(": no claim")


def test_one_outlier_is_no_claim_although_the_f_test_says_so():
    lines = lines_of(pinned=(10.0, 0.2), outliers=1)
    floating, pinned = (list(pi.ms(Results(lines), how).values()) for how in ("ws", "ws-pinned"))
    assert f_test(floating, pinned).p < 0.001
    assert words_of(lines)[0] == "not known"


def test_few_runs_leave_everything_open():
    assert set(words_of(lines_of(rounds=3))) == {"not known"}


def test_the_report_names_all_that_took_part_and_what_did_not():
    text = "\n".join(report(Results(lines_of())))
    for part in ("pinned by an observer", "oneTBB", "missing: openmp-llvm (not built)"):
        assert part in text
    assert "OpenMP reduction" not in text


def test_rivals_may_be_chosen_and_may_be_missing(tmp_path):
    for name in ("ws-bench", "libbench_onetbb.so", "libbench_openmp-gcc.so"):
        (tmp_path / name).touch()
    request = Request(tmp_path / "ws-bench", rounds=2)
    plan = pi.plan(request)
    assert {step.labels["how"] for step in plan.steps} == {"ws", "ws-pinned", "onetbb", "openmp-gcc"}
    assert list(plan.about["missing"]) == ["openmp-llvm"]
    chosen = pi.plan(replace(request, backends=("ws", "onetbb")))
    assert {step.labels["how"] for step in chosen.steps} == {"ws", "ws-pinned", "onetbb"}


@needs_program
@pytest.mark.parametrize("name", list(pi.TITLES))
@pytest.mark.parametrize("workers", [0, 3])
def test_each_library_computes_pi(name, workers):
    words = pi.library_words(name)
    if not (PROGRAMS / f"libbench_{words[0].partition('=')[2]}.so").is_file():
        pytest.skip(f"{name} was not built")
    status, (answer,) = ask(
        "ws-bench", "bench=pi", *words, "intervals=1000000", "warm=1", f"workers={workers}"
    )
    assert status == 0 and answer["pi_error"] < 1e-10 and answer["threads"] == workers + 1


@needs_program
@pytest.mark.parametrize(
    "words, error",
    [
        (["backend=none"], "backend 'none'"),
        (["backend=../x"], "backend '../x': not a name"),
        (["backend=alone"], "n/a: this pool has no reduction"),
        (["backend=alone", "mode=pinned"], "n/a: this pool has no observers"),
        (["backend=ws", "intervals=10"], "request: 'intervals' with value '10' is not understood"),
    ],
)
def test_what_cannot_be_computed_is_explained(words, error):
    status, (answer,) = ask("ws-bench", "bench=pi", *words)
    assert status == 1 and answer["error"].startswith(error)
