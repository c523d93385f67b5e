# SPDX-License-Identifier: BSD-3-Clause
"""The share of the CPUs that had nothing to do in a phase."""

import json

import pytest
from nrbench.trace.report import about, recorded_cores
from nrbench.trace.summary import Names, summarize
from nrbench.trace.text import tables
from trace_log import W0, W1, Log, analyse, only


def phase_of_three_threads(log: Log) -> Log:
    """100 long: two workers run a task of 40 each, the phase's thread does things of its own for 20."""
    log.begin(0)
    log.push(5, 1)
    log.push(10, 2)
    log.run(30, 70, 1, W0)
    log.run(50, 90, 2, W1)
    log.join(20, 100)
    log.end(100, tasks=2)
    return log


def started(cpus: int, workers: int = 2) -> Log:
    log = Log()
    log.pool(workers=workers, cpus=cpus)
    return log


@pytest.mark.parametrize(
    "log, cores, room",
    [
        (started(cpus=2), 0, 200),
        (started(cpus=2), 64, 200),  # the pool knows better than the recorder
        (started(cpus=4), 1, 300),
        (Log(), 2, 200),  # a session that attaches to a program: two CPUs, however many threads
        (Log(), 64, 300),  # one a thread
    ],
)
def test_as_many_cpus_as_there_are(log, cores, room):
    figures = only(analyse(phase_of_three_threads(log), cores=cores))
    assert (figures.busy_ns, figures.room_ns) == (40 + 40 + 20, room)
    assert figures.idle_share == pytest.approx(1 - 100 / room)


def test_without_a_number_of_cpus_there_is_no_idle_share():
    analysis = analyse(phase_of_three_threads(Log()))
    summary = summarize(analysis, Names(analysis), set())
    assert json.loads(json.dumps(summary))["phases"][0]["idle_share"] is None
    phases = next(tables(summary))
    assert phases.rows[1][-1] == "-" and "-: the number of CPUs is not known" in phases.note
    assert summary["phases"][0]["duration"]["max_us"] == 0.1


@pytest.mark.parametrize(
    "recorded, cores", [('{"cores": 2}', 2), ("{}", 0), ('{"cores": "2"}', 0), ('{"cores": -1}', 0), ("[", 0)]
)
def test_the_number_of_cpus_is_beside_the_trace(tmp_path, recorded, cores):
    (tmp_path / "recorded.json").write_text(recorded)
    assert recorded_cores(about(tmp_path)) == cores
    assert recorded_cores(about(tmp_path / "none")) == 0
