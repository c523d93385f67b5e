# SPDX-License-Identifier: BSD-3-Clause
"""The page of a report: what it says of losses; and where the system's encoding is not UTF-8."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_trace_analysis import phase_with_a_woken_worker
from trace_log import Log, summary_of

ROOT = Path(__file__).resolve().parent.parent
WRITE = """
import sys
from pathlib import Path
from nrbench.trace import page
from test_trace_analysis import phase_with_a_woken_worker
from trace_log import summary_of
import locale

page.write(Path(sys.argv[1]), Path("t"), summary_of(phase_with_a_woken_worker()), {"cpu": "\\u00b5-CPU"}, [])
print(locale.getpreferredencoding(False))
"""


def test_the_page_is_utf_8(tmp_path):
    pytest.importorskip("jinja2")
    answer = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", WRITE, tmp_path / "report.html"],
        env=os.environ
        | {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout != "UTF-8\n"
    assert "<td>\u00b5-CPU</td>" in (tmp_path / "report.html").read_bytes().decode("utf-8")


def page_of(tmp_path, log: Log, **more: object) -> str:
    page = pytest.importorskip("nrbench.trace.page")
    page.write(tmp_path / "r.html", tmp_path, summary_of(log) | more, {}, [])
    return (tmp_path / "r.html").read_text(encoding="utf-8")


NOTHING_LOST = "No event was lost."


def test_the_page_says_that_nothing_was_lost(tmp_path):
    html = page_of(tmp_path, phase_with_a_woken_worker())
    assert NOTHING_LOST in html and 'class="warning"' not in html


@pytest.mark.parametrize("events", [3, None])
def test_the_page_says_what_was_lost(tmp_path, events):
    log = phase_with_a_woken_worker()
    log.lost(5000, 5001, events)
    html = page_of(tmp_path, log)
    assert NOTHING_LOST not in html
    assert '<p class="warning">LOST: ' in html and "0 phases are left out" in html


def test_the_page_shows_all_warnings_and_notes(tmp_path):
    html = page_of(tmp_path, phase_with_a_woken_worker(), warnings=["cut off", "damaged"], notes=["that one"])
    for warning in ("cut off", "damaged"):
        assert f'<p class="warning">{warning}</p>' in html
    assert NOTHING_LOST not in html and "<p>that one</p>" in html
    # a note is no loss
    assert NOTHING_LOST in page_of(tmp_path, phase_with_a_woken_worker(), notes=["that one"])
