# SPDX-License-Identifier: BSD-3-Clause
"""Real systems, made here: ssh daemons, a scheduler and workers with the words,
variables and certificates of ci/deploy/cluster."""

import getpass
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from cluster_tools import ROOT, Lab
from fake import executable
from part_runs import free_port

PIECES = Path(__file__).resolve().parents[2] / "ci" / "deploy" / "cluster"
MOUNTED = "/etc/nrbench/tls"  # where a container has the certificates
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
SSH = {name: shutil.which(name, path=PATH) for name in ("sshd", "ssh", "ssh-keygen")}


class Daemons(Lab):
    """An ssh daemon for each host, which runs as this user."""

    def begin(self):
        for name in ("host", "user"):
            words = [SSH["ssh-keygen"], "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)]
            subprocess.run(words, check=True)
        (self.folder / "config").write_text(
            f"Host *\n IdentityFile {self.folder}/user\n IdentitiesOnly yes\n StrictHostKeyChecking no\n"
            f" UserKnownHostsFile {self.folder}/known\n LogLevel ERROR\n"
        )
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # the daemon's own, which its service makes

    def host(self, name, has_daemon=True):
        """@return its line of the file of hosts"""
        port, own = free_port(), " ".join(f"{key}={value}" for key, value in self.own(name).items())
        (self.folder / f"{name}.conf").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {self.folder}/user.pub\nStrictModes no\nPasswordAuthentication no\n"
            f"PermitRootLogin yes\nSetEnv {own}\n"
        )
        if has_daemon:
            self.run([SSH["sshd"], "-D", "-e", "-f", self.folder / f"{name}.conf"], name)
            self.listens(name, port)
        more = f"config={self.folder}/config python={sys.executable} nrbench={ROOT}"
        return f"{getpass.getuser()}@127.0.0.1 name={name} port={port} {more}\n"


class Pieces(Lab):
    """`dask` of this Python, and the certificates' folder in the place of a container's."""

    def begin(self):
        self.tls, programs = self.folder / "tls", self.folder / "bin"
        for folder in (self.tls, programs, self.folder / "scratch"):
            folder.mkdir()
        executable(programs / "dask", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dask "$@"\n')
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        text = (PIECES / "kubernetes.yaml").read_text()
        for command in re.findall(r"^#   ((?:openssl|cp) .*)$", text, re.MULTILINE):
            subprocess.run(shlex.split(command), cwd=self.tls, check=True, capture_output=True)
        only, port = self.container("Deployment"), str(free_port())
        words = [port if word == "8786" else word for word in only["command"]]
        variables = {one["name"]: one["value"] for one in only["env"]}
        self.address = f"tls://127.0.0.1:{port}"
        self.run([*words, "--host", "127.0.0.1"], "scheduler", **self.image()[0] | self.there(variables))
        self.listens("scheduler", int(port))

    def container(self, kind):
        import yaml

        found = yaml.safe_load_all((PIECES / "kubernetes.yaml").read_text())
        (one,) = (one for one in found if one["kind"] == kind)
        return one["spec"]["template"]["spec"]["containers"][0]

    def there(self, variables):
        return {name: value.replace(MOUNTED, str(self.tls)) for name, value in variables.items()}

    def image(self):
        """@return the variables and the entry point of the Containerfile"""
        text = (PIECES / "Containerfile").read_text().replace("\\\n", " ")
        (entry,) = re.findall(r"^ENTRYPOINT (\[.*\])$", text, re.MULTILINE)
        (variables,) = re.findall(r"^ENV (.*)$", text, re.MULTILINE)
        return self.there(dict(word.split("=", 1) for word in variables.split())), json.loads(entry)

    def node(self, name):
        """A worker as a pod has it."""
        variables, entry = self.image()
        words = [word.replace("$(NODE)", name) for word in self.container("DaemonSet")["args"][1:]]
        place = ("--local-directory", self.folder / "scratch" / name)
        self.run([*entry, self.address, *words, *place], name, **variables, **self.own(name))
