"""Errors of a source, as those of Onefold: some pass, and for others somebody has to do something."""

from __future__ import annotations

import pymysql

from onefold.core.errors import Rejected, TryAgain
from onefold.mysql.connection import LOGIN_REFUSED, server_reason

DENIED = (1044, 1142, 1227)
"""Error codes of a server for a missing right."""


def translated(error: pymysql.err.MySQLError, user: str = "...") -> Exception:
    """Return an error of the server as Rejected if it refuses the user or a right is missing, and otherwise as TryAgain."""
    code, text = (*error.args, "", "")[:2]
    if code in LOGIN_REFUSED:
        return Rejected(
            f"the source refuses the login: {text}: correct host and user, and the password in ONEFOLD_SOURCE_PASSWORD or "
            "--password-from"
        )
    if code in DENIED:
        return Rejected(
            f"the user lacks a right at the source: {text}; run: GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT "
            f"ON *.* TO {user}"
        )
    return TryAgain(f"the source does not answer: {server_reason(error)}: see that it runs and can be reached")
