#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the documents name is there, and nothing in the tree speaks of one machine.

Rules: link, anchor (Markdown links inside the tree), path (files that backticks and shell blocks name, from
the tree's root), name (tests, programs, steps and mutants in pages but CHANGELOG.md, which also tells what is
gone), spdx (the first lines of every source file), columns (of C and shell: clang-format leaves comments as
they are), machine (no absolute path of a home or work folder). In tables of tests: case (kills.csv;
`ci/simulate kills --show` takes out what is gone), model (models.txt: files, and mutants in their options).
A warning, and no finding: steps of `ci/test full` that have last passed long ago, by docs/testing.md.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import filter as matching
from pathlib import Path
from urllib.parse import unquote

from lintkit import C_SUFFIXES, MODULE, ROOMS, Finding, blank, line_of, main, read, repo_root, tree_files

sys.path.append(str(repo_root() / MODULE / "tests/sim"))
from simulate.named import Named  # noqa: E402

SPDX = "SPDX-License-Identifier: BSD-3-Clause"
SOURCE = re.compile(
    r"\.(c|h|cc|[ch]pp|py|sh|cmake|cocci|pml|tla|litmus|toml|ya?ml|service)$"
    r"|(^|/)(CMakeLists\.txt|Dockerfile|Containerfile)$"
)
COLUMNS_MAX = 110
MACHINE = re.compile(r"(?<![\w.$})~-])/(?:ro" r"ot|wo" r"rk|ho" r"me/\w[\w.-]*)/")
FENCE = re.compile(r"^[ ]{0,3}(```|~~~)(.*?)^[ ]{0,3}\1[^\n]*$", re.DOTALL | re.MULTILINE)
TICKED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^\s)>]+)>?[^)\n]*\)|^\[[^]]+\]:\s+(\S+)", re.M)
HEADING = re.compile(r"^#{1,6}[ ]+(.+?)[ ]*#*$", re.MULTILINE)
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
# Words that begin with a folder of this tree, or name a file of a room. OAI has folders of the same names.
PATH = re.compile(
    rf"(?:\./)?((?:{MODULE}|openair1_patches|nr_ulsim_bench|cmake_targets|ci|\.ci|docs)/[^\s:,;)]*"
    rf"|(?:(?:{'|'.join(ROOMS)})/)?ws_\w+\.[ch])(?::\d+)?[:,;]?"
)
NUMBERS = r"\b[Ss]teps? (\d\d\b(?:-[\w-]+)?(?:(?:, | and )\d\d\b)*)"
NAMES = {
    "test or program": r"(?<![\w./-])(test_[\w-]+|(?:tpool-)?ws-[a-z][\w-]*|[A-Z]\w+\.(?:pml|tla))",
    "step": rf"{NUMBERS}|(?:^|`)ci/test ([a-z][\w-]*(?: [a-z][\w-]*)*)",
    "mutant": r"\bmutants? `([\w-]+)`",
    "mutant of a model": r"\(([A-Za-z]+_\w+(?:, [A-Za-z]+_\w+)*)\)",  # in pages that name tests/model
}
OTHERS = {"test_actor", "test_thread-pool", "test_asyncs"}  # of OAI, of Taskflow
PASSED = re.compile(r"^\|(\d\d-[\w-]+)\|[\d-]+\|(\w+)\|$", re.MULTILINE)
COMMITS_MAX = 500  # after which a step counts as old
OAI_FOLDERS = re.compile(r"cmake_targets/(build_oai|ran_build|tools|phy_simulators)")


def anchors(markdown: str) -> set[str]:
    """The anchors of a page, made of its headings as the forges make them."""
    found, slugs = set(ANCHOR.findall(markdown)), Counter[str]()
    for heading in HEADING.findall(FENCE.sub("", markdown)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found.add(f"{slug}-{slugs[slug]}" if slugs[slug] else slug)
        slugs[slug] += 1
    return found


def without(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: blank(found[0]), text)


def check_links(root: Path, page: str, text: str) -> Iterator[Finding]:
    prose = without(TICKED, without(FENCE, text))
    for link in LINK.finditer(prose):
        target = link[1] or link[2]
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, anchor = unquote(target).partition("#")
        path = (root if name.startswith("/") else (root / page).parent) / name.lstrip("/")
        if not name:
            path = root / page
        if not path.exists():
            yield Finding(page, line_of(prose, link.start()), "link", f"{target}: there is no such file")
        elif anchor and path.suffix == ".md" and anchor not in anchors(read(path)):
            yield Finding(page, line_of(prose, link.start()), "anchor", f"{target}: no such heading")


def check_paths(page: str, text: str, paths: set[str]) -> Iterator[Finding]:
    """The first word of each text in backticks, and all words of the commands in shell blocks."""
    words = [(one.start(), one[1].partition(" ")[0]) for one in TICKED.finditer(without(FENCE, text))]
    for block in FENCE.finditer(text):
        if re.match(r"(sh|bash|console)?\n", block[2]):
            words += [(block.start(2) + one.start(), one[0]) for one in re.finditer(r"[^\s'\"=]+", block[2])]
    for offset, word in words:
        found = PATH.fullmatch(word)
        if found is None or re.search(r"[<>{}$…=(]|\.\.\.", found[1]) or OAI_FOLDERS.match(found[1]):
            continue
        name = found[1].rstrip("/")
        wanted = f"*/{name}" if name.startswith((*ROOMS, "ws_")) else name
        if name not in paths and not matching(paths, wanted):
            yield Finding(page, line_of(text, offset), "path", f"{name}: the tree has no such file")


def known_names(root: Path, names: list[str]) -> dict[str, set[str]]:
    def words(form: str, pattern: str) -> set[str]:
        """What matches the pattern in files whose name matches the form."""
        texts = (read(root / name) for name in names if re.search(form, name))
        return {word for text in texts for word in re.findall(pattern, text)}

    files = [Path(name) for name in names]
    steps = {path.name for path in files if path.parts[:2] == ("ci", "steps")}
    built = words(r"CMakeLists\.txt$|\.cmake$|pyproject\.toml$|/gdb/", r"[\w-]+")
    built |= words(r"/test_\w+\.py$", r"def (test_\w+)")
    return {
        "test or program": OTHERS | {path.name for path in files} | {path.stem for path in files} | built,
        "step": {"full"} | steps | {part for step in steps for part in (*step.split("-"), step[3:])},
        "mutant": {path.stem for path in files if path.parent.name == "mutants"},
        "mutant of a model": words("/tests/model/", r"\w+") | words("/MEMORY_MODEL", r"(?m)^\| ([A-Z_]+) \|"),
    }


def check_names(page: str, text: str, known: dict[str, set[str]]) -> Iterator[Finding]:
    for what, form in NAMES.items():
        for one in re.finditer(form, text, re.M) if "model" not in what or "tests/model" in text else ():
            for name in re.split(", | and | ", one[one.lastindex or 0]):
                if name not in known[what]:
                    yield Finding(page, line_of(text, one.start()), "name", f"{name}: there is no {what}")


def check_source(name: str, text: str) -> Iterator[Finding]:
    script = text.startswith("#!") and "." not in Path(name).name
    if (script or SOURCE.search(name)) and SPDX not in "\n".join(text.split("\n")[:5]):
        yield Finding(name, 1, "spdx", f"the first five lines lack {SPDX}")
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS_MAX and "://" not in line and (script or name.endswith((*C_SUFFIXES, ".sh"))):
            yield Finding(name, number, "columns", f"{len(line)} columns; {COLUMNS_MAX} are allowed")
        if place := MACHINE.search(line):
            yield Finding(name, number, "machine", f"{place[0]} is a path of one machine")


def old_steps(root: Path) -> list[str]:
    """Steps that passed at none of the latest commits. None where the history is not that long."""
    command = ["git", "-C", str(root), "log", f"-n{COMMITS_MAX}", "--format=%H"]
    latest = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    page = root / "docs/testing.md"
    passed = dict(PASSED.findall(read(page))) if page.exists() else {}
    steps = sorted(path.name for path in (root / "ci/steps").glob("[6-9]*"))
    if len(latest) < COMMITS_MAX:
        return []
    return [step for step in steps if not any(one.startswith(passed.get(step, "-")) for one in latest)]


def check(root: Path) -> Iterator[Finding]:
    if old := old_steps(root):
        print(f"warning: ci/test full: passed at none of the last {COMMITS_MAX} commits: {', '.join(old)}")
    names = tree_files(root)
    known, named = known_names(root, names), Named(root / MODULE)
    tables = {"/sim/kills.csv": ("case", named.gone_cases), "/model/models.txt": ("model", named.gone_models)}
    paths = {parent.as_posix() for name in names for parent in Path(name).parents} | set(names)
    for name in names:
        text = read(root / name)
        if "\0" in text[:4096]:
            continue
        yield from check_source(name, text)
        if name.endswith(".md"):
            yield from check_links(root, name, text)
            yield from check_paths(name, text, paths)
            yield from check_names(name, text, known) if name != "CHANGELOG.md" else ()
        for end, (rule, gone) in tables.items():
            if name.endswith(end):
                yield from (Finding(name, at, rule, f"{what} is gone") for at, what in gone(root / name))


if __name__ == "__main__":
    sys.exit(main(check))
