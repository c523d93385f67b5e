#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Starts the server, runs the program against it, and compares what it prints. No time is judged.

test_ticker.py PROGRAM CASE: a case is a function below.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

from server import read_quotes

HERE = Path(__file__).resolve().parent
QUOTES = {name: line.split(",") for name, line in read_quotes(HERE / "quotes.csv").items()}
LONG_MS = "60000"  # "never" becomes a failure


class Served:
    """A server while it is used."""

    def __init__(self, *options: str) -> None:
        self.options = options

    def __enter__(self) -> str:
        command = [sys.executable, str(HERE / "server.py"), "--delay-ms", "1", *self.options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        return self.process.stdout.readline().removeprefix("port ").strip()

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=60)


def ticker(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    answer = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=120)
    assert answer.returncode == status, (answer.returncode, answer.stdout, answer.stderr)
    return answer


def row(name: str) -> str:
    _, company, cap, last, change = QUOTES[name]
    return f"{name:8} {company:23} {float(cap):14.1f} {float(last):10.2f} {float(change):+7.2f}%"


def table() -> None:
    """The symbols' order, in whatever order the answers come."""
    wanted = list(map(row, QUOTES))
    with Served() as port:
        for options in (["--threads", "1"], ["--threads", "5"], ["--threads", "5", "--unmarked"], []):
            lines = ticker("--port", port, "--timeout-ms", LONG_MS, *options).stdout.splitlines()
            assert lines[0].split()[0] == "symbol" and lines[1:-1] == wanted, lines
            assert "22 symbols, 0 errors" in lines[-1]
        some = ticker("--port", port, "--timeout-ms", LONG_MS, "YEWS", "ALDR").stdout.splitlines()
        assert some[1:3] == [row("YEWS"), row("ALDR")], some


def sweep() -> None:
    with Served() as port:
        words = ("--port", port, "--timeout-ms", LONG_MS, "--sweep", "--json", "--repeat", "2")
        lines = [json.loads(line) for line in ticker(*words).stdout.splitlines()]
    assert [line["threads"] for line in lines] == list(range(1, 12))
    for line in lines:
        assert (line["symbols"], line["errors"], line["marked"]) == (44, 0, True)
        assert line["wall_ms"] > 0 and line["cpu_ms"] >= 0 and line["symbols_per_s"] > 0
        assert len(line) == 7


def faults() -> None:
    """Each is named, and the other symbols have their quotes."""
    said = {
        "ALDR": ("garbage", "not an HTTP reply: 220 this is no web server"),
        "CEDR": ("missing", "the server refused: 404 no such symbol"),
        "ELMS": ("short", "the reply is cut off"),
        "OAKS": ("other", "a quote of another symbol: OTHER"),
    }
    options = [f"--fault={name}={fault}" for name, (fault, _) in said.items()]
    with Served(*options) as port:
        answer = ticker("--port", port, "--timeout-ms", LONG_MS, *QUOTES, "NONE", status=1)
    lines = answer.stdout.splitlines()
    wanted = [f"{name:8} {said[name][1]}" if name in said else row(name) for name in QUOTES]
    assert lines[1:-1] == [*wanted, "NONE     the server refused: 404 no such symbol"], lines
    assert "23 symbols, 5 errors" in lines[-1]


def silence() -> None:
    with Served("--fault", "PINE=silent") as port:
        lines = ticker("--port", port, "--timeout-ms", "50", "PINE", status=1).stdout.splitlines()
    assert lines[1] == "PINE     no answer in time", lines


def no_server() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = str(closed.getsockname()[1])
        lines = ticker("--port", port, "--timeout-ms", LONG_MS, "PINE", status=1).stdout.splitlines()
    assert lines[1] == "PINE     connect: Connection refused", lines


def bad_options() -> None:
    assert "--port is missing" in ticker(status=2).stderr
    assert "--port 70000: expected a number from 1 to 65535" in ticker("--port", "70000", status=2).stderr
    assert "--threads 0: expected" in ticker("--port", "1", "--threads", "0", status=2).stderr
    assert 'symbol "a b": expected' in ticker("--port", "1", "a b", status=2).stderr


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    globals()[sys.argv[2]]()
