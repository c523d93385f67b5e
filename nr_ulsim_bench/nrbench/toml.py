# SPDX-License-Identifier: BSD-3-Clause
"""Python's reader of TOML, which it has from 3.11 on."""

import sys

if sys.version_info >= (3, 11):
    from tomllib import TOMLDecodeError, loads
else:  # mypy checks as for 3.10, where it may be missing
    from tomli import TOMLDecodeError, loads  # type: ignore[import-not-found, unused-ignore]

__all__ = ["TOMLDecodeError", "loads"]
