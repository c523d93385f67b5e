# SPDX-License-Identifier: BSD-3-Clause
"""Which versions of OAI come before which: releases such as v2.1.0 and weekly tags such as 2025.w37."""

from __future__ import annotations

import operator
import re

# Year and week. Weekly tags lie between releases; within a release's own month the order may be off.
RELEASES = {"v2.0.0": (2023, 33), "v2.1.0": (2024, 8), "v2.2.0": (2024, 46), "v2.3.0": (2025, 27)}
COMPARISONS = {">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt}
PART = re.compile(r"(>=|<=|==|>|<)\s*(\S+)")
AFTER_TAG = re.compile(r"(?:-\d+-g[0-9a-f]+)?(?:-dirty)?$")  # of git describe


def position(version: str) -> tuple[int, int] | None:
    """None = not known where it belongs, as of develop or of a commit."""
    week = re.fullmatch(r"(\d{4})\.w(\d{1,2})\w?", version)
    if week:
        return int(week[1]), int(week[2])
    release = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)", version)
    newer = release and tuple(int(part) for part in release.groups()) > (2, 3, 0)
    return RELEASES.get(version, (9999, 0) if newer else None)


def reason_against(requirement: str, version: str | None) -> str | None:
    """
    Why a version does not do; None = it does, or its place is unknown. ValueError: no requirement.

    @param requirement  such as ">=v2.2.0" or ">=v2.1.0,<v2.3.0"; empty = any version
    @param version      a tag, or what git describes from one
    """
    here = None if version is None else position(AFTER_TAG.sub("", version))
    reason = None
    for part in (part.strip() for part in requirement.split(",") if requirement.strip()):
        match = PART.fullmatch(part)
        wanted = position(match[2]) if match else None
        if match is None or wanted is None:
            raise ValueError(f"{part!r} is no requirement on a version of OAI such as >=v2.3.0")
        if reason is None and here is not None and not COMPARISONS[match[1]](here, wanted):
            reason = f"needs OAI {match[1]} {match[2]}, this is {version}"
    return reason
