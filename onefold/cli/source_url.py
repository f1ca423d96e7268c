"""The server that `--source mysql://USER@HOST` names, with the password that no argument has."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from onefold.cli.capture_options import PASSWORD
from onefold.core.errors import InvalidInput

if TYPE_CHECKING:
    from onefold.mysql.connection import Address
    from onefold.mysql.source_url import SourceUrl


def address_of(url: SourceUrl, environ: Mapping[str, str]) -> Address:
    """Return the address of a server, with the password from the environment or from the terminal.

    Raises:
        InvalidInput: the variable is not set, and there is no terminal.
    """
    from onefold.mysql.connection import Address

    return Address(url.host, url.port, url.user, _password(url, environ))


def _password(url: SourceUrl, environ: Mapping[str, str]) -> str:
    """Return the password from the environment, or ask for it on the terminal.

    Raises:
        InvalidInput: the variable is not set, and there is no terminal.
    """
    if PASSWORD in environ:
        return environ[PASSWORD]
    if not sys.stdin.isatty():
        raise InvalidInput(f"the user's password is missing: set {PASSWORD}, to an empty text if the user has none")
    question = f"Password of {url.user} at {url.host}"
    return str(click.prompt(question, default="", show_default=False, hide_input=True, err=True))
