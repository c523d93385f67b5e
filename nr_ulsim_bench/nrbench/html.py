# SPDX-License-Identifier: BSD-3-Clause
"""Pages of HTML: what the reports share."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape


def environment(folder: Path) -> Environment:
    """Of the templates in a folder; they may extend base.html.j2."""
    return Environment(
        loader=FileSystemLoader([folder, Path(__file__).parent]),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
