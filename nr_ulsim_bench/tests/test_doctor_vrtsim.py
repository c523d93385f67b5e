# SPDX-License-Identifier: BSD-3-Clause
"""What the doctor finds about OAI's radio vrtsim: room, files of a crashed run, the wall clock."""

import os
from types import SimpleNamespace

import machine_tree
import pytest

from nrbench import facts
from nrbench.doctor import checks, vrtsim
from nrbench.doctor.finding import Level, Target
from nrbench.system import parse_cpus

CONNECTION = {"/dev/shm/vrtsim_channel": "", "/dev/shm/other": "", "/tmp/vrtsim_connection": ""}
SECOND_NS = 1_000_000_000


def find(root, check, changes=None):
    target = Target(machine_tree.tuned(root, changes), parse_cpus("2-5"), wait=lambda seconds: None)
    areas = checks.examine(target)
    (finding,) = (f for area in (vrtsim.AREA, checks.ACTIVITY) for f in areas[area] if f.check == check)
    return finding


@pytest.mark.parametrize("free_mib, level", [(64, Level.NOTE), (66, Level.GOOD)])  # docker grants 64 MiB
def test_room_for_the_samples_of_one_antenna(tmp_path, monkeypatch, free_mib, level):
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=free_mib << 8, f_frsize=4096))
    finding = find(tmp_path, "shared memory")
    assert (finding.level, finding.seen) == (level, f"{free_mib} MiB free in /dev/shm")
    assert [remedy.text for remedy in finding.remedies] == [
        "mount -o remount,size=1G /dev/shm",
        "in a container: docker run --shm-size 1g",
    ] * (level is Level.NOTE)


def test_what_a_crashed_run_left_can_be_removed(tmp_path):
    finding = find(tmp_path, "leftovers", CONNECTION | {"/dev/shm/nrbench-77": ""})
    assert finding.level is Level.NOTE
    assert finding.remedies[0].text == (
        "rm /dev/shm/nrbench-77 /dev/shm/vrtsim_channel /tmp/vrtsim_connection"
    )


def test_the_files_of_a_gnb_that_runs_are_no_leftovers(tmp_path):
    finding = find(tmp_path, "leftovers", CONNECTION | {"/proc/77/comm": "nr-softmodem\n"})
    assert finding.level is Level.GOOD and finding.seen.endswith("in use by nr-softmodem")


@pytest.mark.parametrize(
    "steady_ns, wall_ns, level, seen",
    [
        (0, 0, Level.GOOD, "step of 0 us, rate +0 ppm"),
        (50_000, 50_000, Level.GOOD, "step of 0 us, rate +50 ppm"),  # a correction that any machine makes
        (0, 3_000_000, Level.WARN, "step of 3000 us"),
        (0, -3_000_000, Level.WARN, "step of -3000 us"),
        (-80_000_000, -80_000_000, Level.WARN, "rate -80000 ppm"),
    ],
)
def test_a_wall_clock_that_steps_or_is_set_fast_makes_slots_late(
    tmp_path, monkeypatch, steady_ns, wall_ns, level, seen
):
    readings = [[5, 7, 9], [5 + SECOND_NS + steady_ns, 7 + SECOND_NS + wall_ns, 9 + SECOND_NS]]
    monkeypatch.setattr(facts, "clocks_ns", lambda system: readings.pop(0))
    finding = find(tmp_path, "wall clock", {"/proc/77/comm": "chronyd\n"})
    assert finding.level is level
    assert seen in finding.seen and finding.seen.endswith("; chronyd may change it")
