# SPDX-License-Identifier: BSD-3-Clause
"""Scans that meet held latches: as threads, as tasks that block, as fibers that yield. ws-latch in rounds."""
