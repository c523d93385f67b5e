# SPDX-License-Identifier: BSD-3-Clause
"""A folder for a test, and a small tree on disk, made of a dict, for one case of a table."""

import tempfile
import unittest
from collections.abc import Callable, Iterable
from pathlib import Path

from lintkit import MODULE, Finding

Check = Callable[[Path], Iterable[Finding]]


class FolderTest(unittest.TestCase):
    """A test with a folder of its own, "root"."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)


class TreeTest(unittest.TestCase):
    def expect(self, check: Check, files: dict[str, str], *expected: str) -> None:
        """Files by name, "@/" for the module's folder. Expected: "file:line rule", by the last name."""
        with tempfile.TemporaryDirectory() as folder, self.subTest(files=files):
            for name, text in files.items():
                path = Path(folder) / name.replace("@/", f"{MODULE}/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            found = {f"{Path(one.path).name}:{one.line} {one.rule}" for one in check(Path(folder))}
            self.assertEqual(found, set(expected))
