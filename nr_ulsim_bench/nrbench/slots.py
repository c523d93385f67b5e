# SPDX-License-Identifier: BSD-3-Clause
"""Files of recorded slots."""

from dataclasses import dataclass
from pathlib import Path

LINE = "slot,phase,serial_before_ns,task_count,task_ns..., the durations separated by blanks"


class SlotFileError(ValueError):
    """Names file and line."""


@dataclass(frozen=True)
class Phase:
    slot: int
    name: str
    serial_ns: int
    task_ns: tuple[int, ...]

    def bound_ns(self, cores: int) -> float:
        return self.serial_ns + max(max(self.task_ns, default=0), sum(self.task_ns) / cores)


@dataclass(frozen=True)
class SlotFile:
    path: Path
    slots: tuple[tuple[Phase, ...], ...]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def tasks_max(self) -> int:
        return max(len(phase.task_ns) for slot in self.slots for phase in slot)

    def longest_slot_us(self) -> float:
        """Work of the longest slot, on one core."""
        return max(sum(p.serial_ns + sum(p.task_ns) for p in slot) for slot in self.slots) / 1000


def parse_line(text: str) -> Phase:
    slot, name, *numbers = text.replace(",", " ").split()
    serial_ns, count, *task_ns = map(int, numbers)
    if len(task_ns) != count:
        raise ValueError(f"{count} tasks announced, {len(task_ns)} durations given")
    if min(int(slot), serial_ns, *task_ns) < 0:
        raise ValueError("a number is negative")
    return Phase(int(slot), name, serial_ns, tuple(task_ns))


def read_slot_file(path: Path) -> SlotFile:
    slots: list[list[Phase]] = []
    for number, text in enumerate(path.read_text().splitlines(), start=1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        try:
            phase = parse_line(text)
        except ValueError as error:
            raise SlotFileError(f"{path}:{number}: {error}; a line is {LINE}") from error
        if not slots or slots[-1][0].slot != phase.slot:
            slots.append([])
        slots[-1].append(phase)
    if not slots:
        raise SlotFileError(f"{path}: holds no slot")
    return SlotFile(path, tuple(tuple(slot) for slot in slots))
