"""Servers for tests that stop a server or change its settings, and capture of a database with three tables."""

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
    """Start one server of each requested kind."""
    with ExitStack() as stack:
        yield functools.cache(lambda kind: stack.enter_context(new_server(kind)))


@pytest.fixture(params=[MariaDb, MySql], ids=lambda kind: kind.__name__)
def other(request: pytest.FixtureRequest, others: Callable[[type[DatabaseServer]], DatabaseServer]) -> DatabaseServer:
    """Return a server that a test may stop or whose settings a test may change."""
    return others(request.param)


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    """Return the capture of a database with the tables t, u and m."""
    source.run(*TABLES[:3])
    return bench_of(source, tmp_path)
