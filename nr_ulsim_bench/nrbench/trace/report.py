# SPDX-License-Identifier: BSD-3-Clause
"""The report: tables as text or JSON, and with --out a page."""

import json
import math
import re
import sys
import textwrap
from pathlib import Path
from typing import Any, Iterator, Sequence

from nrbench import host
from nrbench.needed import STATUS
from nrbench.render import Page, Section, Table, layout, write_page
from nrbench.trace.figures import PATH_PARTS, Summary, summarize
from nrbench.trace.process import read
from nrbench.trace.reader import Stretch, Trace
from nrbench.trace.record import TraceError
from nrbench.trace.rings import open_trace

WIDTH = 108
NOTE = "The share of slots that take at least so long. Dotted: the limit above which a slot is late."
BLOCKS, NONE = "▁▂▃▄▅▆▇█", "·"
STEPS = {"functions": 1, "slots": 4}  # of their histograms, in a power of two
# Of each table: whose rows it has, and its columns: HEADING=VALUES. A value is named by the keys that lead to
# it; its unit is in them.
TABLES = {
    "Slots": "slots: count, left out=missing, p50=p50_us, p99=p99_us, p99.9=p999_us, max=max_us, "
    "limit=limit_us, late, share",
    "Slowest slots": "slowest: at (s)=at_s, us=duration_us, usual=usual_us, late=is_late, more=cause",
    "Causes": "causes: late=count, share, us over=over_us, what to do=to_do",
    "Phases": "phases: count, left out=missing, p50=duration.p50_us, p99=duration.p99_us, "
    "max=duration.max_us, mean=duration.mean_us, tasks each=tasks_each, at once=at_once",
    "Tasks": "phases: tasks, lag p50=start_lag.p50_us, lag p99=start_lag.p99_us, time p50=task_time.p50_us, "
    "time p99=task_time.p99_us, stolen=steal_share",
    "Critical path": "phases: count=critical_path.count, "
    + ", ".join(f"{part}=critical_path.mean_us.{part} (critical_path.share.{part})" for part in PATH_PARTS),
    "Pools": "pools: workers, CPUs=cpus, for workers=worker_cpus, pushed=pushes, steals, parks, wakes",
    "Wakes": "pools: woken=unparks.woken, p50=wake_latency.p50_us, p99=wake_latency.p99_us, "
    "max=wake_latency.max_us, own timer=unparks.by_own_timer, did not sleep=unparks.did_not_sleep",
    "Run time by task function": "functions: tasks=count, sum=total_us, p50=p50_us, p99=p99_us, max=max_us",
}
NOTES = """
Of each set of phases, or of bursts where there are no phases, in us. late: longer than the limit, which is
--deadline-us, or 1.25 x p50. Last column: how many took how long, four characters for each power of two.

at: seconds after the begin of the recording, as for --begin; a slot's name is for export --slot. more: what
took so many us more than usual, in the words of table Critical path; of tasks, the one that was slowest.

Late bursts and phases by their main causes, as the process has judged them, and the time over their limits.

Times in us. A burst is what a thread pushes outside any phase until it has waited for it; here it has a row
for the pool and function of its first task. left out: events of its thread were lost meanwhile, the end is
missing, or the number of tasks does not match. at once: how many of its tasks run at a time, on average.

Times in us. lag: from the push to the start of the task. time: from start to end, including tasks that it
runs while it waits. stolen: share of tasks that another thread ran than the one that pushed them.

Mean us a phase, and share: what each moment waited for, from the end backwards. serial: the phase's own
thread neither pushes, runs tasks nor waits. push: it pushes tasks or wakes workers. wake: from the call that
wakes a worker to its first instruction. find: a thread searches for its next task. run: tasks. finish: from
the end of the last task to the return of the wait.

Over the whole trace. for workers: CPUs that workers may use.

Over the whole trace, in us, from the call that wakes a worker to its first instruction. own timer: woken by
their own timer (pre-wake). did not sleep: a task came before the worker slept.

Over the whole trace, in us, without other tasks that a task runs and without its waits for them. Last column:
how many tasks took how long, a character for each power of two; the highest block is the most frequent one.
""".strip().split("\n\n")


def us(value: float) -> str:
    """Microseconds, three digits or more."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def shown(row: Summary, path: str) -> str:
    value: Any = row
    for key in path.split("."):
        value = value[key]
    if value is None or isinstance(value, (bool, str)):
        return value if isinstance(value, str) else "late" if value else "-"
    if path.endswith("_s"):
        return f"{value:.6f}"
    if "share" in path:
        return f"{100 * value:.1f}%"
    if "_us" in path:
        return us(value)
    return f"{value:.0f}" if value == int(value) else f"{value:.1f}"


def cell(row: Summary, values: str) -> str:
    text = re.sub(r"[\w.]+", lambda match: shown(row, match[0]), values)
    return "-" if text.startswith("-") else text


def drawn(rows: list[Summary], steps: int = 1) -> tuple[str, list[str]]:
    """A column with a character for each step that the histograms of all rows cover. The highest block stands
    at the most frequent one. @return its heading and its cells"""
    powers = [round(math.log2(int(low)) * steps) for row in rows for low in row["histogram"]] or [0]
    lows = [int(2 ** (power / steps)) for power in range(min(powers), max(powers) + 1)]
    cells = []
    for row in rows:
        counts = [row["histogram"].get(str(low), 0) for low in lows]
        blocks = [(count * len(BLOCKS) - 1) // max(*counts, 1) for count in counts]
        cells.append("".join(BLOCKS[block] if block >= 0 else NONE for block in blocks))
    return f"{us(lows[0] / 1e3)} .. {us(lows[-1] * 2 ** (1 / steps) / 1e3)}", cells


def tables(summary: Summary) -> Iterator[Table]:
    """Those that have rows."""
    for (title, about), note in zip(TABLES.items(), NOTES):
        of, _, columns = about.partition(": ")
        things = summary[of]
        heads = {head: values or head for head, _, values in (c.partition("=") for c in columns.split(", "))}
        rows = [[thing["name"], *(cell(thing, values) for values in heads.values())] for thing in things]
        names = [*heads]
        if of in STEPS and rows:
            name, cells = drawn(things, STEPS[of])
            names, rows = [*names, name], [[*row, one] for row, one in zip(rows, cells)]
        if rows:
            yield Table(title, ["", *names], rows, [" ".join(note.split())])


def warnings(summary: Summary) -> list[str]:
    """Sentences on what the trace lacks; empty if it lacks nothing."""
    said = [*summary["warnings"]]
    if summary["lost_stretches"]:
        counts = [f"{summary[f'lost_{of}']} {of}" for of in ("events", "packets") if summary[f"lost_{of}"]]
        if unknown := summary["lost_unknown"]:
            counts.append("an unknown number of events" + f" in {unknown} of them" * bool(counts))
        lost = f"LOST, in {summary['lost_stretches']} stretches of time: {', '.join(counts)}"
        left_out = f"Phases left out: {sum(phase['missing'] for phase in summary['phases'])}"
        remedy = "The numbers of pools are too small"
        if summary["lost_events"] or summary["lost_packets"]:
            remedy += ". Larger buffers help: record --subbuf-kib"
        said.append(f"{lost}. {left_out}. {remedy}")
    return said


def text(summary: Summary) -> Iterator[str]:
    yield from (f"WARNING: {warning}" for warning in warnings(summary))
    for table in tables(summary):
        yield from ("", table.title)
        yield from (line.rstrip() for line in layout(table.all_rows))
        yield from textwrap.wrap(table.notes[0], WIDTH, initial_indent="  ", subsequent_indent="  ")
    yield from ("", longest(summary))


def longest(summary: Summary) -> str:
    of = next(iter(summary["slowest"]), None)
    return f"longest {of['kind']} {of['name']}: {us(of['duration_us'])} us" if of else "no slot"


def report(
    folder: Path, out: Path | None, wanted: str | None, part: Stretch | None, deadline_us: float | None,
    as_json: bool,
) -> int:  # fmt: skip
    """@param wanted, part  show only processes of that name or id, and what happened then
    @return 0; 2 if the trace was damaged and only a part of it is in the report"""
    trace = open_trace(folder, part)
    summary = summarize(trace, read(trace, wanted), deadline_us)
    values = summary | {"slots": [{k: of[k] for k in of if k != "ccdf"} for of in summary["slots"]]}
    print(json.dumps(values, indent=1) if as_json else "\n".join(text(summary)), flush=True)
    if out is not None:
        write(out, trace, summary)
    return STATUS if trace.warnings else 0


def picture(rows: Sequence[dict[str, Any]], folder: Path) -> str:
    """@return for the page"""
    from nrbench.drawing import plain_numbers, plt, save  # loads for a second

    figure, axis = plt.subplots(figsize=(7, 4))
    for row in (row for row in rows if row["ccdf"]):
        (line,) = axis.step(*zip(*row["ccdf"]), where="pre", label=row["name"])
        axis.axvline(row["limit_us"], color=line.get_color(), linewidth=0.8, linestyle=":")
    axis.set(xscale="log", yscale="log", xlabel="µs", ylabel="share")
    axis.grid(alpha=0.3)
    for of in (axis.xaxis, axis.yaxis):
        plain_numbers(of)
    figure.legend(loc="lower center", ncol=3, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    return save(figure, folder / "slots.png")


def sections(summary: Summary, out: Path) -> Iterator[Section]:
    """Of the page. That of slots has their CCDF."""
    for table in tables(summary):
        curve = (picture(summary["slots"], out), NOTE) if table.title == "Slots" else ("", "")
        yield Section("", [table], *curve, top=table.title)


def write(out: Path, trace: Trace, summary: Summary) -> None:
    """The page."""
    said = warnings(summary)
    recording = {key: of for key, of in trace.about.items() if key not in ("threads", "images")}
    names = {key: host.TEXT.get(key, key.replace("_", " ")) for key in recording}
    facts = [(name, host.fact_text(recording[key])) for key, name in names.items()]
    slots = sum(of["count"] for of in summary["slots"])
    try:
        out.mkdir(parents=True, exist_ok=True)
        page = Page(
            title=f"Thread pool trace {trace.path.resolve().name}",
            lead=f"{summary['events']} events, {slots} slots, {longest(summary)}."
            + ("" if said else " No event was lost."),
            sections=[*sections(summary, out)],
            warnings=said,
            facts=[("Machine and recording", [fact for fact in facts if fact[1]])],
        )
        write_page(out / "report.html", page)
    except OSError as error:
        raise TraceError(f"--out {out}: {error.strerror or error}") from error
    print(f"written to {out}/: report.html", file=sys.stderr)
