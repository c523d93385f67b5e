# SPDX-License-Identifier: BSD-3-Clause
"""What a gNB and a UE print, and their statistics files; when a run lives."""

import pytest
from fake import MAC, STEPS
from radio_runs import run

from nrbench.radio import parse
from nrbench.radio.record import RUNS, RadioRun, Step, read_runs
from nrbench.radio.softmodem import configuration
from nrbench.record import ResultsError


def test_traffic_between_two_moments():
    newer = MAC.replace("MCS (0) 23", "MCS (0) 23 CCE fail 0")
    before = parse.traffic(MAC.format(blocks=1000, received=0))
    after = parse.traffic(
        newer.format(blocks=4000, received=12345) + "of a longer text before: UE 1234: dlsch"
    )
    assert (before.received, after.received) == (0, 12345)
    assert after == (4000, 3, 4000, 104, 12345)
    assert parse.traffic(MAC[:200].format(blocks=1000)) is None


def test_times_of_steps_between_two_moments():
    line = "         L1 Rx processing:  {mean:15.3f} us; {count:15d}; {largest:15.3f} us;\n"
    older = line.format(mean=1.0, count=1, largest=1.0)  # below what was written over it
    before = parse.steps(STEPS["gnb"].format(count=1000))
    after = parse.steps(line.format(mean=600.0, count=3000, largest=7000.5) + older)
    assert before == {"L1 Rx processing": Step(count=1000, us_mean=572.125)}
    found = parse.steps_since(before, after)["L1 Rx processing"]
    assert found.count == 2000
    assert found.us_mean == pytest.approx((600 * 3000 - 572.125 * 1000) / 2000, abs=0.001)
    assert parse.steps_since(after, after) == {} and parse.steps_since({}, before) == before
    assert parse.steps(line[:40].format(mean=600.0)) == {}, "cut off while it is written"


def test_steps_of_each_version_and_what_is_not_understood():
    deviation = (
        "L1 Rx job:  {0:15.3f} us; {1:15.3f} us; {2:15.3f} us; {3:15d}; " + 9 * "{4:15.3f} us; " + "911.5 us;"
    )
    newest = deviation.format(572.125, 5622.5, float("nan"), 1000, 570) + "\n"
    assert parse.steps(newest) == {"L1 Rx job": Step(count=1000, us_mean=572.125)}
    shared = "L1 Tx job:  12.000 ms (50.00%); {0:15.3f} us (20.00%); 20;\n"
    assert parse.steps(shared.format(1.0) + shared.format(22.0) + newest[:30]) == {}


def test_why_a_program_ended():
    text = "\nAssertion (x > 0) failed!\nIn f() a.c:1\n{}\nExiting execution\n"
    assert parse.cause(text.format("no such carrier")) == "it gave up: no such carrier"
    assert parse.cause(text.format("")) == "it gave up: x > 0"
    refused = text.format("Error in pthread_create(): ret: 1, errno: 2")
    assert "run as root" in parse.cause(refused)
    assert parse.cause("one\ntwo\n") == "last line: two"


def test_the_configuration_is_of_the_carrier():
    text = configuration("gnb", 273)
    assert text.count("_carrierBandwidth = 273;") == 2, "downlink and uplink"
    assert text.count("locationAndBandwidth = 1099;") == 2, "all of 273 resource blocks"
    assert "locationAndBandwidth = 28875;" in configuration("gnb", 106)


def a_run(**changes):
    return RadioRun.model_validate(run(**changes))


def test_why_a_run_did_not_live():
    assert a_run(late=0.009).lives and a_run(lost=9).lives
    assert a_run(late=0.01).cause == "late samples of the gNB"
    assert a_run(late=0.02, lost=10).cause == (
        "late samples of the gNB, late samples of the UE, lost blocks of the uplink"
    )
    assert a_run(blocks=0).cause == "lost blocks of the uplink"
    assert a_run(outcome="no-attach", error="no block").cause == "no-attach: no block"


def test_a_file_of_runs(tmp_path):
    file = tmp_path / RUNS
    file.write_text((a_run()).model_dump_json() + "\n" + '{"format": 1')
    assert read_runs(file) == [a_run()]
    file.write_text('{"format": 2}\n')
    with pytest.raises(ResultsError, match=f"{RUNS}:1: not a run of nrbench radio: "):
        read_runs(file)
