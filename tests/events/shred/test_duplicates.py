"""Events with one id: what makes two of them one event, which keeps the id, and what the others get."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.shred_events import parsed
from support.shred_scene import CLICK, ID, PAGE, cells, contexts, enriched, entity, plan

from onefold.core.shred_options import FileFormat, InputForm
from onefold.events.shred.bad_rows import BadRow
from onefold.events.shred.duplicates import (
    DUPLICATE,
    LEFT_OUT,
    Copy,
    derived_id,
    key_reader,
    new_ids,
    sure_ids,
    with_id,
)
from onefold.events.shred.event import EventKey
from onefold.events.shred.event_fields import EVENT_FIELDS
from onefold.events.shred.manifest import FORMATS
from onefold.events.shred.shredder import Shredder

FORMS: tuple[InputForm, ...] = ("enriched-tsv", "enriched-json")
DELIVERY = [
    "collector_tstamp", "etl_tstamp", "derived_tstamp", "dvce_sent_tstamp", "etl_tags", "v_collector", "v_etl",
    "network_userid", "user_ipaddress", "derived_contexts", "geo_city", "ip_isp",
]  # fmt: skip
CONTEXT = parsed(
    {
        "type": "object",
        "properties": {"originalEventId": {"type": "string", "format": "uuid"}},
        "additionalProperties": False,
    },
    name="duplicate",
    vendor="com.snowplowanalytics.snowplow",
)


def key(form: InputForm, **fields: Any) -> EventKey | None:
    return key_reader(form)(enriched(form, **fields))


@pytest.mark.parametrize("form", FORMS)
def test_the_fingerprint_that_an_event_has_is_taken(form: InputForm) -> None:
    assert key(form, event_fingerprint="f1", app_id="shop") == EventKey(ID, "f1") == key(form, event_fingerprint="f1")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", DELIVERY)
def test_a_computed_fingerprint_leaves_out_what_differs_between_deliveries(form: InputForm, field: str) -> None:
    assert key(form, **{field: "2026-11-23 09:00:00"}) == key(form, **{field: "2026-11-23 10:00:00"})


@pytest.mark.parametrize("form", FORMS)
def test_a_computed_fingerprint_has_all_other_fields(form: InputForm) -> None:
    others = [name for name, _ in EVENT_FIELDS if name not in (*DELIVERY, "event_id", "event_fingerprint")]
    others = [name for name in others if not name.startswith(("geo_", "ip_"))]
    found = [key(form, **{name: "5"}) for name in others]
    assert len(set(found)) == len(others) > 100


@pytest.mark.parametrize("form", FORMS)
def test_a_computed_fingerprint_does_not_depend_on_the_id(form: InputForm) -> None:
    one, other = key(form, event_id="e1"), key(form, event_id="e2")
    assert one
    assert other
    assert one.fingerprint == other.fingerprint


def test_the_keys_of_an_object_may_come_in_any_order_and_be_null() -> None:
    read = key_reader("enriched-json")
    assert read('{"event_id":"e","app_id":"a","event":"x"}') == read(
        '{"event":"x","page_url":null,"app_id":"a","event_id":"e"}'
    )


def test_a_computed_fingerprint_has_every_digit_of_a_number() -> None:
    read, line = key_reader("enriched-json"), '{"event_id":"e","se_value":1234567890123456789012%s}'
    assert read(line % 3) != read(line % 4)


def test_a_self_describing_line_has_a_key_if_it_says_its_id() -> None:
    read, line = key_reader("self-describing"), entity(CLICK, id=1)
    assert read(json.dumps(line)) is None
    found = read(json.dumps({**line, "event_id": ID}))
    assert found == read(json.dumps({**line, "event_id": ID, "collector_tstamp": "2026-11-23T09:00:00Z"}))
    assert found != read(json.dumps({**entity(CLICK, id=2), "event_id": ID}))


@pytest.mark.parametrize("record", ["nonsense", "\t" * 130, "[1]", '{"event_id": 5}', '{"event_id": ""}', "[" * 9_999, ""])
@pytest.mark.parametrize("form", [*FORMS, "self-describing"])
def test_what_is_no_event_with_an_id_has_no_key(form: InputForm, record: str) -> None:
    assert key_reader(form)(record) is None


def test_lines_of_earlier_releases_have_keys_too() -> None:
    fields = enriched("enriched-tsv").split("\t")
    assert key_reader("enriched-tsv")("\t".join(fields[:108])) == key_reader("enriched-tsv")("\t".join(fields))
    assert key_reader("enriched-tsv")("\t".join(fields[:109])) is None


@pytest.mark.parametrize("new_id", [None, "e2"])
@pytest.mark.parametrize(
    "fields",
    [{}, {"event_fingerprint": "f1"}, {"app_id": "shop", "contexts": contexts(entity(CLICK, id=1)), "geo_city": "x"}],
)
def test_the_shredder_gives_the_key_that_the_record_has(fields: dict[str, Any], new_id: str | None) -> None:
    record, former = enriched("enriched-tsv", **fields), "\t".join(enriched("enriched-tsv").split("\t")[:108])
    keyed, plain = (Shredder(plan(CLICK, CONTEXT, form="enriched-tsv"), keyed=one) for one in (True, False))
    for line in (record, BadRow("invalid", ("x",), record).to_json(), former):
        assert keyed.shred(line, new_id).key == key_reader("enriched-tsv")(line)
        assert plain.shred(line, new_id) == keyed.shred(line, new_id)._replace(key=None)


@given(st.lists(st.lists(st.text("aé\r{", max_size=2), min_size=7, max_size=9).map("\t".join), max_size=4).map("\n".join))
def test_ids_that_are_read_from_lines_are_those_of_their_records(text: str) -> None:
    records = [line.removesuffix("\r") for line in text.split("\n")]
    found = sure_ids(text.encode())
    sure = all(
        record.count("\t") > 6 and record.split("\t")[6].isascii() and not record.startswith("{") for record in records
    )
    assert found == ([record.split("\t")[6].encode() for record in records] if sure else None)


def test_ids_of_bad_rows_of_earlier_runs_are_not_read_from_their_lines() -> None:
    line = enriched("enriched-tsv", event_id="e1")
    assert sure_ids(f"{line}\n{line}".encode()) == [b"e1", b"e1"]
    assert sure_ids(f"{line}\n{BadRow('invalid', ('x',), line).to_json()}".encode()) is None
    assert sure_ids(b'{"kind":\t1\t,\t"x"\t:\t1\t,"original"\t:\t1}') is None


def test_a_bad_row_has_the_key_of_its_original() -> None:
    record = enriched("enriched-tsv")
    assert key_reader("enriched-tsv")(BadRow("invalid", ("x",), record).to_json()) == key_reader("enriched-tsv")(record)


def test_a_fingerprint_that_no_line_of_text_may_hold_is_digested() -> None:
    odd = key("enriched-json", event_fingerprint="a\tb\n")
    assert odd
    assert odd.fingerprint.isalnum()
    assert odd != key("enriched-json", event_fingerprint="a\tb")


def test_a_derived_id_is_a_uuid_of_version_5_that_stays_the_same_in_every_release() -> None:
    assert uuid.UUID(derived_id(EventKey(ID, "f1"))).version == 5
    assert derived_id(EventKey(ID, "f1")) == "79dbc96c-fead-537a-bfcc-9c001ca35a7a"


def decided(*copies: tuple[str, str], known: Iterable[tuple[str, str]] = ()) -> list[str | None]:
    """The new id of each copy, given as id and fingerprint, in their order."""
    made = [Copy(EventKey(*one), place, f"digest {place}") for place, one in enumerate(copies)]
    found = {copy.place: new_id for copy, new_id in new_ids(made, {EventKey(*one) for one in known})}
    return [found.get(place) for place in range(len(copies))]


A, B, C = ("e", "a"), ("e", "b"), ("e", "c")


@pytest.mark.parametrize(
    ("copies", "known", "expected"),
    [
        ([A, A, A], [], [None, LEFT_OUT, LEFT_OUT]),
        ([B, A], [], [derived_id(EventKey(*B)), None]),
        ([B, A, B], [], [derived_id(EventKey(*B)), None, LEFT_OUT]),
        ([A], [A], [LEFT_OUT]),
        ([A], [B], [derived_id(EventKey(*A))]),
        ([A, B], [B], [derived_id(EventKey(*A)), LEFT_OUT]),
        ([A, B, B], [C], [derived_id(EventKey(*A)), derived_id(EventKey(*B)), LEFT_OUT]),
        ([A, ("f", "a")], [], [None, None]),
        ([A, ("f", "b")], [("f", "b")], [None, LEFT_OUT]),
    ],
)
def test_one_event_keeps_the_id_and_equal_ones_are_left_out(
    copies: list[tuple[str, str]], known: list[tuple[str, str]], expected: list[str | None]
) -> None:
    assert decided(*copies, known=known) == expected


def test_of_equal_events_the_one_with_the_smallest_digest_is_taken() -> None:
    copies = [Copy(EventKey(*A), 0, "z"), Copy(EventKey(*A), 1, "y")]
    assert [(copy.place, new_id) for copy, new_id in new_ids(copies, ())] == [(0, LEFT_OUT)]


@given(st.lists(st.tuples(st.sampled_from("ef"), st.sampled_from("abc"))), st.randoms())
def test_a_repeated_run_agrees_in_any_order(keys: list[tuple[str, str]], random: Any) -> None:
    copies = [Copy(EventKey(*one), place, str(place % 2)) for place, one in enumerate(keys)]
    mixed = random.sample(copies, len(copies))
    assert sorted(new_ids(copies, ())) == sorted(new_ids(mixed, ()))
    changed = dict(new_ids(copies, ()))
    kept = [copy for copy in copies if changed.get(copy) != LEFT_OUT]
    assert {copy.key for copy in kept} == {copy.key for copy in copies}
    assert len(kept) == len(set(keys))
    final = [changed.get(copy, copy.key.id) for copy in kept]
    assert len(set(final)) == len(final), "each row has an id of its own"


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("form", FORMS)
def test_an_event_with_another_id_has_it_in_all_rows_and_a_context_that_names_its_own(
    form: InputForm, format_: FileFormat
) -> None:
    made = plan(CLICK, CONTEXT, PAGE, format_=format_, form=form)
    record = enriched(form, contexts=contexts(entity(CLICK, id=1)))
    found = Shredder(made).shred(record, "e2")
    rows = [cells(made, found, number) for number in range(3)]
    assert [row.get("root_id", row.get("event_id")) for row in rows] == ["e2"] * 3
    assert (rows[2]["schema_name"], rows[2]["original_event_id"]) == ("duplicate", ID)


def test_a_self_describing_event_gets_another_id_too_and_numbers_keep_their_digits() -> None:
    made = plan(CLICK, CONTEXT)
    line = json.dumps({**entity(CLICK, id=1, label="x"), "event_id": ID})
    long = "1.2345678901234567890123"
    assert f'"id":{long}' in with_id(line.replace('"id": 1', f'"id": {long}'), "self-describing", "e2")
    found = Shredder(made).shred(line, "e2")
    assert [cells(made, found, number)["root_id"] for number in range(2)] == ["e2", "e2"]


def test_an_original_id_that_the_context_does_not_allow_makes_a_bad_row_of_the_original() -> None:
    record = enriched("enriched-tsv", event_id='say"x"')
    bad = Shredder(plan(CLICK, CONTEXT, form="enriched-tsv")).shred(record, "e2").bad
    assert bad
    assert (bad.kind, bad.original) == ("invalid", record)
    assert DUPLICATE in bad.reasons[0]


def test_lines_without_fields_are_looked_at_once() -> None:
    """A search from each of them to the end of the text would take minutes."""
    assert sure_ids(b"\n" * 300_000) is None
    assert sure_ids(b"a,b,c\n" * 100_000) is None
