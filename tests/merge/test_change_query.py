"""Change tables as a query: the windows in which they are read, values in unified types, and groups that fit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from support.changelogs import METADATA_TYPE
from support.columns import columns
from support.zetasql_judge import Judge

import onefold.merge.change_query
from onefold.changelog.metadata import METADATA
from onefold.core.errors import LimitExceeded, NotFound, SchemaConflict
from onefold.core.names import TableId
from onefold.merge.base_table import base_of, merge_statement
from onefold.merge.change_query import (
    MAX_TABLES,
    UNKNOWN_TYPE,
    changes_query,
    finished_changes_query,
    in_statements,
    snapshot_query,
    window_sql,
)
from onefold.merge.change_tables import ChangeTable, change_tables, changes_in_use, check_changes
from onefold.merge.merge_state import MergeState
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Scalar
from onefold.schema.versions import Version, fold

TABLE = TableId("my-project", "shop", "customer")
TIME = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
RULES = TableRules(version_column="_version")


def version(id_: str, created: datetime | None = None, /, **landed: str) -> Version:
    return Version(id_, columns(**landed, **{METADATA: METADATA_TYPE}), created)


ABC = version("abc", id="INT64", Name="STRING", born="DATE", _landed_at="TIMESTAMP")
DEF = version("def", id="NUMERIC", name="STRING", tags="ARRAY<STRING>", _landed_at="TIMESTAMP")
CHANGES = (
    ChangeTable(TABLE.sibling("customer_v_abc"), ABC, TIME - timedelta(hours=1)),
    ChangeTable(TABLE.sibling("customer_v_def"), DEF),
)
BASE = base_of(TABLE, fold((ABC, DEF), RULES), ["ID"])


# Windows


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        (None, None, None),
        (TIME, None, "v.`_landed_at` >= {t} OR v.`_landed_at` IS NULL"),
        (None, TIME, "v.`_landed_at` < {t} OR v.`_landed_at` IS NULL"),
        (TIME, TIME, "v.`_landed_at` >= {t} AND v.`_landed_at` < {t} OR v.`_landed_at` IS NULL"),
    ],
)
def test_a_window_has_its_start_not_its_end_and_every_row_without_a_time(
    since: datetime | None, until: datetime | None, expected: str | None
) -> None:
    literal = "TIMESTAMP '2024-05-01 12:30:00.000000+00'"
    assert window_sql("v.", since, until) == (expected and expected.format(t=literal))


@pytest.mark.parametrize("type_", ["TIMESTAMP", "DATETIME", "DATE", "STRING"])
def test_a_window_that_a_job_asks_for_fits_times_of_landing_of_any_type(judge: Judge, type_: str) -> None:
    landed = version("a", id="INT64", _landed_at=type_)
    base, columns = base_of(TABLE, landed.columns, ["id"]), [(one.name, str(one.type)) for one in landed.columns]
    source = ChangeTable(TABLE, landed, TIME, TIME + timedelta(hours=1))
    judge.accept(changes_query([source], base, TableRules()), {str(TABLE): columns})


def test_a_version_is_read_from_its_last_merge_less_the_overlap_or_whole() -> None:
    state = MergeState(starts={"abc": TIME})
    tables = change_tables(TABLE, [ABC, DEF], RULES)
    assert [one.windowed(state, timedelta(minutes=30)).since for one in tables] == [TIME - timedelta(minutes=30), None]


def test_a_change_table_that_does_not_tell_when_a_row_landed_is_read_whole() -> None:
    state = MergeState(starts=dict.fromkeys("ab", TIME))
    unknown = ChangeTable(TABLE, version("a", id="INT64", _landed_at="STRING"))
    known = ChangeTable(TABLE, version("b", id="INT64", _LANDED_AT="TIMESTAMP"))
    assert unknown.windowed(state, timedelta(hours=2)).since is None
    assert known.windowed(state, timedelta(hours=2)).since == TIME - timedelta(hours=2)


# Which change tables are in use


def test_retired_versions_are_left_out_and_the_others_come_in_the_order_of_their_creation() -> None:
    found = change_tables(TABLE, [version("new", TIME), version("gone", TIME), version("old", TIME - timedelta(1))], RULES)
    used = changes_in_use(TABLE, found, TableRules(retired=frozenset({"gone"})))
    assert [one.id.table for one in used] == ["customer_v_old", "customer_v_new"]


def test_a_table_whose_versions_are_all_retired_is_named() -> None:
    with pytest.raises(NotFound, match=r"all versions of my-project\.shop\.customer are retired"):
        changes_in_use(TABLE, CHANGES, TableRules(retired=frozenset({"abc", "def"})))


def test_a_version_without_the_key_or_the_metadata_is_refused() -> None:
    """All its rows would be rows of the key NULL."""
    plain = Version("x", (Column("id", Scalar("INT64")),))
    sources = [
        ChangeTable(TABLE.sibling("customer_v_x"), plain),
        ChangeTable(TABLE.sibling("customer_v_y"), version("y", number="INT64")),
    ]
    with pytest.raises(SchemaConflict) as raised:
        check_changes(sources, ["id"])
    without_metadata, without_key = raised.value.problems
    assert "my-project.shop.customer_v_x" in without_metadata
    assert without_key.startswith("my-project.shop.customer_v_y has no column id for the key")


def test_a_copy_that_does_not_fit_is_refused_with_every_problem() -> None:
    copy = [Column("extra", Scalar("INT64")), Column("Name", Scalar("INT64")), Column("born", Scalar("STRING"))]
    with pytest.raises(SchemaConflict) as raised:
        snapshot_query(TABLE.sibling("copy"), copy, BASE, "0", RULES)
    assert len(raised.value.problems) == 3
    assert all(
        word in str(raised.value)
        for word in ("extra", "born is STRING, which does not fit DATE", "no column id for the key")
    )


# The query


def test_each_value_is_converted_in_one_step_and_an_absent_column_is_null_of_its_type() -> None:
    abc, def_ = changes_query(CHANGES, BASE, RULES).split("\nUNION ALL\n")
    assert "'abc' AS `_version`" in abc
    assert "CAST(v.`id` AS NUMERIC) AS `id`" in abc
    assert "v.`name` AS `Name`" in def_
    assert "CAST(NULL AS DATE) AS `born`" in def_
    assert abc.endswith("OR v.`_landed_at` IS NULL")
    assert "WHERE" not in def_


def test_each_table_is_read_in_its_own_window() -> None:
    later = TIME + timedelta(hours=1)
    sql = changes_query([replace(CHANGES[0], since=TIME, until=later), CHANGES[1]], BASE, RULES)
    abc, def_ = sql.split("\nUNION ALL\n")
    assert abc.endswith(f"WHERE {window_sql('v.', TIME, later)}")
    assert "WHERE" not in def_


def test_a_query_that_counts_reads_of_the_source_only_the_key_and_the_digest() -> None:
    sql = changes_query([CHANGES[0]], BASE, RULES, only_keys=True)
    assert "AS `id`" in sql
    assert not any(f"AS `{name}`" in sql for name in ("Name", "born", "tags", "_version"))


def test_versions_are_merged_in_as_many_statements_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [len(group) for group in in_statements(CHANGES, BASE, RULES)] == [2]
    monkeypatch.setattr(onefold.merge.change_query, "MAX_QUERY", 9_000)
    assert [len(group) for group in in_statements(CHANGES, BASE, RULES)] == [1, 1]
    assert all(
        len(merge_statement(BASE, changes_query(group, BASE, RULES))) <= 9_000
        for group in in_statements(CHANGES, BASE, RULES)
    )
    monkeypatch.setattr(onefold.merge.change_query, "MAX_QUERY", 4_000)
    with pytest.raises(LimitExceeded, match="customer_v_abc"):
        list(in_statements(CHANGES, BASE, RULES))


def test_a_statement_reads_at_most_as_many_tables_as_bigquery_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.merge.change_query, "MAX_QUERY", 10**12)
    small = version("a", id="INT64")
    many = [ChangeTable(TABLE.sibling(f"customer_v_{number:x}"), small) for number in range(MAX_TABLES + 1)]
    groups = list(in_statements(many, base_of(TABLE, small.columns, ["id"]), TableRules()))
    assert [len(group) for group in groups] == [MAX_TABLES, 1]
    assert [one for group in groups for one in group] == many


# Copies


def test_a_copy_has_one_position_no_deletion_and_null_where_it_lacks_a_column() -> None:
    sql = snapshot_query(TABLE.sibling("copy"), [Column("ID", Scalar("INT64"))], BASE, "0 x'y", RULES)
    assert "CAST(v.`ID` AS NUMERIC) AS `id`" in sql
    assert "CAST(NULL AS STRING) AS `Name`" in sql
    assert "FALSE AS _deleted" in sql
    assert "CAST(NULL AS STRING) AS `_version`" in sql, "a copy belongs to no version"


@pytest.mark.parametrize("change", CHANGES, ids=["abc", "def"])
def test_the_changes_of_one_table_are_those_of_the_query_of_all_and_tell_unknown_types(change: ChangeTable) -> None:
    text = finished_changes_query(change, BASE, RULES)
    unknown = next(line for line in text.splitlines() if line.endswith(f" AS {UNKNOWN_TYPE}"))
    assert text.replace(f",\n{unknown}", "") == changes_query([change], BASE, RULES)
