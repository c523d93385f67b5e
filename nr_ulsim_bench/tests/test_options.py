# SPDX-License-Identifier: BSD-3-Clause
"""Options that are declared once, as the fields of a dataclass."""

from dataclasses import dataclass
from typing import Annotated

import pytest
from typer import Option, Typer
from typer.testing import CliRunner

from nrbench.options import Given, command_of


@dataclass(frozen=True)
class Options:
    count: Annotated[int, Option(help="how many", min=1)] = 3
    words: Annotated[tuple[str, ...], Given(str | None, lambda text: tuple(text.split(","))), Option()] = ()
    short: bool = False  # no option


@pytest.mark.parametrize(
    "words, options",
    [
        ([], Options()),
        (["--count", "5"], Options(count=5)),
        (["--words", "a,b"], Options(words=("a", "b"))),
    ],
)
def test_a_command_gets_what_was_given_and_else_the_defaults(words, options):
    found = []

    @command_of(Options)
    def look(options):
        """Look at it."""
        found.append(options)

    app = Typer()
    app.command()(look)
    assert CliRunner().invoke(app, words).exit_code == 0 and found == [options]
    text = CliRunner().invoke(app, ["--help"]).output
    assert "Look at it." in text and "how many" in text and "short" not in text
    assert CliRunner().invoke(app, ["--count", "0"]).exit_code == 2
