"""The commands of `onefold changes`: what changed in tables, and who sees it; by default a list of changes."""

from __future__ import annotations

import click

from onefold.cli.changes_decide import accept, reject
from onefold.cli.changes_list import create, list_
from onefold.cli.changes_notify import notify
from onefold.cli.changes_page import page
from onefold.cli.changes_readers import readers
from onefold.cli.program import CommandGroup


class ChangesGroup(CommandGroup):
    """The group. Without a command, the option `--page` chooses the command `page`, and anything else the command `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and (args[0] in self.commands or args[0] in ctx.help_option_names):
            return super().parse_args(ctx, args)
        is_page = any(word == "--page" or word.startswith("--page=") for word in args)
        return super().parse_args(ctx, ["page" if is_page else "list", *args])


@click.group(cls=ChangesGroup)
def changes() -> None:
    """Show what changed: versions, types and settings of tables, and what readers of views notice.

    `onefold changes shop.customer` lists the changes of a table, as `onefold changes list shop.customer` does.
    """


for command in (list_, accept, reject, create, notify, page, readers):
    changes.add_command(command)
