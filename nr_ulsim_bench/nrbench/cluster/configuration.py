# SPDX-License-Identifier: BSD-3-Clause
"""A configuration file, such as that of slurm:FILE, in TOML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from nrbench.driver import BenchError
from nrbench.record import first_error

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Model = TypeVar("Model", bound=BaseModel)


def read_configuration(way: str, path: str, model: type[Model]) -> Model:
    """@param path  empty: all defaults
    @raise BenchError  names the file and what is wrong in it"""
    try:
        return model.model_validate(tomllib.loads(Path(path).read_text()) if path else {})
    except OSError as error:
        raise BenchError(f"--cluster {way}:{path}: {error.strerror}") from error
    except ValidationError as error:
        raise BenchError(f"{path}: {first_error(error)}") from error
    except ValueError as error:  # no TOML, no text
        raise BenchError(f"{path}: {error}") from error
