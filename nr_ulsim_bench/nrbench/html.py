# SPDX-License-Identifier: BSD-3-Clause
"""Pages of HTML: what the reports share."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape


def write_page(path: Path, folder: Path, **values: Any) -> None:
    """By page.html.j2 of a folder, which extends base.html.j2."""
    environment = Environment(
        loader=FileSystemLoader([folder, Path(__file__).parent]),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    path.write_text(environment.get_template("page.html.j2").render(**values), encoding="utf-8")


def data_uri(png: Path) -> str:
    """Of a picture; where an SVG lies beside the PNG, the smaller one."""
    there = [path for path in (png, png.with_suffix(".svg")) if path.exists()]
    path = min(there, key=lambda path: path.stat().st_size)
    kind = "svg+xml" if path.suffix == ".svg" else "png"
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
