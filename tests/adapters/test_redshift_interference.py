"""Loads into Redshift while others load, while loaders are killed, and while the Data API fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from support.redshift_loads import TABLE, load_all, recorded, rows, warehouse
from support.redshift_runs import event_table, stored
from support.redshift_server import SCHEMA, RedshiftServer
from support.turns import at_once

from onefold.core.errors import OnefoldError, TryAgain
from onefold.core.shred_options import FileFormat
from onefold.ports.event_tables import LoadResult

FORMATS: tuple[FileFormat, ...] = ("csv", "parquet")


@pytest.mark.parametrize("format_", FORMATS)
def test_two_loaders_at_once_load_a_run_once(redshift: RedshiftServer, format_: FileFormat) -> None:
    tables = {name: event_table(f"com_acme_{name}_1", n="INT") for name in "abc"}
    loads = [stored(1, table, [{"id_": name, "n": 1}], format_=format_) for name, table in tables.items()]
    results: list[Sequence[LoadResult] | OnefoldError] = []

    def work() -> None:
        try:
            results.append(load_all(loads))
        except OnefoldError as error:
            results.append(error)

    at_once(work, work, work)
    assert [one if isinstance(one, OnefoldError) else [r.error for r in one] for one in results] == [[None] * 3] * 3
    assert [rows(redshift, load.table, "root_id, n") for load in loads] == [[("a", 1)], [("b", 1)], [("c", 1)]]
    assert len(recorded(redshift)) == 3


def test_a_loader_that_waits_for_the_lock_sees_what_the_first_has_recorded(redshift: RedshiftServer) -> None:
    load = stored(1, TABLE, [{"id_": "a", "n": 1}])
    to = warehouse()
    to.prepare()
    to.create(TABLE)
    copying, go_on = threading.Event(), threading.Event()

    def hold(text: str) -> None:
        if text.startswith("COPY ") and not copying.is_set():
            copying.set()
            assert go_on.wait(300)

    redshift.before = hold
    (left,) = to.load([load], wait=0.0)
    assert isinstance(left.error, TryAgain)
    assert copying.wait(300)
    late: list[Sequence[LoadResult]] = []
    second = threading.Thread(target=lambda: late.append(warehouse().load([load])))
    second.start()
    while sum(text.startswith("LOCK") for text in redshift.log) < 2:
        threading.Event().wait(0.01)
    go_on.set()
    second.join()
    assert [result.error for result in late[0]] == [None]
    assert rows(redshift) == [("a", 1, None)]
    assert len(recorded(redshift)) == 1


@pytest.mark.long
@pytest.mark.parametrize("format_", FORMATS)
def test_a_run_that_is_killed_before_any_call_is_finished_by_the_next(redshift: RedshiftServer, format_: FileFormat) -> None:
    load = stored(1, TABLE, [{"id_": "a", "n": 1}], format_=format_)
    number = 0
    while _dies_at(redshift, number, lambda: load_all([load])):
        assert rows(redshift) == [("a", 1, None)]
        assert len(recorded(redshift)) == 1
        number += 1
    assert number > 10


class Killed(BaseException):
    """The process ends at a call of the API."""


def _dies_at(redshift: RedshiftServer, number: int, work: Callable[[], object]) -> bool:
    """Run a loader that dies at one of its calls, on an empty schema; then another to the end. Return whether one died."""
    redshift.run(f"DROP SCHEMA {SCHEMA} CASCADE", f"CREATE SCHEMA {SCHEMA}")
    from onefold.adapters.redshift.data_api import DataApi

    calls = iter(range(1_000))
    original = DataApi._call

    def call(self: DataApi, operation: str, **arguments: Any) -> dict[str, Any]:
        if operation != "describe_statement" and next(calls) == number:
            raise Killed
        return original(self, operation, **arguments)

    DataApi._call = call  # type: ignore[method-assign]
    died = False
    try:
        work()
    except Killed:
        died = True
    finally:
        DataApi._call = original  # type: ignore[method-assign]
    work()
    return died


def test_a_submission_whose_answer_is_lost_runs_once(redshift: RedshiftServer) -> None:
    load = stored(1, TABLE, [{"id_": "a", "n": 1}])
    to = warehouse()
    to.prepare()
    to.create(TABLE)
    before = len(redshift.statements)
    redshift.lost = 1
    assert to.load([load])[0].error is None
    assert len(redshift.statements) == before + 1
    assert rows(redshift) == [("a", 1, None)]


@pytest.mark.parametrize("code", ["ThrottlingException", "ActiveStatementsExceededException", "InternalServerException"])
def test_an_error_of_the_api_that_may_pass_is_tried_again(redshift: RedshiftServer, code: str) -> None:
    redshift.refusals = [f"{code}: later"] * 2
    warehouse().prepare()
    assert warehouse().find("onefold_manifest")


def test_an_api_that_stays_busy_is_left_for_later(redshift: RedshiftServer) -> None:
    redshift.refusals = ["ActiveStatementsExceededException: too many"] * 30
    with pytest.raises(TryAgain, match="too many"):
        warehouse().prepare()


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("error", ["1023 DETAIL: Serializable isolation violation on table", "deadlock detected"])
def test_a_transaction_that_redshift_gave_up_is_run_again(redshift: RedshiftServer, error: str, format_: FileFormat) -> None:
    load = stored(1, TABLE, [{"id_": "a", "n": 1}], format_=format_)
    to = warehouse()
    to.prepare()
    to.create(TABLE)
    left = [error, error]

    def fail(text: str) -> None:
        if text.startswith("INSERT") and left:
            raise RuntimeError(left.pop())

    redshift.before = fail
    assert to.load([load])[0].error is None
    assert rows(redshift) == [("a", 1, None)]
    tokens = [token for token, id_ in redshift.tokens.items() if redshift.statements[id_].is_batch]
    assert len(set(tokens)) == 3
