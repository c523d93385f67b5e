# SPDX-License-Identifier: BSD-3-Clause
"""Figures read by hand from recorded outputs of nr_ulsim, and outputs that are not those of a whole run."""

from pathlib import Path

import pytest

from nrbench import toml
from nrbench.sweep.figures import FIGURES
from nrbench.sweep.parse import OutputError, parse

OUTPUTS = Path(__file__).resolve().parent / "outputs"
OPTIONS = ("-n20", "-P", "-C2")


def output(name):
    return (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8")


RECORDED = toml.loads((OUTPUTS / "figures.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RECORDED)
def test_figures_are_those_that_the_run_printed(name):
    found = parse(output(name), options=OPTIONS)
    assert found.figures == RECORDED[name]
    assert set(found.figures) <= set(FIGURES)
    derived = {"v2.0.0": ("symbol_processing_us", "decoding_us"), "v2.1.0": ("decoding_us",)}
    assert found.derived == derived.get(name.partition("-")[0], ())


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


@pytest.mark.parametrize(
    "name, counts",
    [
        ("v2.1.0-new-2-threads", (20, 0, True, 40.0)),
        ("v2.3.0-new-not-decoded", (80, 20, False, -5.0)),  # each slot was sent four times; no error
        ("v2.3.0-old-several-snr", (20, 0, True, 6.0)),  # the last point counts
    ],
)
def test_trials_errors_and_the_snr(name, counts):
    found = parse(output(name), options=OPTIONS)
    assert (found.trials, found.errors, found.decoded, found.snr_db) == counts


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
    with pytest.raises(OutputError, match=f"no SNR point was completed; last line: {text.strip()}"):
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


def test_the_newest_form_has_a_real_distribution():
    text = newest(EMPTY.replace("=0.00", "=950.00").replace("median=950", "median=1010"))
    found = parse(text, options=OPTIONS)
    assert found.figures == RECORDED["v2.3.0-old-2-threads"] | {
        "rx_min_us": 950, "rx_q1_us": 950, "rx_median_us": 1010, "rx_q3_us": 950, "rx_max_us": 1900.25,
        "rate_recovery_sum_us": 88,
    }  # fmt: skip
    assert set(found.figures) <= set(FIGURES)
    empty = parse(newest(EMPTY), options=OPTIONS).figures
    assert "rx_q1_us" not in empty and empty["rx_max_us"] == 1900.25


def test_colours_line_ends_and_what_other_threads_print_do_not_matter():
    name = "v2.3.0-old-2-threads"
    text = replaced(name, "|__ RX PUSCH time", "\x1b[93m[PHY]   late\x1b[0m|__ RX PUSCH time")
    text = text.replace("\n", "\r\n")
    assert parse(text, options=OPTIONS).figures == RECORDED[name]
