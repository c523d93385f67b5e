# SPDX-License-Identifier: BSD-3-Clause
"""A small tree on disk, made of a dict, for one test."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Iterable
from pathlib import Path

from lintkit import MODULE, Finding


class TreeTest(unittest.TestCase):
    def tree(self, files: dict[str, str]) -> Path:
        """Write files; a name that begins with "@/" lies in the module."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        for name, text in files.items():
            path = root / name.replace("@/", f"{MODULE}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return root

    def assert_rules(self, findings: Iterable[Finding], *expected: str) -> None:
        """Each expected finding is "file:line rule", the file by its last name."""
        found = sorted({f"{Path(f.path).name}:{f.line} {f.rule}" for f in findings})
        self.assertEqual(found, sorted(expected))
