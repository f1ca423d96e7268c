"""Discovery of a dataset: how many queries it takes, what it does without rights, and the draft of onefold.yaml."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.described_dataset import DescribedDataset
from support.existing_tables import DOCUMENTED, SOURCE, schema

from onefold.core.errors import NotFound, Rejected
from onefold.existing.discover import DatasetTables, Discovered, discover, noted_keys, read_tables, with_notes
from onefold.existing.draft import draft
from onefold.existing.table import ExistingTable
from onefold.settings.yaml_file import read_tables_file
from onefold.settings.yaml_loader import load_yaml

DLT = {**SOURCE, "_dlt_id": "STRING", "_dlt_load_id": "STRING"}
SCHEMA = {"tables": {"orders": {"write_disposition": "append", "columns": {"id": {"primary_key": True}}}}}


def found_in(warehouse: DescribedDataset, pattern: str = "*") -> dict[str, Discovered]:
    listed = read_tables(warehouse, "shop")
    return {one.id.table: one for one in discover(with_notes(warehouse, listed, noted_keys(warehouse, listed)), pattern)}


@pytest.mark.parametrize("number", [1, 300])
def test_a_dataset_takes_three_queries_however_many_tables_it_has(number: int) -> None:
    warehouse = DescribedDataset([ExistingTable(f"t{i}", schema(SOURCE)) for i in range(number)])
    assert len(found_in(warehouse)) == number
    assert warehouse.calls == ["layouts", "keys of shop", "sizes of shop"]


def test_the_schema_that_dlt_stores_tells_key_and_mode_by_one_query_more() -> None:
    tables = [ExistingTable("orders", schema(DLT)), ExistingTable("_dlt_version", schema({"schema": "STRING"}))]
    warehouse = DescribedDataset(tables, lambda _: [{"schema_name": "shop", "schema": json.dumps(SCHEMA)}])
    found = found_in(warehouse)["orders"].found
    assert (found.form, found.key, found.confidence) == ("append", ("id",), "certain")
    assert warehouse.calls[3:] == ["estimate", "query"]


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", '{"tables": null}', '{"tables": {"orders": 1}}', '{"tables": {"orders": {}}}']
)
def test_a_schema_of_dlt_that_cannot_be_read_says_nothing(text: str) -> None:
    tables = [ExistingTable("orders", schema(DLT)), ExistingTable("_dlt_version", schema({"schema": "STRING"}))]
    warehouse = DescribedDataset(tables, lambda _: [{"schema_name": "shop", "schema": text}])
    assert found_in(warehouse)["orders"].found.confidence == "guess"


def test_notes_that_may_not_be_read_are_a_warning() -> None:
    def refuse(_: str) -> list[dict[str, Any]]:
        raise Rejected("no right")

    warehouse = DescribedDataset([ExistingTable("_sdc_primary_keys", schema({"table_name": "STRING"}))], refuse)
    listed = read_tables(warehouse, "shop")
    assert with_notes(warehouse, listed, noted_keys(warehouse, listed)).warnings == (
        "_sdc_primary_keys is not read: no right",
    )


def test_sizes_that_may_not_be_read_are_a_warning() -> None:
    listed = read_tables(DescribedDataset([ExistingTable("t", schema(SOURCE))], sizes_denied=True), "shop")
    assert (listed.warnings, listed.tables["t"].rows) == (("the sizes are not known: no right",), None)


def test_a_pattern_without_a_table_names_the_near_one() -> None:
    with pytest.raises(NotFound, match="no table matches ordrs"):
        found_in(DescribedDataset([ExistingTable("orders", schema(SOURCE))]), "ordrs")


def test_the_tables_that_onefold_makes_for_itself_are_left_out() -> None:
    assert set(found_in(DescribedDataset([ExistingTable(n, schema(SOURCE)) for n in ("t", "onefold_tmp_1")]))) == {"t"}


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="`"), min_size=1, max_size=12)


@given(st.lists(st.sampled_from(DOCUMENTED), max_size=6), st.lists(NAMES, min_size=6, max_size=6), NAMES)
def test_the_strict_loader_takes_every_draft(tmp_path_factory: Any, documented: Any, names: list[str], column: str) -> None:
    tables = {name: one.table({column: "STRING"}) for name, one in zip(names, documented, strict=False)}
    place = DescribedDataset([]).project
    listed = DatasetTables(discover_place(place), tables)
    path: Path = tmp_path_factory.mktemp("draft") / "onefold.yaml"
    found = discover(listed)
    path.write_text(draft("shop", found))
    declared = read_tables_file(path).tables
    for one in found:
        if rules := declared.get(f"shop.{one.id.table}"):
            assert (rules.tool, rules.rows) in ((None, None), (one.found.tool, one.found.rows))
            assert rules.keys in ((), one.found.key)
    assert load_yaml(path).content is not None


def discover_place(project: str) -> Any:
    from onefold.core.names import TableId

    return TableId(project, "shop", "")


def test_a_draft_has_tool_rows_and_keys_and_a_comment_for_what_nothing_tells(tmp_path: Path) -> None:
    by_form = {(one.tool, one.form): one for one in DOCUMENTED}
    tables = {
        "orders": by_form["dlt", "append"].table(),
        "current": by_form["Fivetran", "SOFT_DELETE"].table(),
        "unknown": ExistingTable("unknown", schema(DLT)),
        "stitch": by_form["Stitch", "append or upsert"].table(),
        "datastream": by_form["Datastream", "append-only"].table(),
        "plain": ExistingTable("plain", schema(SOURCE)),
    }
    path = tmp_path / "onefold.yaml"
    path.write_text(draft("shop", discover(DatasetTables(discover_place("p"), tables))))
    declared = read_tables_file(path).tables
    assert {name: (rules.tool, rules.rows, rules.keys) for name, rules in declared.items()} == {
        "shop.orders": ("dlt", "history", ("id",)),
        "shop.current": ("Fivetran", "current", ()),
        "shop.unknown": ("dlt", "history", ()),
        "shop.stitch": ("Stitch", "history", ("id",)),
        "shop.datastream": (None, None, ("id",)),
    }
    text = path.read_text()
    assert "    # keys: [COLUMN]   # the columns that identify a row" in text
    assert '  # "shop.plain":\n  #   keys: [COLUMN]' in text
    assert "# current: Fivetran, SOFT_DELETE: current." in text
    assert text.count("# check this: history, or current where each key has one row") == 2


def test_the_draft_of_a_history_by_hand_has_the_order_and_asks_for_the_key(tmp_path: Path) -> None:
    tables = {"h": ExistingTable("h", schema({"id": "INT64", "v": "STRING", "updated_at": "TIMESTAMP"}))}
    path = tmp_path / "onefold.yaml"
    path.write_text(draft("shop", discover(DatasetTables(discover_place("p"), tables))))
    assert read_tables_file(path).tables["shop.h"].order_by == ("updated_at",)
    assert "# keys: [COLUMN]" in path.read_text()
