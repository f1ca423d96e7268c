"""The files for dbt, from values: golden files, names, freshness."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from support.columns import columns
from support.exported import CURRENT, SHOP, UNIFIED, shop

from onefold.core.errors import InvalidInput
from onefold.core.names import TableId
from onefold.export.dbt import MARK, AgeLimits, dbt_files, model_name
from onefold.export.product import ExportedView, Product, loaded_at
from onefold.schema.columns import Column
from onefold.schema.types import parse_type

GOLDEN = Path(__file__).parents[1] / "golden" / "dbt"
PROPERTIES = "models/onefold/shop/_shop.yml"


def test_the_files_are_the_golden_ones() -> None:
    files = dbt_files([SHOP], AgeLimits(24, 48))
    if os.environ.get("UPDATE_GOLDEN"):
        for name, text in files.items():
            (GOLDEN / name).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / name).write_text(text)
    golden = {path.relative_to(GOLDEN).as_posix(): path.read_text() for path in GOLDEN.rglob("*") if path.is_file()}
    assert files == golden


def test_each_file_says_in_its_first_line_who_wrote_it() -> None:
    assert all(MARK in text.partition("\n")[0] for text in dbt_files([SHOP], AgeLimits()).values())


def test_freshness_can_be_left_out_and_each_bound_alone() -> None:
    def bounds(freshness: AgeLimits) -> list[object]:
        (shown, _) = yaml.safe_load(dbt_files([SHOP], freshness)[PROPERTIES])["sources"]
        return [table.get("config", {}).get("freshness") for table in shown["tables"] if "config" in table]

    assert bounds(AgeLimits(None, None)) == []
    assert bounds(AgeLimits(3)) == [{"warn_after": {"count": 3, "period": "hour"}}] * 2
    assert bounds(AgeLimits(None, 4)) == [{"error_after": {"count": 4, "period": "hour"}}] * 2


def test_names_that_are_one_in_dbt_are_refused_together() -> None:
    views = [ExportedView(shop(name), columns(id="INT64")) for name in ("a-b", "a b", "A_B", "c", "x" * 300)]
    with pytest.raises(InvalidInput) as refused:
        dbt_files([Product("shop", tuple(views))], AgeLimits())
    first, second = str(refused.value).splitlines()
    assert first.startswith("my-project.shop.A_B and my-project.shop.a b and my-project.shop.a-b have the same name in dbt")
    assert "longer than 255 bytes" in second


def test_a_name_of_another_script_is_an_identifier_and_gets_a_plain_name() -> None:
    view = ExportedView(shop("café_unified"), columns(id="INT64"))
    files = dbt_files([Product("shop", (view,))], AgeLimits())
    (source,) = yaml.safe_load(files[PROPERTIES])["sources"]
    assert source["tables"] == [{"name": "caf__unified", "identifier": "café_unified"}]
    assert "models/onefold/shop/shop__caf__unified.sql" in files


def test_a_view_of_another_dataset_is_reached_by_ref_whichever_product_comes_first() -> None:
    clean = replace(SHOP.views[0], reads=(CURRENT.id,))
    for products in ([Product("crm", (clean,)), Product("shop", (CURRENT,))], [Product("shop", (CURRENT, clean))]):
        files = dbt_files(products, AgeLimits())
        (text,) = [text for name, text in files.items() if name.endswith(f"/{model_name(clean.id)}.sql")]
        assert "{{ ref('shop__customer_current') }}" in text


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ({"_landed_at": "TIMESTAMP", "datastream_metadata": "STRUCT<source_timestamp INT64>"}, "_landed_at"),
        (
            {"datastream_metadata": "STRUCT<source_timestamp INT64>"},
            "TIMESTAMP_MILLIS(datastream_metadata.source_timestamp)",
        ),
        ({"_landed_at": "STRING", "datastream_metadata": "STRING"}, None),
        ({"datastream_metadata": "STRUCT<source_timestamp STRING>"}, None),
    ],
)
def test_a_row_came_when_it_landed_else_when_it_changed_at_the_source(type_: dict[str, str], expected: str | None) -> None:
    assert loaded_at(columns(**type_)) == expected


def test_the_time_of_a_row_of_the_unified_view_is_that_of_its_columns() -> None:
    assert loaded_at(UNIFIED.columns) == SHOP.loaded_at[UNIFIED.id]


def test_a_table_without_a_project_is_no_reason_to_fail() -> None:
    view = ExportedView(
        TableId("p", "shop", "a_unified"), (Column("id", parse_type("INT64")),), reads=(TableId(None, "shop", "a"),)
    )
    assert "source('shop', 'a')" in "".join(dbt_files([Product("shop", (view,))], AgeLimits()).values())
