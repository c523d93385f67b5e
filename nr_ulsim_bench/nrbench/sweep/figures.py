# SPDX-License-Identifier: BSD-3-Clause
"""Names of the figures of a run; all are us, means over the slots of the run unless they say otherwise."""

from __future__ import annotations

from typing import NamedTuple

SYMBOLS = "symbol_processing_us"
DECODING = "decoding_us"
RX = "rx_us"


def bound_key(figure: str) -> str:
    """Of the figure that no pool can beat it."""
    return figure.removesuffix("_us") + "_bound_us"


class Figure(NamedTuple):
    key: str
    title: str


# In the order of tables.
MAIN = (Figure(SYMBOLS, "symbol processing"), Figure(DECODING, "ULSCH decoding"), Figure(RX, "whole RX"))
# Of nr_ulsim, where the version prints them; of recorded slots, where the file has the phase.
OTHERS = (
    Figure("rx_std_us", "whole RX, standard deviation"),
    Figure("rx_median_us", "whole RX, median"),
    Figure("rx_q1_us", "whole RX, lower quartile"),
    Figure("rx_q3_us", "whole RX, upper quartile"),
    Figure("rx_p99_us", "whole RX, p99"),
    Figure("rx_max_us", "whole RX, maximum"),
    Figure("pusch_us", "RX PUSCH"),
    Figure("channel_estimation_us", "channel estimation"),
    Figure("antenna_processing_us", "antenna processing"),
    Figure("rx_init_us", "RX PUSCH initialisation"),
    Figure("deinterleaving_sum_us", "deinterleaving, sum over segments"),
    Figure("rate_recovery_sum_us", "rate recovery, sum over segments"),
    Figure("segments_decoding_sum_us", "segment decoding, sum over segments"),
)
CPU = "cpu_s"
COSTS = (Figure(CPU, "CPU time"), Figure("wall_s", "wall time"))  # of a whole run, in s
TITLES = {figure.key: figure.title for figure in (*MAIN, *OTHERS, *COSTS)}
