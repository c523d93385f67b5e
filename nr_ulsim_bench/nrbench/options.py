# SPDX-License-Identifier: BSD-3-Clause
"""What the command lines share: how a program looks, and the options of a command, declared once: as the
fields of a dataclass."""

from __future__ import annotations

import functools
import inspect
from typing import Annotated, Any, Callable, NamedTuple, TypeVar, get_args, get_type_hints

import typer

T = TypeVar("T")


def program(about: str) -> typer.Typer:
    """@param about  first line of its help"""
    return typer.Typer(
        help=about,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


class Given(NamedTuple):
    """How the command line gives an option whose field holds something else."""

    kind: Any
    read: Callable[[Any], Any]  # from what is given to the field's value; ValueError: the reason


def command_of(options: type[T]) -> Callable[[Callable[[T], int | None]], Callable[..., int | None]]:
    """Makes a function that typer makes a command of: its parameters are the fields of the dataclass that
    are Annotated with what typer wants to know of each."""
    parameters, given_as = [], {}
    for name, hint in get_type_hints(options, include_extras=True).items():
        kind, *about = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
        if not about:
            continue
        default = getattr(options, name)
        if isinstance(about[0], Given):
            given_as[name], default = about.pop(0), None
            kind = given_as[name].kind
        annotation = Annotated[kind, about[0]]  # type: ignore[valid-type]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, keyword, default=default, annotation=annotation))

    def decorate(run: Callable[[T], int | None]) -> Callable[..., int | None]:
        @functools.wraps(run)
        def command(**given: Any) -> int | None:
            for name, way in given_as.items():
                value = given.pop(name)
                if value is not None:
                    given[name] = way.read(value)
            return run(options(**given))

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        return command

    return decorate
