"""The one way to give a password, for who looks for another one."""

from __future__ import annotations

import click

from onefold.cli.capture_options import PASSWORD

_OPTION = "--password-from"


def with_password_advice(error: click.ClickException) -> click.ClickException:
    """Return the error of a command line; that of an option for a password says how the command takes one.

    Args:
        error: the error. Only the name of the option is repeated, never its value.
    """
    if not isinstance(error, click.NoSuchOption) or not error.option_name.startswith("--passw"):
        return error
    words = {word for one in error.ctx.command.params for word in one.opts} if error.ctx else set()
    ways = f"set {PASSWORD}"
    if _OPTION in words:
        ways = f"give {_OPTION} env:NAME, file:PATH or projects/P/secrets/S"
        ways += f", or set {PASSWORD}" if error.ctx and error.ctx.command.name == "capture" else ""
    text = f"No such option: {error.option_name}. Others on this machine can read what is typed: {ways}."
    return click.UsageError(text, error.ctx)
