# SPDX-License-Identifier: BSD-3-Clause
"""Bare Debian roots for ci/fresh."""
