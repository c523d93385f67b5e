# SPDX-License-Identifier: BSD-3-Clause
"""Mutants: copies of the module with a defect put in (tests/sim/mutants/*.toml), each a program."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from simulate.program import program_path

PROGRAM = "ws_sim_explore"
SIM = Path(__file__).resolve().parent.parent
MODULE = SIM.parent.parent
MUTANTS = SIM / "mutants"


class MutantError(Exception):
    """A mutant that does not fit the core as it is."""


def rooms() -> list[str]:
    """The folders of the module that hold what is shipped."""
    return sorted(path.name for path in MODULE.iterdir() if path.is_dir() and path.name != "tests")


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

    def apply(self, module: Path) -> None:
        path = module / self.file
        text = self.change(path.read_text())
        path.unlink()  # a link
        path.write_text(text)


@dataclass(frozen=True)
class Mutant:
    """Why it is one, the seed that found it last, and what it changes."""

    name: str
    why: str
    seed: int | None
    edits: tuple[Edit, ...]

    def build(self) -> Path:
        """@return the program, compiled from a copy of the module"""
        folder = program_path("mutants") / self.name
        shutil.rmtree(folder, ignore_errors=True)
        for room in rooms():
            shutil.copytree(MODULE / room, folder / "module" / room, copy_function=os.symlink)
        for edit in self.edits:
            edit.apply(folder / "module")
        return link(folder, compile_changed(folder, {str(MODULE / edit.file) for edit in self.edits}))

    def store(self, seed: int) -> None:
        path = MUTANTS / f"{self.name}.toml"
        text = re.sub(r"^seed = .*\n", "", path.read_text(), flags=re.MULTILINE)
        path.write_text(text.replace("\n\n[[edit]]", f"\nseed = {seed}\n\n[[edit]]", 1))


def find_mutants() -> list[Mutant]:
    found = []
    for path in sorted(MUTANTS.glob("*.toml")):
        words = tomllib.loads(path.read_text())
        edits = tuple(Edit(edit["file"], edit["old"], edit["new"]) for edit in words["edit"])
        found.append(Mutant(path.stem, words["why"], words.get("seed"), edits))
    return found


def find_mutant(name: str) -> Mutant:
    for mutant in find_mutants():
        if mutant.name == name:
            return mutant
    raise MutantError(f"there is no mutant {name}")


@cache
def build_folder() -> Path:
    """Where CMake wrote what it builds: above the folder of the programs."""
    folder = program_path(".").resolve()
    while not (folder / "compile_commands.json").exists():
        if folder == folder.parent:
            raise MutantError("there is no compile_commands.json above the programs")
        folder = folder.parent
    return folder


@dataclass(frozen=True)
class Compilation:
    """How one file that runs on the simulated machine is compiled."""

    output: str
    command: str
    folder: str

    def compile(self, module: Path, output: Path) -> None:
        command = self.command.replace(self.output, str(output))
        for room in rooms():
            command = re.sub(rf"( |-I){re.escape(str(MODULE))}/{room}/", rf"\g<1>{module}/{room}/", command)
        run(f"{command} -g0", self.folder)


@cache
def simulated_compilations() -> list[Compilation]:
    found = []
    for entry in json.loads((build_folder() / "compile_commands.json").read_text()):
        output = re.search(r" -o (\S*ws_sim_(?:core|shim_\w+)\.dir\S*)", entry["command"])
        if output:
            found.append(Compilation(output[1], entry["command"], entry["directory"]))
    return found


def ninja(folder: Path, *words: str) -> str:
    done = subprocess.run(["ninja", "-C", str(folder), *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise MutantError(done.stderr.strip() or "\n".join(done.stdout.splitlines()[-20:]))
    return done.stdout


@cache
def read_files(folder: Path) -> dict[str, list[str]]:
    """Of each object: its source, then all headers."""
    files = {}
    for block in ninja(folder, "-t", "deps").strip().split("\n\n"):
        made, *names = block.splitlines()
        files[made.partition(":")[0]] = [os.path.normpath(folder / name.strip()) for name in names]
    return files


def target() -> Path:
    return program_path(PROGRAM).resolve().relative_to(build_folder())


@cache
def link_command() -> str:
    """How Ninja links the program."""
    return ninja(build_folder(), "-t", "commands", str(target())).strip().splitlines()[-1]


def run(command: str, folder: str) -> None:
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise MutantError(done.stderr.strip() or f"{command} failed")


def compile_changed(folder: Path, files: set[str]) -> dict[str, str]:
    """@return object of the program -> object of the mutant"""
    objects = {}
    for number, made in enumerate(simulated_compilations()):
        if files.intersection(read_files(build_folder())[made.output]):
            output = folder / f"{number}.o"
            made.compile(folder / "module", output)
            objects[made.output] = str(output)
    if not objects:
        raise MutantError("none of its files is compiled into the program")
    return objects


def link(folder: Path, objects: dict[str, str]) -> Path:
    """As Ninja links the program, with the mutant's objects in place of those that they replace."""
    command, program = link_command(), folder / PROGRAM
    for before, after in objects.items():
        command = command.replace(before, after)
    run(command.replace(f"-o {target()}", f"-o {program}"), str(build_folder()))
    return program
