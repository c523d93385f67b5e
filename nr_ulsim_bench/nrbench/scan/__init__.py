# SPDX-License-Identifier: BSD-3-Clause
"""A table of blocks, scanned in four ways, against the bandwidth of the memory: ws-scan in rounds."""
