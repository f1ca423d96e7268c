"""XA transactions of one test."""

from __future__ import annotations

from contextlib import closing

import pytest
from support.source_database import SourceDatabase

from onefold.mysql.connection import connect, query


class Xa:
    """XA transactions of one database; each session is closed after it has prepared its transaction."""

    def __init__(self, source: SourceDatabase) -> None:
        self._source = source

    def prepare(self, *statements: str, xid: str = "x") -> None:
        self._source.prepare(self._name(xid), *statements)

    def end(self, how: str, xid: str = "x") -> None:
        with closing(connect(self._source.server.address)) as connection:
            query(connection, f"XA {how} {self._name(xid)}")

    def _name(self, xid: str) -> str:
        return f"'{self._source.name}', '{xid}', 7"


@pytest.fixture
def xa(source: SourceDatabase) -> Xa:
    """Return the XA transactions of the test's database."""
    return Xa(source)
