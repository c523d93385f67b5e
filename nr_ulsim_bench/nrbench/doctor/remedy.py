# SPDX-License-Identifier: BSD-3-Clause
"""What to do about a finding. Checks import this module as `do`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nrbench.facts import File


@dataclass(frozen=True)
class Remedy:
    """A command for root's shell, boot parameters, or advice in words."""

    text: str
    kind: Literal["command", "boot", "advice"]
    lasts: bool  # after a reboot
    note: str = ""  # its condition or its cost


def command(text: str, note: str = "", lasts: bool = False) -> Remedy:
    return Remedy(text, "command", lasts, note)


def boot(parameters: str, note: str = "") -> Remedy:
    return Remedy(parameters, "boot", True, note)


def sysctl(fact: File[int | None], value: int, note: str = "") -> tuple[Remedy, Remedy]:
    name = fact.label
    lasting = f"echo {name} = {value} > /etc/sysctl.d/90-realtime-{name.rpartition('.')[2]}.conf"
    return command(f"sysctl -w {name}={value}", note), command(lasting, note, lasts=True)


def advice(text: str) -> Remedy:
    return Remedy(text, "advice", True)
