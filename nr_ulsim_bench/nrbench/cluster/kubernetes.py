# SPDX-License-Identifier: BSD-3-Clause
"""The way kubernetes[:FILE]: a tunnel to the scheduler that ci/deploy/cluster/kubernetes.yaml has started.

kubectl makes the tunnel and reads the certificates, which stay in this process's memory. Scheduler and
workers go on when the command ends."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import tempfile
import time
from contextlib import contextmanager
from typing import IO, Any, Iterator

from pydantic import BaseModel, ConfigDict

from nrbench.driver import BenchError
from nrbench.programs import which

LOOPBACK = "127.0.0.1"
PORT = 8786  # of the service
TUNNEL_S, ANSWER_S, LOOK_S = 90.0, 60.0, 0.05  # kubectl itself waits 60 s for the scheduler's pod
LOG_BYTES = 1 << 20
FILES = {"tls_ca_file": "ca.crt", "tls_client_cert": "tls.crt", "tls_client_key": "tls.key"}  # of the secret
USUAL = ("Forwarding from ", "Handling connection ")  # lines of kubectl that are no complaints
FORWARDS = re.compile(rf"Forwarding from {re.escape(LOOPBACK)}:(\d+) ")


class Kubernetes(BaseModel):
    """The keys of the file."""

    model_config = ConfigDict(extra="forbid")

    context: str | None = None  # of kubectl; default: the current one
    namespace: str | None = None
    service: str = "nrbench-scheduler"
    workers: str = "nrbench-worker"  # the DaemonSet
    secret: str = "nrbench-tls"

    def kubectl(self, *words: str) -> list[str]:
        own = {"--context": self.context, "--namespace": self.namespace}
        return ["kubectl", *(f"{name}={value}" for name, value in own.items() if value), *words]


def _object(wanted: Kubernetes, kind: str, name: str) -> Any:
    if not which("kubectl"):
        raise BenchError("--cluster kubernetes: there is no kubectl here")
    words = wanted.kubectl("get", kind, name, "--output=json")
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=ANSWER_S)
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"--cluster kubernetes: no answer to: {' '.join(words)}") from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise BenchError(f"--cluster kubernetes: {kind} {name}: {reason}")
    return json.loads(done.stdout)


def credentials(wanted: Kubernetes) -> Any:
    """@return Dask's Security of the client"""
    from distributed.security import Security

    data = _object(wanted, "secret", wanted.secret).get("data", {})
    absent = [file for file in FILES.values() if file not in data]
    if absent:
        raise BenchError(f"--cluster kubernetes: secret {wanted.secret} has no {', '.join(absent)}")
    texts = {field: base64.b64decode(data[file]).decode() for field, file in FILES.items()}
    return Security(require_encryption=True, **texts)


def nodes(wanted: Kubernetes) -> int:
    """On which a worker is to run. @raise BenchError  none"""
    found = _object(wanted, "daemonset", wanted.workers)
    count = int(found.get("status", {}).get("desiredNumberScheduled", 0))
    if not count:
        raise BenchError(
            f"--cluster kubernetes: DaemonSet {wanted.workers} is for 0 nodes: its nodeSelector fits none "
            "(kubectl label node NODE nrbench=worker)"
        )
    return count


class Tunnel:
    """kubectl port-forward. It goes on when a connection fails, and ends when the pod is gone."""

    def __init__(self, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
        self._process, self._log = process, log
        self.address = f"tls://{LOOPBACK}:{self._port()}"

    def _text(self) -> str:
        return os.pread(self._log.fileno(), LOG_BYTES, 0).decode(
            errors="replace"
        )  # kubectl's own place stays

    def _port(self) -> int:
        until = time.monotonic() + TUNNEL_S
        while True:
            ended = self._process.poll() is not None or time.monotonic() > until
            found = FORWARDS.search(self._text())
            if found:
                return int(found[1])
            if ended:
                raise BenchError(f"--cluster kubernetes: no tunnel: {self.why() or 'no output'}")
            time.sleep(LOOK_S)

    def why(self) -> str:
        """@return kubectl's last complaint; empty: none"""
        lines = [line.strip() for line in self._text().splitlines() if not line.startswith(USUAL)]
        return next(filter(None, reversed(lines)), "")


@contextmanager
def tunnel(wanted: Kubernetes) -> Iterator[Tunnel]:
    words = wanted.kubectl("port-forward", f"--address={LOOPBACK}", f"service/{wanted.service}", f":{PORT}")
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log.fileno(), stderr=log.fileno(), start_new_session=True
        )
        try:
            yield Tunnel(process, log)
        finally:
            process.kill()
            process.wait()
