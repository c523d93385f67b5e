# SPDX-License-Identifier: BSD-3-Clause
"""PEP 517: setuptools, which by itself builds a wheel beside the sources. These may be read-only: a
container's mount, a checkout of another user's. Here it builds in a temporary folder."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  the other hooks

SETTINGS = "DIST_EXTRA_CONFIG"  # of setuptools: a file that it reads besides setup.cfg


@contextmanager
def elsewhere() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="nrbench-wheel-") as folder:
        settings = Path(folder, "setup.cfg")
        settings.write_text(
            f"[build]\nbuild_base={folder}\n[egg_info]\negg_base={folder}\n", encoding="utf-8"
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
