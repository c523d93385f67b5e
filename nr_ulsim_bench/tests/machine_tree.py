# SPDX-License-Identifier: BSD-3-Clause
"""Made-up machines: files of /proc and /sys below a folder. `None` takes a file of the usual machine away."""

import os
import re
from pathlib import Path

from nrbench import toml
from nrbench.system import CPU, System, parse_cpus

CPUS = 8
TUNED = toml.loads((Path(__file__).parent / "doctor" / "machine.toml").read_text(encoding="utf-8"))


def of_cpus(listed):
    """With each CPU of names such as cpu[2-5]."""
    found = {}
    for name, text in listed.items():
        head, cpus, tail = re.fullmatch(r"(.*?)(?:\[([\d,-]+)\](.*))?", name).groups()
        names = [f"{head}{cpu}{tail}" for cpu in parse_cpus(cpus)] if cpus else [name]
        found |= dict.fromkeys(names, text or None)
    return found


def everything():
    """The files of the machine of doctor/machine.toml. No core has two CPUs."""
    siblings = {f"{CPU}/cpu{cpu}/topology/thread_siblings_list": f"{cpu}\n" for cpu in range(CPUS)}
    return of_cpus(TUNED) | siblings


def write(root, files):
    """Texts, contents that are bytes, and links that are paths."""
    for folder in {os.path.dirname(name) for name in files}:
        os.makedirs(f"{root}{folder}", exist_ok=True)
    for name, text in files.items():
        path = Path(f"{root}{name}")
        if text is None or path.is_symlink() or path.is_file():  # that may be read-only
            path.unlink()
        if isinstance(text, Path):
            path.symlink_to(text)
        elif text is not None:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())


def tuned(root, changes=None):
    """The machine above, with some of its files changed."""
    write(root, everything())
    write(root, changes or {})
    return System(root)
