# SPDX-License-Identifier: BSD-3-Clause
from lint_figures import LIST, LISTED_MAX, check

from tests.fixture import TreeTest

# What README.md holds, and the lines with findings there.
PAGES: tuple[tuple[str, int | None], ...] = (
    ("v2.3.0, 0.2.0, 2026-11-28, 12x6, 2 CPUs, 09b1a72d, 1,024 rows, [a](x-1.5.md), 16 of them\n", None),
    ("`--timescale 0.2`, `50 us`\n\n```\n0.82 of it\n```\n", None),
    ("so <!-- results: gain -->0.44 to 0.77<!-- end -->.\n", None),
    *((f"\n{text}\n", 2) for text in ("1.37 × it", "1.45 x", "8 to 150 µs", "3 s", "24 %", "2, 4 and 6 ms")),
    *((f"\n{text}\n", 2) for text in ("|0.44|", "has 1.006.", "40 of 50", "five, 10 times", "50 ns")),
)
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
        for text, line in PAGES:
            self.expect(check, {"README.md": text}, *([f"README.md:{line} figure"] if line else []))
        self.expect(check, {"docs/fibers.md": "1.37 ×\n"})

    def test_the_list(self) -> None:
        for page, source, *expected in LISTS:
            self.expect(check, {"README.md": page, "a.py": source, LIST: LINE}, *expected)

    def test_the_list_is_short(self) -> None:
        for more, expected in ((0, ()), (1, (f"figures.txt:{LISTED_MAX + 1} list",))):
            words = [f"word{n}: 95 %" for n in range(10, 10 + LISTED_MAX + more)]
            lines = "".join(LINE.replace("about 95 %", one) for one in words)
            self.expect(check, {"README.md": " ".join(words), "a.py": "0.95", LIST: lines}, *expected)
