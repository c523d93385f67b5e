# SPDX-License-Identifier: BSD-3-Clause
"""Pre-wake by what was learnt against waking by the push and against leads tuned by hand."""
