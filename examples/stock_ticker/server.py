#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A slow server of stock quotes on loopback: GET /quote/SYMBOL answers the symbol's line of
quotes.csv.

Prints "port N" when it accepts connections, and serves until its standard input ends.
"""

from __future__ import annotations

import argparse
import csv
import http.server
import sys
import threading
import time
from pathlib import Path

FAULTS = ("missing", "garbage", "short", "silent", "other")


def read_quotes(path: Path) -> dict[str, str]:
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
    return {row[0]: ",".join(row) for row in rows}


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        symbol = self.path.removeprefix("/quote/")
        time.sleep(self.server.delay_s)
        fault = self.server.faults.get(symbol)
        line = self.server.quotes.get(symbol)
        if line is None or fault == "missing":
            self.send_error(404, "no such symbol")
            return
        if fault == "silent":
            self.server.over.wait()
            return
        if fault == "garbage":
            self.wfile.write(b"220 this is no web server\r\n")
            return
        body = ("OTHER,Other,1,1,1" if fault == "other" else line).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/csv")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault == "short" else body)

    def log_message(self, format: str, *values: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def __init__(self, port: int, quotes: dict[str, str], delay_s: float, faults: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.quotes, self.delay_s, self.faults = quotes, delay_s, faults
        self.over = threading.Event()


def parse_fault(text: str) -> tuple[str, str]:
    symbol, _, fault = text.partition("=")
    if fault not in FAULTS:
        raise argparse.ArgumentTypeError(f"{text!r}: expected SYMBOL=FAULT, a fault of {', '.join(FAULTS)}")
    return symbol, fault


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="default: 0, a free one")
    parser.add_argument(
        "--delay-ms", type=float, default=20, help="before each answer (default: %(default)s)"
    )
    parser.add_argument("--quotes", type=Path, default=Path(__file__).with_name("quotes.csv"))
    parser.add_argument(
        "--fault", type=parse_fault, action="append", default=[], help="SYMBOL=FAULT: for tests"
    )
    args = parser.parse_args()
    server = Server(args.port, read_quotes(args.quotes), args.delay_ms / 1e3, dict(args.fault))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"port {server.server_address[1]}", flush=True)
    sys.stdin.buffer.read()
    server.over.set()
    server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
