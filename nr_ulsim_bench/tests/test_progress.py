# SPDX-License-Identifier: BSD-3-Clause
"""How much is left, and how that is shown without a terminal."""

import io

import pytest

from nrbench import progress
from nrbench.progress import Progress, clock_text


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by hand."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_what_is_left_comes_from_how_the_estimates_held(clock):
    bar = Progress(4, 40.0, io.StringIO())
    assert bar._times() == "elapsed 0:00  left 0:40"
    clock[0] += 20  # twice as long as planned
    bar.step(10, "first")
    assert bar._times() == "elapsed 0:20  left 1:00"
    clock[0] += 5
    bar.step(10, "second")
    assert bar._times() == "elapsed 0:25  left 0:25"


def test_a_log_gets_a_line_now_and_then_and_at_the_end(clock):
    out = io.StringIO()
    bar = Progress(100, 100.0, out)
    for number in range(100):
        clock[0] += 1
        bar.step(1, f"step {number}")
    lines = out.getvalue().splitlines()
    assert 5 <= len(lines) <= 9
    assert lines[-1] == "  100/100 100 %  elapsed 1:40  left 0:00  step 99"


def test_failures_are_counted_as_they_come(clock):
    out = io.StringIO()
    bar = Progress(9, 9.0, out)
    for failed in (0, 1, 1):
        bar.step(1, "step", failed=failed)
        clock[0] += 1
    assert [line.split("  ")[-2] for line in out.getvalue().splitlines()] == ["left 0:00", "1 failed"]


@pytest.mark.parametrize("seconds, text", [(0, "0:00"), (59.9, "0:59"), (3599, "59:59"), (3723, "1:02:03")])
def test_times_are_written_as_on_a_clock(seconds, text):
    assert clock_text(seconds) == text
