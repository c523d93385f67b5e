# SPDX-License-Identifier: BSD-3-Clause
"""Commands in namespaces of their own, and the bare root that they run in. Mounts and processes live in those
namespaces: they are gone when the command ends, when ci/fresh ends, and when ci/fresh is killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

# The death of ci/fresh kills unshare, the death of unshare kills the first process of the namespace, and its
# death kills the others.
ALONE = (
    "setpriv", "--pdeathsig", "KILL",
    "unshare", "--mount", "--mount-proc", "--pid", "--ipc", "--propagation", "private",
    "--fork", "--kill-child", "--",
)  # fmt: skip
MOUNTS = """
set -e
root=$1 archives=$2
shift 2
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
mkdir -m 1777 "$root/run/lock"
mount --bind "$archives" "$root/var/cache/apt/archives"
exec chroot "$root" "$@"
"""
# Runs a command as the first process of the namespace, and then asks whether it left one behind.
FIRST = r"""
cd "$1" && looks=$2 && shift 2
"$@"
code=$?
while [ "$((looks--))" -gt 0 ]; do
  left=""
  for status in /proc/[0-9]*/status; do
    pid=${status#/proc/} pid=${pid%/status}
    state=$(sed -n 's/^State:[[:space:]]*//p' "$status" 2>/dev/null)
    case "$pid:$state" in 1:* | *: | *:[ZX]*) continue ;; esac
    [ ! -d "/proc/$pid" ] || left="$left $(cat "/proc/$pid/comm") ($pid)"
  done
  [ -n "$left" ] || exit "$code"
  sleep 0.5
done
echo "fresh: the command left processes running:$left"
exit 1
"""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Failed(Exception):
    pass


def run_alone(command: Sequence[str], log: IO[bytes], env: Mapping[str, str] | None = None) -> int:
    """Exit status of the command. Kills all that it started when this thread is interrupted."""
    child = subprocess.Popen(
        [*ALONE, *command],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=env,
        start_new_session=True,
    )
    try:
        return child.wait()
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def remove(folder: Path) -> None:
    """Removes a root. A process in it that was killed just now may still write."""
    for _ in range(50):
        subprocess.run(
            ["rm", "-rf", "--one-file-system", "--", str(folder)], stderr=subprocess.DEVNULL, check=False
        )
        if not folder.exists():
            return
        time.sleep(0.1)
    raise Failed(f"{folder} cannot be removed")


class Root:
    """A root below a folder, with a cache of packages that the roots of that folder share."""

    looks = 10  # for processes that a command has left, 0.5 s apart

    def __init__(self, folder: Path, name: str, variables: Mapping[str, str]) -> None:
        self.path = folder / name
        self.archives = folder / "archives"
        self.variables = dict(variables)

    def make(self, suite: str, sources: Sequence[str], options: Sequence[str], log: IO[bytes]) -> None:
        remove(self.path)
        self.archives.mkdir(parents=True, exist_ok=True)
        command = ["mmdebstrap", "--variant=apt", "--include=ca-certificates"]
        command += [f"--aptopt={option}" for option in options]
        scratch = self.path.parent / "scratch"
        scratch.mkdir(exist_ok=True)
        env = {**os.environ, "TMPDIR": str(scratch)}
        if run_alone([*command, suite, str(self.path), *sources], log, env) != 0:
            raise Failed("mmdebstrap could not make a root")

    def copy(self, name: str) -> Root:
        other = Root(self.path.parent, name, self.variables)
        remove(other.path)
        subprocess.run(["cp", "-a", "--reflink=auto", str(self.path), str(other.path)], check=True)
        return other

    def run(self, command: Sequence[str], log: IO[bytes], folder: str = "/", user: str = "root") -> int:
        """Exit status of the command, run in the root; not 0 when it left a process behind."""
        home = "/root" if user == "root" else f"/home/{user}"
        env = {"PATH": PATH, "HOME": home, "USER": user, "LOGNAME": user, "LANG": "C.UTF-8", "TERM": "dumb"}
        words = [
            "/usr/bin/env",
            "-i",
            *(f"{name}={value}" for name, value in {**env, **self.variables}.items()),
        ]
        if user != "root":
            words += ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--"]
        words += ["/bin/bash", "-c", FIRST, "fresh", folder, str(self.looks), *command]
        mounted = ["/bin/sh", "-c", MOUNTS, "fresh", str(self.path), str(self.archives), *words]
        return run_alone(mounted, log, {"PATH": os.environ.get("PATH", PATH)})

    def must(self, command: Sequence[str], log: IO[bytes]) -> None:
        if self.run(command, log) != 0:
            raise Failed(f"{' '.join(command)} failed in the root")

    def clone(self, checkout: Path, folder: str, log: IO[bytes]) -> None:
        """What is committed in the checkout. It may belong to another user than root."""
        trust = self.path.parent / "gitconfig"
        trust.write_text("[safe]\n\tdirectory = *\n", encoding="utf-8")
        command = ["git", "clone", "--quiet", "--no-hardlinks", str(checkout), str(self.path / folder[1:])]
        env = {**os.environ, "GIT_CONFIG_GLOBAL": str(trust)}
        try:
            if subprocess.run(command, stdout=log, stderr=log, env=env, check=False).returncode != 0:
                raise Failed(f"git could not clone {checkout}")
        finally:
            trust.unlink()

    def keep_logs(self, folder: str, target: Path) -> None:
        """Copies the logs of ci/test out of the root."""
        logs = self.path / folder[1:] / "build-ci" / "logs"
        if logs.is_dir():
            shutil.copytree(logs, target, dirs_exist_ok=True)
