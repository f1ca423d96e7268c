"""The SQL of a base table: accepted by the analyzer, evaluated where it can be, and as it was when somebody last read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.changelogs import METADATA_TYPE, change, position_of
from support.columns import columns
from support.strategies import EXTREMES
from support.zetasql_judge import Judge, literals

from onefold.changelog.metadata import METADATA
from onefold.changelog.position import Position
from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId
from onefold.merge.apply import expired_tombstones, purge_statement
from onefold.merge.base_table import POSITION, BaseTable, base_of, merge_statement, same_key, winners
from onefold.merge.change_query import changes_query, count_query, repeated_keys_query
from onefold.merge.change_tables import ChangeTable
from onefold.merge.key_ranges import ValueRange, ranges_query
from onefold.merge.merge_log import LOG_COLUMNS, append_statement, floor_statement, state_query
from onefold.merge.merge_state import MergeCounts
from onefold.merge.schema_evolution import convert_statement, lost_rows_query, rebuild_statement
from onefold.schema.bigquery import add_statement, create_statement
from onefold.schema.columns import Column
from onefold.schema.common_type import PARENTS
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Scalar, parse_type
from onefold.schema.versions import Version, fold

GOLDEN = Path(__file__).parents[1] / "golden" / "base"
TABLE = TableId("my-project", "shop", "customer")
TIME = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
RULES = TableRules(version_column="_version")


def version(id_: str, **landed: str) -> Version:
    return Version(id_, columns(**landed, **{METADATA: METADATA_TYPE}))


ABC = version("abc", id="INT64", Name="STRING", born="DATE", _landed_at="TIMESTAMP")
DEF = version("def", id="NUMERIC", name="STRING", tags="ARRAY<STRING>", _landed_at="TIMESTAMP")
VERSIONS = (ABC, DEF)
CHANGES = (
    ChangeTable(TABLE.sibling("customer_v_abc"), ABC, TIME - timedelta(hours=1)),
    ChangeTable(TABLE.sibling("customer_v_def"), DEF),
)
BASE = base_of(TABLE, fold(VERSIONS, RULES), ["ID"])
STORED = (Column("id", Scalar("INT64")), Column("gone", Scalar("STRING")), *BASE.stored[2:])
RANGES = {"id": ValueRange(("NUMERIC '0'", "NUMERIC '1024'"))}
STAGED = f"SELECT * FROM {BASE.id.quoted}"
PACKED_BASE = replace(BASE, packed=True)
POSITION_SQL = PACKED_BASE.position_sql("b")

STATEMENTS: dict[str, Callable[[], str]] = {
    "merge": lambda: merge_statement(BASE, changes_query(CHANGES, BASE, RULES), dropped=["gone"]),
    "merge within ranges": lambda: merge_statement(BASE, STAGED, ranges=RANGES),
    "ranges of keys": lambda: ranges_query(BASE.key_columns, STAGED, ()),
    "create": lambda: create_statement(BASE.id, BASE.stored, BASE.clustering),
    "add columns": lambda: add_statement(BASE.id, BASE.columns[-1:]),
    "convert": lambda: convert_statement(BASE, STORED, ["id"]),
    "rebuild": lambda: rebuild_statement(BASE, STORED, ["id"], changes_query(CHANGES, BASE, RULES)),
    "append to the log": lambda: append_statement(
        BASE.log, "merge", TIME, TIME, ["id"], ["abc"], MergeCounts(3, 2, 2, None, None)
    ),
    "append a floor": lambda: floor_statement(BASE.log, TIME, TIME, ["id"], BASE.id, expired_tombstones(TIME)),
    "purge": lambda: purge_statement(BASE, expired_tombstones(TIME), TIME),
    "lost rows": lambda: lost_rows_query(BASE, STORED, changes_query(CHANGES, BASE, RULES, only_keys=True)),
    "state": lambda: state_query(BASE.log),
    "state of an earlier release": lambda: state_query(BASE.log, LOG_COLUMNS[-5:]),
    "repeated keys": lambda: repeated_keys_query(BASE, changes_query(CHANGES, BASE, RULES)),
}
PACKED_STATEMENTS: dict[str, Callable[[], str]] = {
    "merge": lambda: merge_statement(PACKED_BASE, changes_query(CHANGES, BASE, RULES), dropped=["gone"]),
    "pack": lambda: convert_statement(PACKED_BASE, STORED, ["id"]),
    "convert": lambda: convert_statement(PACKED_BASE, PACKED_BASE.stored, ["id"]),
    "rebuild and pack": lambda: rebuild_statement(PACKED_BASE, STORED, ["id"], changes_query(CHANGES, BASE, RULES)),
    "rebuild": lambda: rebuild_statement(PACKED_BASE, PACKED_BASE.stored, ["id"], changes_query(CHANGES, BASE, RULES)),
    "append a floor": lambda: floor_statement(
        BASE.log, TIME, TIME, ["id"], BASE.id, expired_tombstones(TIME, POSITION_SQL), POSITION_SQL
    ),
    "purge": lambda: purge_statement(PACKED_BASE, expired_tombstones(TIME, POSITION_SQL), TIME),
    "lost rows": lambda: lost_rows_query(
        PACKED_BASE, PACKED_BASE.stored, changes_query(CHANGES, BASE, RULES, only_keys=True)
    ),
}


def tables(base: BaseTable = BASE) -> dict[str, list[tuple[str, str]]]:
    spelled = {
        BASE.id: (*base.stored, Column("gone", Scalar("STRING"))),
        BASE.log: LOG_COLUMNS,
        **{source.id: source.version.columns for source in CHANGES},
    }
    return {str(id_): [(column.name, str(column.type)) for column in columns] for id_, columns in spelled.items()}


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_analyzer_accepts_every_statement(judge: Judge, name: str) -> None:
    judge.accept(STATEMENTS[name](), tables())


@pytest.mark.parametrize("name", PACKED_STATEMENTS)
def test_the_analyzer_accepts_every_statement_on_packed_positions(judge: Judge, name: str) -> None:
    judge.accept(PACKED_STATEMENTS[name](), tables(BASE if "pack" in name else PACKED_BASE))


def test_a_base_that_is_packed_loses_no_column_but_the_text_of_its_position() -> None:
    columns = STATEMENTS["convert"](), PACKED_STATEMENTS["pack"]()
    assert ["b.`_position`" in text for text in columns] == [True, False]
    assert all("b.`gone`" in text for text in columns)


def test_a_column_may_have_the_name_of_an_alias(judge: Judge) -> None:
    landed = version("fed", **dict.fromkeys(["id", "b", "c", "r", "v", "w"], "INT64"))
    base, changes = base_of(TABLE, landed.columns, ["id", "w"]), [ChangeTable(TABLE, landed)]
    schemas = {base.id: (*base.stored, Column("b_", Scalar("STRING"))), base.log: LOG_COLUMNS, TABLE: landed.columns}
    spelled = {str(id_): [(column.name, str(column.type)) for column in columns] for id_, columns in schemas.items()}
    judge.accept(merge_statement(base, changes_query(changes, base, RULES), dropped=["b_"]), spelled)


def test_the_analyzer_would_not_accept_a_wrong_one(judge: Judge) -> None:
    with pytest.raises(Exception, match="nobody"):
        judge.accept(STATEMENTS["merge"]().replace("SET\n", "SET nobody = 1,"), tables())


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_text_of_a_statement_equals_its_golden_file(name: str) -> None:
    assert STATEMENTS[name]() + "\n" == (GOLDEN / f"{name.replace(' ', '_')}.sql").read_text()


def test_a_base_has_the_source_s_columns_in_unified_types_then_its_own() -> None:
    assert [(column.name, str(column.type)) for column in BASE.stored] == [
        ("_version", "STRING"),
        ("id", "NUMERIC"),
        ("Name", "STRING"),
        ("born", "DATE"),
        ("tags", "ARRAY<STRING>"),
        ("_position", "STRING"),
        ("_deleted", "BOOL"),
    ]


def test_changes_have_the_columns_of_the_base(judge: Judge) -> None:
    found = judge.columns(changes_query(CHANGES, BASE, RULES), tables())
    assert found == [(column.name, str(column.type)) for column in BASE.stored]


def test_a_base_is_clustered_by_the_keys_that_can_be() -> None:
    columns = [
        Column(name, parse_type(type_))
        for name, type_ in zip("abcdef", ["TIME", "INT64", "DATE", "BOOL", "STRING", "INT64"], strict=True)
    ]
    assert BaseTable(TABLE, tuple(columns), tuple("abcdef")).clustering == ("b", "c", "d", "e")


@pytest.mark.parametrize("kind", [kind for kind in (*PARENTS, "STRING") if kind not in ("FLOAT64", "JSON", "GEOGRAPHY")])
def test_keys_that_are_null_are_equal_to_each_other_and_to_nothing_else(judge: Judge, kind: str) -> None:
    base = BaseTable(TABLE, (Column("k", parse_type(kind)),), ("k",))
    cells = ["NULL", *EXTREMES[kind]]
    rows = " UNION ALL ".join(f"SELECT {place} AS place, CAST({cell} AS {kind}) AS k" for place, cell in enumerate(cells))
    both = f"({rows}) AS b JOIN ({rows}) AS c ON {same_key(base, 'b', 'c')}"
    found = judge.rows(f"SELECT b.place, c.place, IFNULL(b.k = c.k, FALSE) FROM {both}")
    assert (0, 0, False) in found
    assert all(equal or (one, other) == (0, 0) for one, other, equal in found)
    assert {(place, place) for place in range(len(cells))} <= {(one, other) for one, other, _ in found}


def test_a_stored_position_is_the_same_text_in_python_and_in_sql(judge: Judge) -> None:
    """The digest included, of the row as it landed: neither the unified type nor another version's columns are in it."""
    some = [
        change("INSERT", "ff/1", sort_keys=["x9", "-1.50"], uuid="u", id=1, Name="é", born=None),
        change("DELETE", None, timestamp=None, id=None, Name="", born="2020-01-01"),
        change("UPDATE-INSERT", "mysql-bin.9", timestamp=-5, id=-7, Name=None, born="0001-01-01"),
    ]
    query = f"SELECT {POSITION} FROM ({changes_query([ChangeTable(CHANGES[0].id, ABC)], BASE, RULES)})"
    cells = [[_cell(row["id"]), _cell(row["Name"]), _cell(row["born"]), "NULL", _metadata(row)] for row in some]
    columns = tables()[str(CHANGES[0].id)]
    found = judge.rows(query, tables(), {str(CHANGES[0].id): literals(columns, cells)})
    assert found == [(position_of(row),) for row in some]


def test_a_tombstone_keeps_only_its_key(judge: Judge) -> None:
    base = BaseTable(TABLE, tuple(Column(name, Scalar("INT64")) for name in ("id", "secret", "_rank")), ("id",))
    rows = "SELECT 1 AS id, 7 AS secret, 5 AS _rank, 'b' AS _position, TRUE AS _deleted UNION ALL SELECT 1, 6, 4, 'a', FALSE"
    assert judge.rows(winners(base, rows)) == [(1, None, None, "b", True)]


@pytest.mark.parametrize(("floor", "below"), [(None, 0), ("3", 0), ("4", 1), ("7", 2)])
def test_changes_disputed_changes_and_changes_below_the_floor_are_counted(
    judge: Judge, floor: str | None, below: int
) -> None:
    """Of three contents at one position two are disputed. The key 1 is in the base, and the keys NULL and 2 are not."""
    base = BaseTable(TABLE, (Column("id", Scalar("INT64")),), ("id",))
    changes = [(1, "1", "a"), (1, "1", "a"), (1, "1", "b"), (1, "1", "c"), (1, "2", "a"), ("NULL", "4", "a"), (2, "7", "a")]
    rows = " UNION ALL ".join(
        f"SELECT {key} AS id, '{position} {letter * 32}' AS _position" for key, position, letter in changes
    )
    columns = {
        str(id_): [(c.name, str(c.type)) for c in stored]
        for id_, stored in ((base.id, base.stored), (base.log, LOG_COLUMNS))
    }
    content = {str(base.id): literals(columns[str(base.id)], [["1", "'9'", "FALSE"]])}
    if floor:
        cells = [
            "'purge'",
            "CURRENT_TIMESTAMP()",
            *["NULL"] * 3,
            f"'{floor} {'z' * 32}'",
            *["NULL"] * (len(LOG_COLUMNS) - 6),
        ]
        content[str(base.log)] = literals(columns[str(base.log)], [cells])
    query = count_query(base, rows, with_floor=floor is not None)
    assert judge.rows(query, columns, content) == [(7, 3, 2, below, 4, 0, "")]


def test_the_age_of_a_deletion_is_by_the_clock_of_the_source() -> None:
    assert str(Position("A", int(TIME.timestamp() * 1000))).split(" ")[1] in expired_tombstones(TIME)


@pytest.mark.parametrize(
    ("position", "expired"),
    [
        (Position("A", 1_000), True),
        (Position("mysql-bin.1 x", 1_000), True),
        (Position(None, -1), True),
        (Position("A", int(TIME.timestamp() * 1000)), False),
        (Position("A", None), False),
        (Position(None, None, ("1000",)), False),
    ],
)
def test_tombstones_without_a_date_stay(judge: Judge, position: Position, expired: bool) -> None:
    row = f"SELECT TRUE AS _deleted, '{replace(position, deleted=True)} digest' AS _position"
    assert judge.rows(f"SELECT IFNULL({expired_tombstones(TIME)}, FALSE) FROM ({row}) AS b") == [(expired,)]


def test_everything_that_keeps_a_table_from_having_a_base_is_in_one_error() -> None:
    columns = fold([version("a", id="JSON", _Position="INT64", _deleted="BOOL")], TableRules())
    with pytest.raises(SchemaConflict) as raised:
        base_of(TABLE, columns, ["id", "tenant"])
    text = str(raised.value)
    assert all(word in text for word in ("_position", "_deleted", "no equality", "no column tenant"))


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _metadata(row: Any) -> str:
    metadata = row[METADATA]
    keys = ", ".join(f"'{key}'" for key in metadata["sort_keys"])
    return (
        f"STRUCT({_cell(metadata['uuid'])} AS uuid, {_cell(metadata['source_timestamp'])} AS source_timestamp, "
        f"{_cell(metadata['change_sequence_number'])} AS change_sequence_number, "
        f"{_cell(metadata['change_type'])} AS change_type, "
        f"CAST([{keys}] AS ARRAY<STRING>) AS sort_keys)"
    )
