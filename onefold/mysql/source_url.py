"""The URL of a MySQL or MariaDB, as people type it: `mysql://user@host:port/database`, never with a password."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from onefold.core.errors import InvalidInput

_PORT = 3306
_SCHEMES = ("mysql", "mariadb")
_FORM = "mysql://USER@HOST[:PORT][/DATABASE]"


@dataclass(frozen=True)
class SourceUrl:
    """The parts of `mysql://user@host:port/database`."""

    host: str
    port: int
    user: str
    database: str | None = None


def parse_source(url: str) -> SourceUrl:
    """Parse the URL of a source.

    Raises:
        InvalidInput: all problems. Their texts never contain the URL, which may contain a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidInput(f"--source is not the URL of a database: write {_FORM}, without a password") from error
    if problems := list(_problems(parts)):
        raise InvalidInput(problems)
    database = unquote(parts.path.strip("/")) or None
    return SourceUrl(parts.hostname or "", port or _PORT, unquote(parts.username or ""), database)


def _problems(parts: SplitResult) -> Iterator[str]:
    if parts.scheme not in _SCHEMES:
        yield f"--source is not a URL of MySQL or MariaDB: write {_FORM}"
        return
    if parts.password is not None:
        yield (
            "--source contains a password, which every user of this machine could read: leave it out, and set "
            "ONEFOLD_SOURCE_PASSWORD or type it when the command asks for it"
        )
    if not parts.username:
        yield f"--source names no user: write {_FORM}"
    if not parts.hostname:
        yield f"--source names no host: write {_FORM}"
    if "/" in parts.path.strip("/"):
        yield f"--source names more than one database: write {_FORM}, with one database"
    if parts.query or parts.fragment:
        yield "--source ends in options, and no option is supported: write % in a name as %25, ? as %3F, # as %23"
