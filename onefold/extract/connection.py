"""Connections to a source: the address for PyMySQL, and the options of Spark's JDBC source. Neither shows the password."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from onefold.mysql.connection import Address
from onefold.settings.sources import Source, Tls

DRIVER = "org.mariadb.jdbc.Driver"
DRIVER_PACKAGE = "org.mariadb.jdbc:mariadb-java-client:3.5.6"
_SSL_MODES = {"verify": "verify-full", "encrypt": "trust", "off": "disable"}


def address_of(source: Source, password: str) -> Address:
    """Return the address of a source for PyMySQL.

    Args:
        source: the source.
        password: the password itself.
    """
    return Address(source.host, source.port, source.user, password, _tls(source.tls))


def _tls(tls: Tls) -> Mapping[str, Any]:
    if tls.mode == "off":
        return {"ssl_disabled": True}
    context = ssl.create_default_context(cafile=tls.ca)
    if tls.mode == "encrypt":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return {"ssl": context}


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
        'jdbc:mysql://db:3306/models?permitMysqlScheme=true&sslMode=disable&allowLocalInfile=false'
    """
    words = {"permitMysqlScheme": "true", "sslMode": _SSL_MODES[source.tls.mode], "allowLocalInfile": "false"}
    if source.tls.ca and source.tls.mode == "verify":
        words["serverSslCert"] = source.tls.ca
    host = f"[{source.host}]" if ":" in source.host else source.host
    url = f"jdbc:mysql://{host}:{source.port}/{quote(database, safe='')}?{urlencode(words, safe='/:')}"
    return {"url": url, "driver": DRIVER, "user": source.user, "password": password}
