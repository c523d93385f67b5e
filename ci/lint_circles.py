#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""No file needs itself through others: neither by the includes of C nor by the imports of Python.

A .c file and its header count as one, a .hpp file beside them does not. An import inside a function counts,
too. Tests are left out.

Rule: circle.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath

from lintkit import C_SUFFIXES, Finding, is_python, line_of, main, read, split_c, tree_files

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
TESTS = re.compile(r"(^|/)tests/(?!sim/)|(^|/)tests?$|(^|/)oai_model/")

# A unit -> each unit that it needs, with the file and line of the include or import.
Graph = dict[str, dict[str, tuple[str, int]]]


def unit_of(name: str) -> str:
    of_header = name.endswith(C_SUFFIXES) and not name.endswith(".hpp")
    return str(PurePosixPath(name).with_suffix("")) if of_header else name


def included(root: Path, name: str, files: set[str]) -> Iterator[tuple[str, int]]:
    """Files that a C file includes, beside it or by a path from a folder above it."""
    code = split_c(read(root / name)).code
    for include in INCLUDE.finditer(code):
        for folder in PurePosixPath(name).parents:
            target = normpath(str(folder / include[1]))
            if target in files:
                yield target, line_of(code, include.start(1))
                break


def modules(node: ast.AST, package: list[str]) -> Iterator[list[str]]:
    """The dotted names, as lists, of what an import may load; the most particular first."""
    if isinstance(node, ast.Import):
        yield from (alias.name.split(".") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else []
        base = above + (node.module.split(".") if node.module else [])
        yield from (base + [alias.name] for alias in node.names)


def imported(root: Path, name: str, files: set[str]) -> Iterator[tuple[str, int]]:
    """Files that a Python file imports, found from a folder above it. A package's own file is no need."""
    folders = list(PurePosixPath(name).parents)
    for node in ast.walk(ast.parse(read(root / name))):
        for words in modules(node, list(folders[0].parts)):
            paths = ["/".join(words), "/".join(words[:-1])]
            found = (normpath(f"{folder}/{path}.py") for path in paths if path for folder in folders)
            target = next((path for path in found if path in files), None)
            if target:
                yield target, getattr(node, "lineno", 1)


def graph_of(root: Path) -> Graph:
    names = [name for name in tree_files(root) if not TESTS.search(name)]
    files = set(names)
    graph: Graph = {}
    for name in names:
        if name.endswith(C_SUFFIXES):
            needs = included(root, name, files)
        elif is_python(root, name):
            needs = imported(root, name, files)
        else:
            continue
        own = graph.setdefault(unit_of(name), {})
        for target, line in needs:
            if unit_of(target) != unit_of(name):
                own.setdefault(unit_of(target), (name, line))
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """Each set of units that reach each other (Tarjan, SIAM J. Comput. 1972), in order of their names."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(unit: str) -> None:
        index[unit] = low[unit] = len(index)
        stack.append(unit)
        for other in graph.get(unit, {}):
            if other not in index:
                visit(other)
            if other in stack:
                low[unit] = min(low[unit], low[other])
        if low[unit] == index[unit]:
            at = stack.index(unit)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for unit in sorted(graph):
        if unit not in index:
            visit(unit)
    return sorted(group for group in found if len(group) > 1)


def check(root: Path) -> Iterator[Finding]:
    graph = graph_of(root)
    for circle in circles(graph):
        path, line = next(place for other, place in graph[circle[0]].items() if other in circle)
        yield Finding(path, line, "circle", f"these need each other: {', '.join(circle)}")


if __name__ == "__main__":
    sys.exit(main(__doc__, check))
