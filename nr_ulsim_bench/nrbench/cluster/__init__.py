# SPDX-License-Identifier: BSD-3-Clause
"""Measurements on many machines, by Dask.distributed: see docs/cluster.md."""
