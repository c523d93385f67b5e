# SPDX-License-Identifier: BSD-3-Clause
"""The way kubernetes[:FILE]: a tunnel to the scheduler that ci/deploy/cluster/kubernetes.yaml has started.

kubectl makes the tunnel and reads the certificates, which stay in this process's memory. Scheduler and
workers go on when the command ends."""

import base64
import json
import re
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from nrbench.driver import BenchError
from nrbench.record import Strict
from nrbench.sweep.parse import last_line

LOOPBACK = "127.0.0.1"
PORT = 8786  # of the service
TUNNEL_S, ANSWER_S, LOOK_S = 90.0, 60.0, 0.05  # kubectl itself waits 60 s for the scheduler's pod
FILES = {"tls_ca_file": "ca.crt", "tls_client_cert": "tls.crt", "tls_client_key": "tls.key"}  # of the secret
FORWARDS = re.compile(rf"Forwarding from {re.escape(LOOPBACK)}:(\d+) ")


class Kubernetes(Strict):
    """The keys of the file."""

    context: str | None = None  # of kubectl; default: the current one
    namespace: str | None = None
    service: str = "nrbench-scheduler"
    secret: str = "nrbench-tls"

    def kubectl(self, *words: str) -> list[str]:
        own = {"--context": self.context, "--namespace": self.namespace}
        return ["kubectl", *(f"{name}={value}" for name, value in own.items() if value), *words]

    def answer(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = self.kubectl(*words)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=ANSWER_S)


def credentials(wanted: Kubernetes) -> Any:
    """@return Dask's Security of the client"""
    from distributed.security import Security

    done = wanted.answer("get", "secret", wanted.secret, "--output=json")
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise BenchError(f"secret {wanted.secret}: {reason}")
    data = json.loads(done.stdout).get("data", {})
    absent = [file for file in FILES.values() if file not in data]
    if absent:
        raise BenchError(f"secret {wanted.secret} has no {', '.join(absent)}")
    texts = {field: base64.b64decode(data[file]).decode() for field, file in FILES.items()}
    return Security(require_encryption=True, **texts)


def nodes(wanted: Kubernetes) -> int:
    """On which a worker is to run."""
    done = wanted.answer("get", "daemonset", "--output=jsonpath={.items[*].status.desiredNumberScheduled}")
    return sum(map(int, filter(str.isdecimal, done.stdout.split()))) or 1


@contextmanager
def tunnel(wanted: Kubernetes) -> Iterator[str]:
    """kubectl port-forward. It goes on when a connection fails, and ends when the pod is gone.

    @return the address here"""
    words = wanted.kubectl("port-forward", f"--address={LOOPBACK}", f"service/{wanted.service}", f":{PORT}")
    with tempfile.NamedTemporaryFile() as log:
        inputs: Any = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        process = subprocess.Popen(words, start_new_session=True, **inputs)
        try:
            until = time.monotonic() + TUNNEL_S
            while not (found := FORWARDS.search(text := Path(log.name).read_text(errors="replace"))):
                if process.poll() is not None or time.monotonic() > until:
                    raise BenchError(f"no tunnel: {last_line(text)}")
                time.sleep(LOOK_S)
            yield f"tls://{LOOPBACK}:{found[1]}"
        finally:
            process.kill()
            process.wait()
