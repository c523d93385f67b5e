# SPDX-License-Identifier: BSD-3-Clause
"""What the command lines share: how a program looks and tells its errors, and the options of a command,
declared once: as the fields of a dataclass."""

import functools
import inspect
import sys
from contextlib import suppress
from typing import Annotated, Any, Callable, NamedTuple, TypeVar, get_args, get_type_hints

import typer

from nrbench.needed import STATUS
from nrbench.version import VERSION

T = TypeVar("T")
Command = Callable[..., int | None]
CLOSED_PIPE = 141  # exit status of a program whose reader has gone, as shells have it


def _print_version(context: typer.Context, asked: bool) -> None:
    if asked:
        print(context.command.name, VERSION)
        raise typer.Exit


_VERSION = typer.Option("--version", callback=_print_version, is_eager=True, help="print the version")


def _options(version: Annotated[bool, _VERSION] = False) -> None:
    """Of the program, before a command."""


class Program:
    """A program with commands. @param errors  that the user can mend, beside those of the system"""

    def __init__(self, name: str, about: str, errors: tuple[type[Exception], ...]) -> None:
        self.name, self.errors = name, errors
        self.app = typer.Typer(
            name=name, help=about, add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True,
            rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]},
        )  # fmt: skip
        self.app.callback()(_options)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Command], Command]:
        """Makes a function a command; its result is the exit status. Errors that the user can mend become one
        line; anything else is a defect and keeps its traceback. @param settings  of click's context"""

        def decorate(function: Command) -> Command:
            @functools.wraps(function)
            def guarded(**given: Any) -> None:
                try:
                    status = function(**given) or 0
                    print(end="", flush=True)  # here, where an error of standard output has a status
                    raise typer.Exit(status)
                except OSError as error:
                    message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
                    if error.filename is None:  # perhaps standard output
                        with suppress(OSError):
                            sys.stdout.close()  # or the interpreter writes again when it ends
                    if isinstance(error, BrokenPipeError):
                        raise typer.Exit(CLOSED_PIPE) from None
                except self.errors as error:
                    message = str(error)
                print(f"{self.name}: {message}", file=sys.stderr)
                raise typer.Exit(STATUS)

            return self.app.command(name, context_settings=settings)(guarded)

        return decorate


class Given(NamedTuple):
    """How the command line gives an option whose field holds something else."""

    kind: Any
    read: Callable[[Any], Any]  # from what is given to the field's value; ValueError: the reason


def command_of(options: type[T]) -> Callable[[Callable[[T], int | None]], Command]:
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

    def decorate(run: Callable[[T], int | None]) -> Command:
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
