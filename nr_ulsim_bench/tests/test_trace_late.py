# SPDX-License-Identifier: BSD-3-Clause
"""Tasks that begin after the phase that pushed them has ended."""

import pytest
from trace_log import MAIN, W0, Log, analyse, only

from nrbench.trace import events as ev
from nrbench.trace.events import ULSCH_DECODING
from nrbench.trace.summary import Names, summarize


def late_tasks(counted: int = 4) -> Log:
    """Four tasks, of which the phase's thread runs one in time. When the phase is over, a worker that woke
    by its own timer runs two, and the phase's thread the last one."""
    log = Log()
    log.pool()
    log.begin(0)
    for i in range(4):
        log.push(10 + i, i)
    log.run(20, 30, 0, MAIN)
    log.end(40, tasks=counted)
    log.unpark(45, how=ev.BY_TIMER)
    log.run(50, 60, 1, W0)
    log.run(60, 70, 2, W0)
    log.run(80, 90, 3, MAIN)
    return log


def test_they_count_as_stolen_and_by_timer():
    analysis = analyse(late_tasks())
    figures = only(analysis)
    assert (figures.tasks, figures.lags.count, figures.times.count) == (4, 4, 4)
    assert (figures.stolen, figures.by_timer) == (2, 1)
    (phase,) = summarize(analysis, Names(analysis), set())["phases"]
    assert (phase["steal_share"], phase["by_own_timer"]) == (0.5, 1)


def test_those_of_a_phase_that_is_left_out_do_not():
    figures = only(analyse(late_tasks(counted=5)))
    assert (figures.left_out, figures.stolen, figures.by_timer) == (1, 0, 0)
    assert (figures.lags.count, figures.times.count) == (0, 0)


@pytest.mark.parametrize("in_time, stolen", [(0, 0), (1, 1), (3, 3)])
def test_those_that_begin_in_time_count_once(in_time, stolen):
    log = Log()
    log.pool()
    log.begin(0)
    for i in range(3):
        log.push(10 + i, i)
        log.run(20 + 10 * i, 29 + 10 * i, i, W0 if i < in_time else MAIN)
    log.end(60, tasks=3)
    figures = only(analyse(log))
    assert (figures.stolen, figures.by_timer, figures.lags.count) == (stolen, 0, 3)


def test_those_of_a_phase_that_was_given_up_do_not(monkeypatch):
    monkeypatch.setattr("nrbench.trace.ledger.OPEN_MAX", 1)
    log = Log()
    log.pool()
    log.begin(0)
    log.push(10, 1)
    log.begin(20, ULSCH_DECODING)  # the first is given up
    log.run(30, 40, 1, W0)
    log.end(50, tasks=0, name=ULSCH_DECODING)
    analysis = analyse(log)
    figures = analysis.figures[1, "symbol_processing"]
    assert (figures.unfinished, figures.stolen, figures.lags.count, figures.times.count) == (1, 0, 0, 0)
