"""The plan of an import: everything that can be used is taken as it is, and the class of each change is computed."""

from __future__ import annotations

from support.registries import schema as closed

from onefold.events.registry.ddl import TARGETS
from onefold.events.registry.import_plan import ImportPlan, KnownSchemas, plan_import
from onefold.events.registry.index import Index, IndexEntry, digest_of, parse_index
from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.published import Published

NOW = "2026-11-26T18:00:00Z"


def published(*schemas: JsonSchema, by_version: bool = False, unusable: str = "") -> Published:
    return Published(
        schemas,
        frozenset(schema.key for schema in schemas) if by_version else frozenset(),
        {unusable: "not UTF-8"} if unusable else {},
    )


def plan(offered: Published, *existing: JsonSchema) -> ImportPlan:
    index = Index(tuple(IndexEntry(schema.key, digest_of(schema), NOW) for schema in existing))
    by_key = {schema.key: schema for schema in existing}
    return plan_import(KnownSchemas(index, existing, by_key.get, TARGETS), offered, NOW)


def outcomes(made: ImportPlan) -> list[tuple[str, str]]:
    return [(result.name.rpartition("/")[2], result.outcome) for result in made.results]


def referring(name: str, to: str) -> JsonSchema:
    own = {"vendor": "com.acme", "name": name, "format": "jsonschema", "version": "1-0-0"}
    return parse_schema({"self": own, "properties": {"a": {"$ref": f"iglu:com.acme/{to}/jsonschema/1-0-0"}}})


def test_versions_with_gaps_are_added_in_the_order_of_the_source() -> None:
    made = plan(published(*map(closed, ("1-0-3", "1-2-0", "1-0-4"))))
    assert outcomes(made) == [("1-0-3", "added"), ("1-2-0", "added"), ("1-0-4", "added")]
    assert [str(key.version) for key in made.index.keys] == ["1-0-3", "1-2-0", "1-0-4"]


def test_the_class_of_a_change_is_computed_whatever_its_number_claims() -> None:
    narrow, wide = {"type": "string", "maxLength": 15}, {"type": "string", "maxLength": 128}
    made = plan(
        published(
            closed("1-0-0", a=narrow),
            closed("1-0-1", a=wide),
            closed("1-0-2", a=wide, b=narrow),
            closed("1-1-0", a=wide, b=narrow, id={"type": "string"}),
        )
    )
    assert [(one.claimed, one.change) for one in made.results] == [
        (None, None), ("ADDITION", "REVISION"), ("ADDITION", "ADDITION"), ("REVISION", "MODEL"),
    ]  # fmt: skip
    assert [bool(one.reasons) for one in made.results] == [False, True, False, True]
    assert "/properties/a: the column a grows from VARCHAR(15) to VARCHAR(128)" in made.results[1].reasons
    assert [entry.change for entry in made.index.entries] == ["", "REVISION", "ADDITION", "MODEL"]


def test_an_import_that_is_repeated_adds_nothing_and_newer_versions_come_at_the_end() -> None:
    first = [closed("1-0-0"), closed("1-1-0")]
    assert outcomes(plan(published(*first), *first)) == [("1-0-0", "unchanged"), ("1-1-0", "unchanged")]
    later = plan(published(closed("1-0-0"), closed("1-0-1", b={"type": "integer"}), closed("1-1-0")), *first)
    assert [str(key.version) for key in later.index.keys] == ["1-0-0", "1-1-0", "1-0-1"]
    assert [str(schema.key.version) for schema in later.added] == ["1-0-1"]


def test_the_index_says_that_the_order_is_that_of_the_versions() -> None:
    by_version = plan(published(closed("1-0-0"), closed("1-0-1"), by_version=True)).index
    assert parse_index(by_version.to_json(), "index").entries == by_version.entries
    assert b'"order": "version", "class": "ADDITION"' in by_version.to_json()
    assert [entry.is_by_version for entry in plan(published(closed("1-0-0"))).index.entries] == [False]


def test_another_schema_under_a_known_key_is_left_out_by_name() -> None:
    made = plan(published(closed("1-0-0", b={"type": "integer"}), closed("1-0-1")), closed("1-0-0"))
    assert outcomes(made) == [("1-0-1", "added"), ("1-0-0", "left out")]
    assert "another schema under this key" in made.results[1].reasons[0]


def test_what_cannot_be_used_is_named_and_stops_nothing_else() -> None:
    made = plan(published(closed("1-0-0"), unusable="com.acme/x"))
    assert [(one.name, one.outcome, one.reasons) for one in made.results][1] == ("com.acme/x", "left out", ("not UTF-8",))
    assert len(made.added) == 1


def test_references_are_resolved_among_the_import_and_the_registry_in_any_order() -> None:
    made = plan(published(referring("ab", "cd"), referring("cd", "ad_click")), closed("1-0-0"))
    assert [one.outcome for one in made.results] == ["added", "added"]
    without = plan(published(referring("ab", "cd"), referring("cd", "ad_click"), closed(name="other")))
    assert [(one.name.split("/")[1], one.outcome) for one in without.results] == [
        ("other", "added"), ("ab", "left out"), ("cd", "left out"),
    ]  # fmt: skip
