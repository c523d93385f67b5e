# SPDX-License-Identifier: BSD-3-Clause
"""Which program was it? A digest of files."""

from __future__ import annotations

import hashlib
from pathlib import Path


def sha256_of_program(program: Path) -> str:
    """With the shared objects beside it, which are part of what runs."""
    return sha256_of(program, *sorted(program.parent.glob("*.so*")))


def sha256_of(*paths: Path) -> str:
    """Of files one after the other; first twelve hex digits."""
    digest = hashlib.sha256()
    for path in paths:
        if path.is_file():
            with open(path, "rb") as file:
                for block in iter(lambda: file.read(1 << 20), b""):
                    digest.update(block)
    return digest.hexdigest()[:12]
