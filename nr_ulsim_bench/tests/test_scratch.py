# SPDX-License-Identifier: BSD-3-Clause
"""Temporary folders, and what is left of processes that were killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nrbench.scratch import PREFIX, remove_left, scratch_folder

ROOT = Path(__file__).resolve().parents[1]
HOLDS = (
    "import sys; from nrbench.scratch import scratch_folder\n"
    "with scratch_folder('of-a-child') as folder:\n"
    " (folder / 'file').write_text('x'); print(folder, flush=True); sys.stdin.read()\n"
)


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.fixture
def child(temporary):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    process.folder = Path(process.stdout.readline().strip())
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_a_folder_is_there_for_its_block_only(temporary):
    with scratch_folder("test") as folder:
        assert folder.parent == temporary and folder.name.startswith(f"{PREFIX}test-")
        (folder / "file").write_text("x")
    assert list(temporary.iterdir()) == []


def test_a_process_that_is_killed_leaves_its_folder_and_the_next_one_removes_it(child, temporary):
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert (child.folder / "file").exists()
    with scratch_folder("test") as folder:
        assert list(temporary.iterdir()) == [folder]


def test_the_folder_of_a_process_that_runs_is_left_alone(child):
    remove_left()
    assert (child.folder / "file").exists()
    child.stdin.close()
    child.wait()
    assert not child.folder.exists()


def test_a_link_of_that_name_is_left_alone(temporary):
    (temporary / "other").mkdir()
    (temporary / f"{PREFIX}link").symlink_to(temporary / "other")
    remove_left()
    assert (temporary / "other").is_dir() and (temporary / f"{PREFIX}link").is_symlink()


def test_a_report_that_is_killed_leaves_nothing_for_long(temporary, monkeypatch):
    from nrbench.matplotlib_home import matplotlib_apart

    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    with matplotlib_apart():
        (folder,) = temporary.iterdir()
        assert folder.name.startswith(PREFIX) and os.environ["MPLCONFIGDIR"] == str(folder)
    assert "MPLCONFIGDIR" not in os.environ and list(temporary.iterdir()) == []


def test_matplotlib_has_no_settings_of_the_user(tmp_path):
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nbackend: no-such\n")
    user = {"MPLBACKEND": "module://no_such", "MATPLOTLIBRC": str(tmp_path), "MPLCONFIGDIR": "."}
    runs = ROOT.parent / "docs" / "results" / "2-cores-sweep-v2.3.0.ndjson"
    command = [sys.executable, "-m", "nrbench", "report", str(runs), "--out", "out"]
    environment = os.environ | user | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "out" / "report.html").is_file()
