"""The identifiers of changes: of a version where tables never change, of a column where they gain columns in place."""

from __future__ import annotations

from support.views import version

from onefold.changes.ids import column_change_id, version_change_id
from onefold.core.names import TableId
from onefold.views.change_names import ChangeNames

BASE = TableId("p", "shop", "customer")


def test_what_a_version_brought_is_one_change() -> None:
    names = ChangeNames(BASE, [version("a", "id INT64"), version("b", "id INT64", "zip STRING", "fax STRING")])
    assert names.of("b", "zip") == names.of("b", "fax") == version_change_id(BASE, "a", "b")
    assert names.of("c", "zip") == ""


def test_a_column_in_place_is_one_change_in_the_tables_of_all_tenants() -> None:
    first = ChangeNames(BASE, [version("shop_a", "id INT64"), version("shop_b", "id INT64", "zip STRING")], grow=True)
    later = version("shop_a", "id INT64", "fax STRING", "Zip STRING")
    names = ChangeNames(BASE, [later, version("shop_b", "id INT64", "zip STRING")], grow=True)
    assert first.of("shop_b", "zip") == names.of("shop_a", "zip") == names.of("shop_b", "zip")
    assert names.of("shop_a", "fax") not in ("", names.of("shop_a", "zip"))
    assert (names.of("shop_b", "fax"), names.lasting) == ("", {})


def test_a_field_is_a_change_of_its_own_and_another_type_is_another_change() -> None:
    names = ChangeNames(BASE, [version("", "id INT64", "home ARRAY<STRUCT<zip STRING, city STRING>>")])
    assert names.of("", "home.zip") == column_change_id(BASE, "home.zip", "STRING")
    other = ChangeNames(BASE, [version("", "id INT64", "home ARRAY<STRUCT<zip INT64, city STRING, fax STRING>>")])
    assert other.of("", "home.zip") != names.of("", "home.zip")
    assert other.of("", "home.city") == names.of("", "home.city")
