# SPDX-License-Identifier: BSD-3-Clause
"""tpool-ws export: the pools of all processes that it may see, for Prometheus."""

import threading
from typing import Iterable

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from nrbench.live.page import MODES, LiveError, bucket_end_s, of_kind
from nrbench.live.processes import find

P, LABELS = "thread_pool_ws_", ("pid", "program", "pool", "name")
ENDS = range(31, 152, 8)  # the last buckets of octaves, from 2 us to 67 ms
# Name; count in a page; description. Counts in nanoseconds are shown in seconds.
COUNTERS = (
    ("tasks", "run_tasks", "Tasks taken from queues and run."),
    ("inline_tasks", "inline_tasks", "Tasks run in their push, because a queue was full."),
    ("steals", "stolen_tasks", "Tasks taken from another thread's queue."),
    ("parks", "parks", "Times that a worker went to sleep."),
    ("spin_seconds", "spin_ns", "CPU time that workers have spun."),
    ("bursts", "bursts", "Bursts after a pause."),
    ("throttled_seconds", "throttled_looks", "Seconds in which a CPU quota was used up."),
    ("starved_searches", "starved_searches", "Workers that were to take a task and got no CPU."),
    ("judged_bursts", "judged_bursts", "Bursts whose end was compared with a deadline."),
)
GAUGES = (
    ("workers", "workers", "Worker threads."),
    ("workers_awake", "workers_awake", "Workers that do not sleep."),
    ("queued_tasks", "queued_tasks", "Tasks that wait."),
    ("prewake_level", "level", "2 = pre-wake, 1 = spin after bursts only, 0 = sleep at once."),
    ("period_seconds", "period_ns", "Time after which the pattern of bursts repeats; 0 = none."),
)
KINDS = (
    ("late_starts", "start:", "cause", "Starts above the 90th percentile, by cause."),
    ("late_bursts", "burst:", "cause", "Bursts that ended late, by cause."),
    ("wake_decisions", "wake:", "reason", "Decisions at events that may wake workers."),
    ("prewakes", "timer:", "result", "Timer wakes."),
)
STARTS = "Time from a burst's first push to its first task on a worker. The sum is to within an eighth."
OVER = "Time of late bursts over their limits. The sum is to within an eighth."


class Pools(Collector):
    def collect(self) -> Iterable[Metric]:
        pages, errors = find()
        seen = ((page, pool) for page, pools in pages for pool in pools)
        pools = [([str(page.pid), page.program, str(pool.id), pool.name], pool) for page, pool in seen]
        for kind, rows in ((CounterMetricFamily, COUNTERS), (GaugeMetricFamily, GAUGES)):
            for name, count, about in rows:
                simple: CounterMetricFamily | GaugeMetricFamily = kind(P + name, about, labels=LABELS)
                for labels, pool in pools:
                    simple.add_metric(labels, pool.counts[count] * (1e-9 if count.endswith("_ns") else 1))
                yield simple
        for name, prefix, key, about in KINDS:
            by = CounterMetricFamily(P + name, about, labels=(*LABELS, key))
            for labels, pool in pools:
                for value, number in of_kind(pool.counts, prefix).items():
                    by.add_metric([*labels, value], number)
            yield by
        starts = HistogramMetricFamily(P + "start_lateness_seconds", STARTS, labels=LABELS)
        ends = HistogramMetricFamily(P + "end_lateness_seconds", OVER, labels=LABELS)
        mode = GaugeMetricFamily(P + "spin_mode", "1 = the mode of pre-wake.", labels=(*LABELS, "mode"))
        silent = GaugeMetricFamily(P + "silent_seconds", "Since the page was last written.", labels=LABELS)
        for labels, pool in pools:
            for histogram, counts in (starts, pool.starts), (ends, pool.ends):
                buckets = [(repr(bucket_end_s(end)), float(sum(counts[: end + 1]))) for end in ENDS]
                total_s = sum(n * bucket_end_s(bucket) for bucket, n in enumerate(counts))
                histogram.add_metric(labels, [*buckets, ("+Inf", float(sum(counts)))], total_s)
            mode.add_metric([*labels, MODES[pool.settings.spin % len(MODES)]], 1)
            silent.add_metric(labels, pool.silent_s)
        about = "Pages of other versions, or without rights."
        unread = GaugeMetricFamily(P + "unreadable_pages", about, len(errors))
        yield from (starts, ends, mode, silent, unread)


def run(listen: str) -> int:
    host, _, port = listen.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise LiveError(f'--listen "{listen}": not <address>:<port>, such as 127.0.0.1:9477')
    registry = CollectorRegistry()
    registry.register(Pools())
    start_http_server(int(port), host.strip("[]") or "127.0.0.1", registry)
    print(f"tpool-ws: http://{listen}/metrics", flush=True)
    threading.Event().wait()
    return 0
