# SPDX-License-Identifier: BSD-3-Clause
"""Which names in the tables of tests stand for what is gone? Cases and programs in kills.csv, models in
models.txt. Also ci/lint_docs.py asks, with Python 3.10."""

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

CASES = ("units", "scenes", "contract")  # the suites whose cells name cases
ENTRY = re.compile(r"(\w+)(?:: (\w+))?(?: \(.*\))?")
MODEL_OPTION = re.compile(r'-D(\w+)|Faults=\{"(\w+)"')


def has(name: str, words: set[str]) -> bool:
    """Whether the name is a word, or several with no letter on one side of each joint: macros and CMake join
    the name of a case, or of a program, from parts."""
    cuts = [at for at in range(1, len(name)) if not name[at - 1 : at + 1].isalpha()]
    return name in words or any(name[:at] in words and has(name[at:], words) for at in cuts)


class Named:
    """What the tests below a folder of the module have."""

    def __init__(self, module: Path) -> None:
        self.files = [path for path in module.rglob("*") if "tests" in path.relative_to(module).parts]
        self.words = cache(self._words)

    def _words(self, end: str) -> set[str]:
        """Of the files whose path ends so."""
        texts = [path.read_text(encoding="utf-8") for path in self.files if path.as_posix().endswith(end)]
        return {word for form in (r"\w+", r"(?<=-D)\w+") for word in re.findall(form, "\n".join(texts))}

    def gone(self, suite: str, cell: str) -> list[str]:
        """@return the entries of the cell whose case, or program, is not there"""
        found = []
        for entry in cell.split("; "):
            one = ENTRY.fullmatch(entry)  # not "-", nor "and 3 more"
            if one and one[2]:
                words = self.words(f"/{suite}/{one[1]}.c")  # of a scene, or a contract
                words |= set() if suite == "scenes" else self.words(f"/test_{one[1]}.c")
                found += [] if has(one[2], words) else [entry]
            elif one:
                found += [] if has(one[1], self.words("CMakeLists.txt")) else [entry]
        return found

    def gone_cases(self, kills: Path) -> Iterator[tuple[int, str]]:
        """@return lines of kills.csv, and what each names that is gone"""
        with kills.open(newline="", encoding="utf-8") as file:
            for number, row in enumerate(csv.DictReader(file), 2):
                yield from ((number, one) for suite in CASES for one in self.gone(suite, row[suite] or ""))
                if not (kills.parent / f"mutants/{row['mutant']}.toml").is_file():
                    yield number, row["mutant"]

    def gone_models(self, models: Path) -> Iterator[tuple[int, str]]:
        """@return lines of models.txt, and the file, or the mutants, that each names and that are gone"""
        for number, line in enumerate(models.read_text(encoding="utf-8").splitlines(), 1):
            tool, _, file, _, options = ([cell.strip() for cell in line.split("|")] + [""] * 4)[:5]
            if tool not in ("spin", "genmc", "tlc"):
                continue
            name = Path(file).name + (".tla" if tool == "tlc" else "")
            words = self.words(f"/{name}")
            mutants = {one[1] or one[2] for one in MODEL_OPTION.finditer(options)} - words
            yield from ((number, one) for one in (sorted(mutants) if words else [name]))
