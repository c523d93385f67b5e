# SPDX-License-Identifier: BSD-3-Clause
"""pi as a parallel reduction: pinned or not, and against other libraries. ws-pi in rounds."""
