# SPDX-License-Identifier: BSD-3-Clause
"""Programs that stand for nr_ulsim."""

import stat
import sys
import threading

from part_runs import until


def limit_when(monkeypatch, holds):
    """The limit of a run passes when the condition holds, whatever the clock shows."""

    class Limit(threading.Timer):
        def run(self):
            until(lambda: self.finished.is_set() or holds())
            if not self.finished.is_set():
                self.function()

    monkeypatch.setattr(threading, "Timer", Limit)


def a_program(folder, body, name="nr_ulsim"):
    """A build folder whose program is a Python script; `threads` and `options` are at its hand."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(
        f"#!{sys.executable} -SE\n"  # without packages it starts sooner
        "import os, sys\n"
        "options = sys.argv[1:]\n"
        "threads = int(next(word[2:] for word in options if word.startswith('-C')))\n"
        f"{body}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder
