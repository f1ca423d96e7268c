"""The question before a command destroys or rewrites something."""

from __future__ import annotations

import sys

import click

from onefold.cli.common import say
from onefold.core.errors import Rejected

yes_option = click.option("--yes", is_flag=True, help="Do not ask before something is destroyed or rewritten.")


def confirm(yes: bool, act: str) -> None:
    """Ask on a terminal whether to go on; elsewhere go on with a warning, until the next release refuses.

    Args:
        yes: the option `--yes`, which answers the question.
        act: what would be done, as in `rewrite shop.customer_base from its whole history`.

    Raises:
        Rejected: the answer is no.
    """
    if yes:
        return
    if is_terminal():
        ask(f"This will {act}. Go on?")
    else:
        say("yellow", f"Warning: this will {act}; without a terminal, the next release refuses it without --yes")


def ask(question: str) -> None:
    """Ask a question whose answer `no`, an empty one and the end of the input end the command.

    Raises:
        Rejected: the answer is not yes.
        Abort: Ctrl-C.
    """
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise
        agreed = False
    if not agreed:
        raise Rejected("the answer was no, so nothing was changed; --yes does not ask")


def is_terminal() -> bool:
    """Return whether there is a person to ask."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
