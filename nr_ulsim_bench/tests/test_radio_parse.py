# SPDX-License-Identifier: BSD-3-Clause
"""What a gNB and a UE print, and the gNB's statistics file; when a run lives."""

import pytest
from fake import END, MAC, REPORT, STEPS
from sweep_runs import HOST

from nrbench.radio import cell, parse
from nrbench.radio.record import RUNS, Blocks, Radio, RadioRun, Side, Step, read_runs
from nrbench.record import ResultsError

BINS = "".join(f"[HW]   I Bin {n}\t[{n * 100}.0 - {n * 100 + 100}.0uS]:\t\t{n * n}\n" for n in range(30))


def test_the_radio_device_reports_at_its_end():
    text = parse.plain("\x1b[32m" + END.format(tx=5.56) + "\x1b[0m" + BINS)
    found = parse.radio(text)
    assert found.tx_late == pytest.approx(0.0556) and found.rx_late == 0
    assert found.budget_us_mean == 2476.25 and found.budget_bins[:4] == (0, 1, 4, 9)
    assert parse.radio(END.format(tx=1.0) + BINS[: len(BINS) // 2]) is None, "it was killed while it printed"
    nothing_sent = text.replace("5.56%", "-nan%").replace("2476.250", "-nan")
    assert parse.radio(nothing_sent).tx_late == 0 and parse.radio(nothing_sent).budget_us_mean is None


def test_traffic_between_two_moments():
    newer = MAC.replace("MCS (0) 23", "MCS (0) 23 CCE fail 0")
    before = parse.traffic(MAC.format(blocks=1000, received=0))
    after = parse.traffic(
        newer.format(blocks=4000, received=12345) + "of a longer text before: UE 1234: dlsch"
    )
    assert not before.is_attached and after.is_attached
    found = parse.blocks(before.ul, after.ul, after.ul)
    assert found.rounds == (4000, 5, 4, 3) and (found.blocks_after_attach, found.failed_after_attach) == (
        3000,
        0,
    )
    assert (found.errors, found.bler, found.dtx, found.bytes_after_attach) == (104, 0, 0, 12345)
    repeated = after.ul._replace(rounds=(4000, 305, 4, 3))
    assert parse.blocks(before.ul, repeated, repeated).bler == 0.1
    assert parse.traffic(MAC[:200].format(blocks=1000)) is None
    assert parse.blocks(None, None, after.dl).blocks_after_attach == 0


def test_times_of_steps_between_two_moments():
    line = "         L1 Rx processing:  {mean:15.3f} us; {count:15d}; {largest:15.3f} us;\n"
    older = line.format(mean=1.0, count=1, largest=1.0)  # below what was written over it
    before = parse.steps(STEPS["gnb"].format(count=1000))
    after = parse.steps(line.format(mean=600.0, count=3000, largest=7000.5) + older)
    assert before == {"L1 Rx processing": Step(count=1000, us_mean=572.125, us_max=5622.5)}
    found = parse.steps_since(before, after)["L1 Rx processing"]
    assert (found.count, found.us_max) == (2000, 7000.5)
    assert found.us_mean == pytest.approx((600 * 3000 - 572.125 * 1000) / 2000, abs=0.001)
    assert parse.steps_since(after, after) == {} and parse.steps_since({}, before) == before
    assert parse.steps(line[:40].format(mean=600.0)) == {}, "cut off while it is written"


def test_pools_of_one_process_add_up():
    text = f"thread_pool_ws 0.1.0: shape B2, pool gNB-tpool: 8 workers\n{REPORT}{REPORT}"
    assert parse.pool(text)["bursts"] == 200 and parse.pool(text)["busy_poll_ms"] == 25
    assert parse.pool("nothing of a pool") is None


def test_why_a_program_ended():
    text = "\nAssertion (x > 0) failed!\nIn f() a.c:1\n{}\nExiting execution\n"
    assert parse.cause(text.format("no such carrier")) == "it gave up: no such carrier"
    assert parse.cause(text.format("")) == "it gave up: x > 0"
    refused = text.format("Error in pthread_create(): ret: 1, errno: 2")
    assert "run as root" in parse.cause(refused)
    assert parse.cause("one\ntwo\n") == "last line: two"


def test_the_configuration_is_of_the_carrier():
    text = cell.gnb_text(273)
    assert text.count("_carrierBandwidth = 273;") == 2, "downlink and uplink"
    assert text.count("locationAndBandwidth = 1099;") == 2, "all of 273 resource blocks"
    assert "locationAndBandwidth = 28875;" in cell.gnb_text(106)
    assert cell.load_options(106)[:4] == ["-D", "127", "-M", "106"]
    assert text.count("{") == text.count("}") and text.count("(") == text.count(")")


def a_run(late=0.0, steady=None, failed=0, blocks=1000, **changes):
    def radio(share):
        return Radio(tx_late=share, rx_late=0, tx_early=0, rx_early=0, budget_bins=(0,) * 30)

    side = Side(program="0" * 12, radio=radio(late), steady=None if steady is None else radio(steady))
    traffic = Blocks(blocks_after_attach=blocks, failed_after_attach=failed)
    values = {
        "sweep": "0" * 12, "round": 0, "began": "2026-01-02T03:04:05Z", "gnb": "old", "ue": "old",
        "spin": "none", "prb": 106, "timescale": 0.3, "seconds": 60, "outcome": "ok", "host": HOST,
        "sides": {"gnb": side, "ue": side}, "ul": traffic, "dl": traffic,
    }  # fmt: skip
    return RadioRun(**values | changes)


def test_a_run_lives_by_its_steady_stretch():
    assert a_run(late=0.5, steady=0.009).lives and not a_run(late=0.5).lives
    assert not a_run(steady=0.01).lives and not a_run(failed=10).lives and a_run(failed=9).lives
    assert not a_run(blocks=0).lives and not a_run(outcome="no-report").lives


def test_a_file_of_runs(tmp_path):
    file = tmp_path / RUNS
    file.write_text((a_run()).model_dump_json() + "\n" + '{"format": 1')
    assert read_runs(file) == [a_run()]
    file.write_text('{"format": 2}\n')
    with pytest.raises(ResultsError, match=f"{RUNS}:1: not a run of nrbench radio: "):
        read_runs(file)
