# SPDX-License-Identifier: BSD-3-Clause
"""The one session: rounds, resume, interruption, budget, several machines, and how it ends. A line of the
results is the number of its step."""

import math
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from nrbench import session
from nrbench.record import ResultsError
from nrbench.session import INTERRUPTED, OK, SOME_FAILED, Lane, MachineLost, Session, in_rounds

FAILS = 13
OUT = "numbers.ndjson"


class Step(NamedTuple):
    number: int

    @property
    def text(self):
        return f"number {self.number}"

    seconds = 1.0


def a_session(folder, lines=()):
    return Session(folder / OUT, str, list(lines))


def taken(folder):
    return list(map(int, (folder / OUT).read_text().split()))


def take(step):
    return [step.number]


def play(folder, numbers, take=take, budget_s=math.inf, **how):
    """@return the session, and its exit status"""
    steps, reported = [Step(number) for number in numbers], []
    there = taken(folder) if (folder / OUT).exists() else []
    made = a_session(folder, there)
    left = (one for one in steps if one.number not in there)
    made.run([Lane("", left, take, len(steps), 9.0)], budget_s)
    status = made.end(lambda *said: reported.append(said), lambda n: f"{n} fails" * (n == FAILS), **how)
    return made, status, reported


def test_each_round_has_all_in_an_order_of_its_own_and_a_longer_session_continues_a_shorter_one():
    drawn = list(in_rounds(range(6), 4, 1))
    rounds = [[one for number, one in drawn if number == each] for each in range(4)]
    assert all(sorted(each) == [*range(6)] for each in rounds) and len(set(map(tuple, rounds))) == 4
    assert drawn[:12] == list(in_rounds(range(6), 2, 1)) != list(in_rounds(range(6), 2, 2))
    for number, pair in enumerate(zip(*[iter(in_rounds(range(6), 3, 1, lambda n: n // 2))] * 2)):
        assert pair[0][1] // 2 == pair[1][1] // 2, number  # of one unit


def test_each_line_is_there_at_once_and_the_next_call_takes_the_rest(tmp_path):
    def look(step):
        assert step.number == 1 or taken(tmp_path) == [*range(1, step.number)]
        return take(step)

    assert play(tmp_path, [1, 2], look)[1] == OK
    made, status, ((lines, warnings),) = play(tmp_path, [1, 2, 3])
    assert (made.taken, lines, warnings, status) == ([3], [1, 2, 3], [], OK)


def test_a_whole_line_without_an_end_stays_and_one_that_was_cut_short_goes(tmp_path):
    (tmp_path / OUT).write_text("1\n7")
    with session.results_of(tmp_path, OUT) as path:
        assert path.read_text() == "1\n7\n"
    (tmp_path / OUT).write_text('1\n{"a"')
    with session.results_of(tmp_path, OUT):
        play(tmp_path, [1, 2])
    assert taken(tmp_path) == [1, 2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_an_interruption_is_reported_and_the_same_command_goes_on(tmp_path, number, capsys):
    def interrupted(step):
        if step.number == 2:
            os.kill(os.getpid(), number)
        return take(step)

    with session.results_of(tmp_path, OUT):
        made, status, ((lines, warnings),) = play(tmp_path, [1, 2, 3], interrupted)
    said = "interrupted: 1 of 3 runs taken; the same command takes the rest"
    assert (lines, warnings, status) == ([1], [said], INTERRUPTED) and said in capsys.readouterr().err
    assert play(tmp_path, [1, 2, 3])[1] == OK and taken(tmp_path) == [1, 2, 3]


def test_a_signal_that_nohup_ignores_stays_ignored(tmp_path):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with session.results_of(tmp_path, OUT):
        os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_a_full_disk_is_named():
    said = "/dev/full: No space left on device; the lines before are there"
    with pytest.raises(ResultsError, match=said):
        session.append(Path("/dev/full"), "1")


def test_a_folder_has_one_session_at_a_time_and_what_was_there_may_be_put_aside(tmp_path):
    (tmp_path / OUT).write_text("1\n")
    with session.results_of(tmp_path, OUT):
        with pytest.raises(ResultsError, match="another session is writing its results there"):
            with session.results_of(tmp_path, OUT):
                pass
    for name in ("numbers.1.ndjson", "numbers.2.ndjson"):
        with session.results_of(tmp_path, OUT, fresh=True) as path:
            assert not path.exists() and (tmp_path / name).read_text() == "1\n"
            path.write_text("1\n")


def test_no_step_begins_when_the_time_is_over(tmp_path, monkeypatch):
    monkeypatch.setattr(session.Progress, "elapsed_s", property(lambda self: 10.0 * self.done))
    made, status, _ = play(tmp_path, [1, 2, 3], budget_s=15)
    assert (made.taken, status) == ([1, 2], SOME_FAILED)
    assert made.cut == "stopped after 20 s (--budget); the same command takes the rest"


def test_of_three_machines_one_is_lost_and_each_takes_one_step_at_a_time(tmp_path, capsys):
    busy = {name: threading.Lock() for name in "abc"}
    with ThreadPoolExecutor(8) as pool:

        def lane(name, numbers):
            def work(step):
                assert busy[name].acquire(blocking=False)
                busy[name].release()
                if (name, step.number) == ("b", 12):
                    raise MachineLost("its cable is cut")
                return take(step)

            return Lane(name, iter(map(Step, numbers)), work, 3, 3.0, pool)

        made = a_session(tmp_path)
        made.run([lane("a", [1, 2, 3]), lane("b", [11, 12, 14]), lane("c", [21, 22, 23])])
    assert sorted(taken(tmp_path)) == [1, 2, 3, 11, 21, 22, 23]
    assert made.end(lambda *_: None, lambda _: "") == SOME_FAILED
    said = capsys.readouterr().err
    assert "b: left out: its cable is cut" in said
    assert "2 runs are left: these machines were lost: b; the same command takes the rest" in said


@pytest.mark.parametrize(
    ("numbers", "how", "status", "reports", "said"),
    [
        ([1, 2], {}, OK, 1, ""),
        ([1, FAILS], {}, SOME_FAILED, 1, "1 of 2 runs gave no figures; the same command tries them again"),
        ([FAILS], {}, SOME_FAILED, 0, "13 fails"),
        ([1, FAILS], {"are_results": True}, OK, 1, "13 fails"),
        ([FAILS], {"are_results": True}, SOME_FAILED, 1, "13 fails"),
    ],
)
def test_how_a_session_ends(tmp_path, capsys, numbers, how, status, reports, said):
    _, found, reported = play(tmp_path, numbers, **how)
    assert (found, len(reported)) == (status, reports) and said in capsys.readouterr().err
