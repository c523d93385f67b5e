# SPDX-License-Identifier: BSD-3-Clause
"""An LTTng session that records the pool's events while a block of Python runs, and is gone after it."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Iterable

EVENTS = "oai_tpool_ws:*"
COMMAND_S_MAX = 30.0
_numbers = itertools.count()
# "... oai_tpool_ws:push: { cpu_id = 1 }, { vpid = 9, vtid = 9 }, { pool = 1, ..."
_EVENT = re.compile(r" oai_tpool_ws:(\w+): .*?\bvpid = (\d+)")
_SLOT = re.compile(r"\bframe = (\d+), slot = (\d+)")


class SessionError(RuntimeError):
    """LTTng does not do what was asked of it."""


def lttng(*words: str) -> str:
    environment = os.environ | {"LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["lttng", *words], capture_output=True, text=True, timeout=COMMAND_S_MAX, env=environment
        )
    except FileNotFoundError:
        raise SessionError("lttng is not installed (Debian: lttng-tools)") from None
    except subprocess.TimeoutExpired:
        raise SessionError(f"lttng {words[0]}: no answer within {COMMAND_S_MAX:.0f} s") from None
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise SessionError(f"lttng {words[0]}: {last[0] if last else f'status {done.returncode}'}")
    return done.stdout


class Session:
    """Takes all events of the pool, with process and thread, into LTTng's default buffers."""

    def __init__(self) -> None:
        self.name = f"ws-trace-cost-{os.getpid()}-{next(_numbers)}"
        self.folder = Path()
        self.discarded = 0

    def __enter__(self) -> Session:
        self.folder = Path(tempfile.mkdtemp(prefix="ws-trace-cost-"))
        try:
            lttng("create", self.name, f"--output={self.folder}")
            lttng("enable-channel", f"--session={self.name}", "--userspace", "pool")
            lttng("enable-event", f"--session={self.name}", "--userspace", "--channel=pool", EVENTS)
            contexts = ["--type=vpid", "--type=vtid"]
            lttng("add-context", f"--session={self.name}", "--userspace", "--channel=pool", *contexts)
            lttng("start", self.name)
        except BaseException:
            self._remove()
            raise
        return self

    def stop(self) -> None:
        """Now the trace is complete, and it is known how many events found no room."""
        lttng("stop", self.name)
        self.discarded = discarded(lttng("list", self.name))

    def __exit__(self, *unused: object) -> None:
        self._remove()

    def _remove(self) -> None:
        try:
            lttng("destroy", self.name)
        except SessionError:
            pass  # it was not made, or its daemon is gone
        shutil.rmtree(self.folder, ignore_errors=True)


def discarded(listing: str) -> int:
    """LTTng adds 2^63 where a count seems to have shrunk, which it takes for an overflow."""
    return sum(int(count) % 2**63 for count in re.findall(r"Discarded events:\s*(\d+)", listing))


def why_none() -> str | None:
    """@return why no session can be made here; None = one can"""
    try:
        with Session():
            return None
    except SessionError as error:
        return str(error)


def read_text(folder: Path) -> list[str]:
    """The trace as lines of text."""
    try:
        done = subprocess.run(["babeltrace2", str(folder)], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise SessionError("babeltrace2 is not installed") from None
    except subprocess.CalledProcessError as error:
        raise SessionError(f"babeltrace2: {error.stderr.strip()[-200:]}") from None
    return done.stdout.splitlines()


def events_a_slot(lines: Iterable[str]) -> list[dict[str, float]]:
    """Number of each event a slot, from its first phase to its last, for each process in order of appearance.

    What a pool does before the first phase and after the last one is left out.
    """
    counts: dict[str, Counter[str]] = {}
    pending: dict[str, Counter[str]] = {}
    slots: dict[str, set[str]] = {}
    for line in lines:
        found = _EVENT.search(line)
        if not found:
            continue
        event, process = found.groups()
        slot = _SLOT.search(line)  # only a phase has one
        if slot and event.endswith("_begin"):
            slots.setdefault(process, set()).add(slot[0])
        if process not in slots:
            continue
        pending.setdefault(process, Counter())[event] += 1
        if slot and event.endswith("_end"):
            counts.setdefault(process, Counter()).update(pending.pop(process))
    return [{name: n / len(slots[p]) for name, n in of.items()} for p, of in counts.items()]
