# SPDX-License-Identifier: BSD-3-Clause
"""What is told to the user in one line."""


class TraceError(Exception):
    """Names the input and, where there is one, the remedy."""
