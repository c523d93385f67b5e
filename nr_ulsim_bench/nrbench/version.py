# SPDX-License-Identifier: BSD-3-Clause
"""The version of this project: in its tree that of ws_version.h, else that of the source archive or of the
installed package, and 0+unknown in a folder that was copied out of these.

setuptools imports this file when it builds the package, so it imports nothing of others."""

import re
from pathlib import Path

HEADER = Path(__file__).resolve().parents[2] / "common/utils/thread_pool_ws/include/ws_version.h"
ARCHIVE = Path(__file__).resolve().parents[1] / "PKG-INFO"


def of_header(header: Path) -> str:
    text = header.read_text(encoding="utf-8")
    return ".".join(re.findall(r"#define WS_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))


def here() -> str:
    if HEADER.is_file():
        return of_header(HEADER)
    if ARCHIVE.is_file():
        return str(re.findall("^Version: (.+)$", ARCHIVE.read_text(encoding="utf-8"), re.MULTILINE)[0])
    from importlib import metadata  # tpool-ws starts without it, in two thirds of the time

    try:
        return metadata.version("nr-ulsim-bench")
    except metadata.PackageNotFoundError:
        return "0+unknown"


VERSION = here()
