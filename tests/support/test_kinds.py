"""Kinds of tests: a test that starts a server in its own body, or through a function of its module, is marked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.database_servers import MariaDb, new_server
from support.kinds import NO_KIND, PROPERTY, STARTERS, kinds, skipped_lines, used_names


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


@pytest.mark.parametrize("server", ["a name"])
def test_an_argument_from_a_table_is_no_fixture_of_the_same_name(request: pytest.FixtureRequest, server: str) -> None:
    assert server == "a name"
    assert kinds(request.node) == (NO_KIND,)


def skipped(reason: str, *kinds: str) -> pytest.TestReport:
    where = ("test_file.py", 1, f"Skipped: {reason}")
    properties = [(PROPERTY, "+".join(kinds))] if kinds else []
    # The keywords of a test have the names of its folders, which are no kinds.
    return pytest.TestReport(
        "id", ("test_file.py", 1, ""), {"mysql": 1}, "skipped", where, "setup", user_properties=properties
    )


def test_each_kind_that_was_skipped_is_a_line_with_its_reason() -> None:
    missing = "MariaDB is missing: .ci/mariadb installs it"
    reports = [
        skipped(missing, "mysql"),
        skipped(missing, "mysql"),
        skipped("no Java", "mysql", "spark"),
        skipped("no clone"),
    ]
    assert skipped_lines(reports) == [
        f"skipped 2 of kind mysql: {missing}",
        "skipped 1 of kind mysql+spark: no Java",
        "skipped 1 of kind plain: no clone",
    ]
