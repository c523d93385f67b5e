# SPDX-License-Identifier: BSD-3-Clause
"""What lines of all results files share: the machine, and the types of their fields."""

import datetime
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Iterator, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

# Bounds are above all that can be measured, and below what numpy and plots take.
Time = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1 << 31)]
Whole = Annotated[int, Field(ge=-(1 << 53), le=1 << 53)]
Amount = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
# Control characters, those that turn the direction of writing, and halves of characters.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
Model = TypeVar("Model", bound=BaseModel)


def moment(text: str) -> datetime.datetime:
    """Of ISO 8601; without a zone it is UTC."""
    time = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")


Began = Annotated[str, AfterValidator(lambda text: text if moment(text) else text)]  # UTC, ISO 8601


class ResultsError(ValueError):
    """A results file that cannot be used; names file and line."""


def printable(data: Any) -> Any:
    """The same with escapes such as \\x1b, in all texts and names, for what a terminal or page would obey."""
    if isinstance(data, str):
        return data if data.isprintable() else UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], data)
    if isinstance(data, dict):
        return {printable(name): printable(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return type(data)(map(printable, data))
    return data


Text = Annotated[str, AfterValidator(printable)]  # from elsewhere


class Strict(BaseModel):
    """A part of a record: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class IdleState(Strict):
    name: str
    exit_latency_us: Whole
    disabled: bool = False


class Host(Strict):
    """The machine, as far as it decides about the figures: host.TEXT explains the fields. No name of the host
    or of its user. None: unknown, or not recorded by an older version. Other fields of those are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    label: str  # in reports; by default the CPU model and the number of CPUs
    id: str  # tells two machines of one model apart; eight hex digits, not traceable
    cpu: str
    cores: Count
    cores_online: Count
    threads_per_core: Count | None = None
    architecture: str
    kernel: str
    preemption: str | None = None
    virtual: bool
    hypervisor: str | None = None
    clocksource: str | None = None
    governor: str | None = None
    frequency_driver: str | None = None
    idle_driver: str | None = None
    idle_governor: str | None = None
    idle_states: tuple[IdleState, ...] = ()
    isolated: str | None = None
    nohz_full: str | None = None
    rcu_nocbs: str | None = None
    mask: str
    quota_cpus: Amount | None = None
    rt_runtime_us: Whole | None = None
    rt_allowed: bool  # whether threads may be real-time
    load: Amount  # of one minute, when the sweep began


def first_error(error: ValidationError) -> str:
    """The field and the error in it."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" if field else message


def read_lines(path: Path, model: type[Model], what: str) -> Iterator[Model]:
    """All records of a file, without control characters. A last line that was cut off by an interruption is
    left out.

    @param what  a record, in the message of an error"""
    try:
        with open(path, "rb", buffering=4 << 20) as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    if line.strip():
                        yield _record(line, model)
                except ValidationError as error:
                    raise ResultsError(f"{path}:{number}: not a {what}: {first_error(error)}") from error
                except (ValueError, RecursionError) as error:
                    if line.endswith(b"\n"):  # else it was being written
                        reason = "nested too deeply" if isinstance(error, RecursionError) else error
                        raise ResultsError(f"{path}:{number}: not JSON: {reason}") from error
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}") from error


def _record(line: bytes, model: type[Model]) -> Model:
    text = line.decode()
    if text.rstrip("\n").isprintable() and "\\" not in text:
        with suppress(ValidationError):  # the slow way says what is wrong
            return model.model_validate_json(text)
    return model.model_validate(printable(json.loads(text)))
