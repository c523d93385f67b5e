# SPDX-License-Identifier: BSD-3-Clause
"""What the commands give of the committed raw runs: files of golden/, see golden_files.py."""

import html
import itertools
import random
import re
from pathlib import Path

import pytest
from golden_files import GOLDEN, ROOT, check, plain, table
from made_up import failed, nrbench, run, write

RAW = ROOT / "docs" / "results"
SWEEPS = [RAW / f"2-cores-sweep-{name}.ndjson" for name in ("v2.1.0", "v2.3.0", "2025.w37")]
RADIOS = sorted(RAW.glob("2-cores-radio-*.ndjson"))
COMMANDS = ("run", "sweep", "radio", "scenarios", "report", "results")
pytestmark = pytest.mark.usefixtures("no_pictures")


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")


def figures(text):
    """Words with a digit."""
    return {word.strip(",;:.()[]…") for word in text.split() if re.search(r"\d", word)}


def check_page(folder):
    """Whatever figure the text has, the page has."""
    page = re.sub(r"<[^>]*>|data:image\S*", " ", (folder / "report.html").read_text(encoding="utf-8"))
    assert not figures((folder / "report.txt").read_text(encoding="utf-8")) - figures(html.unescape(page))


def names(folder):
    return "\n".join(sorted(path.name for path in folder.iterdir()))


def test_a_sweep(tmp_path):
    nrbench("report", SWEEPS[0], "--out", tmp_path)
    check("sweep.txt", (tmp_path / "report.txt").read_text(encoding="utf-8"))
    check("sweep-files.txt", names(tmp_path))
    check_page(tmp_path)


def test_several_sweeps_in_one_report(tmp_path):
    """Of three versions. Runs of a copy count once."""
    (tmp_path / "copy.ndjson").write_bytes(SWEEPS[0].read_bytes())
    screen = nrbench("report", *SWEEPS, tmp_path / "copy.ndjson", "--out", tmp_path / "out")
    text = (tmp_path / "out" / "report.txt").read_text(encoding="utf-8")
    check("sweeps.txt", plain(text, tmp_path))
    check("sweeps.csv", table(tmp_path / "out" / "results.csv", ["host_label", "began"]))
    assert not figures(screen[: screen.index("written to")]) - figures(text)


def noisy(us, *seed):
    return round(us * (1 + 0.03 * random.Random(str(seed)).uniform(-1, 1)), 2)


def of_hosts():
    """Three hosts, two cases, two numbers of threads; one run failed."""
    lines = []
    for machine, (case, us), number in itertools.product("abc", (("one", 900), ("two", 400)), range(5)):
        where = {"machine": machine, "case": case}
        lines.append(run("inline", number, noisy(us, machine, case, number), threads=0, **where))
        for (pool, slowness), threads in itertools.product((("old", 1.0), ("new", 0.7)), (1, 4)):
            rx = us * slowness * (0.4 + 0.8 / threads)
            lines.append(run(pool, number, noisy(rx, machine, case, number, pool, threads), threads, **where))
    return [*lines, failed("old", 5, threads=4, case="one")]


def test_what_no_committed_run_has(tmp_path):
    nrbench("report", write(tmp_path / "runs.ndjson", of_hosts()), "--out", tmp_path / "out")
    text = (tmp_path / "out" / "report.txt").read_text(encoding="utf-8")
    check("hosts.txt", text[: text.index("\na\n")] + text[text.rindex("Summary") :])
    check_page(tmp_path / "out")


@pytest.mark.parametrize("path", RADIOS, ids=lambda path: path.stem.removeprefix("2-cores-radio-"))
def test_a_radio_session(path, tmp_path):
    nrbench("radio", "--report", path, "--out", tmp_path)
    check(f"radio-{path.stem.removeprefix('2-cores-radio-')}.txt", (tmp_path / "report.txt").read_text())
    check_page(tmp_path)


def test_all_radio_sessions_in_one_report(tmp_path):
    words = [word for path in RADIOS for word in ("--report", path)]
    nrbench("radio", *words, "--out", tmp_path)
    text = (tmp_path / "report.txt").read_text(encoding="utf-8")
    check("radios.txt", text[: text.index("Late slots")])


def test_the_documents_show_the_raw_runs():
    assert nrbench("results", RAW) == ""


def test_scenarios():
    every = nrbench("scenarios")
    of_each = [nrbench("scenarios", line.split()[0]) for line in every.splitlines()]
    check("scenarios.txt", "\n".join([every, *of_each]))


@pytest.mark.parametrize("command", COMMANDS)
def test_options(command):
    """Their names. Help texts may change."""
    options = sorted(set(re.findall(r"(?<![\w-])--[a-z][\w-]*", nrbench(command, "--help"))))
    check(f"options-{command}.txt", "\n".join(options))


def test_no_file_of_golden_is_left_over():
    """Each is named in a test."""
    text = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    stems = {path.name for path in GOLDEN.iterdir()}
    known = {name for name in stems if name in text}
    made = re.compile(r"(radio-.+|options-.+|part-.+)\.(txt|csv)")
    assert not [name for name in stems - known if not made.fullmatch(name)]
