# SPDX-License-Identifier: BSD-3-Clause
"""Commands and options of nrbench that the documents name are there."""

import re
from pathlib import Path

import pytest
import typer.main

from nrbench import cli

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = {  # each with a command that it shows
    "README.md": "sweep",
    "docs/benchmarking.md": "report",
    "docs/doctor.md": "doctor",
    "docs/real-time.md": "radio",
    "docs/results.md": "results",
}
COMMANDS = typer.main.get_command(cli.app).commands


def calls(document):
    """As (command, options) of each line of code that calls nrbench."""
    for block in re.findall(r"^```\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"), re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.search(r"\bnrbench (\w+)([^#]*)", line)
            if found:
                yield found[1], re.findall(r"(?<!\S)--[\w-]+", found[2])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_of_nrbench_exist_with_their_options(document):
    found = list(calls(document))
    assert DOCUMENTS[document] in [name for name, _ in found]
    for name, options in found:
        known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
        assert known.issuperset(options), (name, options)
