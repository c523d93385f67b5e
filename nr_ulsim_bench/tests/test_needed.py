# SPDX-License-Identifier: BSD-3-Clause
"""A Python without the packages: one line that says how to get them, no traceback."""

import re
import subprocess
import sys
from pathlib import Path

from nrbench.needed import PACKAGES

ROOT = Path(__file__).parent.parent


def test_a_python_without_packages_says_how_to_get_them():
    """-S: this Python without its site-packages."""
    words = [sys.executable, "-S", "-m", "nrbench", "sweep", "--old", "x"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    packages = "jinja2, matplotlib, numpy, pandas, pydantic, rich, seaborn, typer"
    assert line.startswith(f"nrbench: Python packages are missing: {packages}")
    assert "`ci/setup bench`" in line and f"`pip install {ROOT}`" in line


def test_the_packages_are_those_of_the_project():
    listed = (ROOT / "pyproject.toml").read_text().split("dependencies = [")[1].split("\n]")[0]
    names = re.findall(r'^[^"\n]*"([^">; ]+)', listed, re.MULTILINE)
    assert set(names) - {"tomli"} == set(PACKAGES) - {"tomli"}
