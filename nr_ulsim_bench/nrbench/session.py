# SPDX-License-Identifier: BSD-3-Clause
"""A session: the steps of a plan, round by round, on one machine or on several. Each answer becomes a line of
the results at once, so an interruption loses none, and the same command takes the rest."""

import contextlib
import fcntl
import hashlib
import itertools
import json
import math
import os
import queue
import random
import signal
from collections import Counter
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Generic, Iterable, Iterator, Sequence, TypeVar

from nrbench.programs import handled
from nrbench.progress import Progress, clock_text, say
from nrbench.record import ResultsError

T = TypeVar("T")
LineT = TypeVar("LineT")
OK, SOME_FAILED, INTERRUPTED = 0, 1, 130  # exit status
WAY_OUT = "--fresh puts these results aside and begins anew; --out names another folder"


class MachineLost(RuntimeError):
    """A machine takes no more steps; says why."""


def shuffled(
    settings: Iterable[T], order: random.Random, unit: Callable[[T], object] = lambda setting: setting
) -> list[T]:
    """In an order drawn anew. Settings of one unit stay side by side, in an order of their own."""
    units: dict[object, list[T]] = {}
    for setting in settings:
        units.setdefault(unit(setting), []).append(setting)
    drawn = order.sample(list(units.values()), len(units))
    return [setting for group in drawn for setting in order.sample(group, len(group))]


def in_rounds(
    settings: Sequence[T], count: int, seed: int, unit: Callable[[T], object] = lambda setting: setting
) -> Iterator[tuple[int, T]]:
    """Each round has all settings, shuffled: what changes on the machine hits all of them alike. The order
    does not depend on the number of rounds: a longer session continues a shorter one.

    @return the round's number with each"""
    order = random.Random(seed)
    yield from ((number, one) for number in range(count) for one in shuffled(settings, order, unit))


def session_id(machine: str, kind: str, what: dict[str, Any]) -> str:
    """Runs that share it may be continued: same machine, same programs, same way to run them.

    @param machine  its id, or a word for those of a cluster"""
    text = json.dumps({"host": machine, "kind": kind, **what}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One session at a time: two would take every run twice, and disturb each other."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise ResultsError(f"{folder}: another session is writing its results there") from error
    finally:
        os.close(handle)


def _put_aside(path: Path) -> None:
    if path.exists():
        names = (path.with_name(f"{path.stem}.{number}{path.suffix}") for number in itertools.count(1))
        aside = path.rename(next(name for name in names if not name.exists()))
        say(f"the results that were there are now {aside.name}")


@contextlib.contextmanager
def results_of(folder: Path, name: str, fresh: bool = False) -> Iterator[Path]:
    """The results file of a folder, for a session. Signals that end the process are an interruption by the
    keyboard: nothing that was begun is left behind, and the results are reported. A signal that is ignored,
    as by nohup, stays ignored.

    @param fresh  earlier results get another name"""
    ends = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    numbers = [number for number in ends if signal.getsignal(number) != signal.SIG_IGN]
    with locked(folder), handled(numbers, signal.default_int_handler):
        if fresh:
            _put_aside(folder / name)
        _drop_cut_line(folder / name)
        yield folder / name


def _drop_cut_line(path: Path) -> None:
    """So that lines can be appended: what follows the last line's end was cut off by an interruption, unless
    it is whole."""
    text = path.read_bytes() if path.exists() else b""
    whole = text.rfind(b"\n") + 1
    if whole < len(text):
        try:
            json.loads(text[whole:])
            append(path, "")
        except ValueError:
            os.truncate(path, whole)


def earlier(path: Path, read: Callable[[Path], list[LineT]], belongs: Callable[[LineT], bool]) -> list[LineT]:
    """What an earlier call took. One name must not stand for two things in a report."""
    lines = read(path) if path.exists() else []
    for line in lines:
        if not belongs(line):
            others = f"runs of another machine, other programs or other options, such as {line}"
            raise ResultsError(f"{path}: holds {others} ({WAY_OUT})")
    return lines


def append(path: Path, text: str) -> None:
    """A line, which is in the file when this returns."""
    try:
        with open(path, "ab") as out:
            out.write(f"{text}\n".encode())
    except OSError as error:
        reason = f"{error.strerror}; the lines before are there"
        raise ResultsError(f"{path}: {reason}") from error


@dataclass
class Lane(Generic[LineT]):
    """A machine. It takes one step at a time: what has a `text`, and about how many `seconds` it takes."""

    name: str
    steps: Iterator[Any]  # asked for the next one only when the lines of the one before are there
    take: Callable[[Any], Sequence[LineT]]  # which may raise MachineLost
    planned: int  # lines
    seconds: float  # about, for all of them
    pool: Executor | None = None  # whose thread waits for the machine; None: it is this one
    counts_steps: bool = False  # planned are steps

    def begin(self, step: Any) -> Future[Sequence[LineT]]:
        if self.pool:
            return self.pool.submit(self.take, step)
        taken: Future[Sequence[LineT]] = Future()
        taken.set_result(self.take(step))
        return taken

    def text(self, step: Any) -> str:
        return f"{self.name}: {step.text}" if self.name else step.text


@dataclass
class Session(Generic[LineT]):
    """What was taken, and how it ended."""

    path: Path
    to_text: Callable[[LineT], str]  # a line of the results, without its end
    lines: list[LineT] = field(default_factory=list)  # those that are there; it grows
    fails: Callable[[LineT], object] = lambda line: ""  # whether a line counts as failed while it runs
    taken: list[LineT] = field(default_factory=list)  # by this call
    planned: int = 0  # lines
    done: int = 0
    interrupted: bool = False
    cut: str = ""  # why steps are left

    def add(self, line: LineT) -> None:
        append(self.path, self.to_text(line))
        self.lines.append(line)
        self.taken.append(line)

    def run(self, lanes: Sequence[Lane[LineT]], budget_s: float = math.inf) -> None:
        """Until all is done that the machines can do, the time is over, or the user interrupts."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.planned, lost = sum(lane.planned for lane in lanes), []
        ended: queue.SimpleQueue[tuple[Lane[LineT], Any]] = queue.SimpleQueue()
        running: dict[str, Future[Sequence[LineT]]] = {}
        progress = Progress(self.planned, sum(lane.seconds for lane in lanes))

        def begin(lane: Lane[LineT]) -> None:
            if progress.elapsed_s > budget_s:
                self.cut = f"stopped after {progress.elapsed_s:.0f} s (--budget)"
                return
            step = next(lane.steps, None)
            if step is not None:
                running[lane.name] = lane.begin(step)
                running[lane.name].add_done_callback(lambda _: ended.put((lane, step)))

        try:
            for lane in lanes:
                begin(lane)
            while running:
                lane, step = ended.get()
                try:
                    lines = running.pop(lane.name).result()
                    for line in lines:
                        self.add(line)
                    count = 1 if lane.counts_steps else len(lines)
                    failed = sum(map(bool, map(self.fails, lines)))
                    progress.step(step.seconds, lane.text(step), count, failed)
                except MachineLost as error:
                    lost.append(lane.name)
                    say(f"{lane.name}: left out: {error}")
                    continue
                begin(lane)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            for future in running.values():
                future.cancel()
        self.done = progress.done
        if lost:
            left = self.planned - self.done
            self.cut = f"{left} runs are left: these machines were lost: {', '.join(lost)}"

    def take(self, what: str, lanes: Sequence[Lane[LineT]]) -> None:
        """As run(), announced."""
        planned, seconds = sum(lane.planned for lane in lanes), max([0, *(lane.seconds for lane in lanes)])
        before = f", {len(self.lines)} runs are there from before" if self.lines else ""
        about = f"about {clock_text(seconds)}" if planned else "nothing left to do"
        say(f"{what}, {planned} runs to take{before}; {about}")
        self.run(lanes)

    def end(
        self,
        report: Callable[[list[LineT], list[str]], object],
        failure: Callable[[LineT], str],
        are_results: bool = False,
    ) -> int:
        """Reports on all lines, then on failures.

        @param report       gets the lines and warnings
        @param failure      of a line: what failed and why; empty: nothing did
        @param are_results  failures tell as much as other lines, and are not taken again
        @return OK; SOME_FAILED: of the lines taken now some failed, or all lines where failures are results,
                or steps are left; INTERRUPTED"""
        if self.interrupted:
            self.cut = f"interrupted: {self.done} of {self.planned} runs taken"
        if self.cut:
            self.cut += "; the same command takes the rest"
        has_good = any(not failure(line) for line in self.lines)
        if has_good or (are_results and self.lines):
            report(self.lines, [self.cut] if self.cut else [])
        failed = Counter(filter(None, map(failure, self.taken)))
        for text, count in failed.items():
            say(f"{text}{f' ({count} times)' if count > 1 else ''}")
        if self.cut:
            say(self.cut)
        if self.interrupted:
            return INTERRUPTED
        if failed and not are_results:
            tried = f"{failed.total()} of {len(self.taken)} runs gave no figures"
            say(f"{tried}; the same command tries them again")
        bad = not has_good if are_results else bool(failed)
        return SOME_FAILED if bad or self.cut else OK
