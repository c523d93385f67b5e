# SPDX-License-Identifier: BSD-3-Clause
"""Figures read by hand from recorded outputs of nr_ulsim, and outputs that are not those of a whole run."""

from pathlib import Path

import pytest

from nrbench.sweep.figures import FIGURES
from nrbench.sweep.parse import OutputError, parse

OUTPUTS = Path(__file__).resolve().parent / "outputs"
OPTIONS = ("-n20", "-P", "-C2")
WS = "thread_pool_ws 0.1.0: shape {}, pool gNB-tpool: {}"
TWO_WORKERS = "2 workers (0 pinned, 2 real-time) on 2 CPUs, spin auto (at most 10 % of a core each)"


def output(name):
    return (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8")


def figures(rx, std, pusch, estimation, init, symbols, decoding, **others):
    return {
        "rx_us": rx,
        "rx_std_us": std,
        "pusch_us": pusch,
        "channel_estimation_us": estimation,
        "rx_init_us": init,
        "symbol_processing_us": symbols,
        "decoding_us": decoding,
        **others,
    }


# fmt: off
RECORDED = {
    # Symbols: RX PUSCH - channel estimation. Decoding: whole RX - RX PUSCH - unscrambling (17.97, 18.35 us).
    "v2.0.0-old-inline": {
        "rx_us": 827.08, "rx_std_us": 58.80, "pusch_us": 103.52, "channel_estimation_us": 24.89,
        "symbol_processing_us": 78.63, "decoding_us": 705.59,
    },
    "v2.0.0-old-2-threads": {
        "rx_us": 3221.83, "rx_std_us": 7509.91, "pusch_us": 120.35, "channel_estimation_us": 26.60,
        "symbol_processing_us": 93.75, "decoding_us": 3083.13,
    },
    "v2.1.0-old-2-threads": figures(1623.51, 1768.16, 989.74, 25.52, 20.99, 942.97, 633.77),
    "v2.1.0-new-2-threads": figures(511.03, 107.07, 133.24, 23.78, 19.53, 89.72, 377.79),
    "v2.2.0-old-2-threads": figures(1357.11, 934.74, 260.45, 30.14, 10.40, 219.63, 1096.26),
    "v2.3.0-old-2-threads": figures(
        1154.63, 1048.69, 544.37, 31.89, 11.31, 500.44, 609.86, antenna_processing_us=21.49
    ),
    "v2.3.0-new-inline": figures(
        841.09, 46.85, 127.07, 32.29, 10.49, 83.86, 713.51, antenna_processing_us=21.96
    ),
    # Two layers: two antenna processings of 17.61 us in a slot.
    "v2.3.0-new-2-layers": figures(
        790.32, 203.16, 477.40, 43.71, 9.56, 423.67, 312.58, antenna_processing_us=35.22
    ),
    "v2.3.0-new-not-decoded": figures(
        129.09, 68.28, 28.37, 12.17, 1.72, 14.35, 100.63, antenna_processing_us=8.82
    ),
    "v2.3.0-old-several-snr": figures(
        457.93, 941.34, 328.24, 12.31, 1.77, 313.94, 129.44, antenna_processing_us=8.72
    ),
    # 22 segments a slot, of 1.78, 4.22 and 31.25 us.
    "2025.w37-old-2-threads": figures(
        1309.34, 1211.04, 691.86, 30.01, 59.12, 602.41, 617.36, antenna_processing_us=20.61,
        deinterleaving_sum_us=39.16, rate_recovery_sum_us=92.84, segments_decoding_sum_us=687.50,
    ),
    # 17 segments a slot, of 1.81, 4.89 and 39.90 us.
    "2025.w37-new-2-layers": figures(
        1592.55, 1396.23, 1083.58, 243.06, 21.57, 818.14, 508.54, antenna_processing_us=233.40,
        deinterleaving_sum_us=30.77, rate_recovery_sum_us=83.13, segments_decoding_sum_us=678.30,
    ),
}
# fmt: on


@pytest.mark.parametrize("name", RECORDED)
def test_figures_are_those_that_the_run_printed(name):
    found = parse(output(name), options=OPTIONS)
    assert found.figures == RECORDED[name]
    assert set(found.figures) <= set(FIGURES)
    assert found.oai == name.partition("-")[0]


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_version_does_not_print_is_derived(name):
    derived = {"v2.0.0": ("symbol_processing_us", "decoding_us"), "v2.1.0": ("decoding_us",)}
    assert parse(output(name), options=OPTIONS).derived == derived.get(name.partition("-")[0], ())


def test_pool_and_trials():
    new = parse(output("v2.1.0-new-2-threads"), options=OPTIONS)
    assert new.pool == WS.format("A", TWO_WORKERS)
    assert (new.trials, new.errors, new.decoded, new.snr_db) == (20, 0, True, 40.0)
    assert parse(output("v2.3.0-new-inline"), options=OPTIONS).pool == WS.format(
        "B2", "no workers, tasks run inline"
    )
    assert parse(output("v2.3.0-old-2-threads"), options=OPTIONS).pool is None


def test_the_transmitter_of_nr_dlsim():
    text = output("v2.3.0-dl-2-threads")
    found = parse(text, options=("-P", "-X-1,-1"))
    assert found.figures == {
        "tx_us": 5590.06, "tx_std_us": 4852.38, "encoding_us": 5258.73, "dci_encoding_us": 135.0,
        "modulation_us": 19.75, "scrambling_us": 13.31, "precoding_us": 47.79,
    }  # fmt: skip
    assert (found.trials, found.errors, found.decoded, found.snr_db) == (66, 16, True, 40.0)
    assert not parse(text.replace("(16/50", "(50/50"), options=("-P", "-Xn")).decoded
    with pytest.raises(OutputError, match="no line 'DLSCH encoding time'"):
        parse(text.replace("DLSCH encoding", "encoding"), options=("-P", "-Xn"))


def test_not_decoding_is_no_error():
    found = parse(output("v2.3.0-new-not-decoded"), options=OPTIONS)
    assert not found.decoded
    assert found.errors == 20
    assert found.trials == 80  # each slot was sent four times


def test_of_several_snr_points_the_last_counts():
    found = parse(output("v2.3.0-old-several-snr"), options=OPTIONS)
    assert found.snr_db == 6.0
    assert (found.trials, found.errors, found.decoded) == (20, 0, True)


def test_an_earlier_point_that_was_decoded_does_not_count():
    text = output("v2.3.0-old-2-threads") + output("v2.3.0-new-not-decoded")
    assert not parse(text, options=OPTIONS).decoded


def test_without_statistics_it_says_which_option_is_missing():
    text = output("v2.3.0-new-without-P")
    with pytest.raises(OutputError, match="no line 'Total PHY proc rx' .*-P"):
        parse(text, options=("-n20", "-C2"))
    with pytest.raises(OutputError, match="no line 'Total PHY proc rx'$"):
        parse(text, options=OPTIONS)


def test_a_killed_run_gives_no_figures():
    with pytest.raises(OutputError, match="cut off after the SNR point of 0.400000 dB"):
        parse(output("v2.3.0-new-killed"), options=OPTIONS)


@pytest.mark.parametrize("text", ["", "\n\n", "exec failed\n"])
def test_no_output_of_a_run_at_all(text):
    with pytest.raises(OutputError, match=f"no SNR point was completed; the last line is '{text.strip()}'"):
        parse(text, options=OPTIONS)


def replaced(name, old, new):
    text = output(name)
    assert text.count(old) == 1
    return text.replace(old, new)


@pytest.mark.parametrize(
    "old, new, error",
    [
        ("1154.63 us (20", "   nan us (20", "'Total PHY proc rx' is nan"),
        ("1154.63 us (20", "  -nan us (0", "'Total PHY proc rx' is over 0 trials"),
        (" 609.86 us", "    inf us", "'ULSCH total decoding time' is inf"),
        (" 500.44 us ( 20", "   0.00 us (  0", "no line 'RX PUSCH Symbol Processing time' with trials"),
        ("|__ RX PUSCH time ", "|__ RX PUSCH took ", "no line 'RX PUSCH time'"),
        ("n_errors (0/20,", "n_errors (0/7,", "interrupted: 7 of 20 slots"),
        (
            "SNR 40.000000: n_errors",
            "SNR 40.000000: errors",
            "no SNR point was completed; .*DMRS CDM gr w/o data:",
        ),
    ],
)
def test_what_is_no_figure(old, new, error):
    with pytest.raises(OutputError, match=error):
        parse(replaced("v2.3.0-old-2-threads", old, new), options=OPTIONS)


def test_a_difference_below_zero_is_no_figure():
    text = replaced("v2.1.0-old-2-threads", "1623.51 us", " 900.00 us")
    with pytest.raises(OutputError, match="decoding_us is a difference of means, and comes out as -89.74"):
        parse(text, options=OPTIONS)


def test_decoding_over_no_trials_is_derived():
    text = replaced("v2.3.0-old-2-threads", " 609.86 us ( 20", "   0.00 us (  0")
    found = parse(text, options=OPTIONS)
    assert found.figures["decoding_us"] == pytest.approx(1154.63 - 544.37)
    assert found.derived == ("decoding_us",)


@pytest.mark.parametrize("micro", ["\u00b5", "\ufffd", "u", "\u00c2\u00b5"])
def test_quartiles_where_there_is_a_list_of_times(micro):
    text = replaced(
        "v2.3.0-old-2-threads",
        "median=0.00, q1=0.00, q3=0.00 \u00b5s (on 0 trials)",
        f"median=1012.25, q1=998.00, q3=1104.50 {micro}s (on 20 trials)",
    )
    found = parse(text, options=OPTIONS).figures
    assert (found["rx_median_us"], found["rx_q1_us"], found["rx_q3_us"]) == (1012.25, 998.0, 1104.5)


DISTRIBUTION = "std=1048.69, median=0.00, q1=0.00, q3=0.00 \u00b5s (on 0 trials)"
EMPTY = "std=1048.69, min=0.00, q1=0.00, median=0.00, q3=0.00, max=1900.25 \u00b5s (on 20 trials)"
STEPS = "    |__ ULSCH segment rate matching time  88.00 us ( 20 trials)\t(  1.76 total [ms])\n" + "".join(
    f"        |__ {name}   9.50 us ( 20 trials)\n"
    for name in ("RX PUSCH extraction", "RX PUSCH LLR", "SRS report TLV build time", "Add Noise (CPU)")
)


def newest(distribution):
    text = replaced("v2.3.0-old-2-threads", DISTRIBUTION, distribution)
    return text.replace("gNB RX\n", f"gNB RX\n{STEPS}")


def test_the_newest_form_has_a_real_distribution(capsys):
    text = newest(EMPTY.replace("=0.00", "=950.00").replace("median=950", "median=1010"))
    found = parse(text, options=OPTIONS)
    assert found.oai == "develop"
    assert found.figures == RECORDED["v2.3.0-old-2-threads"] | {
        "rx_min_us": 950, "rx_q1_us": 950, "rx_median_us": 1010, "rx_q3_us": 950, "rx_max_us": 1900.25,
        "rate_recovery_sum_us": 88,
    }  # fmt: skip
    assert set(found.figures) <= set(FIGURES)
    empty = parse(newest(EMPTY), options=OPTIONS).figures
    assert "rx_q1_us" not in empty and empty["rx_max_us"] == 1900.25
    assert not capsys.readouterr().err


@pytest.mark.parametrize("name", sorted({path.stem for path in OUTPUTS.glob("*-old-2*.txt")}))
def test_a_statistic_that_is_not_understood_is_said_once(name, capsys, monkeypatch):
    monkeypatch.setattr("nrbench.progress._unread", set())
    text = output(name)
    parse(text, options=OPTIONS)
    assert not capsys.readouterr().err
    lines = "Total PHY proc rx  1.00 s (20 trials)", "|__ ULSCH equalisation   {}.00 us ( 20 trials)"
    text = text.replace("std=", "p99=").replace("\n|__ RX PUSCH", "\n".join(("", *lines, "|__ RX PUSCH")), 1)
    for us in (3, 14):
        assert "rx_std_us" not in parse(text.replace("{}", str(us)), options=OPTIONS).figures
    said = [line.split("understand: ")[1] for line in capsys.readouterr().err.splitlines()]
    assert len(said) == 3 and said[0].startswith("'Statistics p99="), said
    assert said[1:] == [repr(lines[0]), repr(lines[1].format(3))]


def test_colours_line_ends_and_what_other_threads_print_do_not_matter():
    name = "v2.3.0-old-2-threads"
    text = replaced(name, "|__ RX PUSCH time", "\x1b[93m[PHY]   late\x1b[0m|__ RX PUSCH time")
    text = text.replace("\n", "\r\n")
    assert parse(text, options=OPTIONS).figures == RECORDED[name]
