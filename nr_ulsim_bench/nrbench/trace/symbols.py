# SPDX-License-Identifier: BSD-3-Clause
"""Names of task functions, from the symbol tables of the images that the trace names. Optional:
pyelftools."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, Iterable

from nrbench.trace.state import Process

Image = tuple[int, int, str, bool]  # base address, size in memory, file, position independent


class Symbols:
    """`recorded` is when the trace was made (s): an image that has changed since then has other functions."""

    def __init__(self, processes: Iterable[Process], recorded: float | None = None) -> None:
        self._recorded = recorded
        self._images = {process.pid: process.images for process in processes}
        self._names: dict[tuple[int, int], str] = {}

    def name(self, pid: int, address: int) -> str:
        """The function at an address; the address if there is no telling."""
        key = (pid, address)
        if key not in self._names:
            self._names[key] = self._find(pid, address) or f"{address:#x}"
        return self._names[key]

    def _find(self, pid: int, address: int) -> str | None:
        """A forked child has its parent's images, and the trace may not list them again."""
        everyone = [image for images in self._images.values() for image in images]
        for base, size, path, is_pic in [*self._images.get(pid, []), *everyone]:
            if base <= address < base + size:
                return (
                    function_at(path, address - base if is_pic else address) if self._is_same(path) else None
                )
        return None

    def _is_same(self, path: str) -> bool:
        try:
            return self._recorded is None or Path(path).stat().st_mtime <= self._recorded
        except OSError:
            return False


def function_at(path: str, address: int) -> str | None:
    """The function of an ELF file that holds an address."""
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        return None
    try:
        with open(path, "rb") as file:
            image = ELFFile(file)
            tables: Iterable[Any] = (image.get_section_by_name(name) for name in (".symtab", ".dynsym"))
            symbols = itertools.chain.from_iterable(table.iter_symbols() for table in tables if table)
            return next((symbol.name for symbol in symbols if _holds(symbol, address)), None)
    except (OSError, ELFError):
        return None


def _holds(symbol: Any, address: int) -> bool:
    begin, size = symbol["st_value"], symbol["st_size"]
    return bool(begin <= address < begin + max(size, 1)) and symbol["st_info"]["type"] == "STT_FUNC"
