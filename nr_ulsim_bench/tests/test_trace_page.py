# SPDX-License-Identifier: BSD-3-Clause
"""The page of a report, where the system's encoding is not UTF-8."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
