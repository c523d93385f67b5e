# SPDX-License-Identifier: BSD-3-Clause
"""The order of runs, and what is left to do after an interruption."""

from collections import Counter

from sweep_runs import HOST

from nrbench.sweep.plan import Setting, in_order, key_of, key_of_run, still_to_do
from nrbench.sweep.record import Build
from nrbench.sweep.run import Runner, Sweep, Taken

SETTINGS = [
    Setting("scenario", case, ("-n1", f"-C{threads}"), pool, None, threads, program=pool)
    for case in ("a", "b")
    for pool in ("old", "new")
    for threads in (1, 2)
]


def test_each_round_has_each_setting_once_in_an_order_of_its_own():
    steps = list(in_order(SETTINGS, 6, seed=1))
    rounds = [[setting for number, setting in steps if number == repeat] for repeat in range(6)]
    assert all(Counter(one) == Counter(SETTINGS) for one in rounds)
    assert len({tuple(map(str, one)) for one in rounds}) > 1
    assert [number for number, _ in steps] == sorted(number for number, _ in steps)


def test_the_order_comes_from_the_seed_and_more_repeats_only_add():
    assert list(in_order(SETTINGS, 3, 7)) == list(in_order(SETTINGS, 5, 7))[: 3 * len(SETTINGS)]
    assert list(in_order(SETTINGS, 3, 7)) != list(in_order(SETTINGS, 3, 8))


def taken_runs(tmp_path, take, repeats=2):
    sweep = Sweep("0123456789ab", "nr_ulsim", HOST, SETTINGS, repeats, 1, take)
    return Runner(sweep, tmp_path / "runs.ndjson").run().runs


def fine(setting):
    return Taken("ok", build=Build(sha256=setting.program))


def test_what_is_done_is_not_done_again_but_what_failed_is(tmp_path):
    def take(setting):
        bad = setting.case == "b" and setting.threads == 2
        return Taken("crash", "ended by SIGSEGV") if bad else fine(setting)

    left = still_to_do(SETTINGS, 3, 1, taken_runs(tmp_path, take))
    again = [setting for repeat, setting in left if repeat < 2]
    assert {(setting.case, setting.threads) for setting in again} == {("b", 2)} and len(again) == 4
    assert len(left) == 4 + len(SETTINGS)


def test_a_run_and_its_setting_have_one_key(tmp_path):
    runs = taken_runs(tmp_path, fine, repeats=1)
    assert {key_of_run(run) for run in runs} == {key_of(setting, 0) for setting in SETTINGS}
