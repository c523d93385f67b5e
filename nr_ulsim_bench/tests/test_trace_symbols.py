# SPDX-License-Identifier: BSD-3-Clause
"""Names of functions: the image that holds an address, and whether it is still the same file."""

import os
import sys
from pathlib import Path

import pytest

from nrbench.trace import summary
from nrbench.trace.state import Process
from nrbench.trace.summary import Symbols, function_at

BASE, SIZE = 0x10000, 0x1000
RECORDED = 1000.0  # s of the epoch


@pytest.fixture
def image(tmp_path, monkeypatch) -> str:
    """A file of before the recording; what is looked for in it is the answer."""
    monkeypatch.setattr(summary, "function_at", lambda path, address: f"{Path(path).name}+{address:#x}")
    path = tmp_path / "program"
    path.touch()
    os.utime(path, (RECORDED - 5, RECORDED - 5))
    return str(path)


def process(*images: tuple[int, int, str, bool], pid: int = 1) -> Process:
    found = Process(pid)
    found.images = list(images)
    return found


@pytest.mark.parametrize("is_pic, name", [(True, "program+0x24"), (False, "program+0x10024")])
def test_an_image_that_can_lie_anywhere_counts_from_its_base(image, is_pic, name):
    found = Symbols([process((BASE, SIZE, image, is_pic))], RECORDED)
    assert found.name(1, BASE + 0x24) == name


@pytest.mark.parametrize(
    "address, name",
    [
        (BASE - 1, "0xffff"),
        (BASE, "program+0x0"),
        (BASE + SIZE - 1, "program+0xfff"),
        (BASE + SIZE, "0x11000"),
    ],
)
def test_addresses_outside_all_images_have_no_name(image, address, name):
    assert Symbols([process((BASE, SIZE, image, True))], RECORDED).name(1, address) == name


@pytest.mark.parametrize("changed, name", [(-1, "program+0x0"), (0, "program+0x0"), (1, "0x10000")])
def test_a_file_that_was_touched_since_has_other_functions(image, changed, name):
    os.utime(image, (RECORDED + changed, RECORDED + changed))
    assert Symbols([process((BASE, SIZE, image, True))], RECORDED).name(1, BASE) == name


def test_without_a_time_of_the_recording_the_file_is_believed(image):
    assert Symbols([process((BASE, SIZE, image, True))]).name(1, BASE) == "program+0x0"


def test_a_file_that_is_gone_has_no_names(image):
    os.remove(image)
    assert Symbols([process((BASE, SIZE, image, True))], RECORDED).name(1, BASE) == "0x10000"


def test_a_process_own_images_come_before_those_of_others(image, tmp_path):
    other = tmp_path / "other"
    other.touch()
    os.utime(other, (1, 1))
    both = [process((BASE, SIZE, str(other), True), pid=7), process((BASE, SIZE, image, True))]
    assert Symbols(both, RECORDED).name(1, BASE) == "program+0x0"
    assert Symbols(both, RECORDED).name(7, BASE) == "other+0x0"
    assert Symbols(both, RECORDED).name(8, BASE) == "other+0x0"  # a child without a known image


def functions(path: str) -> list[tuple[int, int, str]]:
    """(address, size, name) of those that an ELF file shows to others."""
    elf = pytest.importorskip("elftools.elf.elffile")
    with open(path, "rb") as file:
        table = elf.ELFFile(file).get_section_by_name(".dynsym")
        return [
            (symbol["st_value"], symbol["st_size"], symbol.name)
            for symbol in (table.iter_symbols() if table else ())
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"] > 1
        ]


def test_the_function_of_a_real_file():
    path = os.path.realpath(sys.executable)
    found = functions(path)
    if not found:
        pytest.skip("this Python shows no functions of its own")
    address, size, name = found[0]
    same = {other for begin, _, other in found if begin == address}
    assert function_at(path, address) in same and function_at(path, address + size - 1) in same
    assert name in same and function_at(path, address + size) not in same


def test_a_file_that_is_no_program_has_no_functions(tmp_path):
    (tmp_path / "text").write_text("no ELF file")
    assert function_at(str(tmp_path / "text"), 0) is None
    assert function_at(str(tmp_path / "none"), 0) is None
