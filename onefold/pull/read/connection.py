"""Connections to a source: the address for PyMySQL, and the options of Spark's JDBC source. Neither shows the password."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pymysql
from pymysql.constants import CR

from onefold.core.errors import Rejected
from onefold.core.text import reason_of
from onefold.mysql.connection import LOGIN_REFUSED, Address, connect, server_reason
from onefold.settings.sources import Source, Tls

DRIVER = "org.mariadb.jdbc.Driver"
DRIVER_PACKAGE = "org.mariadb.jdbc:mariadb-java-client:3.5.6"
_SSL_MODES = {"verify": "verify-full", "encrypt": "trust", "off": "disable"}
_CONNECT_MILLISECONDS = 10_000
_SILENT_MILLISECONDS = 900_000
"""How long the driver waits for a server that sends nothing; without it a pull would wait for ever. A query whose condition
no index serves may read for minutes before its first row."""
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
_ONLY_ENCRYPTED = 3159
"""The server takes encrypted connections only. MySQL, "Server Error Message Reference", 2026-11."""


def connect_source(source: Source, password: str) -> pymysql.Connection:
    """Open a connection to a source of onefold.yaml. The arguments are those of `address_of`.

    Raises:
        Rejected: the source does not answer, refuses the user, or has a certificate that is not trusted.
    """
    with readable(source, settings_remedy):
        return connect(address_of(source, password))


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
    return Address(source.host, source.port, source.user, password, _tls(source.tls))


def _tls(tls: Tls) -> Mapping[str, Any]:
    if tls.mode == "off":
        return {"ssl_disabled": True}
    authority = _authority(tls)
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


def jdbc_options(source: Source, database: str, password: str) -> dict[str, str]:
    """Return the options of Spark's JDBC source.

    The address begins with `jdbc:mysql`: for `jdbc:mariadb` Spark would quote names as MariaDB quotes texts, and every value
    would be the name of its column.

    Args:
        source: the source.
        database: the database to which the session belongs.
        password: the password itself.

    Examples:
        >>> options = jdbc_options(Source("fraud", "db", user="u", tls=Tls("off")), "models", "secret")
        >>> options["url"]
        'jdbc:mysql://db:3306/models?permitMysqlScheme=true&sslMode=disable&allowLocalInfile=false&connectTimeout=10000&socketTimeout=900000'

    Raises:
        Rejected: the file of the authority cannot be read.
    """
    words = {
        "permitMysqlScheme": "true",
        "sslMode": _SSL_MODES[source.tls.mode],
        "allowLocalInfile": "false",
        "connectTimeout": str(_CONNECT_MILLISECONDS),
        "socketTimeout": str(_SILENT_MILLISECONDS),
    }
    # The certificate itself: the machines that read do not have the file.
    authority = _authority(source.tls)
    host = f"[{source.host}]" if ":" in source.host else source.host
    url = f"jdbc:mysql://{host}:{source.port}/{quote(database, safe='')}?{urlencode(words, safe='/:')}"
    trusted = {"serverSslCert": authority} if authority else {}
    return {"url": url, "driver": DRIVER, "user": source.user, "password": password, **trusted}
