# SPDX-License-Identifier: BSD-3-Clause
"""Maps on the page of a report, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Sequence

from nrbench.render import data_uri
from nrbench.sweep.maps import Map, map_csv
from nrbench.sweep.maps_plot import draw_maps
from nrbench.sweep.maps_table import map_tables

MAPS = "maps.csv"


def map_parts(found: Sequence[Map], out: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Writes their files. @return what the page shows of each, and the files' names"""
    pictures = draw_maps(found, out)
    if found:
        map_csv(found, out / MAPS)
    shown = [
        {
            "name": f"Map of {one.name}, class {one.of}",
            "options": one.family,
            "tables": list(map_tables(one)),
            "picture": data_uri(pictures[index]),
        }
        for index, one in enumerate(found)
    ]
    drawn = [name for path in pictures.values() for name in (path.name, path.with_suffix(".svg").name)]
    return shown, [*([MAPS] if found else []), *drawn]
