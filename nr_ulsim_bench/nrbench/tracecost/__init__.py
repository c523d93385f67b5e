# SPDX-License-Identifier: BSD-3-Clause
"""What tracing costs: compiled in, and while a session records."""
