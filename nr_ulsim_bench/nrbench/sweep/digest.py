# SPDX-License-Identifier: BSD-3-Clause
"""Which program was it? The first twelve hex digits of a digest."""

from __future__ import annotations

import hashlib
from pathlib import Path


def sha256_of(*paths: Path) -> str:
    """Of files one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def sha256_of_program(program: Path) -> str:
    """With the shared objects beside it, which are part of what runs."""
    return sha256_of(program, *sorted(path for path in program.parent.glob("*.so*") if path.is_file()))
