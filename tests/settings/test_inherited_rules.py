"""onefold.yaml: what `shop.customer` inherits from `customer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.settings.yaml_file import read_tables_file


def tables_of(folder: Path, entries: Sequence[str]) -> Mapping[str, TableRules]:
    path = folder / "onefold.yaml"
    path.write_text(f"tables: {{{', '.join(entries)}}}")
    return read_tables_file(path).tables


@pytest.mark.parametrize("reverse", [False, True])
def test_a_table_of_a_dataset_inherits_what_the_table_of_all_datasets_sets(tmp_path: Path, reverse: bool) -> None:
    entries = [
        "customer: {time_zone: Europe/Berlin, keys: [id], retire: [a, b], types: {zip: STRING, Age: INT64}}",
        "shop.customer: {retire: [c], types: {age: NUMERIC, name: STRING}}",
        "crm.customer: {keys: [], time_zone: UTC, types: {}}",
    ]
    tables = tables_of(tmp_path, entries[::-1] if reverse else entries)
    zip_, name = ("zip", parse_type("STRING")), ("name", parse_type("STRING"))
    assert tables["shop.customer"] == TableRules(
        time_zone="Europe/Berlin",
        keys=("id",),
        retired=frozenset({"c"}),
        types=(zip_, ("age", parse_type("NUMERIC")), name),
    )
    assert tables["crm.customer"] == TableRules(
        keys=(), retired=frozenset({"a", "b"}), types=(zip_, ("age", parse_type("INT64")))
    )


def test_an_inherited_target_type_gives_way_to_one_of_its_path_or_above_or_below_it(tmp_path: Path) -> None:
    times = "born: {type: TIMESTAMP, from: unix_millis}, seen: {type: DATE, from: unix_seconds}"
    entries = [
        f"customer: {{types: {{{times}, address.zip: STRING, s: JSON}}}}",
        "a.customer: {types: {born: DATE, address.city: STRING}}",
        "b.customer: {types: {address: JSON, s.x: DATE, address_2: JSON}}",
    ]
    tables = tables_of(tmp_path, entries)
    assert {path: str(type_) for path, type_ in tables["a.customer"].types} == {
        "born": "DATE", "seen": "DATE", "address.zip": "STRING", "s": "JSON", "address.city": "STRING",
    }  # fmt: skip
    assert tables["a.customer"].units == (("seen", "unix_seconds"),)
    assert {path: str(type_) for path, type_ in tables["b.customer"].types} == {
        "born": "TIMESTAMP", "seen": "DATE", "address": "JSON", "s.x": "DATE", "address_2": "JSON",
    }  # fmt: skip
    assert tables["b.customer"].units == (("born", "unix_millis"), ("seen", "unix_seconds"))
