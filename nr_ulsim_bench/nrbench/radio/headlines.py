# SPDX-License-Identifier: BSD-3-Clause
"""The summary of a report: a sentence a cell."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Sequence

from nrbench.radio import figures
from nrbench.radio.capacity import capacity
from nrbench.radio.figures import SIDES, middle
from nrbench.radio.plan import counted, trials
from nrbench.radio.record import RadioRun
from nrbench.radio.tables import against, has_capacity, limits, name_of, old_of


class Headline(NamedTuple):
    sentence: str
    is_good: bool | None


def _late_headlines(runs: Sequence[RadioRun]) -> Iterator[Headline]:
    places = figures.places(runs)
    cells = list(dict.fromkeys(place.cell for place in places))
    for place in places:
        name = name_of(place.cell, cells)
        late = [
            f"{title} {tx.value * 1e6:.0f}"
            for side, title in SIDES.items()
            if (tx := middle(radio.tx_late for radio in figures.radios(place.runs, side)))
        ]
        if late:
            text = f"{name} at timescale {place.timescale:g}: late slots of a million: {', '.join(late)}"
            yield Headline(text, None)


def headlines(runs: Sequence[RadioRun]) -> Iterator[Headline]:
    """How much more each cell carries than OAI's pool, or what it carries. At one timescale, late slots."""
    runs = counted(runs)
    if not has_capacity(runs):
        yield from _late_headlines(runs)
        return
    cells, of_all = figures.by_cell(runs), limits(runs)
    for cell in cells:
        bounded = against(cells, cell, old_of(cell, cells), of_all)
        own = capacity(trials(cells[cell]), of_all)
        text = f"{name_of(cell, cells)} carries the cell up to a timescale of {own}"
        if bounded:
            text += f", {bounded} times that of OAI's pool"
        is_good = None
        if bounded and (bounded.low or 0) > 1:
            is_good = True
        elif bounded and bounded.high is not None and bounded.high < 1:
            is_good = False
        yield Headline(text, is_good)
