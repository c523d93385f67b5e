# SPDX-License-Identifier: BSD-3-Clause
"""The order of runs, and what is left to do after an interruption."""

from collections import Counter
from dataclasses import replace

from sweep_runs import HOST

from nrbench.sweep.record import Build, identity
from nrbench.sweep.session import Runner, Setting, Sweep, in_order, still_to_do

SETTINGS = [
    Setting("scenario", case, ("-n1", f"-C{threads}"), pool, None, threads, program=pool, repeats=6)
    for case in ("a", "b")
    for pool in ("old", "new")
    for threads in (1, 2)
]


def test_each_round_has_each_setting_once_in_an_order_of_its_own():
    steps = list(in_order(SETTINGS, seed=1))
    rounds = [[setting for number, setting in steps if number == repeat] for repeat in range(6)]
    assert all(Counter(one) == Counter(SETTINGS) for one in rounds)
    assert len({tuple(map(str, one)) for one in rounds}) > 1
    assert [number for number, _ in steps] == sorted(number for number, _ in steps)


def repeated(count):
    return [replace(setting, repeats=count) for setting in SETTINGS]


def test_the_order_comes_from_the_seed_and_more_repeats_only_add():
    short, long = ([one for _, one in in_order(repeated(count), 7)] for count in (3, 5))
    assert list(map(str, short)) == list(map(str, long))[: len(short)]
    assert list(in_order(SETTINGS, 7)) != list(in_order(SETTINGS, 8))


def test_each_setting_has_its_own_number_of_repeats():
    first, second = replace(SETTINGS[0], repeats=2), replace(SETTINGS[1], repeats=5)
    steps = list(in_order([first, second], 1))
    assert Counter(setting for _, setting in steps) == {first: 2, second: 5}
    assert {repeat for repeat, setting in steps if setting is first} == {0, 1}


def taken_runs(tmp_path, take, repeats=2):
    sweep = Sweep("0123456789ab", "nr_ulsim", HOST, repeated(repeats), 1, take)
    runner = Runner(sweep, tmp_path / "runs.ndjson")
    runner.run()
    return runner.runs


CRASH = {"status": "crash", "error": "ended by SIGSEGV"}


def fine(setting):
    return {"status": "ok", "build": Build(sha256=setting.program)}


def test_what_is_done_is_not_done_again_but_what_failed_is(tmp_path):
    def take(setting):
        bad = setting.case == "b" and setting.threads == 2
        return CRASH if bad else fine(setting)

    left = still_to_do(repeated(3), 1, taken_runs(tmp_path, take))
    again = [setting for repeat, setting in left if repeat < 2]
    assert {(setting.case, setting.threads) for setting in again} == {("b", 2)} and len(again) == 4
    assert len(left) == 4 + len(SETTINGS)


def test_a_run_that_failed_keeps_its_program(tmp_path):
    runs = taken_runs(tmp_path, lambda setting: CRASH, repeats=4)
    assert {identity(run, run.repeat) for run in runs} == {
        identity(setting, repeat) for setting in SETTINGS for repeat in range(4)
    }
