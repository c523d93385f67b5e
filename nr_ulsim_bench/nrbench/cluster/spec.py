# SPDX-License-Identifier: BSD-3-Clause
"""What --cluster names: the way to the machines, and its argument."""

from __future__ import annotations

from typing import NamedTuple

from nrbench.driver import BenchError
from nrbench.needed import missing

WAYS = "tcp://SCHEDULER:PORT, tls://SCHEDULER:PORT, ssh:FILE, slurm[:FILE] or kubernetes[:FILE]"
BASE = {"distributed": "distributed", "cryptography": "cryptography"}
OF_WAY = {"slurm": {"dask_jobqueue": "dask-jobqueue"}}


class Spec(NamedTuple):
    """Of tcp and tls the argument is the whole address."""

    way: str
    argument: str


def parse_spec(text: str) -> Spec:
    """@raise BenchError  names the text and the ways there are"""
    way, colon, argument = text.partition(":")
    if way in ("tcp", "tls") and argument.startswith("//") and argument[2:].rpartition(":")[2].isdecimal():
        return Spec(way, text)
    if (way == "ssh" and argument) or (way in ("slurm", "kubernetes") and (argument or not colon)):
        return Spec(way, argument)
    raise BenchError(f"--cluster {text}: not {WAYS}")


def require_packages(way: str) -> None:
    """@raise BenchError  names the Python packages that this way needs and this Python does not have"""
    packages = BASE | OF_WAY.get(way, {})
    absent = missing(packages, packages)
    if absent:
        raise BenchError(
            f"--cluster {way}: Python packages are missing: {', '.join(absent)}. Run `ci/setup bench` and "
            f"use .venv/bin/python, or `pip install {' '.join(absent)}`"
        )
