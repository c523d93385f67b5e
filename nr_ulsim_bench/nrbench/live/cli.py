# SPDX-License-Identifier: BSD-3-Clause
"""The command line of tpool-ws."""

import random
import signal
from typing import Annotated

from typer import Argument, Option

from nrbench.live import top as screen
from nrbench.live.page import VALID, LiveError, Page, Pool, parse_change
from nrbench.live.processes import one
from nrbench.needed import require
from nrbench.options import Program

ANSWER_S = 1.0

program = Program("tpool-ws", "Watch and change thread pools that run with TPOOL_WS_LIVE=1.", (LiveError,))
Pid = Annotated[int, Option(min=1, metavar="N", help="process")]
OneProcess = Annotated[int | None, Option("--pid", min=1, metavar="N", help="only this process")]
OnePool = Annotated[str | None, Option("--pool", metavar="NAME|ID", help="only this pool of the process")]
Words = Annotated[list[str], Argument(metavar="SETTING...", help=VALID)]
Lines = Annotated[bool, Option("--json", help="a line of JSON for each look: a list of pools")]
Once = Annotated[bool, Option("--once", help="one look, after a second")]
Every = Annotated[str, Option(metavar="TIME", help="of one setting, such as 30s")]
Whole = Annotated[str, Option("--for", metavar="TIME", help="of all, such as 1h")]
Listen = Annotated[str, Option(metavar="ADDRESS:PORT", help="where Prometheus asks")]
Seed = Annotated[int | None, Option(help="of the random order")]


def pools_of(page: Page, pool: str | None) -> list[Pool]:
    there = list(page.pools())
    found = [one for one in there if pool in (None, one.name, str(one.id))]
    if not found:
        names = ", ".join(f"{one.name} ({one.id})" for one in there) or "none"
        raise LiveError(f"process {page.pid} has no pool {pool or ''}: its pools are {names}")
    return found


@program.command()
def top(pid: OneProcess = None, as_json: Lines = False, once: Once = False) -> int:
    """Show what the pools do, twice a second."""
    return screen.run(pid, as_json, once)


@program.command("set")
def set_(pid: Pid, words: Words, pool: OnePool = None) -> int:
    """Change pools while they run. Prints what was and what is."""
    change, page = parse_change(words), one(pid)
    for found in pools_of(page, pool):
        done = page.request(found.place, change, ANSWER_S)
        print(f"pool {found.name}: {done.known.was} -> {done.settings}")
    return 0


@program.command()
def ab(
    pid: Pid, words: Words, every: Every = "30s", whole: Whole = "1h", pool: OnePool = None, seed: Seed = None
) -> int:
    """Compare settings on a process that runs: in turn, in random order. Sets back what it found."""
    from nrbench.live.ab import Ab, Plan, verdicts

    plan, page, status = Plan.of(every, whole, words), one(pid), 0
    run = Ab(page, pools_of(page, pool))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # KeyboardInterrupt
    try:
        run.run(plan, random.Random(seed))
    except KeyboardInterrupt:
        print(f"stopped by a signal after {len(run.rounds)} rounds; the settings are as before")
        status = 130
    finally:
        if run.rounds:
            print(*verdicts(run.rounds, words), sep="\n")
    return status


@program.command()
def export(listen: Listen = "127.0.0.1:9477") -> int:
    """Serve the counters of all processes for Prometheus."""
    require("tpool-ws export", ("prometheus_client",), "[live]")
    from nrbench.live.export import run

    return run(listen)
