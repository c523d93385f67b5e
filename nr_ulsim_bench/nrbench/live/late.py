# SPDX-License-Identifier: BSD-3-Clause
"""tpool-ws late: late bursts of the last day with their causes, from journals, and what the threads did then,
from windows and records. The pools have judged: here is no second definition of a burst."""

from __future__ import annotations

import os
import re
import textwrap
import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from contextlib import suppress
from types import SimpleNamespace
from typing import Iterable, Iterator, Mapping, Sequence

from nrbench.live import record
from nrbench.live.ab import seconds
from nrbench.live.page import CAUSES, LiveError
from nrbench.live.record import MINUTE_NS, Journal, Piece, function_at

COLUMNS, MARGIN = 64, 10
LINE = 110  # columns of a list
LEGEND = (
    "= task  w wait  z asleep or stopped  ! woken, does not run yet  r runnable, no CPU  ? r or z"
    "  . no task, or own code  blank: not known"
)
WHEN = re.compile(r"(?:((?:19|20)\d\d)-(0[1-9]|1[0-2])-(\d\d)[ T])?([01]?\d|2[0-3]):([0-5]\d)")
NAMED = re.compile(r"tpool-ws-(.+)-(\d{1,10})-(\d{1,20})")
SKEW_NS = 10**9  # of times that belong together
SHOWN = 20  # windows
AWAKE_NS, ASLEEP_NS, LEAST_NS = 2_000, 10_000, 20_000  # as in ws_lack.c
IN_WAITS = (record.RUN, record.RAN, record.WAKE, record.SLEEP, record.SLEPT, record.USED)
Span = tuple[int, int, str]  # begin and end in ns, and a letter


def say(text: str) -> None:
    """Names of files may be anybody's."""
    print("".join(letter if letter.isprintable() else "?" for letter in text))


def clock(ns: int, digits: int = 3) -> str:
    """@param digits  of the part of a second; 0 = only the minute"""
    form, at = "%Y-%m-%d %H:%M:%S." if digits else "%Y-%m-%d %H:%M", time.localtime(ns // 10**9)
    return time.strftime(form, at) + f"{ns % 10**9:09}"[:digits] + time.strftime(" %Z", at)


def moments(text: str, now_s: float) -> list[list[int]]:
    """@return in s of the epoch, by days: of the named one, else of the last ones, the last first.
    When a zone sets its clock back a day may have two, when it sets it forward none."""
    error = LiveError(f'"{text}": not a time such as 03:12 or "2026-11-28 03:12", or not of that day')
    if not (found := WHEN.fullmatch(text)):
        raise error
    named = tuple(int(of or there) for of, there in zip(found.groups(), time.localtime(now_s)))
    (year, month, day, hour, minute), first, days = named, 0 if found[1] else 3, list[list[int]]()
    for ago in range(1 if found[1] else 8):
        about_s = int(time.mktime((year, month, day - ago, hour, minute, 0, 0, 0, -1)))
        near = (at_s for at_s in range(about_s - 7200, about_s + 7201, 1800) if found[1] or at_s <= now_s)
        days.append([at_s for at_s in near if time.localtime(at_s)[first:5] == named[first:]])
    if not any(days):
        raise error
    return [of for of in days if of]


def us(ns: float) -> str:
    return f"{ns / 1e3:.1f}"


def parts(shares: Sequence[float]) -> str:
    """Of a time over the limit, by cause, in us."""
    found = sorted(((ns, cause) for cause, ns in zip(CAUSES, shares) if ns), reverse=True)
    return ", ".join(f"{cause} {us(ns)}" for ns, cause in found) or "no cause"


def spans(
    events: list[tuple[int, int]], is_worker: bool, until_ns: int, ended: Mapping[int, list[int]]
) -> Iterator[Span]:
    """What a thread does from its first event on, with letters; if it ran a task, waited or slept at the last
    one, also until @p until_ns: there was no later event then. @param ended  0 and ends of a group's tasks"""
    inside, base, state, since = list[tuple[str, int]](), "." if is_worker else " ", " ", 0
    for ns, what in events:
        kind, in_task, address = what & 31, what >> 5 & 1, what >> 16
        if kind == record.SLEEP and state == "z":  # a signal or a timer has ended the sleep for a moment
            continue
        called = ns - address if kind == record.UNPARK and address else 0
        if kind == record.SLEPT and inside:  # the last task that it waits for has called it
            its = ended[inside[-1][1]]
            last = its[bisect_right(its, ns) - 1]
            called = last if last > since else 0
        if called:
            called = max(since, called)
            yield since, called, state
            state, since = "!", called
        yield since, ns, state
        outer = {record.RAN: "=", record.JOINED: "w"}.get(kind)
        if outer and inside and inside[-1][0] == outer:
            inside.pop()
        elif outer or not inside:  # it began before
            inside = [("=", 0)] * in_task
        if inner := {record.RUN: "=", record.JOIN: "w"}.get(kind):
            inside.append((inner, address))
        if kind not in IN_WAITS:  # else a thread outside the pool may be in one that began before
            base = "."
        state, since = "z" if kind == record.SLEEP else inside[-1][0] if inside else base, ns
    if state not in " .":
        yield since, max(since, until_ns), state


def lacks(events: list[tuple[int, int]], is_worker: bool) -> Iterator[tuple[int, Span]]:
    """For how long a thread had no CPU between two of its notes, with a letter for the reason: it slept more
    often than the pool made it, or it did not, or it may have. As in ws_lack.c."""
    note, asleep_ns, certain, possible = (0, 0), 0, 0, 0
    for (ns, what), (next_ns, next_what) in zip(events, events[1:]):
        kind = what & 31
        if kind == record.USED:
            note, asleep_ns, certain, possible = (ns, what), 0, 0, 0
        if kind == record.SLEEP:
            asleep_ns += next_ns - ns
            certain += next_ns - ns > ASLEEP_NS
            possible += next_ns - ns > AWAKE_NS
        is_whole = note[0] and (is_worker or kind in (record.JOINED, record.PHASE_END))
        if is_whole and next_what & 31 == record.USED:
            used_ns = ((next_what >> 16) - (note[1] >> 16)) % (1 << 48)
            slept = ((next_what >> 6) - (note[1] >> 6)) % (1 << 10)
            letter = "z" if slept > possible else "?" if slept > certain else "r"
            yield next_ns - note[0] - asleep_ns - used_ns, (note[0], next_ns, letter)


def with_lacks(of: list[Span], found: Iterator[tuple[int, Span]]) -> list[Span]:
    """At which time a thread had no CPU is not known: at the end of what took longest."""
    begins = [begin for begin, _, _ in of]
    for left_ns, (begin, end, letter) in found:
        if left_ns < LEAST_NS:
            continue
        inside = range(bisect_left(begins, begin), bisect_left(begins, end))
        for at in sorted(inside, key=lambda at: of[at][0] - of[at][1]):
            since, until, state = of[at]
            part = max(0, min(left_ns, until - since)) if state not in "z!" else 0
            of[at] = since, until - part, state
            of.append((until - part, until, letter))
            left_ns -= part
    return of


def drawn(of: Iterable[Span], begin: int, end: int) -> str:
    """A letter for each part of the time: of what it mostly was."""
    cells, step = [defaultdict[str, float](float) for _ in range(COLUMNS)], (end - begin) / COLUMNS
    for since, until, state in of:
        left, right = (max(since, begin) - begin) / step, (min(until, end) - begin) / step
        for at in range(int(left), min(int(right) + 1, COLUMNS)):
            cells[at][state] += max(0.0, min(right, at + 1) - max(left, at))
    known = (cell if sum(cell.values()) >= 0.5 else {" ": 1.0} for cell in cells)
    return "".join(max(cell, key=lambda state: cell[state]) for cell in known)


def picture(piece: Piece, burst: SimpleNamespace) -> Iterator[str]:
    """A row for each thread, and one for those that are alike."""
    margin = burst.length_ns // MARGIN + 1
    begin, end = burst.end_ns - burst.length_ns - margin, burst.end_ns + margin
    is_cut = piece.path.endswith(".record") and piece.until_ns != record.ENDED
    until_ns, alike = piece.until_ns if is_cut else piece.own_ns, defaultdict[str, list[str]](list)
    rings, ended = [(ring, ring.events()) for ring in piece.rings()], defaultdict[int, list[int]](lambda: [0])
    for ns, what in sorted(event for _, events in rings for event in events if event[0] >= begin):
        if what & 31 == record.RAN:
            ended[what >> 16].append(ns)
    for ring, events in rings:
        is_worker = ring.who != 0
        found = with_lacks([*spans(events, is_worker, until_ns, ended)], lacks(events, is_worker))
        alike[drawn(found, begin, end)].append(f"{ring.name} {ring.tid}")
    alike.pop(" " * COLUMNS, None)
    yield f"{'':23} |{'burst'.center(COLUMNS - 12, '-').center(COLUMNS)}|"
    for row, names in alike.items():
        yield f"{names[0] if len(names) == 1 else f'{len(names)} threads':23} |{row}|"


def covering(life: Sequence[Piece], burst: SimpleNamespace) -> Piece | None:
    """The file that reaches back furthest of those with the event that ended the burst."""
    found = []
    for piece in life:
        if piece.since_ns <= burst.end_ns < piece.own_ns + SKEW_NS:
            with suppress(LiveError):
                rings = (ring.events() for ring in piece.rings(burst.tid))
                found += [(of[0][0], piece) for of in rings if any(ns == burst.end_ns for ns, _ in of)]
    return min(found, key=lambda of: of[0])[1] if found else None


def life_of(burst: SimpleNamespace, lives: Mapping[str, Sequence[Piece]]) -> Sequence[Piece]:
    """Files of its process. In containers several may have the same number, also at a time."""
    for name, life in lives.items():
        program, pid, begin_ns = NAMED.fullmatch(name).groups()  # type: ignore[union-attr]
        if (program, int(pid), int(begin_ns) % (1 << 32)) == (burst.program, burst.pid, burst.life):
            return life
    return ()


def function(address: int, life: Sequence[Piece]) -> str:
    for piece in life:
        for path, (begin, end) in piece.images().items():
            if begin <= address < end:
                at = f"{os.path.basename(path)}+{address - begin:#x}"
                return function_at(path, begin, address, piece.real_ns / 1e9, piece.maps) or at
    return f"{address:#x}"


def about(burst: SimpleNamespace, life: Sequence[Piece]) -> Iterator[str]:
    shares = [part * burst.over_ns / 65535 for part in burst.part]
    yield (
        f"{clock(burst.real_ns - burst.length_ns, 6)} {burst.program}[{burst.pid}] pool {burst.pool}: "
        f"{us(burst.length_ns)} us, limit {us(burst.limit_ns)}, {us(burst.over_ns)} over, "
        f"{CAUSES[burst.cause]}: {parts(shares)}"
    )
    text = f"   thread {burst.tid}"
    text += f", first task after {us(burst.start_ns)} us" if burst.start_ns else ""  # 0: not known
    if burst.func:
        text += f"; longest task: {function(burst.func, life)} {us(burst.task_ns)} us"
        text += f", thread {burst.task_tid}" if burst.task_tid else ""
        text += f" on CPU {burst.cpu - 1}" if burst.cpu else ""
    yield text


def reach(journals: Sequence[Journal], pieces: Sequence[Piece]) -> Iterator[str]:
    for journal in (journal for journal in journals if journal.rows):
        first, last = journal.rows[0].number - 1, journal.rows[-1].number - 1
        minutes = [clock(of * MINUTE_NS, 0) for of in (first, last, max(first, last - record.MINUTES + 1))]
        until = "the end of its process" if journal.until_ns == record.ENDED else clock(journal.until_ns)
        text = "minutes from {} to {}, late bursts from {}, until".format(*minutes)
        yield f"{journal.path}: {text} {until}; {journal.removed} older files were removed"
    each = sorted((of.real_ns, of.since_ns and of.since_ns + of.offset_ns) for of in pieces)
    times = [
        f"{clock(begin)} to {clock(end)[11:]}" if begin else f"until {clock(end)}" for end, begin in each
    ]
    shown = ", ".join(text.replace(" ", "\xa0") for text in times[-SHOWN:])  # a time stays on one line
    for line in textwrap.wrap(f"{len(times)} windows and records: {shown}", LINE, subsequent_indent="   "):
        yield line.replace("\xa0", " ")


def run(path: str, at: str | None, since: str | None, worst: int, cause: str | None) -> int:
    """@return 0; 2 if a file could not be read"""
    now_s, wrong, lives = time.time(), list[str](), defaultdict[str, list[Piece]](list)
    journals = record.all_of(Journal, path, r".*\.journal", wrong)
    pieces = record.all_of(Piece, path, NAMED.pattern + r"\.record(\.\d+)?", wrong)
    for piece in pieces:
        lives[piece.life].append(piece)
    for line in wrong:
        say(f"WARNING: {line}")
    if not journals:
        why = "see the warnings" if wrong else f"set TPOOL_WS_RECORD={path}"
        raise LiveError(f"{path}: no file *.journal in it can be read: {why}")
    for line in reach(journals, pieces):
        say(line)
    chosen, begin_ns = [(journal, row) for journal in journals for row in journal.rows], 0
    if at:
        there = {row.number for _, row in chosen}
        days = ({at_s // 60 + 1 for at_s in day} for day in moments(at, now_s))
        wanted = next((day for day in days if day & there), set[int]())
        chosen = [(journal, row) for journal, row in chosen if row.number in wanted]
        for journal, row in chosen:
            say(
                f"{journal.program} {clock((row.number - 1) * MINUTE_NS, 0)}: {row.bursts} bursts, {row.late}"
                f" late, worst {us(row.worst_ns)} us over; {row.examined} examined: {parts(row.part_ns)}"
            )
    if since:
        begin_ns = int(moments(since, now_s)[0][0] if ":" in since else now_s - seconds(since)) * 10**9
        chosen = [(journal, row) for journal, row in chosen if row.number > begin_ns // MINUTE_NS]
    bursts = list[SimpleNamespace]()
    for journal, row in sorted(chosen, key=lambda of: -of[1].worst_ns):
        if len(bursts) < worst or row.worst_ns > bursts[-1].over_ns:
            with suppress(LiveError):  # it went
                its = (burst for burst in journal.bursts(row) if cause in (None, CAUSES[burst.cause]))
                bursts += [burst for burst in its if burst.real_ns >= begin_ns]
            bursts = sorted(bursts, key=lambda burst: -burst.over_ns)[:worst]
    late, ended = (sum(getattr(row, name) for _, row in chosen) for name in ("late", "bursts"))
    # In sum: a minute counts a late burst when the journal is written, and has its entry by its end.
    without = max(0, late - sum(row.entries for _, row in chosen))
    say(f"{late} of {ended} bursts were late, {without} of these have no entry")
    legend = f"   {LEGEND}"
    for number, burst in enumerate(bursts, 1):
        print()
        for line in about(burst, life := life_of(burst, lives)):
            say(line if line.startswith(" ") else f"{number}. {line}")
        file = covering(life, burst)
        if not file:
            say("   no picture: none of the windows and records has its events")
            continue
        if legend:
            say(legend)
        legend = ""
        say(f"   {os.path.basename(file.path)}")
        with suppress(LiveError):  # it went
            for line in picture(file, burst):
                say(f"   {line}")
    return 2 if wrong else 0
