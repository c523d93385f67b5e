# SPDX-License-Identifier: BSD-3-Clause
"""The copies: that spatch adds what it should and changes nothing else, and how they come into the build."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from oai_model.model import append, assemble
from oai_model.test_hook import NewBuild, full, run
from test_in_model import NR_GNB, PATCHES, REPO, copy_of, fake_spatch, needs_spatch

PROPERTIES = {
    "COMPILE_DEFINITIONS": "CELLS=2",
    "COMPILE_OPTIONS": "-DCELLS=2",
    "COMPILE_FLAGS": "-DCELLS=2",
    "INCLUDE_DIRECTORIES": "${OPENAIR_DIR}/executables/cells",
}


def spatch_and(folder: Path, script: str) -> str:
    """The real one, and then something else."""
    return fake_spatch(folder, f"""{shutil.which("spatch")} "$@" && {script}""")


@needs_spatch
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo '// WS_OAI_ANYTHING(' >>\"$file\"", "WS_OAI_ANYTHING: 0 expected, 1 added to"),
        ("echo 'WS_OAI_DECODING_END();' >>\"$file\"", "WS_OAI_DECODING_END: 0 expected, 1 added to"),
        ("echo 'int more;' >>\"$file\"", "changed more than it should: first difference near line"),
        ("sed -i '$d' \"$file\"", "changed more than it should: half a pair of braces in"),
        ('sed -i s/SYMBOLS_END/SYMBOLS_BEGIN/ "$file"', "WS_OAI_SYMBOLS_BEGIN: 1 expected, 2 added to"),
    ],
)
def test_what_else_spatch_does_stops(new_build: NewBuild, tmp_path: Path, script: str, said: str) -> None:
    build = new_build("B2").with_hook(f"{PATCHES}=trace", spatch_and(tmp_path, script), fails=True)
    assert "patches do not fit this OAI" in build.log
    assert f"trace/symbols: {said}" in build.log and "nr_ulsch_demodulation.c" in build.log


@needs_spatch
def test_the_line_that_spatch_has_changed_is_named(new_build: NewBuild, tmp_path: Path) -> None:
    build = new_build("B2")
    lines = (build.tree / "executables" / "nr-ru.c").read_text().splitlines()
    number = 1 + next(at for at, line in enumerate(lines) if "if (ru->feprx)" in line)
    fake = spatch_and(tmp_path, "sed -i 's/if (ru->feprx)/if (1)/' \"$file\"")
    build.with_hook(f"{PATCHES}=prewake", fake, fails=True)
    assert f"prewake/radio: changed more than it should: first difference near line {number} of" in build.log
    assert "prewake/slot: changed" not in build.log and "1 expected" not in build.log


@needs_spatch
def test_a_relative_path_is_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = assemble("B2", tmp_path / "oai")
    (tmp_path / "mine").symlink_to(str(shutil.which("spatch")))
    command = [str(REPO / "openair1_patches" / "ws-patches"), "--check", str(tree)]
    monkeypatch.setenv("SPATCH", "./mine")
    assert run(command, tmp_path).returncode == 0
    monkeypatch.setenv("SPATCH", "./nope")
    done = run(command, tmp_path)
    assert done.returncode == 1
    assert f"there is no {tmp_path / 'nope'}, which was named as spatch" in " ".join(done.stderr.split())


@full
@needs_spatch
@pytest.mark.parametrize("name", PROPERTIES)
def test_a_copy_is_compiled_as_its_original(new_build: NewBuild, name: str) -> None:
    """With what the original's own source properties say."""
    build = new_build("B2")
    header = build.tree / "executables" / "cells" / "cells_of_this_source.h"
    header.parent.mkdir()
    header.write_text("#define CELLS 2\n")
    said = f"${{OPENAIR_DIR}}/{NR_GNB} PROPERTIES {name} {PROPERTIES[name]}"
    append(build.tree / "CMakeLists.txt", f"\nset_source_files_properties({said})\n")
    if name == "INCLUDE_DIRECTORIES":
        append(build.tree / NR_GNB, '\n#include "cells_of_this_source.h"\n')
    append(build.tree / NR_GNB, "\n#if CELLS != 2\n#error not as the original\n#endif\n")
    build.with_hook(f"{PATCHES}=ON")
    build.make()


@needs_spatch
def test_nothing_but_the_copies_stays(new_build: NewBuild) -> None:
    build = new_build("B2").with_hook(f"{PATCHES}=ON")
    assert os.listdir(build.folder / "thread_pool_ws") == ["patched"]
    files = [path for path in (build.folder / "thread_pool_ws").rglob("*") if path.is_file()]
    assert len(files) == 5 and copy_of(build, NR_GNB) in files


@needs_spatch
def test_a_copy_that_cannot_be_written_stops(new_build: NewBuild) -> None:
    build = new_build("B2")
    folder = copy_of(build, NR_GNB).parent
    folder.parent.mkdir(parents=True)
    folder.symlink_to("/proc")  # where root, too, makes no file
    build.with_hook(f"{PATCHES}=ON", fails=True)
    assert "patched/executables/nr-ru.c could not be written" in build.log
