# SPDX-License-Identifier: BSD-3-Clause
"""A results file as large as one likes, made quickly: the lines of a setting differ in their figures only."""

from __future__ import annotations

import itertools
import json
from datetime import datetime, timedelta, timezone

import numpy as np
from sweep_runs import HOST, OTHER_HOST, build, run

from nrbench.sweep.figures import DECODING, RX, SYMBOLS

RATIO = 0.8  # of the new pool's times to the old one's
NOON = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)
DETAILS = {
    "command_line": "BOOT_IMAGE=/vmlinuz root=UUID=0 ro quiet isolcpus=2-5 nohz_full=2-5", "smt": False,
    "threads_per_core": 1, "clocksource": "tsc", "frequency_driver": "intel_pstate",
    "idle_driver": "intel_idle", "idle_governor": "menu", "isolated": "2-5", "nohz_full": "2-5",
}  # fmt: skip


def hosts_of(count):
    """Of two classes in turn."""
    kinds = itertools.cycle((HOST, OTHER_HOST))
    more = ({"label": f"lab {n}", "id": f"{n:08x}"} | DETAILS for n in range(count))
    return [kind.model_copy(update=changes) for kind, changes in zip(kinds, more)]


def block_error_rate(snr_db, mcs, layers):
    """Falls from 1 to 0 over 4 dB, later for a higher MCS and for more layers."""
    return float(np.clip((mcs / 2 + 3 * layers + 2 - snr_db) / 4, 0, 1))


def first_lines(host, snr_db, mcs, layers, threads):
    """A run of each pool, and the time of its whole RX."""
    name = f"mcs{mcs}-{layers}l-{snr_db:g}dB"
    options = ("-u1", "-n100", f"-m{mcs}", f"-W{layers}", f"-y{layers}", f"-z{layers}", f"-s{snr_db:g}",
               f"-S{snr_db:g}", "-t0", "-P")  # fmt: skip
    shared = {"host": host, "case": name, "scenario": "map", "sweep": host.id + "0000", "snr_db": snr_db}
    work_us = 200.0 * layers * (1 + mcs / 10)
    yield run("inline", None, 0, options=(*options, "-C0"), **shared), work_us
    for count in threads:
        for pool, spin, ratio in (("old", None, 1.0), ("new", "auto", RATIO)):
            words, time_us = (*options, f"-C{count}"), ratio * work_us / min(count, 4) ** 0.7
            yield run(pool, spin, count, options=words, build=build(pool), **shared), time_us


def write(path, hosts=2, snrs=(8, 10, 12), mcs=(9, 16), layers=(1, 2), threads=(1, 2), repeats=6, seed=1):
    """@return the number of lines"""
    rng, lines = np.random.default_rng(seed), 0
    with open(path, "w", encoding="utf-8") as out:
        for host in hosts_of(hosts):
            grid = itertools.product(snrs, mcs, layers)
            points = [(*point, *first) for point in grid for first in first_lines(host, *point, threads)]
            settings = [_template(one) for *_, one, _ in points]
            rates = np.array([block_error_rate(*point[:3]) for point in points])
            times = np.array([point[4] for point in points])
            for repeat in range(repeats):
                noise = rng.lognormal(0, 0.02, len(points)) * rng.lognormal(0, 0.02)
                errors, rx = rng.binomial(100, rates), times * noise
                for place, (before, between, after) in enumerate(settings):
                    began = NOON + timedelta(seconds=lines)
                    us, wrong = rx[place], int(errors[place])
                    figures = json.dumps({SYMBOLS: us / 5, DECODING: 2 * us / 5, RX: us})
                    began_text = began.isoformat(timespec="milliseconds")
                    out.write(
                        f'{before}{repeat},"began":"{began_text}"{between}{wrong},"figures":{figures}{after}'
                    )
                    lines += 1
    return lines


def _template(one):
    """A line in three parts: up to the number of the repeat, from the host to the errors, and the rest."""
    line = (one).model_dump_json() + "\n"
    head, rest = line.split('"repeat":0,"began":', 1)
    rest = rest[rest.index('"', 1) + 1 :]
    between, rest = rest.split('"errors":0,"figures":', 1)
    return head + '"repeat":', between + '"errors":', rest[rest.index("}") + 1 :]
