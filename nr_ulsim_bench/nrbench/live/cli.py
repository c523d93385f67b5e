# SPDX-License-Identifier: BSD-3-Clause
"""The command line of tpool-ws. nrbench/live is written in Python 3.9, and needs the modules that Debian's
python3-minimal has: a gNB's host or image has nothing else."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import ExitStack, suppress
from typing import Callable, Sequence

from nrbench.live.page import CAUSES, VALID, LiveError, Page, Pool, parse_change
from nrbench.live.processes import pages_of
from nrbench.live.signals import Stopped, raise_stopped
from nrbench.version import VERSION

NAME, STATUS, CLOSED_PIPE = "tpool-ws", 2, 141  # exit status: of errors; of a program whose reader has gone
ANSWER_S = 1.0


def who(command: str) -> str:
    """For the pool's log."""
    return f"{NAME} {command}, user {os.environ.get('USER', os.getuid())}"


def pools_of(pid: int, wanted: str | None) -> list[tuple[Page, Pool]]:
    there = [(page, pool) for page in pages_of(pid) for pool in page.pools()]
    found = [(page, pool) for page, pool in there if wanted in (None, pool.name, str(pool.id))]
    if not found:
        names = ", ".join(f"{pool.name} ({pool.id})" for _, pool in there) or "none"
        raise LiveError(f"process {pid} has no pool {wanted or ''}: its pools are {names}")
    return found


def top(given: argparse.Namespace) -> int:
    """Show what the pools do, twice a second."""
    from nrbench.live import top as screen

    return screen.run(given.pid, given.json, given.once)


def set_(given: argparse.Namespace) -> int:
    """Change pools while they run. Prints what was and what is."""
    change, done, refused = parse_change(given.words), dict[str, list[str]](), []
    pools = pools_of(given.pid, given.pool)
    try:
        with ExitStack() as held:
            askers = {page: held.enter_context(page.ask(who("set"), ANSWER_S)) for page in dict(pools)}
            for page, pool in pools:
                try:
                    now = askers[page].change(pool, change, ANSWER_S)
                    done.setdefault(f"{now.was} -> {now.settings}", []).append(str(pool))
                except LiveError as error:
                    refused.append(str(error))
    finally:  # also of what a signal has ended
        for text, names in done.items():
            print(f"{', '.join(names)}: {text}")
    if refused:
        raise LiveError("\n".join(refused))
    return 0


def ab(given: argparse.Namespace) -> int:
    """Compare settings on a process that runs: in turn, in random order. Sets back what it found."""
    from nrbench.live.ab import Plan, run

    plan = Plan.of(given.every, given.whole, given.words)
    return run(pools_of(given.pid, given.pool), plan, given.seed, who("ab"))


def late(given: argparse.Namespace) -> int:
    """Print late bursts that a folder remembers: why, and what the threads did meanwhile."""
    from nrbench.live.late import run

    return run(given.folder, given.at, given.since, max(given.worst, 1), given.cause)


def export(given: argparse.Namespace) -> int:
    """Serve the counters of all processes for Prometheus."""
    try:
        from nrbench.live.export import run
    except ModuleNotFoundError as error:
        raise LiveError(f"export: {error}: it needs Python's whole library: apt install python3") from None
    return run(given.listen)


def _help(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=100)  # without a width it imports shutil


def parser() -> argparse.ArgumentParser:
    about = "Watch and change thread pools that run with TPOOL_WS_LIVE=1."
    whole = argparse.ArgumentParser(NAME, description=about, formatter_class=_help, allow_abbrev=False)
    whole.add_argument("--version", action="version", version=f"{NAME} {VERSION}")
    commands = whole.add_subparsers(metavar="COMMAND", required=True)

    def command(run: Callable[[argparse.Namespace], int]) -> Callable[..., argparse.Action]:
        name, text = run.__name__.rstrip("_"), run.__doc__
        its = commands.add_parser(name, help=text, description=text, formatter_class=_help)
        its.allow_abbrev = False
        its.set_defaults(run=run)
        return its.add_argument

    option = command(top)
    option("--pid", type=int, metavar="N", help="only this process")
    option("--json", action="store_true", help="a line of JSON for each look: a list of pools")
    option("--once", action="store_true", help="one picture, of half a second")
    for run in (set_, ab):
        option = command(run)
        option("--pid", type=int, metavar="N", help="process", required=True)
        option("--pool", metavar="NAME|ID", help="only this pool of the process")
        option("words", metavar="SETTING", nargs="+", help=VALID.replace("%", "%%"))
    option("--every", default="30s", metavar="TIME", help="of one setting; default: 30s")
    option("--for", default="1h", metavar="TIME", dest="whole", help="of all; default: 1h")
    option("--seed", type=int, metavar="N", help="of the random order")
    option = command(late)
    option("folder", metavar="DIR", help="of TPOOL_WS_RECORD")
    minute = "only of this minute: 03:12, of the last day that had it, or 2026-11-28 03:12"
    option("--at", metavar="TIME", help=minute)
    option("--since", metavar="TIME", help="only from then on: as --at, or 90m or 2h before now")
    option("--worst", type=int, default=10, metavar="N", help="how many; default: 10")
    option("--cause", choices=CAUSES, metavar="NAME", help=f"only of this main cause: {', '.join(CAUSES)}")
    option = command(export)
    where = "where Prometheus asks; :PORT is every address of this machine; default: 127.0.0.1:9477"
    option("--listen", default="127.0.0.1:9477", metavar="ADDRESS:PORT", help=where)
    return whole


def run(words: Sequence[str] | None = None) -> int:
    """@return the exit status. Errors that the user can mend are one line; any other keeps its traceback."""
    given = parser().parse_args(words)
    try:
        raise_stopped()
        status: int = given.run(given)
        sys.stdout.flush()
        return status
    except (LiveError, OSError) as error:
        if isinstance(error, OSError):  # perhaps of standard output, which is flushed at the end
            with suppress(OSError):  # no descriptor is left
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return CLOSED_PIPE
        with suppress(OSError):  # the terminal is gone
            print(f"{NAME}: {error}", file=sys.stderr)
        return STATUS


def main() -> None:
    sys.stdout = sys.stdout or open(os.devnull, "w")  # its caller may have closed it
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        sys.exit(run())
    except Stopped as stopped:  # its caller sees which signal it was
        sys.stdout.flush()
        signal.signal(stopped.number, signal.SIG_DFL)
        os.kill(os.getpid(), stopped.number)
