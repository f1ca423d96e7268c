"""Events as rows of the tables of their versions, or as one bad row with every reason."""

from __future__ import annotations

import json
import pickle
import random
from datetime import UTC, datetime
from typing import Any

import pytest
from support.shred_events import data_of, document, line, parsed, registry_of
from support.shred_oracle import csv_cells

from onefold.registry.columns import ENVELOPE
from onefold.registry.json_schema import Schema
from onefold.shred.bad_rows import KINDS, BadRow, original_of
from onefold.shred.event_fields import EVENT_FIELDS
from onefold.shred.manifest import FORMATS, Format
from onefold.shred.plan import INPUT_FORMS, InputForm, ShredPlan, plan_shred
from onefold.shred.shredder import Shredded, Shredder

START = datetime(2026, 11, 23, 8, tzinfo=UTC)
ID = "c6ef3124-b53a-4b13-a233-0088f79dcbcb"
TEXT, INTEGER = {"type": "string"}, {"type": "integer"}
CLICK = parsed({"type": "object", "properties": {"id": INTEGER, "label": TEXT}, "required": ["id"]})
LATER = parsed({"type": "object", "properties": {"id": INTEGER, "label": TEXT, "extra": TEXT}}, "1-0-1")
OTHER_TYPE = parsed({"type": "object", "properties": {"id": TEXT, "label": TEXT}}, "1-1-0")
PAGE = parsed({"type": "object", "properties": {"url": TEXT}}, name="page")


def plan(*schemas: Schema, format_: Format = "csv", form: InputForm = "self-describing") -> ShredPlan:
    made: ShredPlan = pickle.loads(pickle.dumps(plan_shred(registry_of(*schemas), format_, form, START)))
    return made


def entity(schema: Schema, **data: Any) -> dict[str, Any]:
    return {"schema": schema.key.uri, "data": data}


def shred(made: ShredPlan, record: Any) -> Shredded:
    return Shredder(made).shred(record if isinstance(record, str) else json.dumps(record))


def cells(made: ShredPlan, found: Shredded, number: int = 0) -> dict[str, Any]:
    place, row = found.rows[number]
    values = csv_cells(row) if isinstance(row, str) else row
    return dict(zip([name for name, _ in made.tables[place].columns], values, strict=True))


def enriched(form: InputForm, **fields: Any) -> str:
    """Return an enriched event; values of JSON are texts in the tab separated form."""
    fields = {"event_id": ID, "collector_tstamp": "2026-11-23 08:00:00.123"} | fields
    if form == "enriched-json":
        return json.dumps(fields)
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
    return "\t".join(texts.get(name, "") for name, _ in EVENT_FIELDS)


def contexts(*entities: Any) -> dict[str, Any]:
    return {"schema": "iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-1", "data": list(entities)}


def unstruct(inner: Any) -> dict[str, Any]:
    return {"schema": "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0", "data": inner}


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


def test_each_version_is_validated_by_itself_and_written_to_all_columns_of_the_model() -> None:
    made = plan(CLICK, LATER)
    # 1-0-0 does not say what `extra` is: the column of 1-0-1 is NULL. Only 1-0-0 requires `id`.
    assert cells(made, shred(made, entity(CLICK, id=1, extra="x")))["extra"] is None
    assert cells(made, shred(made, entity(LATER, extra="x")))["extra"] == "x"
    assert shred(made, entity(CLICK, extra="x")).bad is not None
    assert made.tables[1].uri == LATER.key.uri


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_a_version_that_does_not_fit_has_a_recovery_table(format_: Format) -> None:
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


@pytest.mark.parametrize("form", ["enriched-tsv", "enriched-json"])
@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_an_enriched_event_is_a_row_of_events_and_one_of_each_entity(form: InputForm, format_: Format) -> None:
    made = plan(CLICK, PAGE, format_=format_, form=form)
    record = enriched(
        form,
        app_id='say "a" \\N',
        txn_id="7",
        br_cookies="1",
        geo_latitude="1.5",
        unstruct_event=unstruct(entity(CLICK, id=1)),
        contexts=contexts(entity(PAGE, url="a"), entity(PAGE, url="a")),
        derived_contexts=contexts(entity(CLICK, id=2)),
    )
    found = shred(made, record)
    assert [place for place, _ in found.rows] == [0, 1, 2, 2, 1]
    event = cells(made, found)
    expected = ['say "a" \\N', "7", "1", "1.5"] if format_ == "csv" else ['say "a" \\N', 7, True, 1.5]
    assert [event[name] for name in ("app_id", "txn_id", "br_cookies", "geo_latitude")] == expected
    assert len(event) == 128
    assert sum(value is not None for value in event.values()) == 6
    assert {cells(made, found, number)["root_id"] for number in range(1, 5)} == {event["event_id"]} == {ID}
    assert {cells(made, found, number)["root_tstamp"] for number in range(1, 5)} == {event["collector_tstamp"]}


def test_the_fields_of_an_enriched_event_are_at_their_places() -> None:
    names = [name for name, _ in EVENT_FIELDS]
    places = {"app_id": 0, "collector_tstamp": 3, "event_id": 6, "contexts": 52, "unstruct_event": 58, "useragent": 77}
    assert {name: names.index(name) for name in places} == places
    assert (names.index("derived_contexts"), names[-1], len(set(names))) == (122, "true_tstamp", 131)


def test_values_of_json_are_values_of_an_enriched_event() -> None:
    made = plan(CLICK, format_="parquet", form="enriched-json")
    found = shred(made, enriched("enriched-json", txn_id=7, br_cookies=False, se_value=1, app_id=None, geo_location="1,2"))
    event = cells(made, found)
    assert [event[name] for name in ("txn_id", "br_cookies", "se_value", "app_id")] == [7, False, 1.0, None]


EVENT_PROBLEMS: list[tuple[dict[str, Any], str, str]] = [
    ({"event_id": "a b"}, "does_not_fit", "event_id: expected 1 to 36 ASCII characters"),
    ({"collector_tstamp": "yesterday"}, "does_not_fit", "collector_tstamp: "),
    ({"txn_id": "1.5"}, "does_not_fit", "txn_id: 1.5 is not a whole number"),
    ({"txn_id": "x"}, "does_not_fit", "txn_id: "),
    ({"txn_id": "9223372036854775808"}, "does_not_fit", "txn_id: 9223372036854775808 is beyond BIGINT"),
    ({"br_cookies": "2"}, "does_not_fit", "br_cookies: "),
    ({"geo_latitude": "NaN"}, "does_not_fit", "geo_latitude: "),
    ({"app_id": "ü" * 2_049}, "does_not_fit", "app_id: "),
    ({"contexts": "{"}, "unreadable", "contexts: not JSON"),
    ({"contexts": unstruct(entity(CLICK, id=1))}, "unreadable", "contexts: expected self-describing JSON of a list"),
    ({"unstruct_event": contexts()}, "unreadable", "unstruct_event: expected self-describing JSON of one entity"),
    (
        {"contexts": contexts({"schema": CLICK.key.uri})},
        "unreadable",
        "contexts[0]: expected an object with schema and data",
    ),
    ({"contexts": contexts({**entity(CLICK, id=1), "x": 1})}, "unreadable", "contexts[0]: expected data, schema only"),
]


@pytest.mark.parametrize("form", ["enriched-tsv", "enriched-json"])
@pytest.mark.parametrize(("fields", "kind", "reason"), EVENT_PROBLEMS, ids=str)
def test_what_is_wrong_with_an_enriched_event(form: InputForm, fields: dict[str, Any], kind: str, reason: str) -> None:
    bad = shred(plan(CLICK, form=form), enriched(form, **fields)).bad
    assert bad is not None
    assert (bad.kind, len(bad.reasons)) == (kind, 1)
    assert bad.reasons[0].startswith(reason)


@pytest.mark.parametrize("form", ["enriched-tsv", "enriched-json"])
def test_an_enriched_event_needs_an_id_and_a_time(form: InputForm) -> None:
    record = "{}" if form == "enriched-json" else "\t" * 130
    bad = shred(plan(CLICK, form=form), record).bad
    assert bad == BadRow("invalid", ("event_id is missing", "collector_tstamp is missing"), record)


@pytest.mark.parametrize(
    ("form", "record", "kind", "reason"),
    [
        ("self-describing", "[]", "unreadable", "the record: expected an object with schema and data"),
        ("self-describing", '{"schema": 1, "data": 1}', "unreadable", "the record: expected an object with schema and data"),
        ("self-describing", entity(CLICK, id=1) | {"x": 1}, "unreadable", "collector_tstamp, data, event_id, schema only"),
        ("self-describing", entity(CLICK, id=1) | {"collector_tstamp": "x"}, "does_not_fit", "collector_tstamp: "),
        ("self-describing", entity(CLICK, id=1, label="\0"), "does_not_fit", "NUL"),
        ("self-describing", '{"schema":"x","schema":"x","data":1}', "unreadable", "twice"),
        ("self-describing", {"schema": "x", "data": {}}, "invalid", "'x' is not a schema"),
        ("enriched-tsv", "a\tb", "unreadable", "expected 131 tab separated fields, got 2"),
        ("enriched-tsv", enriched("enriched-tsv", app_id="\0"), "does_not_fit", "NUL"),
        ("enriched-tsv", enriched("enriched-tsv", app_id="\ud800"), "unreadable", "surrogate"),
        ("enriched-json", "[]", "unreadable", "expected an object with the fields of an event"),
        ("enriched-json", enriched("enriched-json", color="red"), "invalid", "'color' is not a field of an enriched event"),
        (
            "enriched-json",
            enriched("enriched-json", contexts_com_acme_x_1=[]),
            "invalid",
            "without the version of its schema",
        ),
    ],
)
def test_a_record_that_is_not_an_event(form: InputForm, record: Any, kind: str, reason: str) -> None:
    bad = shred(plan(CLICK, form=form), record).bad
    assert bad is not None
    assert (bad.kind, reason in bad.reasons[0]) == (kind, True), bad


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
    twin = parsed({"type": "object", "properties": {"a": {}}}, vendor="com-acme")
    made = plan(CLICK, wide, twin)
    for schema, reason in ((wide, "has 1,601 columns, and Redshift allows 1,600"), (twin, "have the same table")):
        bad = shred(made, entity(schema)).bad
        assert bad is not None
        assert (bad.kind, reason in bad.reasons[0]) == ("no_table", True), bad
    assert shred(made, entity(CLICK, id=1)).bad is None


@pytest.mark.parametrize("form", INPUT_FORMS)
def test_a_bad_row_is_read_by_its_original_whatever_the_form(form: InputForm) -> None:
    good = (
        json.dumps(entity(CLICK, id=1))
        if form == "self-describing"
        else enriched(form, contexts=contexts(entity(CLICK, id=1)))
    )
    text = BadRow("newer_version", ("it was newer",), BadRow("invalid", ("no",), good).to_json()).to_json()
    assert "\n" not in text
    assert shred(plan(CLICK, form=form), text) == shred(plan(CLICK, form=form), good)
    assert shred(plan(CLICK, form=form), text).bad is None


@pytest.mark.parametrize("original", ["", "\ud800 half", "é\t\n\"'\\ 😀 \u2028\0", "{}"])
def test_a_bad_row_keeps_its_original(original: str) -> None:
    text = BadRow("unreadable", ("é",), original).to_json()
    text.encode()
    assert "\n" not in text
    assert original_of(text) == original


@pytest.mark.parametrize("record", ['{"kind":', '{"kind":"x","reasons":[],"original":5}', '{"kind":"x","original":"a"}'])
def test_what_only_resembles_a_bad_row_is_a_record(record: str) -> None:
    assert original_of(record) == record


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


def fuzzed(chance: random.Random, record: str) -> str:
    """Return a record with some characters exchanged, doubled or left out."""
    for _ in range(chance.choice([0, 1, 1, 3])):
        place = chance.randrange(len(record) + 1)
        replacement = chance.choice(['"', "\\", "\t", "\0", "{", "]", "9" * 25, "e999", "null", "\ud800", "ü", ",", ":", ""])
        record = record[:place] + replacement + record[place + chance.choice([0, 1, 4]) :]
    return record


def check_fuzzed(chance: random.Random, records: int) -> dict[str, int]:
    """Shred records and return their number by the kind of the bad row, `rows` for those that are not bad."""
    counts = dict.fromkeys(("rows", *KINDS), 0)
    for number in range(records):
        if number % 50 == 0:
            source = document(chance)
            schema, form = parsed(source), chance.choice(INPUT_FORMS)
            made = plan(schema, format_=chance.choice(FORMATS), form=form)
            shredder = Shredder(made)
        data = {"schema": chance.choice([schema, schema, LATER, PAGE]).key.uri, "data": data_of(chance, source, 0.02)}
        event = data if form == "self-describing" else enriched(form, contexts=line(chance, contexts(data)))
        record = fuzzed(chance, event if isinstance(event, str) else line(chance, event))
        found = shredder.shred(record)
        assert bool(found.rows) != (found.bad is not None)
        counts[found.bad.kind if found.bad else "rows"] += 1
        for place, row in found.rows:
            values = csv_cells(row) if isinstance(row, str) else row
            assert len(values) == len(made.tables[place].columns)
        if found.bad:
            assert found.bad.original == record
            assert all(found.bad.reasons)
            assert found.bad.reasons
            assert shredder.shred(found.bad.to_json()) == found
    assert sum(counts.values()) == records
    return counts


def test_fuzzed_records_are_rows_or_bad_rows_with_reasons(chance: random.Random) -> None:
    counts = check_fuzzed(chance, 3_000)
    assert (
        min(counts[kind] for kind in ("rows", "unreadable", "invalid", "unknown_schema", "newer_version", "does_not_fit"))
        > 20
    )


@pytest.mark.long
def test_a_hundred_thousand_fuzzed_records(chance: random.Random) -> None:
    assert check_fuzzed(chance, 100_000)["rows"] > 10_000
