# SPDX-License-Identifier: BSD-3-Clause
"""Several hosts in one report: classes, pooled ratios and their intervals."""

import csv
import math

import numpy as np
import pytest
from sweep_runs import HOST, OTHER_HOST, rounds, sweep
from test_sweep_report import read_page

from nrbench.judge import FASTER, UNKNOWN, SAME, Paired, pooled_interval, ratio_interval
from nrbench.sweep.cells import case_results
from nrbench.sweep.classes import ALL, class_of, hosts_of, hosts_results, letters
from nrbench.sweep.classes_table import class_headlines, class_table, pooled_table, side_by_side_tables
from nrbench.sweep.report import write_report

RNG_SEED = 7


def host_number(number, **changes):
    return HOST.model_copy(update={"label": f"lab {number}", "id": f"{number:08x}"} | changes)


def of_host(host, ratio, repeats=7, threads=2):
    """Runs whose new pool takes so many times as long as the old one."""
    rng = np.random.default_rng((RNG_SEED, int(host.id, 16)))
    old = 100 * rng.lognormal(0, 0.01, repeats)
    new = ratio * old * rng.lognormal(0, 0.01, repeats)
    return [
        *rounds(list(old), "old", threads=threads, host=host),
        *rounds(list(new), "new", "auto", threads=threads, host=host),
    ]


def one_result(*runs):
    (found,) = hosts_results(case_results([run for part in runs for run in part]))
    return found


def pair(ratio, repeats=9, seed=1):
    rng = np.random.default_rng((RNG_SEED, seed))
    old = 100 * rng.lognormal(0, 0.02, repeats)
    return Paired(old, ratio * old * rng.lognormal(0, 0.02, repeats), True)


def test_one_host_pooled_has_its_own_interval():
    one = pair(0.8)
    pooled, own = pooled_interval([[one]]), ratio_interval(*one)
    assert pooled.low == pytest.approx(own.low, rel=0.01) and pooled.high == pytest.approx(own.high, rel=0.01)


def test_hosts_that_agree_narrow_the_interval_and_hosts_that_differ_widen_it():
    one = pooled_interval([[pair(0.8)]])
    alike = pooled_interval([[pair(0.8, seed=seed) for seed in range(8)]])
    apart = pooled_interval([[pair(0.6 + seed / 20, seed=seed) for seed in range(8)]])
    assert alike.high - alike.low < one.high - one.low < apart.high - apart.low


def test_two_hosts_that_contradict_each_other_give_no_verdict():
    low, high = pooled_interval([[pair(0.8), pair(1.25, seed=2)]])
    assert low < 0.82 and high > 1.2


def test_the_interval_holds_the_true_ratio_of_the_population():
    """Hosts are drawn from a population whose mean ratio is 0.8; 95 % of the intervals should hold it."""
    rng, held = np.random.default_rng(RNG_SEED), 0
    for trial in range(40):
        ratios = np.exp(rng.normal(math.log(0.8), 0.1, 8))
        hosts = [pair(ratio, 7, 100 * trial + number) for number, ratio in enumerate(ratios)]
        low, high = pooled_interval([hosts])
        held += low <= 0.8 <= high
    assert 34 <= held <= 40


def test_rounds_that_are_too_few_are_made_up_for_by_hosts():
    assert pooled_interval([[pair(0.8, 4)]]) is None
    assert pooled_interval([[pair(0.8, 4, seed) for seed in range(4)]]) is None
    assert pooled_interval([[pair(0.8, 4, seed) for seed in range(5)]]) is not None


def test_classes_are_equal_in_the_whole_whatever_their_hosts():
    many = [pair(0.5, seed=seed) for seed in range(5)]
    low, high = pooled_interval([many, [pair(2.0)]])
    assert low < 1.0 < high


def test_the_same_interval_every_time():
    hosts = [[pair(0.8), pair(0.9, seed=2)], [pair(0.7, seed=3)]]
    assert pooled_interval(hosts) == pooled_interval(hosts)


def test_a_class_is_cpu_cores_and_kernel():
    hosts = [host_number(1), host_number(2), host_number(3, kernel="6.12.0"), OTHER_HOST]
    assert class_of(hosts[0]) == class_of(hosts[1])
    assert list(letters(hosts).values()) == ["A", "B", "C"]
    names = letters(host_number(n, kernel=str(n)) for n in range(28))
    assert list(names.values())[25:] == ["Z", "AA", "AB"]


def test_runs_of_one_host_have_no_hosts_side_by_side():
    assert hosts_results(case_results(of_host(HOST, 0.8))) == []


def test_a_pooled_ratio_is_the_geometric_mean_of_the_hosts():
    hosts = [host_number(number) for number in (1, 2)]
    found = one_result(*(of_host(host, ratio) for host, ratio in zip(hosts, (0.5, 0.8))))
    own = [result.get(2, "new auto", "rx_us").ratio.value for result in found.results]
    pooled = found.pooled("A", (2, "new auto"), "rx_us")
    assert pooled.hosts == 2 and pooled.ratio.value == pytest.approx(math.sqrt(own[0] * own[1]))
    assert pooled.ratio.verdict.word == FASTER
    assert found.pooled(ALL, (2, "new auto"), "rx_us").ratio == pooled.ratio


def test_a_host_without_the_old_pool_is_not_pooled():
    lone = [run for run in of_host(host_number(3), 9.0) if run.pool == "new"]
    found = one_result(of_host(host_number(1), 0.5), of_host(host_number(2), 0.5), lone)
    assert found.baseline is None and pooled_table(found, found.main) is None
    (table,) = side_by_side_tables(found, found.main, 110)
    assert [row[1] for row in table.rows] == ["lab 1", "lab 2", "lab 3"]


def test_a_case_that_only_one_host_has_run_stands_with_that_host_alone():
    runs = [*of_host(host_number(1), 0.5), *of_host(host_number(2), 0.5)]
    other = [run.model_copy(update={"case": "other"}) for run in of_host(host_number(1), 0.5)]
    assert [found.name for found in hosts_results(case_results([*runs, *other]))] == ["slides / 273 PRB"]


def test_the_tables_name_classes_hosts_and_verdicts():
    hosts = [host_number(1), host_number(2), OTHER_HOST]
    found = one_result(*(of_host(host, ratio) for host, ratio in zip(hosts, (0.7, 0.72, 1.0))))
    assert [row[:1] + row[4:] for row in class_table(found.names, hosts_of([found])).rows] == [
        ["A", "2", "lab 1, lab 2"],
        ["B", "1", "Model B, 16 CPUs"],
    ]
    (side,) = side_by_side_tables(found, found.main, 110)
    assert [row[0] for row in side.rows] == ["A", "", "B"]
    assert side.rows[0][3].endswith("faster")
    rows = pooled_table(found, found.main).rows
    assert [(row[0], row[3], row[6].split(" at")[0]) for row in rows] == [
        ("A", "2", FASTER),
        ("B", "1", SAME),
        (ALL, "3", FASTER),
    ]
    (of, line), *others = class_headlines(found)
    assert of == "class A, 2 hosts" and line.word == FASTER and not others


def test_too_few_rounds_are_told():
    found = one_result(*(of_host(host_number(number), 0.7, 3) for number in (1, 2)))
    assert pooled_table(found, found.main).rows[0][-1] == f"{UNKNOWN} (n=3)"


def test_a_wide_table_becomes_one_for_each_number_of_threads():
    hosts = [host_number(number) for number in (1, 2)]
    runs = sweep(hosts, cases=("273 PRB",), threads=(1, 2, 4, 8), repeats=5)
    (found,) = hosts_results(case_results(runs))
    tables = list(side_by_side_tables(found, found.main, 80))
    assert [table.title.rpartition(", ")[2] for table in tables] == [
        "1 thread", "2 threads", "4 threads", "8 threads"
    ]  # fmt: skip


def test_the_report_of_many_hosts(tmp_path, capsys, no_pictures):
    """A terminal gets the hosts side by side; the files have each host's own tables, too."""
    runs = [run for number in range(8) for run in of_host(host_number(number), 0.7 + number / 100)]
    names = write_report(runs, tmp_path)
    assert sorted(names) == sorted(path.name for path in tmp_path.iterdir())
    screen, text = capsys.readouterr().out, (tmp_path / "report.txt").read_text(encoding="utf-8")
    assert "Whole RX, against old" in text and "Whole RX, against old" not in screen
    for shown in (screen, text):
        assert "Classes pooled: whole RX, against old" in shown and "class A, 8 hosts" in shown
    page, found = read_page(tmp_path)
    assert "Hosts side by side" in found.texts["h2"] and "class A, 8 hosts" in found.texts["ul"]
    assert 'alt="slides / 273 PRB, hosts side by side"' in page
    with open(tmp_path / "classes.csv", encoding="utf-8") as rows:
        row = next(row for row in csv.DictReader(rows) if row["figure"] == "rx_us")
    assert row["hosts"] == "8" and row["verdict"] == "faster"
    assert float(row["ratio_low"]) < float(row["ratio"]) < float(row["ratio_high"])
