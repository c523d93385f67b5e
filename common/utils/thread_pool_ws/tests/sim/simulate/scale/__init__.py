# SPDX-License-Identifier: BSD-3-Clause
"""Time against the number of CPUs: what is simulated, its goals, its tables."""
