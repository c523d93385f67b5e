# SPDX-License-Identifier: BSD-3-Clause
"""The simulated machine's command: ci/simulate (docs/simulation.md)."""
