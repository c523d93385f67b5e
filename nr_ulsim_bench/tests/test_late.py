# SPDX-License-Identifier: BSD-3-Clause
"""tpool-ws late on journals, windows and records that a test writes; test_live_program.py has a pool's."""

import ctypes
import itertools
import os
import random
import re
import resource
import shutil
import time
from pathlib import Path

import pytest
from golden_files import ROOT
from test_live import put
from test_trace_rings import FUNC, GROUP, JOIN, JOINER, PARK, POOL, REAL_NS, RUN, SLEEP, record, ring
from test_trace_rings import WORKER as AWAKE

from nrbench.live import cli
from nrbench.live import record as layout
from nrbench.live.late import LEGEND, LINE
from nrbench.live.page import CAUSES, TO_DO
from nrbench.live.record import BURST, BURST_BYTES, BURSTS_AT, EVENTS, MINUTE, MINUTE_BYTES, MINUTE_NS
from nrbench.trace.record import TraceError
from nrbench.trace.rings import Record

WORKER = [AWAKE[0], (900, SLEEP, POOL, 0), *AWAKE[1:]]
POOL_C = ROOT / "common/utils/thread_pool_ws"
LONG = CAUSES.index("long task")
LATE = {"end_ns": 1210, "real_ns": REAL_NS + 710, "length_ns": 210, "limit_ns": 100, "func": FUNC,
        "task_ns": 158, "start_ns": 22, "pid": 7, "pool": POOL, "tid": 7, "task_tid": 8, "cpu": 4,
        "cause": LONG, "life": (REAL_NS - 700) % 2**32,
        "part": (13107, *[0] * (LONG - 1), 52428, *[0] * (15 - LONG))}  # fmt: skip
NAME, NOW = f"tpool-ws-gnb-7-{REAL_NS - 700}.record", {"own_ns": 1300, "real_ns": REAL_NS + 800}
HOUR_NS = 60 * MINUTE_NS
TOLD = """
1. 2001-09-09 01:46:40.000000 UTC gnb[7] pool 1: 0.2 us, limit 0.1, 0.1 over, long task: CAUSES
   thread 7, first task after 0.0 us; longest task: nr-softmodem+0x0 0.2 us, thread 8 on CPU 3
   LEGEND
   tpool-ws-gnb-7-999999999999999300.record
                           |      -----------------------burst------------------------      |
   gnb 7                   |      .....====================wwwwwwwwwwwwwwwwwwwwwwwww..      |
   2 threads               |zzzzzzzzzzz!!.=======================================           |
"""


def journal(folder, *late, name="tpool-ws-gnb.journal", removed=0, rows=(), magic=layout.JOURNAL_MAGIC):
    """@param rows  fields of minutes that have no late burst"""
    data = bytearray(BURSTS_AT)
    layout.JOURNAL_HEAD.pack_into(data, 0, magic, REAL_NS, removed)
    for of in ({**LATE, **burst} for burst in late):
        number, over_ns = of["real_ns"] // MINUTE_NS + 1, of["length_ns"] - of["limit_ns"]
        at = layout.ROWS_AT + number % layout.ROWS * MINUTE_BYTES
        row = MINUTE.read(data, at)
        place = BURSTS_AT + (number % layout.MINUTES * layout.PLACES + row["entries"]) * BURST_BYTES
        data.extend(bytes(max(0, place + BURST_BYTES - len(data))))
        put(data, BURST, place, minute=number, **of)
        put(data, MINUTE, at, number=number, bursts=row["bursts"] + 9, late=row["late"] + 3,
            worst_ns=max(row["worst_ns"], over_ns), entries=row["entries"] + 1)  # fmt: skip
    for of in rows:
        put(data, MINUTE, layout.ROWS_AT + of["number"] % layout.ROWS * MINUTE_BYTES, **of)
    (folder / name).write_bytes(data)
    return folder


def give_maps(path, program):
    with path.open("r+b") as file:
        file.seek(layout.MAPS)
        file.write(b"00401000-00402000 r-xp 00000000 08:01 7  " + program.encode() + b"\n")


@pytest.fixture
def late(tmp_path, capsys, monkeypatch):
    """@return what runs it on the folder: status, output, errors. It is REAL_NS and a second."""
    monkeypatch.setattr(cli, "raise_stopped", lambda: None)
    monkeypatch.setattr(time, "time", lambda: REAL_NS / 1e9 + 1)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield lambda *words: (cli.run(["late", str(tmp_path), *words]), *capsys.readouterr())
    monkeypatch.undo()
    time.tzset()


def test_the_layouts_are_those_of_the_pool():
    def text(path):
        return (POOL_C / path).read_text()

    def number(name):
        return int(re.search(rf"{name} (\d+)", text("include/ws_journal.h"))[1])

    names = re.search(r"names\[\] = \{(.*?)\}", text("include/ws_ledger.h"), re.S)[1]
    notes = re.search(r"WS_NOTE_NONE,(.*?)\}", text("trace/ws_probe.h"), re.S)[1]
    table = (ROOT / "docs/tracing.md").read_text().partition("| what to do |\n|---")[2].partition("\n\n")[0]
    rows = [row.split(" |")[:3] for row in re.sub(r"\[(.*?)\]\(.*?\)", r"\1", table).split("\n| ")[1:]]
    assert [(cause, to_do.strip(" `").replace("`", "")) for cause, _, to_do in rows] == [*TO_DO.items()]
    assert re.findall(r'"(.*?)"', names) == CAUSES and len(CAUSES) <= number("WS_JOURNAL_CAUSES") == 16
    assert [getattr(layout, name) for name in re.findall(r"WS_NOTE_(\w+)", notes)] == [*range(1, 14)]
    assert layout.JOURNAL_MAGIC.decode() in text("record/ws_journal_write.h")
    assert layout.MAGIC.decode() in text("record/ws_file.c")
    assert number("WS_JOURNAL_PLACES") == layout.PLACES and number("WS_JOURNAL_ROWS") == layout.ROWS
    assert number("WS_JOURNAL_MINUTES") == layout.MINUTES and (BURST_BYTES, MINUTE_BYTES) == (128, 184)


def test_the_report_of_a_record_has_the_causes_of_its_journal(tmp_path, tool):
    """Of those whose ends it has: one was before, one is of another process."""
    record(tmp_path, ring(JOINER, 7), ring(WORKER, 8, POOL << 16), name=NAME, **NOW)
    journal(tmp_path, {}, {"end_ns": 1209}, {"pid": 8})
    status, out, err = tool.run("report", tmp_path)
    rows = [line.split(None, 5) for line in out.splitlines() if line.startswith("long task ")]
    assert rows == [["long", "task", "1", "100.0%", "0.11", TO_DO["long task"]]] and status == 0, (out, err)


def test_a_burst_its_causes_and_what_the_threads_did(tmp_path, late):
    journal(tmp_path, {}, removed=12)
    asleep = ring(WORKER, 9, POOL << 16 | 1)
    record(tmp_path, ring(JOINER, 7), ring(WORKER, 8, POOL << 16), asleep, name=NAME, rings=3, **NOW)
    give_maps(tmp_path / NAME, "/none/nr-softmodem")
    status, out, err = late()
    first, second, third, rest = out.split("\n", 3)
    told = TOLD.replace("CAUSES", "long task 0.1, slow wake 0.0").replace("LEGEND", LEGEND)
    assert (status, err, rest) == (0, "", told)
    at = "2001-09-09 01:46"
    reach = f"minutes from {at} UTC to {at} UTC, late bursts from {at} UTC, until {at}:40.000 UTC"
    assert first.endswith(f".journal: {reach}; 12 older files were removed")
    assert second == f"1 windows and records: until {at}:40.000 UTC"
    assert third == "3 of 9 bursts were late, 2 of these have no entry"
    (tmp_path / NAME).unlink()
    none = "\n   no picture: none of the windows and records has its events\n"
    assert late()[1].endswith(f"longest task: 0x401000 0.2 us, thread 8 on CPU 3{none}")


def test_what_is_not_known_of_a_burst_is_not_printed(tmp_path, late):
    """Its first task, if it was not examined. 25 windows: no line is too long, and no time is broken."""
    journal(tmp_path, {"start_ns": 0})
    for number in range(25):
        record(tmp_path, ring(JOINER, 7), name=f"{NAME}.{number}", **NOW)
    out = late()[1]
    assert "\n   thread 7; longest task: " in out and "first task" not in out
    windows = out[out.index("25 windows") : out.index("\n3 of 9")].splitlines()
    assert len(windows) > 2 and max(map(len, windows)) <= LINE
    assert all(line.startswith("   ") and line.rstrip(",").endswith(" UTC") for line in windows[1:])


def drawn(out):
    return {row.split("|")[0].strip(): row.split("|")[1] for row in out.splitlines() if row.endswith("|")}


def lengths(row):
    return " ".join(f"{letter}{len([*of])}" for letter, of in itertools.groupby(row.strip()))


def test_what_is_not_known_is_blank(tmp_path, late):
    """Of a ring that was overwritten, and of a process that was killed. A thread that sleeps sleeps until the
    file was written, or in a wait until the last task of its group has ended: one did at 1100."""
    journal(tmp_path, {})
    full = [(5000, PARK, 0, 0)] * (EVENTS - 2) + AWAKE[2:]  # the oldest is overwritten by the newest
    asleep, task = [(990, SLEEP, POOL, 0)], [(990, RUN, POOL, FUNC)]
    waits = [(990, JOIN, POOL, GROUP + 1), (1010, SLEEP, POOL, 0), (1060, layout.SLEPT, POOL, 0)]
    called = [(990, JOIN, POOL, GROUP), (1095, SLEEP, POOL, 0), (1130, layout.SLEPT, POOL, 0)]
    rings = (
        ring(full, 8, POOL << 16, head=EVENTS + 3),
        ring(asleep, 9, POOL << 16),
        ring(task, 10, POOL << 16),
        ring(waits, 11, POOL << 16),
        ring(called, 12, POOL << 16),
    )
    record(tmp_path, ring(JOINER, 7), *rings, name=NAME, rings=6, **NOW, until_ns=1150)
    rows = drawn(late()[1])
    assert rows["gnb 8"] == " " * 14 + "=" * 39 + " " * 11
    assert rows["gnb 9"] == "   " + "z" * 40 + " " * 21 and rows["gnb 10"] == "   " + "=" * 40 + " " * 21
    assert rows["gnb 11"] == "   " + "w" * 5 + "z" * 13 + "w" * 22 + " " * 21
    assert rows["gnb 12"] == "   " + "w" * 26 + "zz" + "!" * 7 + "w" * 5 + " " * 21


def test_a_thread_that_had_no_cpu(tmp_path, late):
    """A worker, in the longer of its tasks; one that slept by itself, and one that may have. A thread outside
    the pool, in its wait: of its own code after that nothing is known."""
    push, joined, ran, rose, used = (getattr(layout, name) for name in "PUSH JOINED RAN UNPARK USED".split())

    def thread(tid, who, *events):
        return ring([(1000 * at, kind, small, of) for at, kind, small, of in events], tid, who)

    def worker(tid, slept, sleep_us):
        first = [(1, used, 1020, (1 << 48) - 29_000), (10, RUN, POOL, FUNC), (19, ran, POOL, GROUP)]
        sleep = [(19, SLEEP, 0, 0), (19 + sleep_us, rose, 0, 0)]
        last = [(35, RUN, POOL, FUNC), (75, ran, POOL, GROUP), (76, used, (1020 + slept) % 1024, 1000)]
        return thread(tid, POOL << 16 | tid, *first, *sleep, *last)

    burst = [(8, push, 2, GROUP), (9, used, 5, 7), (10, JOIN, POOL, GROUP), (72, joined, POOL, GROUP)]
    later = [(72, used, 5, 20_007), (200, push, 2, GROUP), (201, used, 5, 21_007)]
    rings = (thread(7, 0, *burst, *later), *itertools.starmap(worker, ((8, 1, 12), (9, 2, 12), (10, 1, 5))))
    record(tmp_path, *rings, name=NAME, rings=4, own_ns=300_000, real_ns=REAL_NS + 300_000)
    journal(tmp_path, {"end_ns": 72_000, "length_ns": 64_000})
    rows = drawn(late()[1])
    assert [lengths(rows[f"gnb {tid}"].strip(" .")) for tid in range(7, 11)] == [
        "w16 r36", "=8 z10 .3 =6 r27", "=8 z10 .3 =6 z27", "=8 z4 .9 ?33",
    ]  # fmt: skip


def test_a_thread_sleeps_or_is_called_only_when_it_does(tmp_path, late):
    """A worker that loses its CPU before it sleeps; one that a signal wakes for a moment after its call. A
    wait with another in it; one whose last task ends after the picture."""
    ran, joined, rose, slept = (getattr(layout, name) for name in "RAN JOINED UNPARK SLEPT".split())
    awake = [(990, PARK, 0, 0), (1100, SLEEP, POOL, 0), (1200, rose, 0, 5), (1250, RUN, POOL, FUNC)]
    signal = [(990, PARK, 0, 0), (990, SLEEP, POOL, 0), (1150, SLEEP, POOL, 0), (1160, rose, 0, 60)]
    inner = [(1000, RUN, POOL, FUNC), (1005, JOIN, POOL, GROUP + 1), (1010, joined, POOL, GROUP + 1)]
    outer = [(990, JOIN, POOL, GROUP), *inner, (1020, ran, POOL, GROUP), (1050, SLEEP, POOL, 0)]
    other = [(990, JOIN, POOL, GROUP + 2), (1000, SLEEP, POOL, 0), (1450, slept, POOL, 0)]
    tasks = [(990, RUN, POOL, FUNC), (1080, ran, POOL, GROUP + 2), (1450, ran, POOL, GROUP + 2)]
    events = awake, signal, [*outer, (1150, slept, POOL, 0)], other, tasks
    rings = [ring(of, tid, POOL << 16 | tid) for tid, of in enumerate(events, 8)]
    record(tmp_path, ring(JOINER, 7), *rings, name=NAME, rings=6, own_ns=1500, real_ns=REAL_NS + 1000)
    journal(tmp_path, {})
    rows = drawn(late()[1])
    assert [lengths(rows[f"gnb {tid}"]) for tid in range(8, 12)] == [
        ".28 z24 !1 .8", "z28 !15", "w3 =1 w1 =3 w7 z13 !12 w21", "w3 z58",
    ]  # fmt: skip


def test_of_lives_with_one_number_its_own_is_chosen(tmp_path, late):
    """Two containers, a gNB in each, with the same number and at the same time. Then a clock is set back."""
    journal(tmp_path, {}, {"life": (REAL_NS - 500) % 2**32, "end_ns": 6210, "tid": 9})
    record(tmp_path, ring(JOINER, 7), name=NAME, own_ns=1300, real_ns=REAL_NS - HOUR_NS)
    other = [(at + 5000, *rest) for at, *rest in JOINER]
    now = {"own_ns": 6300, "real_ns": REAL_NS - HOUR_NS}
    record(tmp_path, ring(other, 9), name=f"tpool-ws-gnb-7-{REAL_NS - 500}.record", **now)
    out = late()[1]
    assert out.count("no picture") == 0 and out.count("= task") == 1
    assert {*drawn(out)} == {"", "gnb 7", "gnb 9"}


def test_which_bursts_are_shown(tmp_path, late):
    """The minutes 01:46, 00:46 and 01:46 of the day before; and 01:30, in which none was late."""

    def burst(ago_h, over_ns, **more):
        return {"real_ns": REAL_NS - ago_h * HOUR_NS, "length_ns": 100 + over_ns, **more}

    quiet = {"number": REAL_NS // MINUTE_NS - 15, "bursts": 500, "entries": 2}  # counted in a later minute
    hours = [burst(1, 3000), burst(1, 1000, cause=0), burst(24, 9000)]
    journal(tmp_path, *hours, rows=[quiet], name="tpool-ws-a.journal")
    journal(tmp_path, *[burst(0, 2000 + i) for i in range(12)], name="tpool-ws-b.2.journal")

    def shown(*words):
        return [float(over) for over in re.findall(r"(\d\.\d) over", late(*words)[1])]

    assert shown("--worst", "3") == [9, 3, 2] and len(shown()) == 10 and len(shown("--worst", "99")) == 15
    assert shown("--cause", "slow wake") == [1] and "\n45 of 635 bursts were late, 28 of" in late()[1]
    assert shown("--since", "90m", "--worst", "2") == shown("--since", "00:30", "--worst", "2") == [3, 2]
    assert shown("--at", "00:46") == [3, 1] and len(shown("--at", "01:46")) == 10
    assert shown("--at", "2001-09-08 01:46") == [9]
    assert "\nb 2001-09-09 01:46 UTC: 108 bursts, " in late("--at", "1:46")[1]
    out = late("--at", "01:30")[1]
    assert "\na 2001-09-09 01:30 UTC: 500 bursts, 0 late, worst 0.0 us over; 0 examined: no cause\n" in out
    assert late("--at", "03:12")[1].endswith("\n0 of 0 bursts were late, 0 of these have no entry\n")
    for word in ("24:00", "2001-13-01 00:00", "2001-02-30 00:00", "x"):
        assert late("--at", word)[2].startswith(f'tpool-ws: "{word}": not a time such as 03:12 ')


def test_a_zone_sets_its_clock(tmp_path, late, monkeypatch):
    """Back on 2001-10-28 at 03:00, so that 02:30 comes twice. Forward on 2001-03-25, which lacks it."""
    first_ns = 1004229030 * 10**9
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    monkeypatch.setattr(time, "time", lambda: first_ns / 1e9 + 40000)
    journal(tmp_path, {"real_ns": first_ns}, {"real_ns": first_ns + HOUR_NS})
    for words in (("--at", "02:30"), ("--at", "2001-10-28 02:30"), ("--since", "02:30")):
        assert re.findall(r"\n\d\. 2001-10-28 02:30:\S+ (\w+)", late(*words)[1]) == ["CEST", "CET"]
    assert late("--at", "2001-03-25 02:30")[2].endswith("or not of that day\n")


def test_a_function_has_the_name_that_the_file_had(tmp_path):
    """Not that of a file of the host where the container had another one, or of a package that was installed
    later: its files are older."""
    there = ctypes.cast(ctypes.CDLL(None).qsort, ctypes.c_void_p).value
    maps = [(int(of[0], 16), of[4]) for of in layout.MAPPED.findall(Path("/proc/self/maps").read_text())]
    library = max(of for of in maps if of[0] <= there)[1]
    address = there - min(begin for begin, path in maps if path == library)
    file = str(shutil.copy2(library, tmp_path))
    about = os.stat(file)
    ran = f"00401000-00402000 r-xp 00000000 08:01 {about.st_ino}  {file}\n"
    assert layout.function_at(file, 0, address, about.st_ctime, ran) == "qsort"
    assert layout.function_at(file, 0, address, about.st_ctime - 1, ran) is None
    other = ran.replace(f" {about.st_ino} ", " 7 ")
    assert layout.function_at(file, 0, address, about.st_ctime, other) is None


BAD = {
    "a link": lambda path: path.symlink_to("/dev/zero"),
    "a pipe": os.mkfifo,
    "a folder": lambda path: path.mkdir(),
    "short": lambda path: path.write_bytes(layout.MAGIC * 9),
    "another version": lambda path: path.write_bytes(b"WSJRN999" * 40000),
    "too large": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 40),
    "another user's": lambda path: (path.touch(), os.chown(path, 12345, 0)),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", ["tpool-ws-a\x1b.journal", NAME.replace("gnb", "a")])
def test_a_bad_file_is_named_and_the_rest_is_shown(tmp_path, late, kind, name):
    if kind == "another user's" and os.geteuid():
        pytest.skip("needs root")
    BAD[kind](tmp_path / name)
    if name.endswith(".journal"):
        assert late()[2] == f"tpool-ws: {tmp_path}: no file *.journal in it can be read: see the warnings\n"
    journal(tmp_path, {})
    status, out, _ = late()
    assert (status, out.count("1. 2001-"), out.count("WARNING: ")) == (2, 1, 1)
    assert f"WARNING: {tmp_path / name}: ".replace("\x1b", "?") in out and "; this file is left out\n" in out


def test_whatever_is_in_the_files_there_is_an_answer(tmp_path, late):
    """WS_MUTATED: how many. Bits are flipped, files end too early, or go on."""
    draw = random.Random(91)
    journal(tmp_path, {}, {"tid": 9}, {"real_ns": REAL_NS - MINUTE_NS})
    record(tmp_path, ring(JOINER, 7), ring(WORKER, 8, POOL << 16), name=NAME, **NOW)
    record(tmp_path, ring(JOINER, 7), name=f"{NAME}.24", **NOW, since_ns=900)
    give_maps(tmp_path / NAME, "/bin/sh")
    good = {path: path.read_bytes() for path in tmp_path.iterdir()}
    used = {path: [at for at, byte in enumerate(data) if byte] for path, data in good.items()}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(int(os.environ.get("WS_MUTATED", "300"))):
        path = draw.choice([*good])
        data = bytearray(good[path])
        for _ in range(draw.choice((1, 2, 9, 60))):
            data[draw.choice((draw.choice(used[path]), draw.randrange(64)))] ^= 1 << draw.randrange(8)
        length = draw.choice((len(data), draw.randrange(len(data)), draw.choice(used[path]), 1 << 22))
        path.write_bytes(data[:length] + draw.randbytes(64) * (draw.randrange(3) * (length > len(data))))
        status, out, err = late(*draw.choice(((), ("--at", "01:46"), ("--since", "3h", "--worst", "2"))))
        assert status in (0, 2) and (out or err), number
        if number % 30 == 0:
            try:
                Record(tmp_path).processes()
            except TraceError:
                pass
        path.write_bytes(good[path])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # KiB
    assert grown < (64 << 10) + 10 * sum(map(len, good.values())) // 1024
