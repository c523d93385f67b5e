# SPDX-License-Identifier: BSD-3-Clause
"""A made-up machine, and programs that stand for nr_ulsim."""

import stat
import sys

from nrbench.sweep.record import Host


def a_host(**changes):
    about = dict(
        label="a machine",
        id="01234567",
        cpu="a CPU",
        cores=2,
        cores_online=2,
        architecture="x86_64",
        kernel="6.1",
        virtual=False,
        mask="0-1",
        rt_allowed=True,
        load=0.0,
    )
    return Host(**{**about, **changes})


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
