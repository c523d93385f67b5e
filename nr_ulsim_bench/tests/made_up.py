# SPDX-License-Identifier: BSD-3-Clause
"""Made-up lines of a sweep, in the format of the committed raw runs, and the command on them."""

import csv
import json

from golden_files import ROOT
from typer.testing import CliRunner

from nrbench import cli
from nrbench.record import Host
from nrbench.sweep.record import Run

RAW = ROOT / "docs" / "results"


def template(name):
    """The first run of a file that came to its end."""
    with (RAW / name).open(encoding="utf-8") as lines:
        return next(run for run in map(json.loads, lines) if "ok" in (run.get("status"), run.get("outcome")))


SWEEP, RADIO = template("2-cores-sweep-v2.3.0.ndjson"), template("2-cores-radio-v2.3.0.ndjson")
MACHINES = {"a": ("Model A", 4), "b": ("Model A", 4), "c": ("Model C", 16)}
NEW_POOL = "thread_pool_ws 0.1.0: shape B2, pool gNB-tpool: 2 workers"


def at(seconds):
    return f"2026-01-02T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}+00:00"


def run(pool, number, rx, threads=2, machine="a", **changes):
    """A run of a sweep. A fifth of the whole RX are the symbols, two fifths the decoding."""
    cpu, cores = MACHINES[machine]
    about = {
        "label": machine,
        "id": machine * 8,
        "cpu": cpu,
        "cores": cores,
        "cores_online": cores,
        "load": 0,
    }
    figures = {"symbol_processing_us": rx / 5, "decoding_us": 2 * rx / 5, "rx_us": rx}
    own = {"oai": "v2.3.0", "sha256": {"old": "0", "new": "1"}.get(pool, "1") * 12}
    own["pool"] = NEW_POOL if pool == "new" else None
    environment = {"TPOOL_WS_SPIN": "auto"} if pool == "new" else {}
    given = {"repeat": number, "began": at(number), "pool": pool, "spin": "auto" if pool == "new" else None}
    given |= {"threads": threads, "environment": environment, "build": own, "figures": figures, "cpu_s": 1.0}
    given |= {"options": [*SWEEP["options"][:-1], f"-C{threads}"], "host": SWEEP["host"] | about}
    return SWEEP | given | changes


def runs(pool, *rx, **changes):
    """One a round. None: there is none."""
    return [run(pool, number, us, **changes) for number, us in enumerate(rx) if us is not None]


def failed(pool, number, **changes):
    more = {"status": "crash", "error": "ended by SIGSEGV", "figures": {}, "trials": None, "errors": None}
    return run(pool, number, 0, **more | changes)


HOST = Host.model_validate(run("old", 0, 1)["host"])


def checked(lines):
    """As a report has them."""
    return [Run.model_validate(line) for line in lines]


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def ran(*words, status=0):
    answer = CliRunner().invoke(cli.app, list(map(str, words)))
    assert answer.exit_code == status, answer.output
    return answer


def nrbench(*words, status=0):
    return ran(*words, status=status).output
