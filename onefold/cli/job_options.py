"""The arguments of a job, as options of a command that does the same."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

import click

from onefold.batches.declaration import JobArguments, Option

Command = TypeVar("Command", bound=Callable[..., Any])


def job_options(declared: type[JobArguments], without: Collection[str]) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of a job to a command, under the names of the fields.

    Args:
        declared: the arguments of the job: texts, numbers and flags.
        without: the fields that the command takes as its own arguments.
    """

    def decorate(command: Command) -> Command:
        for option in reversed(declared.options()):
            if option.field not in without:
                command = _click_option(option)(command)
        return command

    return decorate


def _click_option(option: Option) -> Callable[[Command], Command]:
    text = option.argument.help
    default = f"  [default: {option.default_text}]" if option.default_text else ""
    how: dict[str, Any] = (
        {"is_flag": True} if option.type is bool else {"type": option.type, "metavar": option.argument.metavar}
    )
    return click.option(
        option.word,
        option.field,
        default=option.default,
        help=f"{text[0].upper()}{text[1:]}.{default}",
        **how,
    )
