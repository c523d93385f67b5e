# SPDX-License-Identifier: BSD-3-Clause
"""Scenario files: which cases nr_ulsim runs, and how a sweep over them is taken."""

from __future__ import annotations

import fnmatch
import math
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Iterator, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from nrbench.sweep.oai_version import reason_against
from nrbench.system import parse_cpus

if sys.version_info >= (3, 11):
    import tomllib
else:  # mypy checks as for 3.10, where it may be missing
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

INCLUDED = Path(__file__).resolve().parent.parent / "scenarios"
SNR_STEP_DB = 0.2
DEFAULT_PRB, DEFAULT_CARRIER_PRB = 50, 106  # of nr_ulsim
DEFAULT_SNR_DB, DEFAULT_SNR_SPAN_DB = -2.0, 10.0
OWN_OPTIONS = ("-C", "-P", "-n", "-Y")


class ScenarioError(ValueError):
    """A scenario, a file of one or a choice of cases that cannot be used; names it."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _name(text: str) -> str:
    if not re.fullmatch(r"[\w.+-]+", text):
        raise ValueError("a name is made of letters, digits and . _ + -")
    return text


def _spin(text: str) -> str:
    if not re.fullmatch(r"off|auto|hot|fixed:[1-9]\d*", text):
        raise ValueError("it is off, auto, hot or fixed:MICROSECONDS")
    return text


def _cpus(text: str) -> str:
    parse_cpus(text)
    return text


def _versions(text: str) -> str:
    reason_against(text, None)
    return text


Prb = Annotated[int, Field(ge=1, le=275)]
Name = Annotated[str, AfterValidator(_name)]
Spin = Annotated[str, AfterValidator(_spin)]
# TOML has arrays, no tuples.
Tuple = Field(strict=False)


Model = TypeVar("Model", bound=_Strict)


class Channel(_Strict):
    """A fading channel; without one it is white noise alone."""

    model: Literal["A", "B", "C"] = Field(description="TDLA30, TDLB100, TDLC300")
    correlation: Literal["low", "medium", "high"]
    doppler_hz: int | None = Field(None, ge=0)

    def argument(self) -> str:
        doppler = "" if self.doppler_hz is None else f",{self.doppler_hz}"
        return f"{self.model},{self.correlation[0]}{doppler}"


class Estimation(_Strict):
    """How the channel is estimated."""

    frequency: Literal["linear", "average"] = "linear"
    time: Literal["last", "average"] = "last"

    def argument(self) -> str:
        return f"{int(self.frequency == 'average')},{int(self.time == 'average')}"


class Dmrs(_Strict):
    mapping_type: Literal["A", "B"]
    additional: int = Field(ge=0, le=3, description="additional positions")
    config_type: Literal[1, 2]
    cdm_groups: int = Field(ge=1, le=3, description="groups without data")

    def argument(self) -> str:
        return f"{int(self.mapping_type == 'B')},{self.additional},{self.config_type},{self.cdm_groups}"


class Ptrs(_Strict):
    time_density: int = Field(
        ge=0, le=2, description="L_PTRS; the symbols are then processed without the pool"
    )
    frequency_density: Literal[2, 4] = Field(description="K_PTRS")

    def argument(self) -> str:
        return f"{self.time_density},{self.frequency_density}"


# Option of nr_ulsim and field, in the order of the arguments.
OPTIONS = (
    ("-n", "trials"),
    ("-u", "numerology"),
    ("-R", "carrier_prb"),
    ("-r", "prb"),
    ("-w", "first_prb"),
    ("-m", "mcs"),
    ("-q", "mcs_table"),
    ("-W", "layers"),
    ("-y", "tx_antennas"),
    ("-z", "rx_antennas"),
    ("-a", "first_symbol"),
    ("-b", "symbols"),
    ("-U", "dmrs"),
    ("-T", "ptrs"),
    ("-Z", "transform_precoding"),
    ("-g", "channel"),
    ("-i", "estimation"),
    ("-d", "delay_samples"),
    ("-I", "ldpc_iterations"),
    ("-v", "harq_rounds"),
    ("-t", "throughput_percent"),
    ("-E", "srs"),
    ("-A", "antennas_per_thread"),
    ("-s", "snr_db"),
    ("-S", "snr_last_db"),
)
FLAGS = ("-Z",)  # without a value


def _argument(option: str, value: Any) -> str:
    if option in FLAGS:
        return option
    if isinstance(value, (Channel, Estimation, Dmrs, Ptrs)):
        return option + value.argument()
    return option + (f"{value:g}" if isinstance(value, float) else str(int(value)))


class Case(_Strict):
    """What a run of nr_ulsim simulates. A field that is left out is left to nr_ulsim."""

    name: Name
    note: str = ""
    slow: bool = Field(False, description="takes more than a minute")
    versions: Annotated[str, AfterValidator(_versions)] = Field("", description="of OAI, such as >=v2.3.0")
    trials: int = Field(ge=2, description="slots; with 1 nr_ulsim never says that it decoded")
    numerology: int | None = Field(None, ge=0, le=4)
    carrier_prb: Prb | None = None
    prb: Prb | None = Field(None, description="allocated")
    first_prb: int | None = Field(None, ge=0, le=274)
    mcs: int | None = Field(None, ge=0, le=28)
    mcs_table: int | None = Field(None, ge=0, le=4)
    layers: int | None = Field(None, ge=1, le=4)
    tx_antennas: int | None = Field(None, ge=1, le=4)
    rx_antennas: int | None = Field(None, ge=1, le=8)
    first_symbol: int | None = Field(None, ge=0, le=12)
    symbols: int | None = Field(None, ge=1, le=14)
    dmrs: Dmrs | None = None
    ptrs: Ptrs | None = None
    transform_precoding: bool = Field(False, description="SC-FDMA")
    channel: Channel | None = None
    estimation: Estimation | None = None
    delay_samples: int | None = Field(None, ge=0)
    ldpc_iterations: int | None = Field(None, ge=1, le=255)
    harq_rounds: int | None = Field(None, ge=1, le=15)
    throughput_percent: float | None = Field(
        None, ge=0, le=100, description="from which it counts as decoded"
    )
    srs: bool = Field(False, description="sounding reference signals as well")
    antennas_per_thread: int | None = Field(
        None, ge=1, le=8, description="of channel estimation; from v2.3.0 on"
    )
    snr_db: float | None = None
    snr_last_db: float | None = Field(
        None,
        description=f"it is raised by {SNR_STEP_DB} dB until the slots are decoded; by default 10 dB in all",
    )
    extra: Annotated[tuple[str, ...], Tuple] = Field((), description="more options, as they are")

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
        for option in self.extra:
            if option.startswith(OWN_OPTIONS):
                raise ValueError(f"extra: {option}: the sweep itself decides about {', '.join(OWN_OPTIONS)}")
        return self

    @property
    def snr_points(self) -> int:
        """The most there can be; it stops at the first that is decoded."""
        first = DEFAULT_SNR_DB if self.snr_db is None else self.snr_db
        last = first + DEFAULT_SNR_SPAN_DB if self.snr_last_db is None else self.snr_last_db
        return max(0, math.floor((last - first) / SNR_STEP_DB + 1e-9) + 1)

    def options(self, threads: int) -> tuple[str, ...]:
        """@param threads  0 = without a pool"""
        values = ((option, getattr(self, field)) for option, field in OPTIONS)
        given = (
            _argument(option, value) for option, value in values if value is not None and value is not False
        )
        return (*given, *self.extra, "-P", f"-C{threads}")

    def reason_against(self, oai: str | None) -> str | None:
        """Why this case cannot be run with a version of OAI; None = nothing is known against it."""
        if self.antennas_per_thread is not None:
            reason = reason_against(">=v2.3.0", oai)
            if reason:
                return f"antennas_per_thread: {reason}"
        return reason_against(self.versions, oai)


class SweepDefaults(_Strict):
    """How a sweep is taken, where the command line does not say otherwise."""

    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=1024)], ...], Tuple] = (1, 2, 4)
    spin: Annotated[tuple[Spin, ...], Tuple] = ("off", "auto")
    repeats: Annotated[int, Field(ge=1)] = 5
    cpus: Annotated[str, AfterValidator(_cpus)] | None = None  # to bind runs to, as in 0-3
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
    if scenario in names():
        return INCLUDED / f"{scenario}.toml"
    path = Path(scenario)
    if not path.is_file():
        raise ScenarioError(f"{scenario}: neither a file nor a scenario; there are: {', '.join(names())}")
    return path


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
    made = tuple(_case(path, number, defaults | case) for number, case in enumerate(cases, start=1))
    seen = [case.name for case in made]
    for name in seen:
        if seen.count(name) > 1:
            raise ScenarioError(f"{path}: two cases are called {name}")
    return _validated(Scenario, f"{path}", data | {"name": path.stem, "cases": made})


def _case(path: Path, number: int, fields: dict[str, Any]) -> Case:
    return _validated(Case, f"{path}: case {fields.get('name', number)}", fields)


def _validated(model: type[Model], where: str, fields: dict[str, Any]) -> Model:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise ScenarioError(f"{where}: {f'{field}: ' if field else ''}{message}") from error


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
    seen = [scenario.name for scenario in chosen]
    for name in seen:
        if seen.count(name) > 1:
            raise ScenarioError(f"{cases}: two scenarios are called {name}")
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
    return scenario.model_copy(
        update={"cases": tuple(case for case in scenario.cases if case.name in wanted)}
    )
