#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One screen, one thought: bounds on files, functions, nesting and lines of C, C++, Python and shell.

Rules: file, function, nesting, columns, ratchet (functions above the target may only become fewer). Nesting
counts braced blocks of C; a chain of else-if is one level.
"""

from __future__ import annotations

import ast
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lintkit import (
    C_SUFFIXES,
    Finding,
    is_python,
    is_shell,
    line_of,
    read,
    repo_root,
    report,
    split_c,
    tree_files,
)

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
FUNCTION_LINES_TARGET = 40
NESTING_MAX = 4
COLUMNS_MAX = 110
# Functions that may stand between target and bound. Lower it when the note says so; do not raise it.
FUNCTIONS_ABOVE_TARGET_MAX = 0
SKIPPED = re.compile(r"(^|/)(data|history|generated|expected\.c)(/|$)")


@dataclass(frozen=True)
class Function:
    name: str
    line: int
    lines: int
    nesting: int


@dataclass(frozen=True)
class Block:
    kind: str  # function, control, scope (struct, namespace, extern "C"), other
    header: str
    line: int


CONTAINER = re.compile(r"\b(struct|class|union|namespace|enum|extern)\b")
CONTROL = re.compile(r"\b(if|for|while|switch|catch|do|else|try)\b")
C_PIECE = re.compile(r"[{};]|^[ \t]*#[ \t]*(\w+)(?:\\\n|[^\n])*", re.MULTILINE)


def outside_parens(text: str) -> str:
    """The text without what stands in parentheses; "()" is left of each pair."""
    while True:
        text, count = re.subn(r"\([^()]*\)", "\1", text)
        if count == 0:
            return text.replace("\1", "()")


def block_kind(header: str, outer: list[Block]) -> str:
    """What a brace opens, told by the text since the last statement."""
    flat = outside_parens(header)
    inside = any(block.kind == "function" for block in outer)
    if "(" in flat and ")" not in flat:
        return "other"  # a brace inside the parentheses of a call
    if not inside:
        if (
            "()" in flat
            and not re.search(r"(?<![=!<>])=(?!=)", flat)
            and not re.match(r"\s*(struct|enum)\b[^()]*$", flat)
        ):
            return "function"
        return "scope" if CONTAINER.search(flat) else "other"
    if re.search(r"[=,(]\s*(\(\))?\s*$|\breturn\b[^;]*$", flat):
        return "other"
    if CONTROL.search(flat) or re.search(r"\w\s*\(\)\s*$", flat):
        return "control"
    return "other" if "=" in flat else "control"


def function_name(header: str) -> str:
    name = re.search(r"([~\w:]+)\s*\(", header)
    return name[1] if name else "?"


def c_functions(code: str) -> Iterator[Function]:
    """Functions of C code without comments. Branches of #if/#else each start from the same blocks."""
    stack: list[Block] = []
    saved: list[list[Block]] = []
    deepest, since = 0, 0
    for piece in C_PIECE.finditer(code):
        if piece[1]:
            if piece[1].startswith("if"):
                saved.append(list(stack))
            elif piece[1] in ("else", "elif") and saved:
                stack = list(saved[-1])
            elif piece[1] == "endif" and saved:
                saved.pop()
            since = piece.end()
        elif piece[0] == "{":
            header = code[since : piece.start()]
            kind = block_kind(header, stack)
            start = since + len(header) - len(header.lstrip())
            if kind == "function":
                deepest = 0
            stack.append(Block(kind, header, line_of(code, start)))
            deepest = max(deepest, sum(block.kind == "control" for block in stack))
            since = piece.end()
        elif piece[0] == "}":
            block = stack.pop() if stack else Block("other", "", 0)
            if block.kind == "function":
                lines = line_of(code, piece.start()) - block.line + 1
                yield Function(function_name(block.header), block.line, lines, deepest)
            if block.kind != "other":
                since = piece.end()
        elif piece[0] == ";":
            since = piece.end()


BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)
DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


def python_nesting(node: ast.AST, depth: int = 0) -> int:
    """Deepest block below a node; functions inside it are measured by themselves."""
    deepest = depth
    for child in ast.iter_child_nodes(node):
        if isinstance(child, DEFS):
            continue
        chained = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        level = depth + 1 if isinstance(child, BLOCKS) and not chained else depth
        deepest = max(deepest, python_nesting(child, level))
    return deepest


def python_functions(text: str) -> Iterator[Function]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DEFS):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield Function(node.name, node.lineno, lines, python_nesting(node))


SHELL_START = re.compile(r"^(?:function\s+)?([\w-]+)\s*\(\)\s*\{(.*)$")
SHELL_OPEN = re.compile(r"(?:^|[;&|]\s*|\b(?:then|do|else)\s+)(?:if|for|while|until|case|select)\b")
SHELL_CLOSE = re.compile(r"(?:^|[;&|]\s*)(?:fi|done|esac)\b")
HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")


def shell_lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines, blank where a comment or a here-document stands."""
    end = None
    for number, line in enumerate(text.split("\n"), 1):
        if end is not None:
            end = None if line.strip() == end else end
            yield number, ""
            continue
        heredoc = HEREDOC.search(line)
        end = heredoc[2] if heredoc and "<<<" not in line else None
        yield number, re.sub(r"(^|\s)#.*", "", line)


def shell_functions(text: str) -> Iterator[Function]:
    name, start, depth, deepest = "", 0, 0, 0
    for number, line in shell_lines(text):
        opening = SHELL_START.match(line)
        if opening:
            name, start, depth, deepest = opening[1], number, 0, 0
            if opening[2].rstrip().endswith("}"):
                yield Function(name, start, 1, 0)
                name = ""
            continue
        words = line.strip()
        depth += len(SHELL_OPEN.findall(words))
        deepest = max(deepest, depth)
        depth = max(0, depth - len(SHELL_CLOSE.findall(words)))
        if line.startswith("}") and name:
            yield Function(name, start, number - start + 1, deepest)
            name = ""


def functions_of(root: Path, name: str, text: str) -> list[Function] | None:
    """None for a file that is none of the languages."""
    if name.endswith(C_SUFFIXES):
        return list(c_functions(split_c(text).code))
    if is_python(root, name):
        return list(python_functions(text))
    if is_shell(root, name):
        return list(shell_functions(text))
    return None


def check_file(name: str, text: str, functions: list[Function]) -> Iterator[Finding]:
    lines = text.splitlines()
    if len(lines) > FILE_LINES_MAX:
        yield Finding(name, len(lines), "file", f"{len(lines)} lines; {FILE_LINES_MAX} are allowed")
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX and "://" not in line:
            yield Finding(name, number, "columns", f"{len(line)} columns; {COLUMNS_MAX} are allowed")
    for function in functions:
        if function.lines > FUNCTION_LINES_MAX:
            message = f"{function.name} has {function.lines} lines; {FUNCTION_LINES_MAX} are allowed"
            yield Finding(name, function.line, "function", message)
        if function.nesting > NESTING_MAX:
            message = f"{function.name} nests {function.nesting} deep; {NESTING_MAX} is allowed"
            yield Finding(name, function.line, "nesting", message)


def check_ratchet(long: list[str], allowed: int) -> tuple[list[Finding], list[str]]:
    notes = [f"above {FUNCTION_LINES_TARGET} lines: {place}" for place in long]
    here = "ci/lint_size.py"
    if len(long) > allowed:
        message = (
            f"{len(long)} functions above {FUNCTION_LINES_TARGET} lines; {allowed} are allowed, see the notes"
        )
        return [Finding(here, 1, "ratchet", message)], notes
    if len(long) < allowed:
        notes.append(f"{here}: FUNCTIONS_ABOVE_TARGET_MAX can come down from {allowed} to {len(long)}")
    return [], notes


def check(root: Path, allowed: int) -> tuple[list[Finding], list[str]]:
    findings: list[Finding] = []
    long: list[str] = []
    for name in tree_files(root):
        if SKIPPED.search(name):
            continue
        try:
            text = read(root / name)
            functions = functions_of(root, name, text)
        except SyntaxError as error:
            findings.append(Finding(name, error.lineno or 1, "syntax", f"no Python: {error.msg}"))
            continue
        if functions is None:
            continue
        findings += check_file(name, text, functions)
        long += [
            f"{name}:{f.line} {f.name} ({f.lines})" for f in functions if f.lines > FUNCTION_LINES_TARGET
        ]
    ratchet, notes = check_ratchet(long, allowed)
    return findings + ratchet, notes


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=repo_root(), help="tree to check (default: this one)")
    sys.exit(report("lint_size.py", *check(parser.parse_args().root, FUNCTIONS_ABOVE_TARGET_MAX)))
