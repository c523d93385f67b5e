# SPDX-License-Identifier: BSD-3-Clause
"""Each mutant fits the sources as they are: a change of a line must not leave a defect untried."""

from __future__ import annotations

import unittest

from simulate.mutate import MODULE, find_mutants


class TestMutants(unittest.TestCase):
    def test_each_replaces_one_place(self) -> None:
        for mutant in find_mutants():
            texts = {edit.file: (MODULE / edit.file).read_text() for edit in mutant.edits}
            for edit in mutant.edits:
                with self.subTest(mutant.name, file=edit.file):
                    self.assertEqual(texts[edit.file].count(edit.old), 1)
                    texts[edit.file] = texts[edit.file].replace(edit.old, edit.new)


if __name__ == "__main__":
    unittest.main()
