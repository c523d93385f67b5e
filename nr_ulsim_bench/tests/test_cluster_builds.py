# SPDX-License-Identifier: BSD-3-Clause
"""Builds on hosts: found by path, sent once by content, checked by hash, tried before the first run."""

import os
import shutil
import subprocess
from dataclasses import replace

import pytest
from fake import a_program

pytest.importorskip("distributed")

from nrbench.cluster import builds, take  # noqa: E402
from nrbench.cluster.builds import HostBuildError, bring, find, manifest_of, receive  # noqa: E402
from nrbench.sweep import simulator  # noqa: E402
from nrbench.sweep.session import Setting

SETTING = Setting("s", "c", ("-n9", "-C1"), "old", None, 1)
ABOUT = {
    "label": "x", "id": "0" * 8, "cpu": "c", "cores": 1, "cores_online": 1, "architecture": "x86_64",
    "kernel": "6", "virtual": False, "mask": "0", "rt_allowed": False, "load": 0.0,
}  # fmt: skip


class Host:
    """Runs what is sent to it here, and counts."""

    def __init__(self):
        self.asked = []

    def __call__(self, function, *arguments):
        self.asked.append(function.__name__)
        return function(*arguments)


@pytest.fixture
def build(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(builds, "CHUNK_BYTES", 1000)
    a_program(tmp_path / "build", "print('run')")
    for name, size in (("libldpc.so", 2500), ("libdfts.so", 2000), ("libempty.so", 0)):
        (tmp_path / "build" / name).write_bytes(os.urandom(size))
    return simulator.find(tmp_path / "build", "--old")


@pytest.fixture
def moved(build):
    """What the client has at a path that the host does not have."""
    return replace(manifest_of(build), path="/nowhere/nr_ulsim")


def test_a_build_at_the_same_path_is_used_there_and_nothing_is_sent(build):
    host = Host()
    assert bring(build, manifest_of(build), host) == build
    assert host.asked == ["find"]


def test_other_content_at_the_same_path_is_not_used(build, moved, tmp_path):
    other = a_program(tmp_path / "other", "print('another')")
    path, lacking = find(replace(moved, path=str(other / "nr_ulsim")))
    assert path is None and len(lacking) == 4


def test_a_build_is_sent_once_and_found_again_by_its_content(build, moved, tmp_path):
    host = Host()
    there = bring(build, moved, host)
    assert host.asked == ["find", *["receive"] * host.asked.count("receive"), "assemble"]
    assert host.asked.count("receive") >= 7  # in chunks
    assert there.program != build.program and tmp_path / "cache" in there.program.parents
    assert there.environment == (("LD_LIBRARY_PATH", str(there.folder)),)
    for path in build.folder.iterdir():
        assert (there.folder / path.name).read_bytes() == path.read_bytes()
    assert there.run(("-C1",), SETTING, 60, [None])[0].output == "run\n"
    again = Host()
    assert bring(build, moved, again) == there and again.asked == ["find"]


def test_of_a_rebuilt_pool_only_what_changed_is_sent(build, moved):
    bring(build, moved, Host())
    (build.folder / "libldpc.so").write_bytes(b"new")
    rebuilt = simulator.find(build.folder, "--old")
    host = Host()
    bring(rebuilt, replace(manifest_of(rebuilt), path="/nowhere/nr_ulsim"), host)
    assert host.asked == ["find", "receive", "assemble"]


def test_what_is_kept_is_checked_and_mended(build, moved):
    damaged = bring(build, moved, Host())
    (damaged.folder / "libdfts.so").write_bytes(b"damaged")  # and so the file that it is a link to
    host = Host()
    there = bring(build, moved, host)
    assert "receive" in host.asked
    assert (there.folder / "libdfts.so").read_bytes() == (build.folder / "libdfts.so").read_bytes()
    again = Host()
    assert bring(build, moved, again) == there and again.asked == ["find"]


def test_a_look_removes_nothing_that_another_host_with_this_home_may_use(build, moved, tmp_path, monkeypatch):
    """It sees no build there: the other host stores it just now, or NFS shows an old state of the file."""
    there = bring(build, moved, Host())
    before = set((tmp_path / "cache").rglob("*"))
    with monkeypatch.context() as patched:
        patched.setattr(builds, "_is_build", lambda *_: False)
        patched.setattr(builds, "_sha256", lambda _: "")
        path, lacking = find(moved)
        assert path is None and len(lacking) == 4
    assert set((tmp_path / "cache").rglob("*")) == before
    assert bring(build, moved, Host()) == there


def test_what_arrives_damaged_is_refused_and_not_kept(build, moved, tmp_path):
    with pytest.raises(HostBuildError, match="arrived damaged"):
        receive(moved.files[0].sha256, "t", b"other", True)
    assert not list((tmp_path / "cache" / "nrbench" / "files").iterdir())


def test_a_library_that_is_missing_is_named(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler or not shutil.which("ldd"):
        pytest.skip("no C compiler or no ldd here")
    (tmp_path / "part.c").write_text("int part(void) { return 0; }\n")
    (tmp_path / "main.c").write_text("int part(void);\nint main(void) { return part(); }\n")
    subprocess.run([compiler, "-shared", "-o", "libpart.so", "part.c"], cwd=tmp_path, check=True)
    words = [compiler, "-o", "nr_ulsim", "main.c", "-L.", "-lpart", "-Wl,-rpath,$ORIGIN"]
    subprocess.run(words, cwd=tmp_path, check=True)
    assert builds.absent_libraries(tmp_path / "nr_ulsim", ()) == []
    (tmp_path / "libpart.so").unlink()
    assert builds.absent_libraries(tmp_path / "nr_ulsim", ()) == ["libpart.so"]
    found = simulator.find(tmp_path, "--old")
    answer = take.try_builds({"old": (found, SETTING)}, ABOUT, None, (), lambda *_: 1)
    (reason,) = answer["trouble"]
    assert reason.startswith("--old: ") and "does not find libpart.so; install them there" in reason


def test_a_build_for_another_cpu_is_named_with_what_the_cpu_lacks(tmp_path, monkeypatch):
    a_program(tmp_path / "build", "import signal\nos.kill(os.getpid(), signal.SIGILL)")
    monkeypatch.setattr(take, "cpu_flags", lambda _: ("avx2", "sse2"))
    found = simulator.find(tmp_path / "build", "--new")
    flags = ("avx512f", "avx2", "sse2")
    answer = take.try_builds({"new": (found, SETTING)}, ABOUT, None, flags, lambda *_: 3)
    (reason,) = answer["trouble"]
    assert "is built for another CPU (SIGILL): it lacks avx512f" in reason
    assert answer["at_once"] == 3 and not answer["pools"]
