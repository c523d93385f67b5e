# SPDX-License-Identifier: BSD-3-Clause
"""Words, variables and certificates that the files of ci/deploy/cluster give to schedulers and workers."""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import dask.config
import yaml
from cluster_tools import Lab, until

PIECES = Path(__file__).resolve().parents[2] / "ci" / "deploy" / "cluster"
MOUNTED = "/etc/nrbench/tls"  # where a container has the certificates


def manifest(kind):
    found = yaml.safe_load_all((PIECES / "kubernetes.yaml").read_text())
    (one,) = (one for one in found if one["kind"] == kind)
    (container,) = one["spec"]["template"]["spec"]["containers"]
    return container


def image():
    """@return the variables and the entry point of the Containerfile"""
    text = (PIECES / "Containerfile").read_text().replace("\\\n", " ")
    (entry,) = re.findall(r"^ENTRYPOINT (\[.*\])$", text, re.MULTILINE)
    (variables,) = re.findall(r"^ENV (.*)$", text, re.MULTILINE)
    return dict(word.split("=", 1) for word in variables.split()), json.loads(entry)


class Pieces(Lab):
    """`dask` of this Python, and the certificates' folder in the place of a container's."""

    def begin(self):
        self.tls, programs = self.folder / "tls", self.folder / "bin"
        self.tls.mkdir()
        programs.mkdir()
        dask = programs / "dask"
        dask.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dask "$@"\n')
        dask.chmod(0o755)
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        text = (PIECES / "kubernetes.yaml").read_text()
        for command in re.findall(r"^#   ((?:openssl|cp) .*)$", text, re.MULTILINE):
            subprocess.run(shlex.split(command), cwd=self.tls, check=True, capture_output=True)

    def free_port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    def listens(self, port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def there(self, variables):
        return {name: value.replace(MOUNTED, str(self.tls)) for name, value in variables.items()}

    def own(self, name):
        root = self.machine(name)
        return {"NRBENCH_SYSTEM_ROOT": str(root), "NRBENCH_MACHINE_LOCK": str(root / "lock"),
                "XDG_CACHE_HOME": str(root / "cache")}  # fmt: skip

    def scheduler_of_kubernetes(self):
        """@return its address"""
        only, (variables, _) = manifest("Deployment"), image()
        variables |= {one["name"]: one["value"] for one in only["env"]}
        port = str(self.free_port())
        words = [port if word == "8786" else word for word in only["command"]]
        assert port in words
        self.run([*words, "--host", "127.0.0.1"], "scheduler", **self.there(variables))
        self.address = f"tls://127.0.0.1:{port}"
        until(lambda: self.listens(int(port)), "a scheduler that listens")

    def client(self):
        """Dask's configuration for a client of tls://."""
        files = {"ca-file": "ca.crt", "client.cert": "tls.crt", "client.key": "tls.key"}
        return dask.config.set({f"distributed.comm.tls.{key}": str(self.tls / files[key]) for key in files})


@contextmanager
def begun(made):
    """The scheduler of Kubernetes runs until the end."""
    try:
        made.begin()
        made.scheduler_of_kubernetes()
        yield made
    finally:
        made.end()
