# SPDX-License-Identifier: BSD-3-Clause
"""The stock ticker's server of quotes, for as long as a measurement takes."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from nrbench.driver import BenchError


@contextmanager
def quotes(program: Path, delay_ms: float) -> Iterator[int]:
    """@return the port. The server ends with its standard input."""
    command = [sys.executable, "-B", str(program), f"--delay-ms={delay_ms}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        word, _, port = server.stdout.readline().partition(" ")
        if word != "port" or not port.strip().isdigit():
            server.kill()
            raise BenchError(f"{program}: printed {word!r} instead of its port")
        try:
            yield int(port)
        finally:
            server.stdin.close()
