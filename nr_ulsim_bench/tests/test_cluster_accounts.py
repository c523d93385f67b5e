# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench sweep --cluster ssh:FILE` by one real ssh daemon with three accounts, each with a made-up machine.

The accounts exist only in the daemon's mount namespace: its /etc/passwd, group and shadow are copies. They
share this machine's lock, and may not read the client's builds."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from cluster_tools import CASES, ROOT, assert_nothing_doubled, make_builds, nrbench, runs_of  # noqa: E402
from test_cluster_ssh import SSHD, Daemons, free_port, needs_sshd  # noqa: E402

from nrbench.sweep import session  # noqa: E402

pytestmark = pytest.mark.alone
NAMES = ("nrbench-ann", "nrbench-bob", "nrbench-cid")
DATABASES = ("passwd", "group", "shadow")
ALONE = ["unshare", "--mount", "--propagation", "private"]
# Fails if a run of another account is going on.
EXCLUSIVE = """\
import time
os.close(os.open({path!r}, os.O_CREAT | os.O_EXCL))
time.sleep(0.01)
os.unlink({path!r})
"""


def _free_ids():
    import pwd

    taken = {entry.pw_uid for entry in pwd.getpwall()}
    return [number for number in range(64000, 65000) if number not in taken][: len(NAMES)]


def _why_not():
    """Why there can be no accounts here; empty: there can."""
    if os.getuid() != 0:
        return "not root"
    tried = subprocess.run([*ALONE, "mount", "--bind", "/etc/group", "/etc/passwd"], capture_output=True)
    if tried.returncode:
        return f"no mount namespace: {tried.stderr.decode().strip()}"
    words = [sys.executable, "-c", "import distributed, nrbench.cluster.worker"]
    number = _free_ids()[0]
    tried = subprocess.run(
        words, user=number, group=number, extra_groups=[], capture_output=True, cwd="/", timeout=600,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    return f"other users cannot run this Python and {ROOT}" if tried.returncode else ""


class Accounts(Daemons):
    """One daemon. `shared` is a folder that the accounts can enter."""

    def begin(self, shared):
        self.shared = shared
        etc = shared / "etc"
        etc.mkdir()
        for name in DATABASES:
            shutil.copy(f"/etc/{name}", etc / name)
        with open(etc / "passwd", "a") as passwd, open(etc / "group", "a") as group:
            with open(etc / "shadow", "a") as shadow:
                for name, number in zip(NAMES, _free_ids()):
                    home = shared / name
                    home.mkdir()
                    os.chown(home, number, number)
                    passwd.write(f"{name}:x:{number}:{number}::{home}:/bin/sh\n")
                    group.write(f"{name}:x:{number}:\n")
                    shadow.write(f"{name}:*:19000:0:99999:7:::\n")
        shutil.copy(self.folder / "authorized", shared / "authorized")
        self.port = free_port()
        (shared / "daemon.conf").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nPidFile none\n"
            f"UsePAM no\nAuthorizedKeysFile {shared}/authorized\nStrictModes no\nPasswordAuthentication no\n"
            + "".join(map(self._of_account, NAMES))
        )
        mounts = [f"mount --bind {shlex.quote(str(etc / name))} /etc/{name}" for name in DATABASES]
        daemon = shlex.join([SSHD, "-D", "-e", "-f", str(shared / "daemon.conf")])
        self.run([*ALONE, "sh", "-c", " && ".join([*mounts, f"exec {daemon}"])], "daemon")

    def _of_account(self, name):
        root = self.machine(name)
        shutil.move(root, self.shared / "machines" / name)
        home = self.shared / name
        return (
            f"Match User {name}\n SetEnv XDG_CACHE_HOME={home}/cache TMPDIR={home} "
            f"NRBENCH_SYSTEM_ROOT={self.shared}/machines/{name} NRBENCH_MACHINE_LOCK={self.shared}/lock\n"
        )

    def hosts(self):
        more = f"port={self.port} config={self.folder}/config python={sys.executable} nrbench={ROOT}"
        return "".join(f"{name}@127.0.0.1 name={name} {more}\n" for name in NAMES)


@pytest.fixture
def accounts(tmp_path):
    why = _why_not()
    if why:
        pytest.skip(why)
    made = Accounts(tmp_path)
    try:
        with tempfile.TemporaryDirectory() as folder:
            shared = Path(folder)
            shared.chmod(0o1777)  # of the lock
            (shared / "machines").mkdir()
            made.begin(shared)
            yield made
            made.end()
    finally:
        made.end()


@needs_sshd
@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare")
def test_three_accounts_of_one_daemon_take_the_runs_in_turn(accounts, tmp_path, monkeypatch):
    monkeypatch.setattr(session, "_report", lambda *_: None)
    shared = accounts.shared
    builds = make_builds(shared)
    for pool in ("old", "new"):
        (shared / f"{pool}.py").write_text(EXCLUSIVE.format(path=str(shared / "a run")))
        (shared / pool).chmod(0o700)
    hosts = tmp_path / "hosts.txt"
    hosts.write_text(accounts.hosts())
    answer = nrbench("sweep", *builds, *CASES, "--repeats", "2", "--cluster", f"ssh:{hosts}")
    assert answer.exit_code == 0, answer.output
    runs = runs_of(shared)
    assert_nothing_doubled(runs, 36)
    assert all(run.status == "ok" for run in runs)
    assert {run.host.label.partition(":")[0] for run in runs} == set(NAMES)
    for name in NAMES:
        sent = list((shared / name / "cache" / "nrbench").rglob("nr_ulsim"))
        assert len(sent) == 2 and {path.stat().st_uid for path in sent} == {(shared / name).stat().st_uid}
