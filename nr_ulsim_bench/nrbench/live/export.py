# SPDX-License-Identifier: BSD-3-Clause
"""tpool-ws export: the pools of all processes that it may see, for Prometheus."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from typing import Any, Sequence

from nrbench.live.page import DEADLINE_AUTO, MODES, UNSEEN, LiveError, Page, Pool, bucket_end_s, of_kind
from nrbench.live.processes import find

ENDS = range(31, 152, 8)  # the last buckets of octaves, from 2 us to 67 ms
# Name; count in a page; description. Counts in nanoseconds are shown in seconds.
METRICS = (
    ("tasks_total", "run_tasks", "Tasks taken from queues and run."),
    ("inline_tasks_total", "inline_tasks", "Tasks run in their push, because a queue was full."),
    ("steals_total", "stolen_tasks", "Tasks taken from another thread's queue."),
    ("parks_total", "parks", "Times that a worker went to sleep."),
    ("spin_seconds_total", "spin_ns", "CPU time that workers have spun."),
    ("bursts_total", "bursts", "Pushes after a pause."),
    ("throttled_seconds_total", "throttled_looks", "Seconds in which a CPU quota was used up."),
    ("starved_searches_total", "starved_searches", "Workers that were to take a task and got no CPU."),
    ("judged_bursts_total", "judged_bursts", "Bursts whose end was compared with a deadline."),
    ("left_out_threads_total", "left_out", "Threads for whose events there was no room: not judged."),
    ("workers", "workers", "Worker threads."),
    ("workers_awake", "workers_awake", "Workers that do not sleep."),
    ("queued_tasks", "queued_tasks", "Tasks that wait."),
    ("prewake_level", "level", "2 = pre-wake, 1 = spin after bursts only, 0 = sleep at once."),
    ("period_seconds", "period_ns", "Time after which the pattern of bursts repeats; 0 = none."),
)
KINDS = (
    ("late_bursts_total", "burst:", "cause", "Bursts that ended late, by cause."),
    ("wake_decisions_total", "wake:", "reason", "Decisions at events that may wake workers."),
    ("prewakes_total", "timer:", "result", "Timer wakes."),
)
STARTS = "Time from a burst's first push to its first task on a worker. The sum is to within an eighth."
OVER = "Time of late bursts over their limits. The sum is to within an eighth."
NOT_YET = "Late bursts that are not examined yet, or were late faster than that could be done."
LOOK = threading.Lock()  # two that ask at once look one after the other
CLIENTS = 64  # at once


Labels = dict[str, object]


class Exposition:
    """Prometheus' text format 0.0.4: the samples of a metric stand together."""

    def __init__(self) -> None:
        self.metrics: dict[str, list[str]] = {}

    def add(self, name: str, about: str, labels: Labels, value: float, suffix: str = "") -> None:
        name = f"thread_pool_ws_{name}"
        kind = "histogram" if suffix else "counter" if name.endswith("_total") else "gauge"
        lines = self.metrics.setdefault(name, [f"# HELP {name} {about}", f"# TYPE {name} {kind}"])
        escaped = ((key, str(text).replace("\\", r"\\").replace('"', r"\"")) for key, text in labels.items())
        inside = ",".join(f'{key}="{text}"' for key, text in escaped)
        lines.append(f"{name}{suffix}{{{inside}}} {value}")

    def add_histogram(self, name: str, about: str, labels: Labels, counts: Sequence[int]) -> None:
        below = list(accumulate(counts))
        for end, text in (*((end, repr(bucket_end_s(end))) for end in ENDS), (-1, "+Inf")):
            self.add(name, about, {**labels, "le": text}, below[end], "_bucket")
        total_s = sum(n * bucket_end_s(bucket) for bucket, n in enumerate(counts))
        self.add(name, about, labels, total_s, "_sum")
        self.add(name, about, labels, below[-1], "_count")

    def add_pool(self, page: Page, pool: Pool) -> None:
        """page is unique on this machine. pid is not: in another container it is the process's own."""
        labels = {"page": "{:x}:{}".format(*page.key), "pid": page.pid or page.own_pid,
                  "program": page.program or "?", "pool": pool.id, "name": pool.name}  # fmt: skip
        for name, count, about in METRICS:
            value = pool.counts[count] / 1e9 if count.endswith("_ns") else pool.counts[count]
            self.add(name, about, labels, value)
        for name, prefix, key, about in KINDS:
            for what, number in of_kind(pool.counts, prefix).items():
                if what != UNSEEN:  # it falls, and a counter must not
                    self.add(name, about, {**labels, key: what}, number)
        self.add("unexamined_bursts", NOT_YET, labels, pool.counts[f"burst:{UNSEEN}"])
        self.add_histogram("start_lateness_seconds", STARTS, labels, pool.starts)
        self.add_histogram("end_lateness_seconds", OVER, labels, pool.ends)
        mode, given_ns = MODES[pool.settings.spin % len(MODES)], pool.settings.deadline_ns
        given_s = 0 if given_ns == DEADLINE_AUTO else given_ns / 1e9
        self.add("spin_mode", "1 = the mode of pre-wake.", {**labels, "mode": mode}, 1)
        self.add("deadline_seconds", "Of a burst, as given; 0 = none, or learnt.", labels, given_s)
        self.add("silent_seconds", "Since the page was last written.", labels, pool.silent_s)

    @classmethod
    def now(cls) -> str:
        text, (pages, errors) = cls(), find()
        for page, pools in pages:
            for pool in pools:
                text.add_pool(page, pool)
        text.add("unreadable_pages", "Pages of other versions, or without rights.", {}, len(errors))
        return "\n".join(line for lines in text.metrics.values() for line in lines) + "\n"


class Answer(BaseHTTPRequestHandler):
    timeout = 10  # seconds: a client that says nothing keeps a thread no longer

    def handle(self) -> None:
        with suppress(OSError):  # a client that has gone
            super().handle()

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/metrics":
            return self.send_error(404, explain="only /metrics")
        try:
            with LOOK:
                text = Exposition.now().encode()
        except OSError as error:
            return self.send_error(503, explain=str(error))
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else text)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """None: a line every few seconds says nothing."""


class Server(ThreadingHTTPServer):
    """Of too many clients the oldest goes: they may not keep all descriptors by saying little."""

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(listening.getsockname(), Answer, bind_and_activate=False)
        self.socket.close()
        self.socket, self.clients = listening, list[socket.socket]()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.clients = [one for one in self.clients if one.fileno() >= 0]
        if len(self.clients) >= CLIENTS:
            with suppress(OSError):
                self.clients.pop(0).shutdown(socket.SHUT_RDWR)
        self.clients.append(request)
        super().process_request(request, client_address)


def server(listen: str) -> Server:
    host, colon, port = listen.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise LiveError(f'--listen "{listen}": not <address>:<port> or :<port>, such as 127.0.0.1:9477')
    both = not host and socket.has_dualstack_ipv6()
    try:
        family = socket.AF_INET6 if both else socket.getaddrinfo(host or "0.0.0.0", port)[0][0]
        return Server(socket.create_server((host, int(port)), family=family, dualstack_ipv6=both))
    except OSError as error:
        raise LiveError(f'--listen "{listen}": {error.strerror}') from error


def run(listen: str) -> int:
    with server(listen) as answers:
        host, port = answers.socket.getsockname()[:2]
        print(f"tpool-ws: http://{f'[{host}]' if ':' in host else host}:{port}/metrics", flush=True)
        answers.serve_forever()
    return 0
