"""The schemas that records name: each that a shredder looks for, and no other."""

from __future__ import annotations

from datetime import datetime

from support.shred_scene import CLICK, PAGE, contexts, enriched, entity, unstruct

from onefold.core.shred_options import InputForm
from onefold.events.registry.registry import Registry
from onefold.events.shred.bad_entity import BadEntity
from onefold.events.shred.bad_rows import BadRow
from onefold.events.shred.event import EntityData
from onefold.events.shred.named_schemas import schemas_named_by
from onefold.events.shred.plan import plan_shred
from onefold.events.shred.shredder import reader_of


def named(*records: str, form: InputForm = "enriched-tsv") -> set[str]:
    return schemas_named_by(reader_of(plan_shred(Registry({}, ""), "csv", form)), records)


def test_all_entities_of_an_enriched_event_are_named() -> None:
    event = enriched("enriched-tsv", unstruct_event=unstruct(entity(CLICK)), contexts=contexts(entity(PAGE)))
    assert named(event) == {CLICK.key.uri, PAGE.key.uri}


def test_a_uri_within_the_data_names_nothing() -> None:
    assert named(enriched("enriched-tsv", contexts=contexts(entity(PAGE, note=CLICK.key.uri)))) == {PAGE.key.uri}


def test_an_escaped_uri_is_read_as_json() -> None:
    line = (
        '{"schema": "iglu:com.acme\\/ad_click\\/jsonschema\\/1-0-0", "data": {}, "collector_tstamp": "2026-11-23T08:00:00Z"}'
    )
    assert named(line, form="self-describing") == {"iglu:com.acme/ad_click/jsonschema/1-0-0"}


def test_a_bad_row_names_the_schemas_of_its_original_and_a_bad_entity_its_own() -> None:
    event = enriched("enriched-tsv", contexts=contexts(entity(PAGE)))
    bad = BadRow("unknown_schema", ("unknown",), event).to_json()
    apart = BadEntity(
        "unknown_schema", ("unknown",), "e1", datetime(2026, 11, 23), None, EntityData(CLICK.key.uri, {}, "contexts[0]")
    )
    assert named(bad) == {PAGE.key.uri}
    assert named(apart.to_json()) == {CLICK.key.uri}


def test_what_is_no_event_names_nothing_and_stops_nothing() -> None:
    assert named("nonsense", enriched("enriched-tsv", contexts=contexts(entity(PAGE)))) == {PAGE.key.uri}
