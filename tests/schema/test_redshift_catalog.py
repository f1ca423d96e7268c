"""Types of Redshift, read from its catalog, and how they grow."""

from __future__ import annotations

from typing import Any

import pytest

from onefold.schema.redshift_catalog import catalog_type, grown_type


@pytest.mark.parametrize(
    ("row", "type_"),
    [
        ({"data_type": "smallint"}, "SMALLINT"),
        ({"data_type": "INTEGER"}, "INT"),
        ({"data_type": "timestamp without time zone"}, "TIMESTAMP"),
        ({"data_type": "double precision"}, "DOUBLE PRECISION"),
        ({"data_type": "super"}, "SUPER"),
        ({"data_type": "character varying", "character_maximum_length": "10"}, "VARCHAR(10)"),
        ({"data_type": "character", "character_maximum_length": 36}, "CHAR(36)"),
        ({"data_type": "numeric", "numeric_precision": "36", "numeric_scale": "2"}, "DECIMAL(36,2)"),
        ({"data_type": "character varying", "character_maximum_length": None}, "VARCHAR(256)"),
        ({"data_type": "numeric", "numeric_precision": "", "numeric_scale": ""}, "DECIMAL(18,0)"),
    ],
)
def test_a_type_is_read_as_the_catalog_spells_it(row: dict[str, Any], type_: str) -> None:
    assert str(catalog_type(row)) == type_


@pytest.mark.parametrize("row", [{"data_type": "geometry"}, {"data_type": "character"}, {"data_type": "numeric"}])
def test_a_type_that_is_not_known_is_named(row: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{row['data_type']}$"):
        catalog_type(row)


@pytest.mark.parametrize(("new", "grown"), [("geometry", "geometry"), ("hllsketch", None), ("INT", None)])
def test_a_type_that_this_release_does_not_know_stays(new: str, grown: str | None) -> None:
    assert grown_type("geometry", new) == grown
