# SPDX-License-Identifier: BSD-3-Clause
"""Commands of a CMake file, each with the if() conditions it stands under. Enough of the language to read
what a tree asks for; it evaluates nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r"#\[(?P<ce>=*)\[.*?\](?P=ce)\]|#[^\n]*|\[(?P<be>=*)\[(?P<bracket>.*?)\](?P=be)\]"
    r'|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<paren>[()])|(?P<word>(?:[^\s()#"\\]|\\.|"(?:[^"\\]|\\.)*")+)',
    re.DOTALL,
)
REFERENCE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class Command:
    name: str  # in lower case
    args: tuple[str, ...]
    conditions: tuple[str, ...]  # of the if() blocks around it; empty: it always runs

    def values(self, *keywords: str) -> list[str]:
        """The arguments but those keywords."""
        return [arg for arg in self.args if arg not in keywords]


def raw_commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """(name, arguments). Parentheses inside an argument list are dropped, as only if() has them."""
    name, args, depth = "", [], 0
    for token in TOKEN.finditer(text):
        word = next((token[g] for g in ("word", "quoted", "bracket") if token[g] is not None), None)
        if token["paren"] == "(":
            depth += 1
        elif token["paren"] == ")":
            depth -= 1
            if depth == 0:
                yield name.lower(), args
                args = []
        elif word is not None and depth == 0:
            name = word
        elif word is not None:
            args.append(word)


def commands(text: str) -> Iterator[Command]:
    """All commands outside of function and macro bodies, with their conditions."""
    conditions: list[str] = []
    inside = 0
    for name, args in raw_commands(text):
        if name in ("function", "macro"):
            inside += 1
        elif name in ("endfunction", "endmacro"):
            inside -= 1
        elif inside:
            continue
        elif name == "if":
            conditions.append(" ".join(args))
        elif name == "elseif":
            conditions[-1:] = [" ".join(args)]
        elif name == "else":
            conditions[-1:] = [f"NOT {conditions[-1]}"] if conditions else []
        elif name == "endif":
            conditions[-1:] = []
        else:
            yield Command(name, tuple(args), tuple(conditions))


def expand(text: str, variables: dict[str, str], depth: int = 8) -> str:
    """The text with the variables that are known put in; the others stay."""
    if depth == 0 or "${" not in text:
        return text
    new = REFERENCE.sub(lambda match: variables.get(match[1], match[0]), text)
    return new if new == text else expand(new, variables, depth - 1)
