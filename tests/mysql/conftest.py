"""Servers of their own for the tests that stop a server or change its settings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.capture import Bench, bench_of
from support.database_servers import DatabaseServer, MariaDb, MySql, new_server
from support.source_database import SourceDatabase
from support.transactions import TABLES


@pytest.fixture(scope="module")
def others() -> Iterator[Callable[[type[DatabaseServer]], DatabaseServer]]:
    """One server of each kind that is asked for."""
    with ExitStack() as stack:
        yield functools.cache(lambda kind: stack.enter_context(new_server(kind)))


@pytest.fixture(params=[MariaDb, MySql], ids=lambda kind: kind.__name__)
def other(request: pytest.FixtureRequest, others: Callable[[type[DatabaseServer]], DatabaseServer]) -> DatabaseServer:
    """A server for tests that stop it or change its settings."""
    return others(request.param)


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    source.run(*TABLES[:3])
    return bench_of(source, tmp_path)
