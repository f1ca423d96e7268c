"""Connections to a source of onefold.yaml. Nothing here shows the password."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql
from pymysql.constants import CR

from onefold.core.errors import Rejected
from onefold.core.text import reason_of
from onefold.mysql.connection import LOGIN_REFUSED, Address, connect, query, server_reason
from onefold.settings.sources import Source, Tls

_SILENT_SECONDS = 900
"""How long a server may send nothing. A query whose condition no index serves may read for minutes before its first row."""
# A writer that waits for the store of files is not cut off. A table that somebody has locked is an error after a minute, and
# not after the year of MySQL's default.
_SESSION = "SET net_write_timeout = 3600, lock_wait_timeout = 60"
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
_ONLY_ENCRYPTED = 3159
"""The server takes encrypted connections only. MySQL, "Server Error Message Reference", 2026-11."""


def connect_source(source: Source, password: str) -> pymysql.Connection:
    """Open a connection to a source of onefold.yaml. The arguments are those of `address_of`.

    Raises:
        Rejected: the source does not answer, refuses the user, or has a certificate that is not trusted.
    """
    return SourceConnection.of(source, password)()


@dataclass(frozen=True)
class SourceConnection:
    """Opens connections to a source, also on machines that do not have the file of its authority.

    Attributes:
        source: the source.
        password: the password itself.
        authority: the certificates of the authority; None for those that a machine trusts.
    """

    source: Source
    password: str = field(repr=False)
    authority: str | None = field(repr=False)

    @classmethod
    def of(cls, source: Source, password: str) -> SourceConnection:
        """Read the file of the authority. The arguments and errors are those of `address_of`."""
        return cls(source, password, _authority(source.tls))

    def __call__(self) -> pymysql.Connection:
        """Open a connection.

        Raises:
            Rejected: the source does not answer, refuses the user, or has a certificate that is not trusted.
        """
        with readable(self.source, settings_remedy):
            connection = connect(_address(self.source, self.password, self.authority))
            query(connection, _SESSION)
            return connection


Remedy = Callable[[Source, Exception], str]
"""Says what to do about a source that cannot be read."""


@contextmanager
def readable(source: Source, remedy: Remedy) -> Iterator[None]:
    """Name the source, the reason and the remedy in the errors of its server.

    Raises:
        Rejected: the source does not answer, refuses the user, or has a certificate that is not trusted.
    """
    try:
        yield
    except (pymysql.err.MySQLError, OSError) as error:
        where = f"{source.user}@{source.host}:{source.port}"
        raise Rejected(f"{where} cannot be read: {server_reason(error)}: {remedy(source, error)}") from error


def settings_remedy(source: Source, error: Exception) -> str:
    """Return what to do about a source of onefold.yaml."""
    if _UNTRUSTED in server_reason(error):
        return "name the authority of its certificate in `tls.ca`, and its host as the certificate does"
    return f"correct sources.{source.cluster} in onefold.yaml, or start the server"


def options_remedy(source: Source, error: Exception) -> str:  # noqa: ARG001 as settings_remedy
    """Return what to do about a source that options of a command describe: no onefold.yaml has it yet.

    Examples:
        >>> options_remedy(Source("fraud", "db"), pymysql.err.OperationalError(1045, "Access denied for user 'u'"))
        'correct --user or --password-from'
    """
    code, *_ = error.args or (0,)
    if _UNTRUSTED in server_reason(error):
        return "name the authority of its certificate by --tls-ca, and its --host as the certificate does"
    if code == CR.CR_SSL_CONNECTION_ERROR:
        return "give --tls off, or switch TLS on at the server"
    if code == _ONLY_ENCRYPTED:
        return "give --tls verify or --tls encrypt"
    if code in LOGIN_REFUSED:
        return "correct --user or --password-from"
    return "correct --host or --port, or start the server"


def address_of(source: Source, password: str) -> Address:
    """Return the address of a source for PyMySQL.

    Args:
        source: the source.
        password: the password itself.

    Raises:
        Rejected: the file of the authority cannot be read.
    """
    return _address(source, password, _authority(source.tls))


def _address(source: Source, password: str, authority: str | None) -> Address:
    tls = _tls(source.tls, authority)
    return Address(source.host, source.port, source.user, password, tls, _SILENT_SECONDS)


def _tls(tls: Tls, authority: str | None) -> Mapping[str, Any]:
    if tls.mode == "off":
        return {"ssl_disabled": True}
    try:
        context = ssl.create_default_context(cadata=authority)
    except ssl.SSLError as error:
        raise Rejected(f"tls.ca {tls.ca}: expected certificates in PEM, got none: name another file") from error
    if tls.mode == "encrypt":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return {"ssl": context}


def _authority(tls: Tls) -> str | None:
    """Return the certificates of the authority; None for those that the machine trusts.

    Raises:
        Rejected: the file cannot be read.
    """
    if tls.ca is None or tls.mode != "verify":
        return None
    try:
        return Path(tls.ca).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected(f"tls.ca {tls.ca} cannot be read: {reason_of(error)}: name the file of its certificate") from error
