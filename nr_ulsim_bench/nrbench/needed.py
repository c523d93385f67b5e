# SPDX-License-Identifier: BSD-3-Clause
"""The Python packages of others that the commands need: checked before they are imported, told in one line.

Imports nothing of them."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Iterable, Mapping

# By module, as pip calls them; the same list as in pyproject.toml.
PACKAGES = {
    "jinja2": "jinja2",
    "matplotlib": "matplotlib",
    "numpy": "numpy",
    "pandas": "pandas",
    "pydantic": "pydantic",
    "rich": "rich",
    "seaborn": "seaborn",
    "typer": "typer",
    **({"tomli": "tomli"} if sys.version_info < (3, 11) else {}),
}
STATUS = 2  # of a command that could not do its work


def missing(modules: Iterable[str] = PACKAGES, packages: Mapping[str, str] = PACKAGES) -> list[str]:
    """Those that this Python does not find, as pip calls them."""
    return [packages[module] for module in modules if find_spec(module) is None]


def how_to_install(packages: Iterable[str]) -> str:
    """One line: what is missing, and the two ways to get it."""
    folder = Path(__file__).resolve().parents[1]
    return (
        f"Python packages are missing: {', '.join(packages)} ({sys.executable}). Run `ci/setup bench` and "
        f"use .venv/bin/python, or `pip install {folder}`"
    )


def require(program: str, modules: Iterable[str] = PACKAGES) -> None:
    """Ends the process with one line on stderr and exit status 2 where a package is missing."""
    names = missing(modules)
    if names:
        print(f"{program}: {how_to_install(names)}", file=sys.stderr)
        raise SystemExit(STATUS)
