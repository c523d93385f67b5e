# SPDX-License-Identifier: BSD-3-Clause
"""Time against the number of CPUs, on simulated machines: ci/simulate scale, and plots of its figures."""
