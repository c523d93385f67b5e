# SPDX-License-Identifier: BSD-3-Clause
"""Plans, runs and judges the benchmark of thread_pool_ws. `python -m nrbench --help`."""
