"""The program and its groups of commands: common options, and help in the order of use."""

from __future__ import annotations

from typing import Any

import click

from onefold.cli.common_options import complete
from onefold.cli.examples import epilog
from onefold.cli.output import ErrorsInForm
from onefold.cli.renamed import with_present_names

GROUPS = {
    "Start": ("init", "demo", "doctor", "local"),
    "Tables of other tools": ("discover", "audit"),
    "Tables and views": ("tables", "cost", "plan", "refresh", "current", "merge", "query", "render", "publish", "export"),
    "Changes": ("changes",),
    "Capture": ("capture",),
    "Pulls": ("sources",),
    "Events": ("schema", "load-shredded", "external-tables", "bad-rows"),
    "Checks": ("check", "compare", "workload"),
    "Access": ("access", "policies"),
    "Settings and jobs": ("settings", "batch"),
}
"""The commands as the help of the program shows them."""


class CommandGroup(click.Group):
    """A group of commands, each of which takes the common options."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        super().add_command(complete(cmd), name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that words begin with, and the words behind it, with the present names of its options."""
        name, command, words = super().resolve_command(ctx, args)
        path = " ".join([*ctx.command_path.split()[1:], str(name)])
        return name, command, with_present_names(path, words)


def give_examples(group: click.Group, prefix: str = "") -> None:
    """Put examples at the end of the help of each command of a group."""
    for name, command in group.commands.items():
        command.epilog = command.epilog or epilog(f"{prefix}{name}")
        if isinstance(command, click.Group):
            give_examples(command, f"{prefix}{name} ")


class Program(ErrorsInForm, CommandGroup):
    """All commands."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Return the context of the program, after each command has got its examples."""
        give_examples(self)
        return super().make_context(*args, **extra)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 as click calls it
        for title, names in GROUPS.items():
            found = [(name, self.commands[name]) for name in names if name in self.commands]
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(formatter.width)) for name, command in found])
