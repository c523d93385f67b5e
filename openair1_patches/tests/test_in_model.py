# SPDX-License-Identifier: BSD-3-Clause
"""The patches on models of OAI's build (ci/oai_model), from configure to a run's result, and ws-patches."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from pathlib import Path

import pytest
from oai_model.model import HOOK, REPO, append, assemble, replace
from oai_model.test_hook import Build, NewBuild, cmake_called, full, of_full, run

PATCHES = "-DTHREAD_POOL_WS_PATCHES"
WRAP = ("ws_probe_phase_began", "ws_probe_phase_ended", "ws_oai_prewake")
SPY = "-DCMAKE_EXE_LINKER_FLAGS=" + " ".join(f"-Wl,--wrap={name}" for name in WRAP)
COUNTS = {"A serial": (5, 4), "A": (7, 6), "B1": (6, 5), "B2": (6, 5), "B2+ newest": (6, 5)}
NR_GNB = Path("executables", "nr-gnb.c")
SYMBOLS, SEGMENTS = 14, 11  # tasks of a user, where there is one for each

needs_spatch = pytest.mark.skipif(
    not shutil.which("spatch"), reason="spatch is not installed: apt install coccinelle"
)


def slot_of(shape: str) -> list[str]:
    """What is to be said in slot 7.1, in which the users 1 and 2 send."""
    in_caller = shape == "B2+ newest"  # the last of each
    symbols, segments = 0 if shape == "A serial" else SYMBOLS - in_caller, SEGMENTS - in_caller
    first, second = ([f"begin 0 7.1 {user}", f"end 0 7.1 {user}, {symbols} tasks"] for user in (1, 2))
    if shape.startswith("A"):  # the second is demodulated while the first is decoded
        tasks = 2 * segments + symbols
        return [*first, "begin 1 7.1 1", *second, "begin 1 7.1 2", f"end 1 7.1 1, {tasks} tasks"]
    return [*first, *second, "begin 1 7.1 1", f"end 1 7.1 1, {2 * segments} tasks"]


def digest(tree: Path) -> str:
    """Of all files' names, contents and times of change."""
    parts = []
    for file in sorted(path for path in tree.rglob("*") if path.is_file()):
        parts.append(f"{file} {file.stat().st_mtime_ns} {hashlib.sha256(file.read_bytes()).hexdigest()}")
    return "\n".join(parts)


def results(build: Build) -> dict[str, str]:
    """What each program prints, without what it says on stderr."""
    return {name: said(build, name)[0] for name in ("softmodem", "nr_ulsim")}


def said(build: Build, program: str) -> tuple[str, list[str]]:
    """What a program prints, and what the spy in it says."""
    done = run([str(build.folder / program)], build.folder)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line[5:] for line in done.stderr.splitlines() if line.startswith("spy: ")]


def copy_of(build: Build, file: Path) -> Path:
    return build.folder / "thread_pool_ws" / "patched" / file


def ws_patches(*arguments: str) -> tuple[int, str]:
    done = run([str(REPO / "openair1_patches" / "ws-patches"), *arguments])
    return done.returncode, done.stdout + done.stderr


@needs_spatch
@pytest.mark.parametrize("shape", ["B2", *of_full(*(shape for shape in COUNTS if shape != "B2"))])
def test_patched_programs_do_the_same_and_say_what_they_do(new_build: NewBuild, shape: str) -> None:
    own = new_build(shape, "own").configure()
    own.make()
    before = digest(own.tree)
    build = new_build(shape).with_hook(f"{PATCHES}=ON", SPY)
    count, files = COUNTS[shape]
    assert f"patches: trace prewake, {count} insertions in {files} files" in build.log
    build.make()
    assert results(build) == results(own)
    assert digest(build.tree) == before

    _, lines = said(build, "nr_ulsim")
    phases = [line for line in lines if " 7.1 " in line]
    assert phases == slot_of(shape)
    assert [line for line in lines if line.startswith("begin 1 7.2 ")][0] == "begin 1 7.2 0"
    assert not [line for line in lines if " 7.4 " in line]  # a slot without a transmission
    hints = lines.count(f"prewake {2**32 - 1}")  # as many workers as pay
    assert hints > 0 if shape == "A serial" else hints == 8  # of each user's decoding; of each slot
    _, lines = said(build, "softmodem")
    assert "prewake 1" in lines  # the unit with one antenna
    assert "prewake 3" in lines  # with two


@full
@needs_spatch
@pytest.mark.parametrize("label", ["oldest", "newest"])
def test_other_cmakes(new_build: NewBuild, label: str) -> None:
    build = new_build("B2", cmake=cmake_called(label)).with_hook(f"{PATCHES}=ON", SPY)
    build.make()
    assert [line for line in said(build, "nr_ulsim")[1] if " 7.1 " in line] == slot_of("B2")


@full
@needs_spatch
def test_a_second_configure_builds_nothing(new_build: NewBuild) -> None:
    build = new_build("B2").with_hook(f"{PATCHES}=ON")
    build.make()
    before = digest(build.folder / "thread_pool_ws")
    build.with_hook(f"{PATCHES}=ON")
    assert digest(build.folder / "thread_pool_ws") == before
    assert "no work to do" in build.make()


@full
@needs_spatch
def test_an_edit_of_the_original_is_patched_anew(new_build: NewBuild) -> None:
    build = new_build("B2").with_hook(f"{PATCHES}=ON")
    build.make()
    append(build.tree / NR_GNB, "\nint edited;\n")
    build.make()
    copy = copy_of(build, NR_GNB).read_text()
    assert copy.endswith("\nint edited;\n") and copy.count("WS_OAI_") == 1


@full
@needs_spatch
def test_the_macros_are_a_dependency(new_build: NewBuild) -> None:
    build = new_build("B2").with_hook(f"{PATCHES}=ON")
    build.make()
    deps = run(["ninja", "-C", str(build.folder), "-t", "deps"]).stdout
    assert deps.count("ws_oai_hooks.h") == 6  # five files, one of them in two targets


@needs_spatch
def test_switching_the_patches_off_leaves_nothing(new_build: NewBuild) -> None:
    build, untouched = new_build("A"), new_build("A", "untouched")
    build.with_hook(f"{PATCHES}=ON")
    untouched.with_hook()
    build.configure("-UTHREAD_POOL_WS_PATCHES")
    assert "patches:" not in build.log
    assert build.cache() == untouched.cache()
    assert "/patched/" not in (build.folder / "build.ninja").read_text()
    assert not (build.folder / "thread_pool_ws").exists()


@needs_spatch
def test_switching_back_as_documented_leaves_nothing(new_build: NewBuild) -> None:
    """The command of docs/integration.md removes all of the hook from the cache; the copies stay."""
    build, untouched = new_build("A"), new_build("A", "untouched")
    untouched.configure()
    build.with_hook(f"{PATCHES}=ON", "-DTHREAD_POOL_WS_LTTNG=OFF")
    options = switch_back_options()
    build.configure(*options)
    assert build.cache() == untouched.cache()
    rest = list((build.folder / "thread_pool_ws").iterdir())
    assert [entry.name for entry in rest] == ["patched"]  # the one thing to delete by hand


def switch_back_options() -> list[str]:
    text = (REPO / "docs" / "integration.md").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.strip().startswith("cmake -U")]
    return [word for word in shlex.split(line.split("#")[0]) if word.startswith("-U")]


@needs_spatch
def test_a_checkout_of_ours_in_an_in_source_build_is_not_touched(new_build: NewBuild) -> None:
    build = new_build("A").with_hook(f"{PATCHES}=ON")
    mine = build.folder / "thread_pool_ws" / "README.md"
    mine.touch()
    build.configure("-UTHREAD_POOL_WS_PATCHES")
    assert list(mine.parent.iterdir()) == [mine]


@needs_spatch
def test_one_set_of_two(new_build: NewBuild) -> None:
    build = new_build("A").with_hook(f"{PATCHES}=trace")
    assert "patches: trace, 4 insertions in 3 files" in build.log
    build.with_hook(f"{PATCHES}=prewake;trace")
    assert "patches: prewake trace, 7 insertions in 6 files" in build.log
    build.with_hook(f"{PATCHES}=prewake")
    assert "patches: prewake, 3 insertions in 3 files" in build.log
    copies = [path.name for path in (build.folder / "thread_pool_ws" / "patched").rglob("*.c")]
    assert sorted(copies) == ["nr-gnb.c", "nr-ru.c", "ulsim.c"]
    build.with_hook(f"{PATCHES}=tarce", fails=True)
    assert 'THREAD_POOL_WS_PATCHES is "tarce"; it may be ON' in build.log


@full
@needs_spatch
def test_spaces_in_all_paths(tmp_path: Path) -> None:
    top = tmp_path / "a folder"
    build = Build(assemble("A", top / "the tree"), top / "the build")
    (top / "the project").symlink_to(REPO)
    hook = top / "the project" / HOOK.relative_to(REPO)
    build.with_hook(f"{PATCHES}=ON", SPY, hook=hook)
    build.make()
    assert "begin 1 7.1 1" in said(build, "nr_ulsim")[1]
    code, text = ws_patches("--check", str(build.tree))
    assert code == 0 and "7 insertions in 6 files" in text


@needs_spatch
def test_a_function_that_is_missing_stops(new_build: NewBuild) -> None:
    build = new_build("B2")
    file = build.tree / NR_GNB
    file.write_text(file.read_text().replace("rx_func", "receive_func"))
    for code, text in (
        (1, build.with_hook(f"{PATCHES}=ON", fails=True).log),
        ws_patches("--check", str(build.tree)),
        ws_patches("--diff", str(build.tree)),
    ):
        text = " ".join(text.split())
        assert code != 0
        assert "prewake/slot: WS_OAI_PREWAKE_SLOT: 1 expected, 0 added to executables/nr-gnb.c" in text
        assert "-UTHREAD_POOL_WS_PATCHES" in text
    assert "+      WS_OAI_PREWAKE_RU(ru);" in ws_patches("--diff", str(build.tree))[1]  # what still fits
    build.with_hook(f"{PATCHES}=trace")


@needs_spatch
def test_one_match_too_many_stops(new_build: NewBuild) -> None:
    build = new_build("A")
    call = "phy_procedures_gNB_uespec_RX(0, 1, 2);"
    append(build.tree / NR_GNB, f"\nstatic void rx_func(void)\n{{\n  {call}\n}}\n")
    build.with_hook(f"{PATCHES}=ON", fails=True)
    assert "prewake/slot: WS_OAI_PREWAKE_SLOT: 1 expected, 2 added" in build.log


@needs_spatch
def test_a_begin_without_its_end_stops(new_build: NewBuild) -> None:
    build = new_build("B2")
    file = build.tree / "openair1" / "PHY" / "NR_TRANSPORT" / "nr_ulsch_demodulation.c"
    statistic = "_meas(&gNB->rx_pusch_symbol_processing_stats)"
    assert f"stop{statistic}" in file.read_text()
    file.write_text(file.read_text().replace(f"stop{statistic}", f"start{statistic}"))
    build.with_hook(f"{PATCHES}=ON", fails=True)
    assert "trace/symbols: WS_OAI_SYMBOLS_BEGIN: 1 expected, 2 added" in build.log
    assert "trace/symbols: WS_OAI_SYMBOLS_END: 1 expected, 0 added" in build.log


def fake_spatch(folder: Path, script: str) -> str:
    """A program in its place; the file that it is to change is its last argument."""
    fake = folder / "spatch"
    fake.write_text(f"#!/bin/sh\nfor file; do :; done\n{script}\n")
    fake.chmod(0o755)
    return f"-DTHREAD_POOL_WS_SPATCH={fake}"


def test_a_spatch_that_does_not_end_stops(new_build: NewBuild, tmp_path: Path) -> None:
    build = new_build("B2")
    over = tmp_path / "over"  # CMake does not always end it
    fake = fake_spatch(tmp_path, f"for turn in $(seq 600); do [ ! -e {over} ] || exit; sleep 0.1; done")
    build.with_hook(f"{PATCHES}=ON", fake, "-DWS_PATCHES_SECONDS=1", fails=True)
    over.touch()
    text = " ".join(build.log.split())
    assert "spatch failed with trace/symbols.cocci" in text and "it has 1 s" in text


@needs_spatch
def test_a_tree_that_is_patched_already_stops(new_build: NewBuild) -> None:
    build = new_build("B2")
    append(build.tree / NR_GNB, "\n// WS_OAI_PREWAKE_SLOT(gNB);\n")
    stopped = (1, build.with_hook(f"{PATCHES}=ON", fails=True).log)
    for code, text in (stopped, ws_patches("--check", str(build.tree))):
        assert code != 0
        assert "carries the patches' marks already" in " ".join(text.split())


@full
@needs_spatch
def test_a_copy_that_is_deleted_is_made_again(new_build: NewBuild) -> None:
    build = new_build("B2").with_hook(f"{PATCHES}=ON")
    build.make()
    copy_of(build, NR_GNB).unlink()
    build.make()
    assert copy_of(build, NR_GNB).read_text().count("WS_OAI_") == 1


@needs_spatch
def test_an_unknown_uplink_stops(new_build: NewBuild) -> None:
    build = new_build("B2")
    for name in ("PHY/NR_TRANSPORT/nr_ulsch_demodulation.c", "SCHED_NR/phy_procedures_nr_gNB.c"):
        file = build.tree / "openair1" / name
        file.write_text(file.read_text().replace("nr_rx_pusch_tp", "nr_rx_pusch_others"))
    build.with_hook(f"{PATCHES}=ON", fails=True)
    assert "the patches do not know this OAI" in build.log
    build.with_hook(f"{PATCHES}=OFF")


@needs_spatch
def test_a_file_that_no_target_compiles_stops(new_build: NewBuild) -> None:
    build = new_build("B2")
    replace(build.tree / "uplink.cmake", (("${OPENAIR_DIR}/executables/nr-gnb.c", ""),))
    build.with_hook(f"{PATCHES}=ON", fails=True)
    assert "no target compiles" in build.log and "executables/nr-gnb.c" in build.log


@needs_spatch
def test_a_target_in_a_subdirectory_stops(new_build: NewBuild) -> None:
    build = new_build("B2")
    lists = build.tree / "common" / "utils" / "CMakeLists.txt"
    append(lists, "\nadd_library(more ../../executables/nr-gnb.c)\n")
    build.with_hook(f"{PATCHES}=ON", fails=True)
    assert "is compiled by target more of" in build.log


@needs_spatch
def test_spatch_may_be_named_as_in_path(new_build: NewBuild) -> None:
    build = new_build("B2").with_hook(f"{PATCHES}=trace", "-DTHREAD_POOL_WS_SPATCH=spatch")
    assert "patches: trace, " in build.log


@pytest.mark.parametrize("name", ["/nowhere/spatch", "spatch-of-nobody"])
def test_a_spatch_that_was_named_and_is_not_there_stops(new_build: NewBuild, name: str) -> None:
    build = new_build("B2").with_hook(f"{PATCHES}=ON", f"-DTHREAD_POOL_WS_SPATCH={name}", fails=True)
    assert f"there is no {name}, which was named as spatch" in " ".join(build.log.split())


def test_without_spatch_it_goes_on(new_build: NewBuild) -> None:
    build = new_build("B2")
    nothing = "-DWS_PATCHES_PROGRAM=/nowhere"  # what a search finds
    build.with_hook(f"{PATCHES}=ON", nothing)
    assert "spatch was not found" in build.log and "coccinelle" in build.log
    assert "no patches (no spatch)" in build.log
    assert "/patched/" not in (build.folder / "build.ninja").read_text()


def test_a_spatch_that_fails_stops(new_build: NewBuild, tmp_path: Path) -> None:
    build = new_build("B2")
    fake = fake_spatch(tmp_path, "echo out of rope >&2\nexit 3")
    build.with_hook(f"{PATCHES}=ON", fake, fails=True)
    assert "spatch failed with trace/symbols.cocci" in build.log and "out of rope" in build.log


@needs_spatch
@pytest.mark.parametrize("shape", COUNTS)
def test_ws_patches_shows_and_counts(tmp_path: Path, shape: str) -> None:
    tree = assemble(shape, tmp_path / "oai")
    before = digest(tree)
    count, files = COUNTS[shape]
    code, text = ws_patches("--check", str(tree))
    assert code == 0 and f"{count} insertions in {files} files" in text
    code, text = ws_patches("--diff", str(tree))
    lines = [line for line in text.splitlines() if line.startswith(("+ ", "- "))]
    assert code == 0 and len([line for line in lines if "WS_OAI_" in line]) == count
    assert [line for line in lines if line.startswith("- ")] == ["-    if (ru->fh_south_in)"]  # gets a brace
    assert text.count("--- a/") == files
    assert digest(tree) == before


@needs_spatch
def test_ws_patches_takes_one_set_and_may_be_a_link(tmp_path: Path) -> None:
    tree = assemble("B2", tmp_path / "oai")
    link = tmp_path / "patches"
    link.symlink_to(REPO / "openair1_patches" / "ws-patches")
    done = run([str(link), "--check", "--set", "trace", str(tree)])
    assert done.returncode == 0, done.stderr
    assert "3 insertions in 2 files" in done.stdout and "prewake" not in done.stdout


def test_ws_patches_says_how_it_is_called(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "none")
    for arguments in ((), ("--diff",), ("--check", nowhere), ("--set", "other", "--diff", ".")):
        assert ws_patches(*arguments)[0] == 2, arguments
    assert ws_patches("--help")[0] == 0
    code, text = ws_patches("--check", str(tmp_path))
    assert code == 1 and ("not the top of an OAI tree" in text or "spatch was not found" in text)
