"""The commands `demo` and `local`, which the lab has: a distribution of its own, `onefold-lab`."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import click

from onefold.cli.common_options import complete
from onefold.cli.examples import epilog
from onefold.cli.program import give_examples
from onefold.core.extras import from_lab


class LabCommand(click.Command):
    """A command of the lab, which is looked for when it is used; without the lab it says how to install it."""

    @cached_property
    def command(self) -> click.Command:
        """The command itself.

        Raises:
            Rejected: the lab is not installed.
        """
        found = complete(cast("click.Command", from_lab(str(self.name))))
        found.epilog = epilog(str(self.name))
        if isinstance(found, click.Group):
            give_examples(found, f"{self.name} ")
        return found

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Return the context of the command itself, which click then invokes.

        Raises:
            Rejected: the lab is not installed.
        """
        return self.command.make_context(*args, **extra)


demo = LabCommand("demo", help="Show the main jobs on this machine, with example tables or with your own database.")
local = LabCommand("local", help="Run the embedded BigQuery and the functions on this machine, and work with them.")
