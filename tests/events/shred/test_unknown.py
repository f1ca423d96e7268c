"""Entities whose schema is unknown: with the event a bad row, alone a bad row, or JSON in a table of its own."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.shred_events import parsed, registry_of
from support.shred_scene import CLICK, ID, PAGE, cells, contexts, enriched, entity, plan, shred, unstruct

from onefold.core.shred_options import UNKNOWN, FileFormat, Unknown
from onefold.events.shred.bad_entity import parse_bad_entity
from onefold.events.shred.manifest import FORMATS
from onefold.events.shred.plan import ShredPlan, plan_shred
from onefold.events.shred.shredder import Shredded
from onefold.events.shred.unknown import UNKNOWN_TABLE

USER = {"schema": "iglu:com.acme/user/jsonschema/1-0-0", "data": {"name": 'a\t"b"', "price": 1.10}}
USERS = parsed({"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}, name="user")
KEPT = ["com.acme", "user", "jsonschema", "1-0-0", ID]


def planned(unknown: Unknown, *schemas: Any, format_: FileFormat = "csv", form: Any = "enriched-tsv") -> ShredPlan:
    made = plan_shred(registry_of(*schemas), format_, form, None, unknown)
    return replace(made, run="gs://lake/run=2026-11-23-08-00-00")


def event(*entities: Any, **fields: Any) -> str:
    return enriched("enriched-tsv", app_id="shop", contexts=contexts(entity(CLICK, id=1), *entities), **fields)


def tables(made: ShredPlan, found: Shredded) -> list[str]:
    return [made.tables[place].name for place, _ in found.rows]


def test_by_default_the_whole_event_is_bad() -> None:
    found = shred(planned("bad_event", CLICK), event(USER))
    assert (found.rows, found.apart) == ((), ())
    assert found.bad is not None
    assert found.bad.kind == "unknown_schema"


@pytest.mark.parametrize("format_", FORMATS)
def test_the_event_and_its_other_entities_are_loaded_without_the_entity(format_: FileFormat) -> None:
    made = planned("bad_entity", CLICK, format_=format_)
    found = shred(made, event(USER))
    assert tables(made, found) == ["events", "com_acme_ad_click_1"]
    assert found.bad is None
    (apart,) = found.apart
    assert json.loads(apart.to_json()) == {
        "kind": "unknown_schema",
        "reasons": ["the registry has no schema iglu:com.acme/user/jsonschema/1-0-0: add it, then shred the bad row again"],
        "entity": {
            "root_id": ID, "root_tstamp": "2026-11-23T08:00:00.123000Z", "app_id": "shop", "place": "contexts[1]",
            **USER, "kept": False,
        },
    }  # fmt: skip


@pytest.mark.parametrize("format_", FORMATS)
def test_the_row_that_a_later_run_loads_is_that_of_a_run_that_knew_the_schema(format_: FileFormat) -> None:
    known = planned("bad_entity", CLICK, USERS, format_=format_)
    (apart,) = shred(planned("bad_entity", CLICK, format_=format_), event(USER)).apart
    later = shred(known, apart.to_json())
    assert later.rows == [row for row in shred(known, event(USER)).rows if row not in shred(known, event()).rows]
    assert (len(later.rows), later.bad, later.apart, later.is_event) == (1, None, (), False)


@pytest.mark.parametrize("unknown", UNKNOWN[:2])
def test_an_entity_that_is_unknown_again_is_set_apart_again_and_never_its_event(unknown: Unknown) -> None:
    (apart,) = shred(planned("bad_entity", CLICK), event(USER)).apart
    assert shred(planned(unknown, CLICK), apart.to_json()) == Shredded((), None, (apart,), is_event=False)


def test_an_entity_that_turns_out_to_be_invalid_is_set_apart_with_that_reason() -> None:
    (apart,) = shred(planned("bad_entity", CLICK), event({**USER, "data": {"name": 5}})).apart
    (again,) = shred(planned("bad_entity", CLICK, USERS), apart.to_json()).apart
    assert again.kind == "invalid"
    assert again._replace(kind=apart.kind, reasons=apart.reasons) == apart


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_an_event_with_another_problem_is_bad_as_a_whole_with_every_reason(unknown: Unknown) -> None:
    found = shred(planned(unknown, CLICK), event(USER, {"schema": CLICK.key.uri, "data": {}}))
    assert found.bad is not None
    assert (found.rows, found.apart, len(found.bad.reasons)) == ((), (), 2)


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_a_reference_that_is_no_schema_makes_the_event_bad(unknown: Unknown) -> None:
    found = shred(planned(unknown, CLICK), event({"schema": "iglu:com.acme/user", "data": {}}))
    assert found.bad is not None
    assert found.bad.kind == "invalid"


def test_a_newer_version_and_a_table_that_the_warehouse_refuses_are_unknown() -> None:
    wide = parsed({"type": "object", "properties": {f"p{number}": {} for number in range(1_592)}}, name="wide")
    newer = {"schema": CLICK.key.uri.replace("1-0-0", "1-0-9"), "data": {}}
    found = shred(planned("bad_entity", CLICK, wide), event(newer, entity(wide), unstruct_event=unstruct(USER)))
    places = {apart.kind: apart.entity.place for apart in found.apart}
    assert places == {"newer_version": "contexts[1]", "no_table": "contexts[2]", "unknown_schema": "unstruct_event[0]"}


@pytest.mark.parametrize("unknown", UNKNOWN[:2])
def test_a_self_describing_line_is_its_only_entity_so_it_is_bad_as_a_whole(unknown: Unknown) -> None:
    made = replace(plan(CLICK), unknown=unknown)
    assert shred(made, USER) == shred(plan(CLICK), USER)


@pytest.mark.parametrize("format_", FORMATS)
def test_the_json_of_an_unknown_entity_is_a_row(format_: FileFormat) -> None:
    made = planned("keep_json", CLICK, format_=format_)
    found = shred(made, event(USER))
    assert tables(made, found) == ["events", "com_acme_ad_click_1", UNKNOWN_TABLE]
    row = cells(made, found, 2)
    assert list(row.values())[:5] == KEPT
    assert (row["schema_uri"], row["place"], row["run"]) == (USER["schema"], "contexts[1]", made.run)
    assert json.loads(row["data"]) == USER["data"]
    assert (row["ref_tree"], found.apart, found.bad) == ('["events","user"]', [], None)
    assert [problem.kind for problem in found.kept] == ["unknown_schema"]


def test_a_self_describing_line_of_an_unknown_schema_is_kept() -> None:
    made = planned("keep_json", CLICK, form="self-describing")
    found = shred(made, {**USER, "event_id": ID, "collector_tstamp": "2026-11-23T08:00:00Z"})
    assert (tables(made, found), list(cells(made, found).values())[:5]) == ([UNKNOWN_TABLE], KEPT)


def test_an_entity_that_is_set_apart_may_be_kept_by_a_later_run() -> None:
    (apart,) = shred(planned("bad_entity", CLICK), event(USER)).apart
    made = planned("keep_json", CLICK)
    assert shred(made, apart.to_json())._replace(is_event=True).rows == shred(made, event(USER)).rows[2:]


def test_an_entity_whose_json_is_kept_already_gets_no_second_row() -> None:
    (apart,) = shred(planned("bad_entity", CLICK), event(USER)).apart
    found = shred(planned("keep_json", CLICK), apart._replace(kept=True).to_json())
    assert (found.rows, [one.kept for one in found.apart]) == ((), [True])


def test_json_that_no_column_of_redshift_holds_is_set_apart_and_not_cut() -> None:
    long = {**USER, "data": {"name": "x" * 60_000}}
    found = shred(planned("keep_json", CLICK), event(long))
    (apart,) = found.apart
    assert (len(found.rows), apart.entity.data, apart.kept) == (2, long["data"], False)
    assert "unknown_entities" in apart.reasons[1]
    assert shred(planned("keep_json", CLICK, format_="parquet"), event(long)).apart == []


@pytest.mark.parametrize(
    "changed",
    [{"root_id": 5}, {"root_id": "a b"}, {"root_tstamp": "soon"}, {"app_id": 5}, {"kept": 1}, {"schema": None}, {"more": 1}],
)
def test_a_line_that_only_resembles_an_entity_is_a_record(changed: dict[str, Any]) -> None:
    (apart,) = shred(planned("bad_entity", CLICK), event(USER)).apart
    line = json.loads(apart.to_json())
    text = json.dumps({**line, "entity": {**line["entity"], **changed}}, separators=(",", ":"))
    assert parse_bad_entity(text) is None
    assert shred(planned("bad_entity", PAGE), text).bad is not None


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_a_bad_row_of_an_entity_keeps_its_data(data: Any) -> None:
    (apart,) = shred(planned("bad_entity", CLICK), event({**USER, "data": data})).apart
    text = apart.to_json()
    assert "\n" not in text
    assert parse_bad_entity(text) == apart
