# SPDX-License-Identifier: BSD-3-Clause
"""The commands with the least versions of other packages that pyproject.toml names."""

import re
import subprocess
import venv

import pytest
from golden_files import ROOT

HERE = ROOT / "nr_ulsim_bench"
NUMPY = "numpy<2"  # what packages of the time of these versions were built with
COMMANDS = (
    ["--help"],
    ["report", "--help"],
    ["doctor", "--quick"],
    ["report", ROOT / "docs/results/2-cores-sweep-v2.3.0.ndjson"],
)


@pytest.mark.alone
def test_least_versions(tmp_path):
    (needs,) = re.findall(r"^dependencies = \[(.*?)^\]", (HERE / "pyproject.toml").read_text(), re.M | re.S)
    packages = re.findall(r'^  "([^";]+)"', needs, re.M)
    least = [NUMPY if name == "numpy" else name.replace(">=", "==") for name in packages]
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *least]
    got = subprocess.run(pip, capture_output=True, text=True)
    if "No matching distribution" in got.stderr:  # for this Python, or without a network
        pytest.skip(f"pip cannot install {' '.join(least)}: {got.stderr.splitlines()[-1]}")
    assert got.returncode == 0, got.stderr
    for words in COMMANDS:
        command = [python, "-B", "-m", "nrbench", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env={"PYTHONPATH": str(HERE)}, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, ""), words
