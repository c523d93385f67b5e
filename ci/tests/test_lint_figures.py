# SPDX-License-Identifier: BSD-3-Clause
from unittest import mock

import lint_figures
from lint_figures import LIST, check

from tests.fixture import TreeTest

NONE = "v2.3.0, 0.2.0, 2026-11-28, 12x6, 2 CPUs, 09b1a72d, 1,024 rows, [a](x-1.5.md), 16 of them, `50 us`\n"
NONE += "```\n0.82 of it\n```\nso <!-- results: gain -->0.44 to 0.77<!-- end -->.\n"
FOUND = "1.37 × it;1.45 x;8 to 150 µs;3 s;24 %;2, 6 ms;|0.44|;1.006.;4 of 5;6 times"
LINE = "README.md | about 95 % | a.py | why\n"
# README.md, a.py, and the findings.
LISTS: tuple[tuple[str, ...], ...] = (
    ("about\n95 %", "A = 0.95\n"),
    ("95 %, about 95 %", "A = 0.95\n", "README.md:1 figure"),
    ("about 94 %", "A = 0.95\n", "README.md:1 figure", "figures.txt:1 list"),
    ("about 95 %", "A = 0.94\n", "figures.txt:1 list"),
)


class FiguresTest(TreeTest):
    def test_figures_of_pages(self) -> None:
        self.expect(check, {"README.md": NONE, "docs/fibers.md": "1.37 ×\n"})
        for text in FOUND.split(";"):
            self.expect(check, {"README.md": f"\n{text}\n"}, "README.md:2 figure")

    def test_the_list(self) -> None:
        for page, source, *expected in LISTS:
            self.expect(check, {"README.md": page, "a.py": source, LIST: LINE}, *expected)
        with mock.patch.object(lint_figures, "LISTED_MAX", 0):
            self.expect(check, {"README.md": "about 95 %", "a.py": "0.95", LIST: LINE}, "figures.txt:1 list")
