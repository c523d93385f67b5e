# SPDX-License-Identifier: BSD-3-Clause
"""Mutants: copies of the module with a defect put in (tests/sim/mutants/*.toml), each a program."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
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

    def apply(self, module: Path) -> None:
        path = module / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise MutantError(f"{self.file} has the old text {text.count(self.old)} times instead of once")
        path.write_text(text.replace(self.old, self.new))


@dataclass(frozen=True)
class Mutant:
    """Why it is one, and what it changes."""

    name: str
    why: str
    edits: tuple[Edit, ...]

    def build(self) -> Path:
        """@return the program, compiled from a copy of the module"""
        folder = program_path("mutants") / self.name
        shutil.rmtree(folder, ignore_errors=True)
        for room in rooms():
            shutil.copytree(MODULE / room, folder / "module" / room)
        for edit in self.edits:
            edit.apply(folder / "module")
        return link(folder, compile_changed(folder, {edit.file for edit in self.edits}))


def find_mutants() -> list[Mutant]:
    found = []
    for path in sorted(MUTANTS.glob("*.toml")):
        words = tomllib.loads(path.read_text())
        edits = tuple(Edit(edit["file"], edit["old"], edit["new"]) for edit in words["edit"])
        found.append(Mutant(path.stem, words["why"], edits))
    return found


def find_mutant(name: str) -> Mutant:
    for mutant in find_mutants():
        if mutant.name == name:
            return mutant
    raise MutantError(f"there is no mutant {name}")


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

    source: Path
    output: str
    command: str
    folder: str

    def is_changed(self, files: set[str]) -> bool:
        """A header of the pool concerns all of the pool, one of a shim all that use a shim."""
        path = str(self.source.relative_to(MODULE))
        if path.startswith("tests/") and "ws_sim_shim_" not in self.output:
            return False
        of_shim = "ws_sim_shim_" in self.output
        return path in files or any(
            file.startswith("shim/") == of_shim and file.endswith(".h") for file in files
        )

    def compile(self, module: Path, output: Path) -> None:
        command = self.command.replace(self.output, str(output))
        for room in rooms():
            command = re.sub(rf"( |-I){re.escape(str(MODULE))}/{room}/", rf"\g<1>{module}/{room}/", command)
        run(command, self.folder)


def simulated_compilations() -> list[Compilation]:
    found = []
    for entry in json.loads((build_folder() / "compile_commands.json").read_text()):
        output = re.search(r" -o (\S*ws_sim_(?:core|shim_\w+)\.dir\S*)", entry["command"])
        if output:
            found.append(Compilation(Path(entry["file"]), output[1], entry["command"], entry["directory"]))
    return found


def run(command: str, folder: str) -> None:
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise MutantError(done.stderr.strip() or f"{command} failed")


def compile_changed(folder: Path, files: set[str]) -> dict[str, str]:
    """@return object of the program -> object of the mutant"""
    objects = {}
    for number, made in enumerate(simulated_compilations()):
        if made.is_changed(files):
            output = folder / f"{number}-{made.source.name}.o"
            made.compile(folder / "module", output)
            objects[made.output] = str(output)
    if not objects:
        raise MutantError("none of its files is compiled into the program")
    return objects


def link(folder: Path, objects: dict[str, str]) -> Path:
    """As Ninja links the program, with the mutant's objects in place of those that they replace."""
    build = build_folder()
    target = str(program_path(PROGRAM).resolve().relative_to(build))
    ask = ["ninja", "-C", str(build), "-t", "commands", target]
    asked = subprocess.run(ask, capture_output=True, text=True)
    if asked.returncode != 0:
        raise MutantError(asked.stderr.strip())
    command = asked.stdout.strip().splitlines()[-1]
    program = folder / PROGRAM
    for before, after in objects.items():
        command = command.replace(before, after)
    run(command.replace(f"-o {target}", f"-o {program}"), str(build))
    return program
