"""The adopted tables of a registry as its settings hold them: what cannot be read, or cannot be, is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from onefold.core.errors import InvalidInput
from onefold.events.registry.adopted import ADOPTED_PATH, AdoptedTable, adopted_text, parse_adopted, record_adopted
from onefold.events.registry.column_mapping import TableColumn
from onefold.events.registry.schema_key import ModelKey
from onefold.ports.objects import StoredObject

CLICK, VIEW = (ModelKey.parse(f"com.acme/{name}/jsonschema/1") for name in ("click", "view"))
COLUMNS = (TableColumn("root_id", "CHAR(36)", nullable=False), TableColumn("id", "INT"))


def table(
    model: ModelKey | None = CLICK, name: str = "atomic.clicks", names: Mapping[str, str] | None = None
) -> AdoptedTable:
    return AdoptedTable(model, "redshift", name, COLUMNS, names or {})


def problems(*tables: AdoptedTable, **changed: Any) -> tuple[str, ...]:
    document = json.loads(adopted_text(tables))
    document["tables"][0].update(changed)
    with pytest.raises(InvalidInput) as refused:
        parse_adopted(json.dumps(document), "settings")
    return refused.value.problems


def column(**changed: Any) -> list[dict[str, Any]]:
    return [{"name": "id", "type": "INT", **changed}]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"columns": column(nullable="no")}, "nullable or has_default is neither true nor false"),
        ({"columns": column(has_default="no")}, "nullable or has_default is neither true nor false"),
        ({"names": {"user_id": "uid"}}, "the table has no column uid"),
        ({"columns": []}, "0 columns"),
        ({"misfits": "truncate"}, "truncate"),
        ({"columns": column(type="FOO")}, "column id: 'FOO' is not a type of Redshift"),
        ({"columns": column(type="INT); DROP TABLE x; --")}, "is not a type of Redshift"),
        ({"columns": column(type=7)}, "column id: '' is not a type of Redshift"),
        ({"warehouse": "bigquery", "columns": column(type="STRUCT<a INT64")}, "column id: type 'STRUCT<a INT64'"),
    ],
)
def test_a_value_that_cannot_be_read_is_named(changed: dict[str, Any], said: str) -> None:
    (problem,) = problems(table(), **changed)
    assert problem.startswith("settings: tables[0] is not an adopted table")
    assert said in problem


def test_all_wrong_values_of_all_tables_are_named_at_once() -> None:
    document = json.loads(adopted_text([table(), table(VIEW, "atomic.views")]))
    document["tables"][0].update(columns=[*column(type="FOO"), *column(name="x", type="BAR", nullable=1)], misfits="none")
    document["tables"][1].update(names={"user_id": "uid"})
    with pytest.raises(InvalidInput) as refused:
        parse_adopted(json.dumps(document), "settings")
    said = ("redshift, none, add", "nullable or has_default", "'FOO'", "'BAR'", "no column uid")
    assert len(refused.value.problems) == len(said)
    assert all(one in problem for one, problem in zip(said, refused.value.problems, strict=True))


@pytest.mark.parametrize("type_", ["SUPER", "VARCHAR(10)", "CHAR(36)", "DECIMAL(18,2)", "DOUBLE PRECISION", "TIMESTAMPTZ"])
def test_every_type_that_is_read_from_the_catalog_of_redshift_is_taken(type_: str) -> None:
    document = json.loads(adopted_text([table()]))
    document["tables"][0].update(columns=column(type=type_))
    assert [one.type for one in parse_adopted(json.dumps(document), "settings")[0].columns] == [type_]


def test_a_key_that_is_given_twice_is_no_setting() -> None:
    text = adopted_text([table()]).replace('"misfits": "bad_row"', '"misfits": "recovery_table", "misfits": "bad_row"')
    with pytest.raises(InvalidInput, match="settings: expected an object with form 1"):
        parse_adopted(text, "settings")


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ([table(), table(name="atomic.others")], "com.acme/click/jsonschema/1 is adopted twice in redshift"),
        (
            [table(), table(VIEW, "atomic.Clicks")],
            "clicks is adopted for com.acme/click/jsonschema/1, com.acme/view/jsonschema/1: each needs a table of its own",
        ),
        ([table(name="atomic.onefold_manifest")], "onefold_manifest is a table of the loader, which no model can have"),
        ([table(name="unknown_entities")], "unknown_entities is a table of the loader, which no model can have"),
        ([table(name="atomic.events")], "events is a table of the loader, which no model can have"),
        (
            [table(names={"user_name": "root_id"})],
            "clicks: user_name: root_id: each row has this column, name another one in the mapping",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_names(tables: list[AdoptedTable], said: str) -> None:
    assert [one for one in problems(*tables) if said in one]


def test_a_table_that_cannot_be_is_not_recorded() -> None:
    store = Store(adopted_text([table()]).encode())
    with pytest.raises(InvalidInput, match=r"atomic\.clicks was not recorded: clicks is adopted for"):
        record_adopted("/registry", store, table(VIEW))
    record_adopted("/registry", store, table(name="atomic.later"))
    assert [one.table for one in parse_adopted(store.data, "settings")] == ["atomic.later"]


def test_a_column_does_not_get_another_property_than_the_one_that_it_holds() -> None:
    store = Store(adopted_text([table(names={"user.id": "id"})]).encode())
    with pytest.raises(InvalidInput, match=r"its column id holds user\.id, and would get id: name it for user\.id"):
        record_adopted("/registry", store, table(names={"id": "id"}))
    # The same again, and a copy of the table under another name, which may have any columns.
    record_adopted("/registry", store, table(names={"user.id": "id"}))
    record_adopted("/registry", store, table(name="atomic.later", names={"id": "id"}))


class Store:
    """The object of the settings in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def find(self, address: str) -> StoredObject | None:
        assert address.endswith(ADOPTED_PATH)
        return StoredObject(self.data, 1)

    def write(self, address: str, data: bytes, generation: int | None = None) -> int:
        assert (address.endswith(ADOPTED_PATH), generation) == (True, 1)
        self.data = data
        return 2
