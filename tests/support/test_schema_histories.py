"""The choice of tables from real histories keeps every kind of column, key and change."""

from __future__ import annotations

from typing import Any

from support.schema_histories import Column, Table, chosen, kinds, tables_of_projects


def column(name: str, mysql_type: str = "int(11)", type_: str = "INT64", **more: Any) -> Column:
    return {"name": name, "type": type_, "mysql_type": mysql_type, "nullable": False, "primary_key": name == "id", **more}


def table(name: str, *versions: list[Column]) -> Table:
    return {
        "table": name,
        "versions": [{"version": str(number), "columns": columns} for number, columns in enumerate(versions)],
    }


ID, N, TEXT = column("id"), column("n"), column("t", "varchar(9)", "STRING")
ADDS = table("adds", [ID, N], [ID, N, TEXT])


def names(*tables: Table) -> list[str]:
    return [one["table"] for one in chosen(tables)]


def test_of_two_tables_with_the_same_changes_the_smaller_one_stays() -> None:
    larger = table("larger", [ID, N], [ID, N, TEXT], [ID, N, TEXT, column("u", "varchar(20)", "STRING")])
    assert names(larger, ADDS) == names(ADDS, larger) == ["adds"]


def test_a_table_with_a_change_of_its_own_stays() -> None:
    drops = table("drops", [ID, N, TEXT], [ID, N])
    moves = table("moves", [ID, N, TEXT], [ID, TEXT, N])
    wider = table("wider", [ID, N, TEXT], [ID, N, {**TEXT, "mysql_type": "text"}])
    rekeyed = table("rekeyed", [ID, N, TEXT], [{**ID, "primary_key": False}, {**N, "primary_key": True}, TEXT])
    assert names(ADDS, drops, moves, wider, rekeyed) == ["adds", "drops", "moves", "wider", "rekeyed"]


def test_a_table_of_which_another_has_everything_is_left_out() -> None:
    assert names(ADDS, table("plain", [ID, TEXT], [ID, TEXT])) == ["adds"]


def test_the_chosen_tables_have_every_kind_that_the_histories_have() -> None:
    for tables in tables_of_projects().values():
        assert set().union(*(kinds(one["versions"]) for one in chosen(tables))) == set().union(
            *(kinds(one["versions"]) for one in tables)
        )
