"""The options that mean the same in every command, and stand before or after it.

An option after the command wins over one before it, and a command line over a variable. A command declares those that it
uses, as it does its own options; `complete` adds the rest: `--config`, `--verbose` and `--quiet` work everywhere, and one
that a command has no use for is an error that says so, where it was typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from onefold.cli.output import OptionOrVariable, verbosity_options


class ConfigPath(click.Path):
    """The file of `--config`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path.

        Raises:
            BadParameter: an empty text, as of a variable of the shell without a value, names no file.
        """
        if value == "":
            self.fail("an empty text names no file: name one, or leave --config out.", param, ctx)
        return super().convert(value, param, ctx)


CONFIG = ConfigPath(dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class CommonOption:
    """An option of every command.

    name: of the parameter that commands get.
    word: as it is typed.
    variable: what gives its value where it is not typed; empty where the settings of the library read it.
    help: what it means, in every command.
    """

    name: str
    word: str
    variable: str
    help: str
    metavar: str | None = None

    def option(self, **how: Any) -> click.Option:
        """Return the option; a flag where it takes no value."""
        kind: dict[str, Any] = {"is_flag": True} if self.metavar is None else {"metavar": self.metavar}
        return OptionOrVariable([self.word, self.name], help=self.help, **kind, **how)


PROJECT = CommonOption("project", "--project", "", "The project.  [default: ONEFOLD_PROJECT, GOOGLE_CLOUD_PROJECT]", "P")
DATASET = CommonOption(
    "dataset",
    "--dataset",
    "ONEFOLD_DATASET",
    "The dataset of tables that are named without one.  [default: ONEFOLD_DATASET]",
    "D",
)
SOURCE = CommonOption(
    "source", "--source", "ONEFOLD_SOURCE", "The database that the command is about.  [default: ONEFOLD_SOURCE]", "NAME"
)
JSON = CommonOption("as_json", "--json", "ONEFOLD_JSON", "Print JSON, for programs.  [default: ONEFOLD_JSON]")
COMMON = (PROJECT, DATASET, SOURCE, JSON)
CONFIG_HELP = "The file of table settings.  [default: ONEFOLD_CONFIG, else onefold.yaml if it exists]"


class Refused(click.Option):
    """A common option that a command has no use for: an error where it is typed."""


def program_options() -> list[click.Parameter]:
    """Return the common options as they stand before a command."""
    found: list[click.Parameter] = [one.option(envvar=one.variable or None) for one in COMMON]
    config = click.Option(["--config"], metavar="FILE", type=CONFIG, help=CONFIG_HELP)
    return [*found, config, *verbosity_options(variables=True)]


def complete(command: click.Command) -> click.Command:
    """Add to a command the common options that it does not declare, and return the command."""
    if isinstance(command, click.Group) and not command.invoke_without_command:
        command.params += verbosity_options(variables=False)
        return command
    names = {parameter.name for parameter in command.params}
    words = {word for parameter in command.params for word in parameter.opts}
    for one in COMMON:
        if one.word not in words and one.name not in names:
            command.params.append(_refused(one))
    if "--config" not in words:
        command.params.append(_config_after())
    command.params += verbosity_options(variables=False)
    return command


def _refused(one: CommonOption) -> click.Option:
    def refuse(context: click.Context, parameter: click.Parameter, value: Any) -> None:  # noqa: ARG001 as click calls it
        """Refuse the option.

        Raises:
            UsageError: it was typed.
        """
        if value:
            raise click.UsageError(f"{context.command_path} takes no {one.word}: leave it out.", context)

    how: dict[str, Any] = {"is_flag": True} if one.metavar is None else {}
    return Refused([one.word, one.name], hidden=True, expose_value=False, callback=refuse, **how)


def _config_after() -> click.Option:
    def note(context: click.Context, parameter: click.Parameter, value: Path | None) -> None:
        """Remember the file.

        Raises:
            BadParameter: it does not exist, before or behind the command.
        """
        context.obj = value or context.obj
        if context.obj and not context.obj.exists():
            raise click.BadParameter(f"File '{context.obj}' does not exist.", context, parameter)

    return click.Option(["--config"], metavar="FILE", type=CONFIG, expose_value=False, callback=note, help=CONFIG_HELP)


class Defaults(dict[str, Any]):
    """What stands before a command, and in variables, as the defaults of the options behind it.

    Click asks it for the value of an option by its name, and for the defaults of a command by the command's.
    """

    def __init__(self, command: click.Command, typed: Mapping[str, Any], variables: Mapping[str, Any]) -> None:
        super().__init__()
        self._command, self._typed, self._variables = command, dict(typed), variables

    def __contains__(self, name: object) -> bool:
        return self.get(name) is not None

    def __getitem__(self, name: str) -> Any:
        return self.get(name)

    def get(self, name: Any, default: Any = None) -> Any:
        """Return the default of an option, or the defaults of a command of this group."""
        command = self._command
        if not isinstance(command, click.Group):
            command = getattr(command, "command", command)  # that of the lab, which is imported when it is used
        if isinstance(command, click.Group) and (found := command.commands.get(name)):
            return Defaults(found, self._typed, self._variables)
        option = next((one for one in command.params if one.name == name), None)
        common = next((one for one in COMMON if option and one.word in option.opts), None)
        if common is None:
            return default
        value = self._typed.get(common.name)
        # `demo --source URL` is no name of a source, which the variable has
        if value is None and not isinstance(option, Refused) and option and option.metavar == common.metavar:
            value = self._variables.get(common.name)
        return default if value is None else (value,) if getattr(option, "multiple", False) else value


def defaults(context: click.Context, values: Mapping[str, Any]) -> Defaults:
    """Return what was given before the command, as the defaults of its options."""
    given = {name: value for name, value in values.items() if value not in (None, False)}
    typed = {name for name in given if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE}
    return Defaults(
        context.command,
        {name: given[name] for name in given if name in typed},
        {name: given[name] for name in given if name not in typed},
    )


def is_typed(context: click.Context, name: str) -> bool:
    """Return whether a common option was typed, before or behind the command, and comes from no variable."""
    typed = click.core.ParameterSource.COMMANDLINE
    return any(one.get_parameter_source(name) is typed for one in (context, context.find_root()))


def used_by(command: click.Command) -> Iterable[CommonOption]:
    """Return the common options that a command uses."""
    own = {word for one in command.params if not isinstance(one, Refused) for word in one.opts}
    return [one for one in COMMON if one.word in own]
