# SPDX-License-Identifier: BSD-3-Clause
"""The Python packages of others that the commands need: checked before they are imported, told in one line.

Imports nothing of them."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Iterable

# The same list as in pyproject.toml; modules have the names that pip knows.
PACKAGES = ["jinja2", "matplotlib", "numpy", "pandas", "pydantic", "rich", "seaborn", "typer"]
PACKAGES += ["tomli"] if sys.version_info < (3, 11) else []
STATUS = 2  # of a command that could not do its work


def require(program: str, packages: Iterable[str] = PACKAGES, extra: str = "") -> None:
    """Ends the process with one line on stderr where this Python does not find a package. @param extra  of
    pip: which of this project's wishes has them"""
    if names := [name for name in packages if find_spec(name) is None]:
        folder = Path(__file__).resolve().parents[1]
        print(
            f"{program}: Python packages are missing: {', '.join(names)} ({sys.executable}). "
            f"Run `ci/setup bench` and use .venv/bin/python, or `pip install {folder}{extra}`",
            file=sys.stderr,
        )
        raise SystemExit(STATUS)
