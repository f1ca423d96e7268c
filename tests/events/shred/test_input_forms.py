"""The forms of input: enriched events, and what is wrong with a record."""

from __future__ import annotations

from typing import Any

import pytest
from support.shred_scene import (
    CLICK,
    ID,
    PAGE,
    cells,
    contexts,
    enriched,
    entity,
    plan,
    shred,
    unstruct,
)

from onefold.core.shred_options import FileFormat, InputForm
from onefold.events.shred.bad_rows import BadRow
from onefold.events.shred.event_fields import EVENT_FIELDS, FORMER_FIELDS


@pytest.mark.parametrize("form", ["enriched-tsv", "enriched-json"])
@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_an_enriched_event_is_a_row_of_events_and_one_of_each_entity(form: InputForm, format_: FileFormat) -> None:
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


@pytest.mark.parametrize("form", ["enriched-tsv", "enriched-json"])
@pytest.mark.parametrize("value", ["1", "true", 1, True, "0", "false", 0, False], ids=repr)
def test_a_boolean_is_1_and_0_or_true_and_false(form: InputForm, value: Any) -> None:
    made = plan(CLICK, format_="parquet", form=form)
    assert cells(made, shred(made, enriched(form, br_cookies=value)))["br_cookies"] is (value in ("1", "true", 1))


@pytest.mark.parametrize("format_", ["csv", "parquet"])
@pytest.mark.parametrize("count", FORMER_FIELDS)
def test_a_line_of_an_earlier_release_lacks_the_last_fields(format_: FileFormat, count: int) -> None:
    made = plan(CLICK, format_=format_, form="enriched-tsv")
    line = enriched("enriched-tsv", app_id="a", doc_height=5, true_tstamp="2026-11-23 08:00:00").split("\t")
    event = cells(made, shred(made, "\t".join(line[:count])))
    assert (event["app_id"], int(event["doc_height"]), event["true_tstamp"]) == ("a", 5, None)


EVENT_PROBLEMS: list[tuple[dict[str, Any], str, str]] = [
    ({"event_id": "a b"}, "does_not_fit", "event_id: expected 1 to 36 ASCII characters"),
    ({"collector_tstamp": "yesterday"}, "does_not_fit", "collector_tstamp: "),
    ({"txn_id": "1.5"}, "does_not_fit", "txn_id: 1.5 is not a whole number"),
    ({"txn_id": "x"}, "does_not_fit", "txn_id: "),
    ({"txn_id": "9223372036854775808"}, "does_not_fit", "txn_id: 9223372036854775808 is beyond BIGINT"),
    ({"br_cookies": "2"}, "does_not_fit", "br_cookies: "),
    ({"br_cookies": 2}, "does_not_fit", "br_cookies: "),
    ({"br_cookies": [1]}, "does_not_fit", "br_cookies: "),
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
        (
            "enriched-tsv",
            "a\tb",
            "unreadable",
            "131 tab separated fields, or 125 or 108 of earlier releases, got 2",
        ),
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


@pytest.mark.parametrize("form", ["enriched-tsv", "enriched-json"])
@pytest.mark.parametrize("text", ["\\N", "\\\\N", '"a"', 'a"b', "a\rb", "a\nb", " a ", "ü"])
def test_a_field_with_special_characters_survives(form: InputForm, text: str) -> None:
    made = plan(CLICK, form=form)
    found = shred(made, enriched(form, app_id=text, contexts=contexts(entity(CLICK, id=1, label=text))))
    assert [cells(made, found)["app_id"], cells(made, found, 1)["label"]] == [text, text]
