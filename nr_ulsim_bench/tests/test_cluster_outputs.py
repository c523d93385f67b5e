# SPDX-License-Identifier: BSD-3-Clause
"""Outputs of runs on hosts that share a home folder: each process has its own. A host finds what a process
left that ended during a run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nrbench.cluster.cache import last_output, outputs_kept
from nrbench.sweep import process

ROOT = Path(__file__).resolve().parents[1]
RUNS = """
import sys
from nrbench.cluster.cache import outputs_kept
from nrbench.sweep import process
with outputs_kept():
    path = process.OUTPUT_FOLDER[0] / "0.out"
    path.write_text("last words")
    print(path, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))


@pytest.fixture
def host(tmp_path, monkeypatch):
    """Makes this process one of another host: with a folder for temporary files of its own."""

    def on(name):
        (tmp_path / name).mkdir(exist_ok=True)
        monkeypatch.setenv("TMPDIR", str(tmp_path / name))
        monkeypatch.setattr("tempfile.tempdir", None)

    return on


@pytest.fixture
def other(host):
    """A process on host a in the middle of a run."""
    host("a")
    with subprocess.Popen(
        [sys.executable, "-c", RUNS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as child:  # fmt: skip
        child.output = Path(child.stdout.readline().strip())
        yield child
        child.kill()


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_process_neither_reads_nor_removes_what_another_one_prints(other, host, name):
    host(name)
    with outputs_kept():
        assert list(process.OUTPUT_FOLDER[0].iterdir()) == [] and last_output() == ""
    assert other.output.read_text() == "last words"


def test_a_host_finds_what_a_process_left_there_until_its_next_job(other, host):
    other.kill()
    other.wait()
    host("b")
    assert last_output() == ""
    host("a")
    assert last_output() == "last words"
    with outputs_kept():
        assert last_output() == ""
    assert not other.output.exists()
