# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the benchmark: what each measures, and what its tables show."""
