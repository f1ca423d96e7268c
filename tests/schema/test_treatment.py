"""What a clean view shows of a column: nested fields, and structs that are a whole value in another version."""

from __future__ import annotations

import pytest

from onefold.schema.column_policy import Action, PolicyRule, TablePolicies
from onefold.schema.columns import Column
from onefold.schema.treatment import Treatment, landed_types, treat
from onefold.schema.types import parse_type

STRUCT = "STRUCT<zip STRING, Geo STRUCT<lat FLOAT64, lon FLOAT64>>"


def treated(type_: str, landed: list[str], **rules: str) -> Treatment:
    """Treat the column `a`; a rule's name has `__` for the dot and `ALL` for the star."""
    made = tuple(
        PolicyRule("*", name.replace("__", ".").replace("ALL", "*"), Action[action.upper()])
        for name, action in rules.items()
    )
    return treat(Column("a", parse_type(type_)), [parse_type(one) for one in landed], TablePolicies(made))


@pytest.mark.parametrize(
    ("rules", "shown"),
    [
        ({}, STRUCT),
        ({"a__ALL": "clear"}, STRUCT),
        ({"a__ALL": "clear", "a__zip": "drop"}, "STRUCT<Geo STRUCT<lat FLOAT64, lon FLOAT64>>"),
        ({"a__ALL": "clear", "a__geo": "drop"}, "STRUCT<zip STRING>"),
        ({"a__ALL": "clear", "a__geo__lat": "hash"}, "STRUCT<zip STRING, Geo STRUCT<lat STRING, lon FLOAT64>>"),
        ({"a__geo__lat": "drop"}, "STRUCT<zip STRING, Geo STRUCT<lon FLOAT64>>"),
        ({"a": "drop"}, None),
        ({"a__zip": "drop", "a__geo__ALL": "drop"}, None),
    ],
)
def test_type_in_the_clean_view(rules: dict[str, str], shown: str | None) -> None:
    for wrap in ("{}", "ARRAY<{}>"):
        found = treated(wrap.format(STRUCT), [wrap.format(STRUCT)], **rules)
        assert found.shown_type == (parse_type(wrap.format(shown)) if shown else None)


def test_struct_without_a_shown_field_is_masked_as_a_whole() -> None:
    found = treated(STRUCT, [STRUCT], a__zip="drop")
    assert (found.action, str(found.shown_type)) == (Action.MASK, "STRUCT<Geo STRUCT<lat FLOAT64, lon FLOAT64>>")


def test_columns_that_wait_are_named_by_their_paths() -> None:
    found = treated(STRUCT, [STRUCT], a__zip="clear")
    assert found.all_waiting == ("a.Geo.lat", "a.Geo.lon")
    assert not treated(STRUCT, [STRUCT], ALL="clear").all_waiting


@pytest.mark.parametrize("whole", ["JSON", "STRING"])
@pytest.mark.parametrize(
    ("rules", "action", "waiting"),
    [
        ({"a": "clear"}, "mask", ("a.zip", "a.Geo.lat", "a.Geo.lon")),
        ({"a": "clear", "a__ALL": "clear"}, "clear", ()),
        ({"a__ALL": "clear"}, "mask", ("a",)),
        ({"a": "clear", "a__ALL": "clear", "a__geo__lat": "hash"}, "hash", ()),
        ({"a": "clear", "a__ALL": "clear", "ALL__lon": "drop"}, "drop", ()),
        ({"a": "clear", "a__ALL": "clear", "a__email": "mask"}, "mask", ()),
        ({"a": "clear", "a__ALL": "clear", "ALL__email": "drop"}, "drop", ()),
    ],
)
def test_whole_value_takes_the_strictest_of_what_it_can_hold(
    whole: str, rules: dict[str, str], action: str, waiting: tuple[str, ...]
) -> None:
    found = treated(whole, [STRUCT, whole], **rules)
    assert (str(found.action), found.all_waiting) == (action, waiting)


def test_text_that_never_was_a_struct_holds_no_fields() -> None:
    assert treated("STRING", ["STRING", "INT64"], a="clear", ALL__email="drop").action is Action.CLEAR
    assert treated("STRING", ["STRING"], a="clear", a__email="mask").action is Action.MASK


def test_whole_value_below_a_struct() -> None:
    old, new = "STRUCT<b STRUCT<c INT64>>", "STRUCT<b INT64>"
    found = treated("STRUCT<b STRING>", [old, new], a__b="clear", a__b__c="drop", ALL="mask")
    assert found.action is Action.DROP


def test_landed_types_are_found_without_case() -> None:
    versions = [(Column("A", parse_type("INT64")),), (Column("a", parse_type("STRING")), Column("b", parse_type("DATE")))]
    assert [str(type_) for type_ in landed_types(versions)["a"]] == ["INT64", "STRING"]
