# SPDX-License-Identifier: BSD-3-Clause
"""Mutants: a defect each (tests/sim/mutants/*.toml), put into a copy of the checkout."""

import fcntl
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROGRAM = "ws_sim_explore"
SIM = Path(__file__).resolve().parent.parent
MODULE, ROOT = SIM.parents[1], SIM.parents[4]
MUTANTS = SIM / "mutants"


class MutantError(Exception):
    """A mutant that does not fit the sources as they are."""


@dataclass(frozen=True)
class Edit:
    """In one file of the module, one text becomes another."""

    file: str
    old: str
    new: str

    def change(self, text: str) -> str:
        if text.count(self.old) != 1:
            raise MutantError(f"{self.file} has the old text {text.count(self.old)} times instead of once")
        return text.replace(self.old, self.new)


class Tree:
    """The copy, beside its builds: build-ci/mutants of the checkout."""

    def __init__(self) -> None:
        self.folder = ROOT / "build-ci" / "mutants"
        self.copy = self.folder / "tree"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lock = (self.folder / "lock").open("w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MutantError(f"{self.folder} is in use") from None
        # An index of its own lists the files: a source archive has none.
        self.git = ["git", f"--git-dir={self.folder / 'git'}", f"--work-tree={ROOT}"]
        run(ROOT, *self.git, "init", "-q")

    def change(self, edits: Iterable[Edit]) -> None:
        """Make the copy the checkout with the edits. Ninja builds only the files that differ."""
        listed = run(ROOT, *self.git, "ls-files", "-z", "-o", "--exclude-standard").split("\0")
        texts = {name: (ROOT / name).read_bytes() for name in listed if (ROOT / name).is_file()}
        for edit in edits:
            name = str(MODULE.relative_to(ROOT) / edit.file)
            texts[name] = edit.change(texts[name].decode()).encode()
        for path in self.copy.rglob("*"):
            if path.is_file() and str(path.relative_to(self.copy)) not in texts:
                path.unlink()
        for name, text in texts.items():
            path = self.copy / name
            if not path.exists() or path.read_bytes() != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
                shutil.copymode(ROOT / name, path)

    def build(self, preset: str, *words: str) -> Path:
        """@return the folder of the build. @param words  of Ninja"""
        build = self.folder / preset
        if not (build / "build.ninja").exists():
            flags = ["-DWS_LTTNG=OFF", "-DCMAKE_C_FLAGS_DEBUG=-O1", "-DCMAKE_CXX_FLAGS_DEBUG=-O1"]
            if shutil.which("ccache"):
                flags += ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
            run(self.copy, "cmake", "--preset", preset, "-B", str(build), *flags)
        run(build, "ninja", *words)
        return build


def run(folder: Path, *words: str) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise MutantError(done.stderr.strip() or "\n".join(done.stdout.splitlines()[-20:]))
    return done.stdout


@cache
def tree() -> Tree:
    return Tree()


@dataclass(frozen=True)
class Mutant:
    """A defect: why it is one, and what it changes. A seed finds it, a kind of ci/lab, or a table of
    tests/scenes."""

    name: str
    why: str
    seed: int | None
    edits: tuple[Edit, ...]
    lab: str | None = None
    scenes: str | None = None

    def build(self) -> Path:
        """@return the program that explores it, or plays scenes on threads"""
        tree().change(self.edits)
        if self.scenes:
            built = tree().build("debug", "test_scenes") / SIM.parent.relative_to(ROOT) / "test_scenes"
        else:
            built = tree().build("simulate", PROGRAM) / SIM.relative_to(ROOT) / PROGRAM
        return Path(shutil.copy(built, tree().folder / self.name))

    def store(self, seed: int) -> None:
        path = MUTANTS / f"{self.name}.toml"
        text = re.sub(r"^seed = .*\n", "", path.read_text(), flags=re.MULTILINE)
        path.write_text(text.replace("\n\n[[edit]]", f"\nseed = {seed}\n\n[[edit]]", 1))


def find_mutants() -> list[Mutant]:
    found = []
    for path in sorted(MUTANTS.glob("*.toml")):
        words = tomllib.loads(path.read_text())
        edits = tuple(Edit(edit["file"], edit["old"], edit["new"]) for edit in words["edit"])
        finders = words.get("lab"), words.get("scenes")
        found.append(Mutant(path.stem, words["why"], words.get("seed"), edits, *finders))
    return found
