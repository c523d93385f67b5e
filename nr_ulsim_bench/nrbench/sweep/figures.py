# SPDX-License-Identifier: BSD-3-Clause
"""Names of the figures of a run; all are us, means over the slots of the run unless they say otherwise."""

SYMBOLS = "symbol_processing_us"
DECODING = "decoding_us"
RX = "rx_us"
ENCODING = "encoding_us"
TX = "tx_us"
# What a slot takes as a whole, in nr_ulsim and in nr_dlsim; its parts that the pool makes parallel.
WHOLE = {RX: (SYMBOLS, DECODING), TX: (ENCODING,)}


def bound_key(figure: str) -> str:
    """Of the figure that no pool can beat it."""
    return figure.removesuffix("_us") + "_bound_us"


# With their titles, in the order of tables.
MAIN = {RX: "whole RX", SYMBOLS: "symbol processing", DECODING: "ULSCH decoding"}
MAIN |= {TX: "whole TX", ENCODING: "DLSCH encoding"}
# Of nr_ulsim, where the version prints them; of recorded slots, where the file has the phase.
OTHERS = tuple(f"{name}_us" for name in (
    "rx_std", "rx_min", "rx_median", "rx_q1", "rx_q3", "rx_p99", "rx_max",
    "pusch", "channel_estimation", "antenna_processing", "rx_init",
    "deinterleaving_sum", "rate_recovery_sum", "segments_decoding_sum",
    "tx_std", "tx_min", "tx_median", "tx_q1", "tx_q3", "tx_max",
    "dci_encoding", "modulation", "scrambling", "precoding",
))  # fmt: skip
CPU = "cpu_s"
COSTS = {CPU: "CPU time", "wall_s": "wall time"}  # of a whole run, in s
TITLES = MAIN | COSTS
FIGURES = (*MAIN, *OTHERS)
