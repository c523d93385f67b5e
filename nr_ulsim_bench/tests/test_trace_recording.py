# SPDX-License-Identifier: BSD-3-Clause
"""What may go wrong around a recording, with the model of LTTng: folders, disks, memory, killed recorders."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

import pytest
from test_trace_record import END, WHOLE, Model

from nrbench.trace import record

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def model(tmp_path):
    return Model(tmp_path)


def one_line(answer: subprocess.CompletedProcess) -> str:
    assert "Traceback" not in answer.stderr and answer.stderr.count("\n") == 1
    return answer.stderr


@pytest.mark.parametrize("out, why", [("/dev/null/x", "Not a directory"), ("/proc/x", "No such file")])
def test_an_out_that_cannot_be_made(model, out, why):
    model.out = Path(out)
    answer = model.record("--", "true")
    assert answer.returncode == 2 and model.told() == []
    assert one_line(answer).startswith(f"tpool-ws-trace: {out}: {why}")


def test_what_cannot_be_written_down_does_not_take_the_exit_status(model):
    """The model makes a folder where the file should be."""
    answer = model.record("--", "sh", "-c", f"mkdir {model.out}/recorded.json; exit 7")
    assert answer.returncode == 7 and "recorded.json: Is a directory; the report" in answer.stderr
    assert "Traceback" not in answer.stderr and model.told() == WHOLE + END


@pytest.mark.parametrize("step", ["create", "start"])
def test_a_failed_start_leaves_no_folder(model, step):
    failed = {"LTTNG_FAIL": step, "LTTNG_METADATA": ""}
    assert model.record("--", "true", **failed).returncode == 2 and not model.out.exists()
    model.out.mkdir()
    assert model.record("--", "true", **failed).returncode == 2 and model.out.is_dir()  # not ours
    model.out.rmdir()
    assert model.record("--", "true", LTTNG_FAIL="start").returncode == 2
    assert (model.out / "ust" / "metadata").is_file()


def test_the_command_is_written_down(model):
    answer = model.record("--", "sh", "-c", "echo $$")
    assert json.loads((model.out / "recorded.json").read_text())["pid"] == int(answer.stdout)
    model.out = model.folder / "other"
    model.record("--seconds", "0.1")
    assert json.loads((model.out / "recorded.json").read_text())["pid"] is None


def test_programs_say_what_they_have_loaded_while_they_run(model):
    """The command ends when LTTng has been told so."""
    model.dumps_s = (0.1,)
    answer = model.record(
        "--name", "s", "--", "sh", "-c", f"until grep -q regen {model.log}; do sleep 0.1; done"
    )
    assert answer.returncode == 0 and model.told() == [*WHOLE, "regenerate", *END]
    assert "regenerate statedump --session=s\n" in model.log.read_text()


def test_that_this_fails_is_of_no_consequence(model):
    answer = model.record("--seconds", "0.1", LTTNG_FAIL="regenerate")
    assert answer.returncode == 0 and model.told() == [*WHOLE, "regenerate", *END]


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
def test_another_users_folders():
    pytest.importorskip("bt2")
    folder = Path(tempfile.mkdtemp())  # pytest's own are closed to others
    (folder / "closed" / "t").mkdir(parents=True)
    shutil.copytree(Path(record.__file__).parents[1], folder / "nrbench")
    folder.chmod(0o755)
    (folder / "closed").chmod(stat.S_IRWXU)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    words = [sys.executable, "-m", "nrbench.trace"]
    try:
        for more in (["record", "--out", f"{folder}/closed/t", "--", "true"], ["report", f"{folder}/closed"]):
            answer = subprocess.run(
                [*nobody, *words, *more], capture_output=True, text=True, cwd=folder, timeout=300
            )
            assert answer.returncode == 2 and "closed" in one_line(answer)
            assert "Permission denied" in answer.stderr
    finally:
        shutil.rmtree(folder)
