# SPDX-License-Identifier: BSD-3-Clause
"""Programs that stand for nr_ulsim."""

import stat
import sys


def a_program(folder, body, name="nr_ulsim"):
    """A build folder whose program is a Python script; `threads` and `options` are at its hand."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "options = sys.argv[1:]\n"
        "threads = int(next(word[2:] for word in options if word.startswith('-C')))\n"
        f"{body}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder
