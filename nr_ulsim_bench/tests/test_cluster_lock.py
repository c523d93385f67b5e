# SPDX-License-Identifier: BSD-3-Clause
"""The lock of a machine: one holder, whatever becomes of the holder and of the file."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nrbench.cluster import lock
from nrbench.cluster.lock import machine_lock

ROOT = Path(__file__).resolve().parents[1]
HOLD = """
import sys
from nrbench.cluster.lock import machine_lock
with machine_lock():
    print(1, flush=True)
    sys.stdin.read()
"""


def holder(path):
    """A process that holds the lock until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env={**os.environ, "PYTHONPATH": str(ROOT), lock.VARIABLE: str(path)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == b"1\n"
    return process


@pytest.mark.parametrize("how", ["ends", "is killed"])
def test_a_second_one_waits_until_the_first_ends(tmp_path, how):
    path = tmp_path / "lock"
    first, waited, held = holder(path), threading.Event(), threading.Event()

    def second():
        with machine_lock(waited.set, path):
            held.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert waited.wait(600) and not held.is_set()
    first.kill() if how == "is killed" else first.stdin.close()
    first.wait()
    assert held.wait(600)
    thread.join()
    first.stdout.close()


def test_nothing_waits_where_no_other_measures_and_two_after_each_other_do_not(tmp_path):
    for _ in range(2):
        with machine_lock(lambda: pytest.fail("waits"), tmp_path / "lock"):
            pass


def test_any_user_may_lock_a_file_that_only_its_maker_may_write(tmp_path):
    before = os.umask(0o077)
    try:
        with machine_lock(path=tmp_path / "lock"):
            assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o444
    finally:
        os.umask(before)


def test_a_file_that_was_replaced_meanwhile_is_not_the_lock(tmp_path):
    path = tmp_path / "lock"
    path.touch()
    handle = os.open(path, os.O_RDONLY)
    try:
        assert lock._is_there(handle, path)
        path.unlink()
        assert not lock._is_there(handle, path)
        path.touch()
        assert not lock._is_there(handle, path)
    finally:
        os.close(handle)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        with machine_lock(path=tmp_path / "lock"):
            pass
    assert not (tmp_path / "elsewhere").exists()


def test_what_is_no_file_is_refused_and_named(tmp_path):
    """Any user can make a pipe of that name. To open one may block without end."""
    os.mkfifo(tmp_path / "lock")
    with pytest.raises(OSError, match=f"{tmp_path}/lock: no regular file"):
        with machine_lock(path=tmp_path / "lock"):
            pass


def test_the_file_lies_where_every_user_may_make_one(tmp_path, monkeypatch):
    monkeypatch.delenv(lock.VARIABLE, raising=False)
    private, shared = tmp_path / "private", tmp_path / "shared"
    private.mkdir(0o755)
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setattr(lock, "FOLDERS", (tmp_path / "none", private, shared))
    assert lock.lock_path() == shared / lock.NAME
