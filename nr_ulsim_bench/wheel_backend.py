# SPDX-License-Identifier: BSD-3-Clause
"""PEP 517: setuptools, which by itself builds a wheel beside the sources. These may be read-only: a
container's mount, a checkout of another user's. Here it builds in a temporary folder. The command tpool-ws is
one file, which can be copied to machines without this package."""

from __future__ import annotations

import os
import runpy
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  the other hooks

HERE = Path(__file__).resolve().parent
SETTINGS = "DIST_EXTRA_CONFIG"  # of setuptools: a file that it reads besides setup.cfg


@contextmanager
def elsewhere() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="nrbench-wheel-") as folder:
        settings = Path(folder, "setup.cfg")
        tool = Path(folder, "tpool-ws")
        version = runpy.run_path(str(HERE / "nrbench/version.py"))["VERSION"]
        make_tool = runpy.run_path(str(HERE / "tool_file.py"))["make_tool"]
        make_tool(version, "/usr/bin/env python3", tool)
        settings.write_text(
            f"[build]\nbuild_base={folder}\n[egg_info]\negg_base={folder}\n"
            f"[options.data_files]\nbin = {tool}\n",
            encoding="utf-8",
        )
        os.environ[SETTINGS] = str(settings)
        try:
            yield
        finally:
            del os.environ[SETTINGS]


def get_requires_for_build_wheel(*given: Any) -> list[str]:
    with elsewhere():
        return build_meta.get_requires_for_build_wheel(*given)


def prepare_metadata_for_build_wheel(*given: Any) -> str:
    with elsewhere():
        return build_meta.prepare_metadata_for_build_wheel(*given)


def build_wheel(*given: Any) -> str:
    with elsewhere():
        return build_meta.build_wheel(*given)
