# SPDX-License-Identifier: BSD-3-Clause
"""Scenario files: which cases the simulators run, in their own options, and how a sweep takes them."""

import fnmatch
import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from nrbench import toml
from nrbench.record import Strict, first_error

INCLUDED = Path(__file__).resolve().parent.parent / "scenarios"
Program = Literal["nr_ulsim", "nr_dlsim"]
UPLINK: Program = "nr_ulsim"
DOWNLINK: Program = "nr_dlsim"
OWN_OPTIONS = {UPLINK: ("-C", "-P", "-Y"), DOWNLINK: ("-X", "-P")}


class ScenarioError(ValueError):
    """A scenario, a file of one or a choice of cases that cannot be used; names it."""


def merged(*texts: str) -> tuple[str, ...]:
    """Words as "-m9" of options as "-m9" or "-m 9". Of two with the same letter the second counts."""
    found: dict[str, str] = {}
    for text in texts:
        letter = ""
        for word in text.split():
            if re.match("-[A-Za-z]", word):
                letter, word = word[:2], word[2:]
                found[letter] = ""
            if not letter:
                raise ValueError(f"{word!r} is no option of nr_ulsim")
            found[letter] += word
    return tuple(map("".join, found.items()))


def trials_of(words: tuple[str, ...]) -> int:
    return next((int(word[2:]) for word in words if word.startswith("-n")), 1)


class _Strict(Strict):
    model_config = ConfigDict(strict=True)


Name = Annotated[str, Field(pattern=r"^[\w.+-]+$")]
Spin = Annotated[str, Field(pattern=r"^(off|auto|hot|fixed:[1-9]\d*)$")]
Tuple = Field(strict=False)  # TOML has arrays, no tuples
Model = TypeVar("Model", bound=_Strict)


class Case(_Strict):
    """What a run of a simulator simulates. An option that is left out is left to the simulator."""

    name: Name
    note: str = ""
    program: Program = UPLINK
    published_us: Annotated[float, Field(gt=0)] | None = None  # of the whole slot, by the scenario's source
    words: tuple[str, ...] = Field(alias="options")

    @field_validator("words")
    @classmethod
    def _fit(cls, words: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        own = OWN_OPTIONS[info.data.get("program", UPLINK)]
        for word in words:
            if word.startswith(own):
                raise ValueError(f"{word}: the sweep itself sets {', '.join(own)}")
        if trials_of(words) < 2:
            raise ValueError("-n: fewer than 2 slots; then nr_ulsim never prints that it decoded")
        return words

    def options(self, threads: int) -> tuple[str, ...]:
        """@param threads  0 = without a pool"""
        pool = f"-C{threads}" if self.program == UPLINK else f"-X{','.join(['-1'] * threads) or 'n'}"
        return (*self.words, "-P", pool)

    def with_trials(self, trials: int | None) -> "Case":
        """@param trials  slots a run; None: the case's own"""
        words = merged(*self.words, f"-n{trials}") if trials else self.words
        return self.model_copy(update={"words": words})


class SweepDefaults(_Strict):
    """How a sweep is taken, where the command line does not set it."""

    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=1024)], ...], Tuple] = (1, 2, 4)
    spin: Annotated[tuple[Spin, ...], Tuple] = ("off", "auto")
    repeats: Annotated[int, Field(ge=1)] = 5
    limit_s: Annotated[float, Field(gt=0)] = 120.0  # a run that takes longer counts as hung


class Published(_Strict):
    """Where the cases' figures stand, and on what they were measured."""

    source: str
    cpu: str
    cores: Annotated[int, Field(ge=1)]


class Scenario(_Strict):
    name: Name
    title: str
    published: Published | None = None
    sweep: SweepDefaults = SweepDefaults()
    cases: tuple[Case, ...]


def names() -> list[str]:
    """Of the scenarios that come with the tool."""
    return sorted(path.stem for path in INCLUDED.glob("*.toml"))


def _path_of(scenario: str | Path) -> Path | None:
    path = INCLUDED / f"{scenario}.toml" if scenario in names() else Path(scenario)
    return path if path.is_file() else None


def _check_unique(where: object, what: str, seen: list[str]) -> None:
    for name in seen:
        if seen.count(name) > 1:
            raise ScenarioError(f"{where}: two {what} are called {name}")


def load(scenario: str | Path) -> Scenario:
    """
    Cases with the file's options, and with their own in the place of these.

    @param scenario  name of one that comes with the tool, or a file
    """
    path = _path_of(scenario)
    if path is None:
        raise ScenarioError(f"{scenario}: neither a file nor a scenario; there are: {', '.join(names())}")
    try:
        data = toml.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, toml.TOMLDecodeError) as error:
        raise ScenarioError(f"{path}: {error}") from error
    shared, cases = data.pop("options", ""), data.pop("case", [])
    program = {"program": data.pop("program", UPLINK)}
    if not isinstance(cases, list) or not cases:
        raise ScenarioError(f"{path}: a scenario has [[case]] tables")
    made = tuple(_case(path, number, shared, program | fields) for number, fields in enumerate(cases, 1))
    _check_unique(path, "cases", [case.name for case in made])
    return _validated(Scenario, f"{path}", {"name": path.stem, **data, "cases": made})


def _case(path: Path, number: int, shared: str, fields: dict[str, Any]) -> Case:
    where = f"{path}: case {fields.get('name', number)}"
    try:
        words = merged(shared, fields.get("options", ""))
    except (AttributeError, ValueError) as error:
        raise ScenarioError(f"{where}: options: {error}") from error
    return _validated(Case, where, fields | {"options": words})


def _validated(model: type[Model], where: str, fields: dict[str, Any]) -> Model:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise ScenarioError(f"{where}: {first_error(error)}") from error


def select(cases: str) -> list[Scenario]:
    """
    Scenarios with the wanted cases.

    @param cases  names or files of scenarios, separated by commas; SCENARIO:CASE,CASE for some of its cases,
                  which may be patterns such as ul-*
    """
    wanted: dict[str, list[str]] = {}
    scenario = ""
    for word in map(str.strip, cases.split(",")):
        before, colon, case = word.rpartition(":")
        if colon:
            scenario = before
        elif not scenario or _path_of(word):
            scenario, case = word, "*"
        wanted.setdefault(scenario, []).append(case)
    chosen = [_narrowed(load(name), patterns) for name, patterns in wanted.items()]
    _check_unique(cases, "scenarios", [one.name for one in chosen])
    return chosen


def _narrowed(scenario: Scenario, patterns: list[str]) -> Scenario:
    every, wanted = [case.name for case in scenario.cases], set[str]()
    for pattern in patterns:
        matching = fnmatch.filter(every, pattern)
        if not matching:
            raise ScenarioError(f"{scenario.name}: has no case {pattern!r}; there are: {', '.join(every)}")
        wanted.update(matching)
    cases = tuple(case for case in scenario.cases if case.name in wanted)
    return scenario.model_copy(update={"cases": cases})
