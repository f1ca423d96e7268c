"""Kinds of tests: a test that starts a server in its own body, or through a function of its module, is marked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.database_servers import MariaDb, new_server
from support.kinds import STARTERS, used_names


def starts_a_server() -> None:
    with new_server(MariaDb):
        pass


@contextmanager
def pair() -> Iterator[None]:
    starts_a_server()
    yield


def starts_a_pair() -> None:
    with pair():
        pass


def starts_one_in_a_comprehension() -> None:
    assert [None for _ in range(2) if new_server(MariaDb)]


@given(st.integers())
def starts_one_for_each_example(_: int) -> None:
    starts_a_server()


def starts_nothing() -> None:
    assert Path("new_server")


@pytest.mark.parametrize(
    "test", [starts_a_server, starts_a_pair, starts_one_in_a_comprehension, starts_one_for_each_example]
)
def test_a_test_that_starts_a_server_is_recognized(test: object) -> None:
    assert callable(test)
    assert STARTERS["mysql"] & used_names(test)


def test_a_test_that_starts_no_server_is_not_recognized() -> None:
    assert not STARTERS["mysql"] & used_names(starts_nothing)
