# SPDX-License-Identifier: BSD-3-Clause
"""From what a run of nr_ulsim or nr_dlsim prints to figures. Versions differ in their lines and in what a
line covers."""

import math
import re
from typing import NamedTuple, Sequence

from nrbench.sweep.figures import DECODING, ENCODING, RX, SYMBOLS, TX

RX_LINE = "Total PHY proc rx"
PUSCH_LINE = "RX PUSCH time"
ESTIMATION_LINE = "ULSCH channel estimation time"
SYMBOLS_LINE = "RX PUSCH Symbol Processing time"
DECODING_LINE = "ULSCH total decoding time"
# v2.0.0 alone has these: a stage within RX PUSCH time, and what comes between that and decoding.
LLR_LINE, UNSCRAMBLING_LINE = "ULSCH llr computation", "ULSCH unscrambling"
NEEDED = (RX_LINE, PUSCH_LINE, ESTIMATION_LINE)

MEANS = {
    RX_LINE: RX,
    PUSCH_LINE: "pusch_us",
    ESTIMATION_LINE: "channel_estimation_us",
    SYMBOLS_LINE: SYMBOLS,
    "RX PUSCH Initialization time": "rx_init_us",
}
# Printed as a mean over what a slot has several of: DMRS symbols and layers, or segments.
SUMS = {
    "Antenna Processing time": "antenna_processing_us",
    "ULSCH segment deinterleaving time": "deinterleaving_sum_us",
    "ULSCH segment rate recovery time": "rate_recovery_sum_us",
    "ULSCH segment rate matching time": "rate_recovery_sum_us",  # its later name
    "ULSCH segments decoding time": "segments_decoding_sum_us",
}
TX_LINE = "PHY proc tx"
DOWNLINK = {  # of nr_dlsim
    TX_LINE: TX,
    "DLSCH encoding time": ENCODING,
    "DCI encoding time": "dci_encoding_us",
    "DLSCH modulation time": "modulation_us",
    "DLSCH scrambling time": "scrambling_us",
    "DLSCH Mapping/Precoding time": "precoding_us",
}
LINES = (DECODING_LINE, LLR_LINE, UNSCRAMBLING_LINE, *MEANS, *SUMS, *DOWNLINK)

NUMBER = r"[-+]?(?:nan|inf|\d+(?:\.\d+)?)"
TIME = re.compile(rf"({'|'.join(map(re.escape, LINES))})\s+({NUMBER}) us \(\s*(\d+) trials\)")
# Versions differ in what is there, and in its order.
SPREAD = re.compile(rf"Statistics ((?:(?:std|min|q1|median|q3|max)={NUMBER},? )+)\S*s \(on (\d+) trials\)")
POINT = re.compile(r"SNR (-?\d+\.\d+): n_errors \((\d+)/(\d+)[^\n]*?false_positive \d+/(\d+)")
POOL = re.compile(r"thread_pool_ws \d[^\n]*?\bpool [^\n]*")
ASSERTION = re.compile(r"^Assertion \((.*)\) failed!\nIn .*\n(.*)", re.MULTILINE)
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
DECODED, END = "PUSCH test OK", "Num RB:"
DOWNLINK_SECTION = "gNB TX function statistics"


class OutputError(ValueError):
    """Not the output of a complete run with statistics; names what is missing."""


class Output(NamedTuple):
    """Of the last SNR point, as a run that has several starts its statistics anew for each."""

    figures: dict[str, float]
    derived: tuple[str, ...]
    trials: int  # of the whole RX: a slot that is sent again counts again
    errors: int  # slots not decoded in their first round
    decoded: bool
    pool: str | None
    snr_db: float


class _Time(NamedTuple):
    mean_us: float
    trials: int


def parse(text: str, *, options: Sequence[str]) -> Output:
    """
    @param text     stdout and stderr, in any order
    @param options  what nr_ulsim was given
    """
    text = ANSI.sub("", text.replace("\r", ""))
    is_downlink = any(word.startswith("-X") for word in options)
    points = list(POINT.finditer(text))
    if not points:
        raise OutputError(f"no SNR point was completed; {last_words(text)}")
    point = points[-1]
    snr, errors, sent, wanted = point.groups()
    if sent != wanted:
        raise OutputError(f"interrupted: {sent} of {wanted} slots were sent at an SNR of {snr} dB")
    block, rest = text[point.start() :], text[point.end() :]
    if is_downlink:
        is_decoded = int(errors) < int(sent)  # its own limit is near what 256 QAM loses at 40 dB
        return _downlink(block, options, pool_of(text))._replace(
            errors=int(errors), decoded=is_decoded, snr_db=float(snr)
        )
    if DECODED not in rest and END not in rest:
        raise OutputError(f"cut off after the SNR point of {snr} dB; {last_words(text)}")
    times = _times(block, options, NEEDED)
    spread = SPREAD.search(block)
    figures, derived = _figures(times, LLR_LINE in times and SYMBOLS_LINE not in times)
    trials, decoded = times[RX_LINE].trials, DECODED in block
    figures |= _spread(spread)
    return Output(figures, derived, trials, int(errors), decoded, pool_of(text), float(snr))


def pool_of(text: str) -> str | None:
    """The line that thread_pool_ws prints for its gNB pool, or else for the first one. None: there is no such
    line, so it is OAI's own pool.

    @param text  stdout and stderr, complete or not"""
    lines = [line.strip() for line in POOL.findall(ANSI.sub("", text.replace("\r", "")))]
    return next((line for line in lines if "pool gNB" in line), lines[0] if lines else None)


def last_line(text: str) -> str:
    return next((line for line in map(str.strip, reversed(text.splitlines())) if line), "no output")[:200]


def last_words(text: str) -> str:
    """Of a program that ended: OAI's reason if an assertion failed, as other lines follow it; else its last
    line."""
    found = ASSERTION.search(text)
    return f"it gave up: {found[2].strip() or found[1]}"[:200] if found else f"last line: {last_line(text)}"


def _downlink(block: str, options: Sequence[str], pool: str | None) -> Output:
    """Of the transmitter, which a slot passes again each time that it is sent."""
    section = block[max(0, block.find(DOWNLINK_SECTION)) :].partition("\n\n")[0]
    times, spread = _times(section, options, (TX_LINE, "DLSCH encoding time")), SPREAD.search(section)
    there = [(name, time.mean_us) for name, time in times.items() if time.trials]
    figures = {DOWNLINK[name]: mean_us for name, mean_us in there if name in DOWNLINK}
    return Output(figures | _spread(spread, "tx"), (), times[TX_LINE].trials, 0, False, pool, 0)


def _times(block: str, options: Sequence[str], needed: Sequence[str]) -> dict[str, _Time]:
    times = {match[1]: _Time(float(match[2]), int(match[3])) for match in TIME.finditer(block)}
    for name in needed:
        if name not in times:
            hint = "" if "-P" in options else " (-P, which asks for it, is not among the options)"
            raise OutputError(f"no line {name!r}{hint}")
        if times[name].trials == 0:
            raise OutputError(f"{name!r} is over 0 trials")
    for name, time in times.items():
        if not math.isfinite(time.mean_us):
            raise OutputError(f"{name!r} is {time.mean_us}")
    return times


def _figures(times: dict[str, _Time], is_v2_0: bool) -> tuple[dict[str, float], tuple[str, ...]]:
    """Lines over 0 trials count as not there."""
    slots = times[RX_LINE].trials
    times = {name: time for name, time in times.items() if time.trials}
    of_slot = {name: time.mean_us * time.trials / slots for name, time in times.items()}
    figures = {key: times[name].mean_us for name, key in MEANS.items() if name in times}
    figures |= {key: round(of_slot[name], 2) for name, key in SUMS.items() if name in times}
    derived = {}
    if is_v2_0:  # no line for the symbols, which it processes one after the other
        derived[SYMBOLS] = of_slot[PUSCH_LINE] - of_slot[ESTIMATION_LINE]
    elif SYMBOLS not in figures:
        raise OutputError(f"no line {SYMBOLS_LINE!r} with trials")
    if is_v2_0 or DECODING_LINE not in times:  # it times only the pushes of the segments
        derived[DECODING] = of_slot[RX_LINE] - of_slot[PUSCH_LINE] - of_slot.get(UNSCRAMBLING_LINE, 0)
    else:
        figures[DECODING] = times[DECODING_LINE].mean_us
    for name, value in derived.items():
        if value < 0:
            raise OutputError(f"{name} is a difference of means, and comes out as {value:.2f}")
        figures[name] = round(value, 2)
    return figures, tuple(derived)


def _spread(match: re.Match[str] | None, of: str = "rx") -> dict[str, float]:
    """Quantiles are often of an empty list: 0.00. In the newest they are multiples of 10 us."""
    found = re.findall(rf"(\w+)=({NUMBER})", match[1]) if match else []
    values = ((name, float(value)) for name, value in found)
    return {f"{of}_{name}_us": value for name, value in values
            if math.isfinite(value) and (value > 0 or name == "std")}  # fmt: skip
