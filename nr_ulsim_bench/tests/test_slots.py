# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

import pytest

from nrbench.sweep.replay import SlotFileError, read_slot_file

HERE = Path(__file__).parent
DATA = HERE.parent / "data"


def test_reads_slots_and_phases():
    file = read_slot_file(HERE / "synthetic.slots")
    assert [len(slot) for slot in file.slots] == [2, 2]
    assert file.slots[0][1].name == "ulsch_decoding"
    assert file.slots[0][1].task_ns == (28000, 30000)
    assert file.slots[1][1].task_ns == ()
    assert file.tasks_max == 3
    assert file.longest_slot_us() == pytest.approx(12 + 18 + 3 + 58)


@pytest.mark.parametrize(
    "text, error",
    [("# comment\n0,a,1,1,5\n0,a,1,2,5\n", ":3: 2 tasks announced, 1 durations given"),
     ("# nothing\n", ": holds no slot")],
)  # fmt: skip
def test_an_error_names_the_file_and_the_line(tmp_path, text, error):
    path = tmp_path / "broken.slots"
    path.write_text(text)
    with pytest.raises(SlotFileError, match=f"{path}{error}"):
        read_slot_file(path)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.slots")), ids=lambda path: path.stem)
def test_recorded_files_can_be_read(path):
    file = read_slot_file(path)
    assert len(file.slots) >= 10
    assert 0 < file.longest_slot_us() < 100_000


def test_made_up_shapes_have_the_work_that_their_page_says():
    ticks, groups = (read_slot_file(DATA / "shapes" / f"{name}.slots") for name in ("ticks", "groups"))
    (tick,), (users,) = ticks.slots, groups.slots
    assert [phase.serial_ns for phase in tick] == [0, *[200_000] * 11]
    assert {phase.task_ns for phase in tick} == {(1000,) * 36} and ticks.tasks_max == 36
    assert [phase.task_ns for phase in users] == [(2000,) * 3] * 100
