"""New versions: the table is there and announced before its first row; and which tables follow others below the log."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from capturing import DATASET, MemoryTables, RecordingPublisher

from onefold.capture.announcing import Announcer, Target
from onefold.capture.cascades import Cascades, cascades_of
from onefold.capture.columns import versioned_table
from onefold.capture.information_schema import TableName
from onefold.capture.log_events import Place, RowsChanged
from onefold.capture.patterns import Patterns
from onefold.capture.row_image import Row
from onefold.capture.source_events import source_event
from onefold.capture.stopping import Stop
from onefold.capture.structure import SourceColumn, SourceType, Structure
from onefold.errors import SchemaConflict, TryAgain
from onefold.names import TableId
from onefold.types import parse_type
from onefold.versions import Column
from onefold.warehouse import StoredTable

INT = SourceType("int")
CUSTOMER = Structure("customer", (SourceColumn("id", INT), SourceColumn("name", SourceType("text"), "utf8mb4")), ("id",))
TABLE = versioned_table(CUSTOMER)


@pytest.fixture
def target() -> Target:
    return Target(MemoryTables(), RecordingPublisher(), DATASET, "table-created")


def announcer(target: Target) -> Announcer:
    return Announcer(target, Stop())


def announced(target: Target) -> int:
    assert isinstance(target.publisher, RecordingPublisher)
    return len(target.publisher.bodies("table-created"))


def test_a_version_is_announced_once_by_a_process_and_again_by_the_next(target: Target) -> None:
    first = announcer(target)
    assert first.table(CUSTOMER) == first.table(CUSTOMER) == TABLE
    assert announced(target) == 1
    announcer(target).table(CUSTOMER)
    assert announced(target) == 2


def test_the_table_is_there_before_it_is_announced(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    there: list[bool] = []
    found = target.warehouse.read_table
    publish = lambda *_: there.append(found(TableId("p", DATASET, TABLE.name)) is not None)  # noqa: E731
    monkeypatch.setattr(target.publisher, "publish", publish)
    announcer(target).table(CUSTOMER)
    assert there == [True]


def test_trouble_that_may_pass_is_waited_out(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onefold.capture.announcing._FIRST_PAUSE", 0.01)
    create, tries = target.warehouse.create_table, iter([TryAgain("503"), TryAgain("503")])

    def troubled(*arguments: object) -> None:
        if error := next(tries, None):
            raise error
        create(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(target.warehouse, "create_table", troubled)
    assert announcer(target).table(CUSTOMER) == TABLE
    assert announced(target) == 1


def stored(target: Target, *columns: Column) -> None:
    assert isinstance(target.warehouse, MemoryTables)
    target.warehouse.tables[TABLE.name] = StoredTable(columns, datetime.now(UTC))


def test_a_table_with_more_columns_takes_the_rows(target: Target) -> None:
    stored(target, *TABLE.columns, Column("note", parse_type("STRING")))
    assert announcer(target).table(CUSTOMER) == TABLE


def test_another_table_of_that_name_is_refused_with_all_that_does_not_fit(target: Target) -> None:
    stored(target, Column("id", parse_type("STRING")), *TABLE.columns[2:])
    with pytest.raises(SchemaConflict) as refused:
        announcer(target).table(CUSTOMER)
    id_ = f"my-project.shop.{TABLE.name}"
    assert refused.value.faults[:2] == (f"{id_}: id is STRING, not INT64", f"{id_} has no column name")
    assert announced(target) == 0


def test_a_column_that_is_renamed_is_told(target: Target, capsys: pytest.CaptureFixture[str]) -> None:
    announcer(target).table(Structure("t", (SourceColumn("database_name", INT),)))
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    renamed = [(line["source_column"], line["column"]) for line in told if line["event"] == "column_renamed"]
    assert renamed == [("database_name", "database_name_")]


def test_what_befalls_a_table_has_one_identifier_however_often_it_is_told() -> None:
    place = Place(1, "bin.000001", 4)
    one, again, other = (
        source_event("shop-db", "shop", "crm", table, place, "table dropped") for table in ("a b", "a b", None)
    )
    assert one == again
    assert json.loads(one.data)["id"] != json.loads(other.data)["id"]
    assert one.attributes == {"severity": "CRITICAL", "dataset": "shop", "table": "a_b"}
    assert json.loads(other.data)["table"] is None


# Cascades.

NO = "NO ACTION"
LINKS = [
    ("shop", "child", "shop", "parent", "id", "CASCADE", NO),
    ("crm", "grandchild", "shop", "child", "id", "SET NULL", "CASCADE"),
    ("shop", "follower", "shop", "parent", "name", NO, "CASCADE"),
    ("shop", "free", "shop", "parent", "id", "RESTRICT", NO),
]
PARENT = Structure("parent", CUSTOMER.columns, ("id",))
FOUND = cascades_of(LINKS, Patterns(("crm",)))


def changed(before: Row | None, after: Row | None, cascades: Cascades = FOUND) -> list[str]:
    old, new = (() if row is None else (row,) for row in (before, after))
    event = RowsChanged(Place(1, "bin.000001", 4), 0, "shop", PARENT, old, new)
    return sorted(str(table) for table in cascades.changed_by(event))


@pytest.mark.parametrize(
    ("before", "after", "children"),
    [
        ((1, "a"), None, ["crm.grandchild", "shop.child"]),
        ((1, "a"), (1, "b"), ["shop.follower"]),
        ((1, "a"), (2, "a"), []),
        ((1, "a"), (1, "a"), []),
        (None, (1, "a"), []),
    ],
)
def test_a_change_of_a_parent_reaches_who_follows_it_and_who_follows_these(
    before: Row | None, after: Row | None, children: list[str]
) -> None:
    assert changed(before, after) == children


def test_parents_of_captured_tables_are_watched_however_far_above() -> None:
    assert FOUND.watched == {TableName("shop", "parent"), TableName("shop", "child")}
    assert changed((1, "a"), None, Cascades()) == []
