# SPDX-License-Identifier: BSD-3-Clause
"""Tables on narrow terminals: nothing is lost, and no number is broken."""

import re

import pytest
from sweep_runs import run, sweep

from nrbench.sweep.cells import case_results
from nrbench.sweep.contents import case_tables
from nrbench.sweep.fit import fitted
from nrbench.sweep.show import parts, to_text
from nrbench.sweep.table import Column, Table, failures, ratio_tables


@pytest.fixture(scope="module")
def result():
    return case_results(sweep(repeats=5))[0]


def lines(tables, width):
    text = to_text((part for table in tables for part in parts(table, width)), width)
    return text.splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 110])
def test_every_cell_is_there_and_whole(result, width):
    for table in case_tables(result, width):
        shown = lines([table], width)
        assert max(map(len, shown)) <= width
        words = " ".join(shown)
        for row in table.rows:
            for column, cell in zip(table.columns, row):
                wanted = cell.split() if column.name in ("variant", "verdict") else [cell]
                assert all(word in words for word in wanted), (table.title, cell)


def test_numbers_are_never_broken(result):
    tables = [table for table in ratio_tables(result) if table.title.startswith("Whole RX")]
    shown = lines(tables, 60)
    intervals = [row[4] for table in tables for row in table.rows if row[4]]
    assert intervals and all(any(interval in line for line in shown) for interval in intervals)


def test_what_does_not_fit_comes_below_with_the_names_of_its_rows():
    columns = [Column("", "threads"), Column("", "variant"), *(Column("", name * 8) for name in "abc")]
    table = Table("T", columns, [["1", "old", "1" * 8, "2" * 8, "3" * 8]], ["note"])
    parts_of = [fitting.table for fitting in fitted(table, 40)]
    assert [part.title for part in parts_of] == ["T", "T (continued)"]
    assert [part.rows for part in parts_of] == [
        [["1", "old", "1" * 8, "2" * 8]],
        [["1", "old", "3" * 8]],
    ]
    assert [part.notes for part in parts_of] == [[], ["note"]]
    (whole,) = fitted(table, 60)
    assert (whole.table, whole.widths) == (table, [7, 7, 8, 8, 8])


def test_words_give_way_before_numbers():
    columns = [Column("", "threads"), Column("", "median"), Column("", "verdict")]
    (fitting,) = fitted(Table("T", columns, [["1", "12.5 ±0.1", "not distinguishable at n=7"]], []), 40)
    assert fitting.widths == [7, 9, 18]


def test_long_causes_are_wrapped_and_whole():
    error = "ended by SIGSEGV. Last line: " + "x" * 50
    shown = lines(failures([run(status="crash", error=error, figures={})]), 60)
    assert max(map(len, shown)) <= 60
    assert sum(len(found) for found in re.findall("x+", "\n".join(shown))) >= 50
    assert "SIGSEGV." in " ".join(shown)
