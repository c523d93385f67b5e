# SPDX-License-Identifier: BSD-3-Clause
"""Pre-wake modes against each other, on times that are known."""

import pytest
from sweep_runs import rounds

from nrbench.sweep.cells import case_results
from nrbench.sweep.figures import RX
from nrbench.sweep.table import OVER_ALL, UNPAIRED, ratio_over_all, spin_tables

NOISE = [1.0, 1.02, 0.98, 1.01, 0.99, 1.005, 0.995]


def result_of(shares, repeats=7, noise=True):
    """Of the pool's modes against off: by mode, then by number of threads."""
    runs = []
    for spin, by_threads in shares.items():
        for threads, share in by_threads.items():
            times = [100 * share * (n if noise else 1) for n in NOISE[:repeats]]
            runs += rounds(times, "new", spin, threads=threads, cpu_s=2.0 * share)
    (result,) = case_results(runs)
    return result


OFF = {1: 1.0, 2: 1.0}


def test_each_other_mode_is_compared_with_off():
    result = result_of({"auto": {1: 0.8, 2: 0.9}, "off": OFF, "fixed:40": {1: 1.0, 2: 1.0}})
    auto, fixed = spin_tables(result)
    assert auto.title == "Pre-wake: new auto against new off"
    assert fixed.title == "Pre-wake: new fixed:40 against new off"
    assert [column.name for column in auto.columns] == [
        "threads",
        "symbol processing",
        "ULSCH decoding",
        "whole RX",
        "CPU time",
    ]
    assert [row[0] for row in auto.rows] == ["1", "2", "all"]
    assert OVER_ALL in auto.notes and UNPAIRED not in auto.notes
    assert auto.rows[0][3] == "0.80 [0.80, 0.80] faster" and auto.rows[0][4] == "0.80 [0.80, 0.80] less"
    assert auto.rows[1][3] == "0.90 [0.90, 0.90] faster"
    assert auto.rows[2][3] == "0.85 [0.85, 0.85] faster"
    assert {row[3] for row in fixed.rows} == {"1.00 [1.00, 1.00]"}


def test_over_all_is_the_geometric_mean_within_rounds():
    result = result_of({"off": OFF, "auto": {1: 0.5, 2: 2.0}})
    assert ratio_over_all(result, "new off", "new auto", RX).value == pytest.approx(1.0)
    result = result_of({"off": OFF, "auto": {1: 0.5, 2: 0.5}})
    assert ratio_over_all(result, "new off", "new auto", RX).repeats == 7


def test_one_number_of_threads_has_no_mean_over_them():
    result = result_of({"off": {2: 1.0}, "auto": {2: 0.9}})
    assert ratio_over_all(result, "new off", "new auto", RX) is None
    assert [row[0] for table in spin_tables(result) for row in table.rows] == ["2"]


def test_a_number_of_threads_without_a_result_ends_the_mean_not_the_table():
    result = result_of({"off": OFF, "auto": {1: 0.9}})
    assert ratio_over_all(result, "new off", "new auto", RX) is None
    (table,) = spin_tables(result)
    assert table.rows[1] == ["2", "-", "-", "-", "-"]


def test_few_repeats_have_no_intervals_and_it_is_said():
    (table,) = spin_tables(result_of({"off": OFF, "auto": {1: 0.8, 2: 0.8}}, repeats=3))
    assert table.rows[0][3] == "0.80 -"
    assert "no intervals below 5 repeats" in table.notes
