"""The commands of `onefold changes`: what changed in tables, and who sees it."""

from __future__ import annotations

import click

from onefold.cli.changes_page import page
from onefold.cli.program import CommandGroup


class ChangesGroup(CommandGroup):
    """The group. The option `--page` without a command chooses the command `page`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_page = any(word == "--page" or word.startswith("--page=") for word in args)
        return super().parse_args(ctx, ["page", *args] if is_page and args[0] not in self.commands else args)


@click.group(cls=ChangesGroup)
def changes() -> None:
    """Show what changed: versions, types and settings of tables, and what readers of views notice."""


changes.add_command(page)
