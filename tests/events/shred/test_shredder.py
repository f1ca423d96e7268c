"""Entities as rows of the tables of their versions: an event is whole, or it is bad with every reason."""

from __future__ import annotations

from typing import Any

import pytest
from support.shred_events import parsed
from support.shred_scene import (
    CLICK,
    ID,
    INTEGER,
    LATER,
    PAGE,
    START,
    TEXT,
    cells,
    contexts,
    enriched,
    entity,
    plan,
    shred,
)

from onefold.core.shred_options import FileFormat
from onefold.events.registry.columns import ENVELOPE
from onefold.events.shred.manifest import FORMATS


def test_a_row_begins_with_its_schema_and_its_event() -> None:
    made = plan(CLICK)
    row = cells(made, shred(made, entity(CLICK, id=1) | {"event_id": ID, "collector_tstamp": "2026-01-01T00:00:00Z"}))
    assert tuple(row)[: len(ENVELOPE)] == ENVELOPE
    assert list(row.values()) == [
        "com.acme", "ad_click", "jsonschema", "1-0-0", ID, "2026-01-01 00:00:00",
        "events", '["events","ad_click"]', "events", "1", None,
    ]  # fmt: skip


def test_a_self_describing_event_has_the_time_of_the_start_and_an_id_of_its_content() -> None:
    made = plan(CLICK, format_="parquet")
    one, again, other = (cells(made, shred(made, entity(CLICK, id=number))) for number in (1, 1, 2))
    assert one["root_tstamp"] == int(START.timestamp()) * 1_000_000
    assert one["root_id"] == again["root_id"] != other["root_id"]


@pytest.mark.parametrize("wrong", ["", "a" * 37, "a b", "ü", 5])
def test_an_id_fits_into_root_id(wrong: Any) -> None:
    bad = shred(plan(CLICK), entity(CLICK, id=1) | {"event_id": wrong}).bad
    assert bad is not None
    assert "expected 1 to 36 ASCII characters without spaces" in bad.reasons[0]


@pytest.mark.parametrize("format_", FORMATS)
def test_each_version_is_validated_by_itself_and_written_to_all_columns_of_the_model(format_: FileFormat) -> None:
    made = plan(CLICK, LATER, format_=format_)
    # 1-0-0 does not say what `extra` is: the column of 1-0-1 is NULL. Only 1-0-0 requires `id`.
    assert cells(made, shred(made, entity(CLICK, id=1, extra="x")))["extra"] is None
    assert cells(made, shred(made, entity(LATER, extra="x")))["extra"] == "x"
    assert shred(made, entity(CLICK, extra="x")).bad is not None
    assert made.tables[1].uri == LATER.key.uri


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_a_version_that_does_not_fit_has_a_recovery_table(format_: FileFormat) -> None:
    last = parsed({"type": "object", "properties": {"id": INTEGER, "label": INTEGER}}, "1-0-1")
    first = parsed({"type": "object", "properties": {"id": INTEGER, "label": {"type": "boolean"}}})
    made = plan(first, last, format_=format_)
    ((place, _),) = shred(made, entity(last, label=5)).rows
    table = made.tables[place]
    digest = table.name.rpartition("_")[2]
    assert table.name == f"com_acme_ad_click_1_0_1_recovered_{digest}"
    assert (table.base, table.version, table.uri) == ("com_acme_ad_click", f"1r{digest}", last.key.uri)
    assert table.folder == f"vendor=com.acme/name=ad_click/format=jsonschema/model=1_0_1_recovered_{digest}"
    assert made.tables[1].uri == first.key.uri


def test_an_event_is_whole_or_bad_with_the_reasons_of_all_entities() -> None:
    made = plan(CLICK, PAGE, form="enriched-tsv")
    broken = [entity(CLICK, label=5), entity(PAGE, url="a"), {"schema": "iglu:a/b/jsonschema/1-0-0", "data": 1}]
    long = [entity(PAGE, url="x" * 4_097), {"schema": PAGE.key.uri.replace("1-0-0", "1-0-1"), "data": {}}]
    record = enriched("enriched-tsv", txn_id="x", contexts=contexts(*broken), derived_contexts=contexts(*long))
    found = shred(made, record)
    assert found.rows == ()
    assert found.bad is not None
    assert (found.bad.kind, found.bad.original) == ("does_not_fit", record)
    for reason in (
        "txn_id: ",
        '"id" is a required property',
        '/label: 5 is not of type "string"',
        "has no schema iglu:a/b",
        "url: ",
        "had no iglu:com.acme/page/jsonschema/1-0-1 at the start",
    ):
        assert sum(reason in one for one in found.bad.reasons) == 1, reason
    assert len(found.bad.reasons) == 6


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        (CLICK.key.uri.replace("1-0-0", "1-0-1"), "newer_version"),
        (CLICK.key.uri.replace("1-0-0", "2-0-0"), "newer_version"),
        (CLICK.key.uri.replace("ad_click", "Ad_click"), "unknown_schema"),
        ("iglu:org.acme/ad_click/jsonschema/1-0-0", "unknown_schema"),
        ("iglu:com.acme/ad_click/jsonschema/1-0", "invalid"),
        ("http://example.com/schema", "invalid"),
    ],
)
def test_the_kind_of_a_schema_that_the_registry_did_not_have(uri: str, kind: str) -> None:
    bad = shred(plan(CLICK), {"schema": uri, "data": {"id": 1}}).bad
    assert bad is not None
    assert bad.kind == kind


def test_a_schema_whose_table_the_warehouse_would_refuse_does_not_stop_the_others() -> None:
    wide = parsed({"type": "object", "properties": {f"p{number}": {} for number in range(1_592)}}, name="wide")
    made = plan(CLICK, wide)
    bad = shred(made, entity(wide)).bad
    assert bad is not None
    assert (bad.kind, "has 1,601 columns, and Redshift allows 1,600" in bad.reasons[0]) == ("no_table", True), bad
    assert shred(made, entity(CLICK, id=1)).bad is None


def test_a_version_with_which_the_table_would_have_too_many_columns_stops_no_earlier_version() -> None:
    first = parsed({"type": "object", "properties": {"id": {}}}, "1-0-0", name="user")
    small = parsed({"type": "object", "properties": {"id": {}, "zip": {}}}, "1-0-1", name="user")
    wide = parsed({"type": "object", "properties": {f"p{number}": {} for number in range(1_592)}}, "1-0-2", name="user")
    made = plan(first, small, wide)
    assert [bool(made.schemas[one.key.uri].problem) for one in (first, small, wide)] == [False, False, True]
    assert [name for name, _ in made.tables[1].columns[-2:]] == ["id", "zip"]


def test_an_object_or_something_else_has_columns_for_both() -> None:
    union = {"type": ["object", "integer"], "properties": {"x": INTEGER}}
    schema = parsed({"type": "object", "properties": {"u": union}})
    made = plan(schema)
    rows = [cells(made, shred(made, entity(schema, u=value))) for value in ({"x": 5}, 7, {})]
    assert [(row["u"], row["u.x"]) for row in rows] == [(None, "5"), ("7", None), (None, None)]


def test_bigquery_has_a_column_for_what_is_no_object_where_an_object_came_first() -> None:
    first = parsed({"type": "object", "properties": {"u": {"type": "object", "properties": {"x": INTEGER}}}})
    last = parsed(
        {"type": "object", "properties": {"u": {"type": ["object", "integer"], "properties": {"x": INTEGER}}}}, "1-1-0"
    )
    whole = parsed({"type": "object", "properties": {"u": {"type": "object"}}}, "1-2-0")
    made = plan(first, last, whole, format_="parquet")
    data = [(first, {"x": 5}), (last, {"x": 6}), (last, 7), (whole, {"x": 8, "y": 9})]
    rows = [cells(made, shred(made, entity(schema, u=value))) for schema, value in data]
    (other,) = [name for name, type_ in made.tables[1].columns[9:] if type_ == "STRING"]
    assert [(row["u"], row[other]) for row in rows] == [
        ({"x": 5}, None), ({"x": 6}, None), (None, "7"), (None, '{"x":8,"y":9}')
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("items", "value", "expected"),
    [
        (TEXT, ["a", "null", ""], ["a", "null", ""]),
        ({"enum": ["a", "b"]}, ["a"], ["a"]),
        ({"type": ["string", "null"]}, ["a", None, "null"], ['"a"', "null", '"null"']),
        ({"type": ["string", "integer"]}, ["1", 1], ['"1"', "1"]),
        ({"type": "array", "items": INTEGER}, [[1], []], ["[1]", "[]"]),
        ({"type": "array", "items": {"type": ["string", "null"]}}, [["a", None]], ['["a",null]']),
        (INTEGER, [1, 2.0], None),
        (INTEGER, [1, 2], [1, 2]),
        (INTEGER, [2**63], None),
        ({"properties": {"x": INTEGER}, "type": "object"}, [{"x": 1}, {}], [{"x": 1}, {"x": None}]),
        ({"properties": {"x": INTEGER}}, [{"x": 1}, None], None),
        ({"type": ["object", "null"], "properties": {"x": INTEGER}}, [{"x": 1}, None], ['{"x":1}', "null"]),
    ],
)
def test_the_items_of_an_array_in_parquet(items: dict[str, Any], value: list[Any], expected: list[Any] | None) -> None:
    schema = parsed({"type": "object", "properties": {"a": {"type": "array", "items": items}}})
    made = plan(schema, format_="parquet")
    found = shred(made, entity(schema, a=value))
    assert (found.bad is None) == (expected is not None), found.bad
    if expected is not None:
        assert cells(made, found)["a"] == expected


def test_every_problem_of_nested_columns_is_a_reason() -> None:
    inner = {"type": "object", "properties": {"x": INTEGER, "y": INTEGER}}
    schema = parsed({"type": "object", "properties": {"o": inner, "a": {"type": "array", "items": inner}, "z": INTEGER}})
    bad = shred(plan(schema, format_="parquet"), entity(schema, o={"x": 2**63, "y": 2**64}, a=[{"x": 2**63}], z=2**63)).bad
    assert bad is not None
    assert [reason.split(": ", 1)[1].rpartition(": ")[0] for reason in bad.reasons] == ["a: x", "o: x", "o: y", "z"]


def test_a_root_that_is_no_object_has_the_columns_of_the_envelope_only() -> None:
    schema = parsed({"type": "array"})
    for format_ in ("csv", "parquet"):
        made = plan(schema, format_=format_)
        found = shred(made, {"schema": schema.key.uri, "data": [1]})
        assert len(cells(made, found)) == len(ENVELOPE)


@pytest.mark.parametrize(
    ("format_", "wrong", "right"),
    [
        ("uuid", "c6ef3124-b53a-4b13-a233-0088f79dcbcg", ID),
        ("uuid", ID.replace("-", ""), ID.upper()),
        ("email", "a", "a@example.com"),
        ("ipv4", "1.2.3.256", "1.2.3.4"),
        ("date", "2026-02-29", "2026-02-28"),
        ("date-time", "2026-11-23 08:00", "2026-11-23T08:00:00Z"),
    ],
)
def test_the_format_of_a_text_is_asserted_at_every_depth(format_: str, wrong: str, right: str) -> None:
    schema = parsed({"type": "object", "properties": {"a": {"type": "array", "items": {**TEXT, "format": format_}}}})
    made = plan(schema)
    assert shred(made, entity(schema, a=[right])).bad is None
    bad = shred(made, entity(schema, a=[right, wrong])).bad
    assert bad is not None
    assert (bad.kind, "/a/1" in bad.reasons[0]) == ("invalid", True)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(
    ("step", "number", "valid"),
    [
        (3, "8624302472392871.7", False),
        (7, "9281369352007326.7", False),
        (3, "8624302472392872.0", True),
        (0.01, "99999999999.99", True),
        (0.01, "0.30000000000000000001", False),
        (0.1, "0.3", True),
        (1e-9, "1e30", True),
    ],
)
def test_a_multiple_is_judged_by_its_digits(format_: FileFormat, step: float, number: str, valid: bool) -> None:
    schema = parsed({"type": "object", "properties": {"price": {"type": ["number", "string"], "multipleOf": step}}})
    outcome = shred(plan(schema, format_=format_), f'{{"schema": "{schema.key.uri}", "data": {{"price": {number}}}}}')
    assert (outcome.bad is None) is valid
    if outcome.bad:
        assert f"/price: {number} is not a multiple of {step}" in outcome.bad.reasons[0]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_schema_of_the_registry_that_a_schema_refers_to_validates_its_data(format_: FileFormat) -> None:
    visit = parsed({"type": "object", "properties": {"page": {"$ref": PAGE.key.uri}}}, name="visit")
    made = plan(visit, PAGE, format_=format_)
    row = cells(made, shred(made, entity(visit, page={"url": "a"})))
    assert row["page"] == '{"url":"a"}'
    bad = shred(made, entity(visit, page={"url": 5})).bad
    assert bad is not None
    assert (bad.kind, bad.reasons) == ("invalid", (f'{visit.key}: /page/url: 5 is not of type "string"',))


def test_a_schema_that_refers_to_what_no_registry_has_is_not_used_and_stops_no_other() -> None:
    visit = parsed({"type": "object", "properties": {"page": {"$ref": PAGE.key.uri}}}, name="visit")
    made = plan(visit, CLICK)
    bad = shred(made, entity(visit)).bad
    assert bad is not None
    assert bad.kind == "unknown_schema"
    assert f"cannot be used: /properties/page/$ref: no schema {PAGE.key.uri} is known" in bad.reasons[0]
    assert [name for name, _ in made.tables[1].columns][-1] == "page"
    assert shred(made, entity(CLICK, id=1)).bad is None
