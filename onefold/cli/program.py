"""The program and its groups of commands: common options, and help in the order of use."""

from __future__ import annotations

import click

from onefold.cli.common_options import complete
from onefold.cli.output import ErrorsInForm

GROUPS = {
    "Start": ("init", "demo", "doctor", "local"),
    "Tables and views": ("tables", "plan", "refresh", "current", "merge", "query", "render", "publish"),
    "Capture": ("capture",),
    "Pulls": ("sources",),
    "Events": ("schema", "load-shredded"),
    "Checks": ("check", "compare", "workload"),
    "Access": ("access", "policies"),
    "Settings and jobs": ("settings", "batch"),
}
"""The commands as `onefold --help` shows them."""


class CommandGroup(click.Group):
    """A group of commands, each of which takes the common options."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        super().add_command(complete(cmd), name)


class Program(ErrorsInForm, CommandGroup):
    """All commands."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 as click calls it
        for title, names in GROUPS.items():
            found = [(name, self.commands[name]) for name in names if name in self.commands]
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(formatter.width)) for name, command in found])
