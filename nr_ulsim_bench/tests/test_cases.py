# SPDX-License-Identifier: BSD-3-Clause
import pytest

from nrbench.cases import bound_us, parse_case, period_us, work_us


def test_bound_is_the_longest_task_or_the_share_of_a_core():
    assert bound_us("12x6", 2) == 36
    assert bound_us("1x20", 4) == 20
    assert bound_us("12x6+22x28", 2) == 36 + 308
    assert work_us("12x6+22x28") == 72 + 616
    assert bound_us("38x0.5", 2) == 9.5


def test_period_fits_the_work_on_one_core_too():
    assert [period_us(case, 2) for case in ("12x6", "22x28", "100x100", "13x97.5")] == [
        500,
        1000,
        12000,
        2000,
    ]


@pytest.mark.parametrize("case", ["", "12", "12x", "x6", "0x6", "12x6+", "12*6", "12x.5", "1.5x6"])
def test_a_broken_case_is_refused(case):
    with pytest.raises(ValueError, match="slot case"):
        parse_case(case)
