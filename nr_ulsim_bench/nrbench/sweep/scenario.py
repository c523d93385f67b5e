# SPDX-License-Identifier: BSD-3-Clause
"""Scenario files: which cases nr_ulsim runs, with which versions of OAI, and how a sweep over them is taken.

Versions are releases such as v2.1.0 and weekly tags such as 2025.w37."""

from __future__ import annotations

import fnmatch
import math
import operator
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Iterator, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from nrbench.record import first_error
from nrbench.sweep.record import normal_cpus

# Year and week. Weekly tags lie between releases; within a release's own month the order may be off.
RELEASES = {"v2.0.0": (2023, 33), "v2.1.0": (2024, 8), "v2.2.0": (2024, 46), "v2.3.0": (2025, 27)}
COMPARISONS = {">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt}
PART = re.compile(r"(>=|<=|==|>|<)\s*(\S+)")
AFTER_TAG = re.compile(r"(?:-\d+-g[0-9a-f]+)?(?:-dirty)?$")  # of git describe
INCLUDED = Path(__file__).resolve().parent.parent / "scenarios"
SNR_STEP_DB = 0.2
DEFAULT_PRB, DEFAULT_CARRIER_PRB = 50, 106  # of nr_ulsim
DEFAULT_SNR_DB, DEFAULT_SNR_SPAN_DB = -2.0, 10.0
OWN_OPTIONS = ("-C", "-P", "-n", "-Y")


def position(version: str) -> tuple[int, int] | None:
    """None = not known where it belongs, as of develop or of a commit."""
    week = re.fullmatch(r"(\d{4})\.w(\d{1,2})\w?", version)
    if week:
        return int(week[1]), int(week[2])
    release = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)", version)
    newer = release and tuple(int(part) for part in release.groups()) > (2, 3, 0)
    return RELEASES.get(version, (9999, 0) if newer else None)


def reason_against(requirement: str, version: str | None) -> str | None:
    """
    Why a version does not do; None = it does, or its place is unknown. ValueError: no requirement.

    @param requirement  such as ">=v2.2.0" or ">=v2.1.0,<v2.3.0"; empty = any version
    @param version      a tag, or what git describes from one
    """
    here = None if version is None else position(AFTER_TAG.sub("", version))
    reason = None
    for part in (part.strip() for part in requirement.split(",") if requirement.strip()):
        match = PART.fullmatch(part)
        wanted = position(match[2]) if match else None
        if match is None or wanted is None:
            raise ValueError(f"{part!r} is no requirement on a version of OAI such as >=v2.3.0")
        if reason is None and here is not None and not COMPARISONS[match[1]](here, wanted):
            reason = f"needs OAI {match[1]} {match[2]}, this is {version}"
    return reason


if sys.version_info >= (3, 11):
    import tomllib
else:  # mypy checks as for 3.10, where it may be missing
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]


class ScenarioError(ValueError):
    """A scenario, a file of one or a choice of cases that cannot be used; names it."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _versions(text: str) -> str:
    reason_against(text, None)
    return text


Prb = Annotated[int, Field(ge=1, le=275)]
Name = Annotated[str, Field(pattern=r"^[\w.+-]+$")]
Spin = Annotated[str, Field(pattern=r"^(off|auto|hot|fixed:[1-9]\d*)$")]
Tuple = Field(strict=False)  # TOML has arrays, no tuples
Model = TypeVar("Model", bound=_Strict)


class Argument(_Strict):
    """The value of an option that has several parts."""

    def parts(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in type(self).model_fields)

    def __str__(self) -> str:
        return ",".join(str(part) for part in self.parts() if part is not None)


class Channel(Argument):
    """A fading channel; without one it is white noise alone."""

    model: Literal["A", "B", "C"]  # TDLA30, TDLB100, TDLC300
    correlation: Literal["low", "medium", "high"]
    doppler_hz: int | None = Field(None, ge=0)

    def parts(self) -> tuple[object, ...]:
        return self.model, self.correlation[0], self.doppler_hz


class Estimation(Argument):
    """How the channel is estimated."""

    frequency: Literal["linear", "average"] = "linear"
    time: Literal["last", "average"] = "last"

    def parts(self) -> tuple[object, ...]:
        return int(self.frequency == "average"), int(self.time == "average")


class Dmrs(Argument):
    mapping_type: Literal["A", "B"]
    additional: int = Field(ge=0, le=3)  # positions
    config_type: Literal[1, 2]
    cdm_groups: int = Field(ge=1, le=3)  # without data

    def parts(self) -> tuple[object, ...]:
        return int(self.mapping_type == "B"), self.additional, self.config_type, self.cdm_groups


class Ptrs(Argument):
    """The symbols are then processed without the pool."""

    time_density: int = Field(ge=0, le=2)  # L_PTRS
    frequency_density: Literal[2, 4]  # K_PTRS


def option(name: str, default: Any = None, **limits: Any) -> Any:
    """A field that is an option of nr_ulsim; the arguments have the order of the fields."""
    return Field(default, json_schema_extra={"option": name}, **limits)


class Case(_Strict):
    """What a run of nr_ulsim simulates. A field that is left out is left to nr_ulsim."""

    name: Name
    note: str = ""
    slow: bool = False  # takes more than a minute
    versions: Annotated[str, AfterValidator(_versions)] = ""  # of OAI, such as >=v2.3.0
    trials: int = option("-n", ..., ge=2)  # slots; with 1 nr_ulsim never prints that it decoded
    numerology: int | None = option("-u", ge=0, le=4)
    carrier_prb: Prb | None = option("-R")
    prb: Prb | None = option("-r")  # allocated
    first_prb: int | None = option("-w", ge=0, le=274)
    mcs: int | None = option("-m", ge=0, le=28)
    mcs_table: int | None = option("-q", ge=0, le=4)
    layers: int | None = option("-W", ge=1, le=4)
    tx_antennas: int | None = option("-y", ge=1, le=4)
    rx_antennas: int | None = option("-z", ge=1, le=8)
    first_symbol: int | None = option("-a", ge=0, le=12)
    symbols: int | None = option("-b", ge=1, le=14)
    dmrs: Dmrs | None = option("-U")
    ptrs: Ptrs | None = option("-T")
    transform_precoding: bool = option("-Z", False)  # SC-FDMA
    channel: Channel | None = option("-g")
    estimation: Estimation | None = option("-i")
    delay_samples: int | None = option("-d", ge=0)
    ldpc_iterations: int | None = option("-I", ge=1, le=255)
    harq_rounds: int | None = option("-v", ge=1, le=15)
    throughput_percent: float | None = option("-t", ge=0, le=100)  # from which it counts as decoded
    srs: bool = option("-E", False)  # sounding reference signals as well
    antennas_per_thread: int | None = option("-A", ge=1, le=8)  # of channel estimation; from v2.3.0 on
    snr_db: float | None = option("-s")
    snr_last_db: float | None = option("-S")  # raised by SNR_STEP_DB until decoded; by default 10 dB in all
    extra: Annotated[tuple[str, ...], Tuple] = ()  # more options, as they are

    @model_validator(mode="after")
    def _fits(self) -> Case:
        if (self.first_prb or 0) + (self.prb or DEFAULT_PRB) > (self.carrier_prb or DEFAULT_CARRIER_PRB):
            raise ValueError("prb: more than the carrier has (carrier_prb)")
        if (self.first_symbol or 0) + (self.symbols or 0) > 14:
            raise ValueError("symbols: more than the slot has after first_symbol")
        if (self.layers or 1) > min(self.tx_antennas or 1, self.rx_antennas or 1):
            raise ValueError("layers: more than there are antennas (tx_antennas, rx_antennas)")
        if self.transform_precoding and self.ptrs:
            raise ValueError("ptrs: not with transform_precoding")
        if self.snr_points == 0:
            raise ValueError("snr_last_db: below snr_db")
        for word in self.extra:
            if word.startswith(OWN_OPTIONS):
                raise ValueError(f"extra: {word}: the sweep itself sets {', '.join(OWN_OPTIONS)}")
        return self

    @property
    def snr_points(self) -> int:
        """The most there can be; it stops at the first that is decoded."""
        first = DEFAULT_SNR_DB if self.snr_db is None else self.snr_db
        last = first + DEFAULT_SNR_SPAN_DB if self.snr_last_db is None else self.snr_last_db
        return max(0, math.floor((last - first) / SNR_STEP_DB + 1e-9) + 1)

    def options(self, threads: int) -> tuple[str, ...]:
        """@param threads  0 = without a pool"""
        return (*self._given(), *self.extra, "-P", f"-C{threads}")

    def _given(self) -> Iterator[str]:
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if not isinstance(field.json_schema_extra, dict) or value is None or value is False:
                continue
            text = "" if name == "transform_precoding" else "1" if value is True else str(value)
            yield f"{field.json_schema_extra['option']}{f'{value:g}' if isinstance(value, float) else text}"

    def reason_against(self, oai: str | None) -> str | None:
        """Why this case cannot be run with a version of OAI; None = nothing is known against it."""
        reason = reason_against(">=v2.3.0", oai) if self.antennas_per_thread is not None else None
        return f"antennas_per_thread: {reason}" if reason else reason_against(self.versions, oai)


class SweepDefaults(_Strict):
    """How a sweep is taken, where the command line does not set it."""

    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=1024)], ...], Tuple] = (1, 2, 4)
    spin: Annotated[tuple[Spin, ...], Tuple] = ("off", "auto")
    repeats: Annotated[int, Field(ge=1)] = 5
    cpus: Annotated[str, AfterValidator(normal_cpus)] | None = None  # to bind runs to, as in 0-3
    seed: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None  # of the noise; the payload stays random
    limit_s: Annotated[float, Field(gt=0)] = 120.0  # a run that takes longer counts as hung


class Scenario(_Strict):
    name: Name
    title: str
    sweep: SweepDefaults = SweepDefaults()
    cases: tuple[Case, ...]


def names() -> list[str]:
    """Of the scenarios that come with the tool."""
    return sorted(path.stem for path in INCLUDED.glob("*.toml"))


def _path_of(scenario: str) -> Path:
    path = INCLUDED / f"{scenario}.toml" if scenario in names() else Path(scenario)
    if not path.is_file():
        raise ScenarioError(f"{scenario}: neither a file nor a scenario; there are: {', '.join(names())}")
    return path


def _check_unique(where: object, what: str, seen: list[str]) -> None:
    for name in seen:
        if seen.count(name) > 1:
            raise ScenarioError(f"{where}: two {what} are called {name}")


def load(scenario: str | Path) -> Scenario:
    """
    Cases with the file's defaults in what they leave out.

    @param scenario  name of one that comes with the tool, or a file
    """
    path = scenario if isinstance(scenario, Path) else _path_of(scenario)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(f"{path}: {error}") from error
    defaults, cases = data.pop("defaults", {}), data.pop("case", [])
    if not isinstance(defaults, dict) or not isinstance(cases, list) or not cases:
        raise ScenarioError(f"{path}: a scenario has [[case]] tables, and may have one table [defaults]")
    if "name" in data or "cases" in data:
        raise ScenarioError(f"{path}: name, cases: the name is the file's, cases are [[case]] tables")
    filled = [defaults | case for case in cases]
    made = tuple(
        _validated(Case, f"{path}: case {fields.get('name', number)}", fields)
        for number, fields in enumerate(filled, start=1)
    )
    _check_unique(path, "cases", [case.name for case in made])
    return _validated(Scenario, f"{path}", data | {"name": path.stem, "cases": made})


def _validated(model: type[Model], where: str, fields: dict[str, Any]) -> Model:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise ScenarioError(f"{where}: {first_error(error)}") from error


def select(cases: str) -> list[Scenario]:
    """
    Scenarios with the wanted cases.

    @param cases  names or files of scenarios, separated by commas; SCENARIO:CASE,CASE for some of its cases,
                  which may be patterns such as mimo.*
    """
    wanted: dict[str, list[str]] = {}
    for scenario, pattern in _wishes(cases):
        wanted.setdefault(scenario, []).append(pattern)
    chosen = [_narrowed(load(scenario), patterns) for scenario, patterns in wanted.items()]
    _check_unique(cases, "scenarios", [scenario.name for scenario in chosen])
    return chosen


def _wishes(cases: str) -> Iterator[tuple[str, str]]:
    """Pairs of a scenario and a pattern of its cases. A word alone is a case of the last, if it has it."""
    scenario, of_it = "", False
    for word in (word.strip() for word in cases.split(",")):
        before, colon, case = word.rpartition(":")
        if colon:
            scenario, of_it = before, True
            yield scenario, case
        elif of_it and _matching(load(scenario), word):
            yield scenario, word
        else:
            scenario, of_it = word, False
            yield scenario, "*"


def _matching(scenario: Scenario, pattern: str) -> set[str]:
    return {case.name for case in scenario.cases if fnmatch.fnmatchcase(case.name, pattern)}


def _narrowed(scenario: Scenario, patterns: list[str]) -> Scenario:
    wanted: set[str] = set()
    for pattern in patterns:
        matching = _matching(scenario, pattern)
        if not matching:
            there = ", ".join(case.name for case in scenario.cases)
            raise ScenarioError(f"{scenario.name}: has no case {pattern!r}; there are: {there}")
        wanted |= matching
    cases = tuple(case for case in scenario.cases if case.name in wanted)
    return scenario.model_copy(update={"cases": cases})
