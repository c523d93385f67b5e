# SPDX-License-Identifier: BSD-3-Clause
"""Pools against pools: slots, streams, the coliseum, wakes. ws-bench in rounds."""
