"""What all commands print alike: the JSON of `--json`, and more or less text with `--verbose` and `--quiet`."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console

from onefold.cli.unforeseen import as_onefold_error
from onefold.cli.warehouse import with_near_name

_JSON, _PRINTED, _VERBOSITY = "onefold.json", "onefold.printed", "onefold.verbosity"
_PARTS = "onefold.parts"
_QUIET, _VERBOSE = -1, 1
_UNWRAPPED = 10_000
"""The width of lines that nobody sees on a terminal."""
ENDS = (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError)
"""By these click ends a command, and says so itself."""


def is_quiet() -> bool:
    """Return whether the command was given `--quiet`."""
    return _verbosity() == _QUIET


def is_verbose() -> bool:
    """Return whether the command was given `--verbose`."""
    return _verbosity() == _VERBOSE


def echo_json(results: Sequence[Any], *, warnings: Iterable[str] = (), errors: Iterable[str] = ()) -> None:
    """Print the one JSON object of a command, whose form is the same for all commands (docs/reference/json.md).

    Args:
        results: one entry for each thing that the command worked on.
        warnings: warnings that belong to no entry.
        errors: errors that belong to no entry.
    """
    meta = click.get_current_context().meta
    document = {"command": meta[_JSON], "results": list(results), "warnings": list(warnings), "errors": list(errors)}
    if _PARTS in meta:
        meta[_PARTS].append(document)
        return
    meta[_PRINTED] = True
    click.echo(json.dumps(document))


@contextmanager
def one_document() -> Iterator[list[str]]:
    """Gather what the block prints as JSON into one object. Yields a list for further errors of the block."""
    meta = click.get_current_context().meta
    parts: list[dict[str, list[Any]]] = []
    errors: list[str] = []
    meta[_PARTS] = parts
    try:
        yield errors
    finally:
        del meta[_PARTS]
    if meta.get(_JSON):
        results, warnings, own = (
            [one for part in parts for one in part[name]] for name in ("results", "warnings", "errors")
        )
        echo_json(results, warnings=dict.fromkeys(warnings), errors=dict.fromkeys([*own, *errors]))


def output_console() -> Console:
    """Return the console of results. Lines that go into a file or another program are not wrapped."""
    is_shown = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(highlight=False, emoji=False, width=None if is_shown else _UNWRAPPED)


def show_traceback(error: BaseException) -> None:
    """Print where an error comes from, with `--verbose` only."""
    if is_verbose():
        click.echo("".join(traceback.format_exception(error)), err=True)


def note_json(context: click.Context, parameter: click.Parameter, value: bool) -> bool:  # noqa: ARG001 as click calls it
    """Remember the name of a command that has to print JSON, so that an error is JSON as well."""
    context.meta[_JSON] = _name_of(context) if value else None
    return value


def _name_of(context: click.Context) -> str:
    """Return the name of a command with the groups that it is in, `schema key create`."""
    above = f"{_name_of(context.parent)} " if context.parent and context.parent.parent else ""
    return f"{above}{context.info_name}"


class ErrorsInForm(click.Group):
    """The group of all commands: each prints its errors in the form of its results."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command.

        Raises:
            OnefoldError: as the command, and for any other error of it; the caller prints the error on standard error.
        """
        try:
            return super().invoke(ctx)
        except Exception as unknown:
            if isinstance(unknown, ENDS):
                raise
            error = with_near_name(as_onefold_error(unknown))
            show_traceback(unknown)
            if ctx.meta.get(_JSON) and not ctx.meta.get(_PRINTED):
                echo_json([], errors=str(error).splitlines())
            raise error from unknown


def verbosity_options(variables: bool) -> list[click.Parameter]:
    """Return `--verbose` and `--quiet`.

    Args:
        variables: whether ONEFOLD_VERBOSE and ONEFOLD_QUIET give their values where they are not typed.
    """
    return [
        _flag("-v", "--verbose", _VERBOSE, "Print more.", "ONEFOLD_VERBOSE" if variables else None),
        _flag("-q", "--quiet", _QUIET, "Print less.", "ONEFOLD_QUIET" if variables else None),
    ]


class OptionOrVariable(click.Option):
    """An option that a variable may give: an error of its value names the variable."""

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the value.

        Raises:
            BadParameter: the option has no such value.
            UsageError: the variable has none.
        """
        try:
            return super().type_cast_value(ctx, value)
        except click.BadParameter as error:
            if ctx.get_parameter_source(str(self.name)) is not click.core.ParameterSource.ENVIRONMENT:
                raise
            reason = "expected 1 or 0: set it to one of these, or unset it." if self.is_flag else error.message
            raise click.UsageError(f"{self.envvar}={value}: {reason}", ctx) from error


def _flag(short: str, long: str, verbosity: int, help_: str, variable: str | None) -> click.Option:
    def note(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        """Remember the choice; a typed one wins over a variable.

        Raises:
            UsageError: both options are typed.
        """
        if not value:
            return
        typed = context.get_parameter_source(str(parameter.name)) is click.core.ParameterSource.COMMANDLINE
        before, was_typed = context.meta.get(_VERBOSITY, (verbosity, False))
        if typed and was_typed and before != verbosity:
            raise click.UsageError("--verbose and --quiet exclude each other: leave one out.", context)
        if typed or not was_typed:
            context.meta[_VERBOSITY] = (verbosity, typed)

    return OptionOrVariable([short, long], is_flag=True, expose_value=False, callback=note, help=help_, envvar=variable)


def _verbosity() -> int:
    context = click.get_current_context(silent=True)
    return int(context.meta.get(_VERBOSITY, (0, False))[0]) if context else 0
