# SPDX-License-Identifier: BSD-3-Clause
"""Whether a host is fit for real-time work, what to do where it is not, and what pre-wake can gain on it."""
