"""Schemas that want the same names: each has tables and a base of its own, and no event becomes a bad row for it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.shred_events import parsed
from support.shred_scene import INTEGER, TEXT, entity, plan, shred

from onefold.core.shred_options import FileFormat
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.shred.manifest import FORMATS
from onefold.events.shred.plan import PlannedTable, ShredPlan


def schema(vendor: str, name: str, version: str = "1-0-0", of: object = TEXT) -> JsonSchema:
    return parsed({"type": "object", "properties": {"id": of}}, version, name, vendor)


def table(made: ShredPlan, of: JsonSchema, value: object = "x") -> PlannedTable:
    outcome = shred(made, entity(of, id=value))
    assert outcome.bad is None, outcome.bad
    return made.tables[outcome.rows[0][0]]


PAIRS: Sequence[tuple[JsonSchema, JsonSchema]] = [
    (schema("com.atk", "AdClick"), schema("com.atk", "ad_click")),
    (schema("com.acme", "ad_click"), schema("com.acme.ad", "click")),
    (schema("com.acme", "ad_click"), schema("com-acme", "ad_click")),
]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_schemas_of_one_name_have_tables_and_bases_of_their_own(
    format_: FileFormat, first: JsonSchema, second: JsonSchema
) -> None:
    made = plan(first, second, format_=format_)
    one, other = table(made, first), table(made, second)
    assert (one.name, one.base) == (first.key.model_key.table, first.key.model_key.base)
    assert other.base.startswith(f"{one.base}_")
    assert other.name == f"{other.base}_1"
    assert {one.folder, other.folder} == {
        f"vendor={key.vendor}/name={key.name}/format=jsonschema/model=1" for key in (first.key, second.key)
    }


def test_models_that_share_a_base_alone_keep_their_tables_and_get_bases_of_their_own() -> None:
    first, second = schema("com.acme", "ad_click"), schema("com.acme.ad", "click", "2-0-0")
    later = schema("com.acme", "ad_click", "2-0-0")
    made = plan(first, second, later)
    one, other, last = (table(made, of) for of in (first, second, later))
    assert [one.name, other.name] == ["com_acme_ad_click_1", "com_acme_ad_click_2"]
    assert one.base == last.base != other.base
    assert len({one.name, other.name, last.name}) == 3
    assert (one.version, other.version, last.version) == ("1", "2", "2")


def test_what_is_added_later_renames_nothing() -> None:
    early = [*PAIRS[0], *PAIRS[1]]
    before = {one.key: table(plan(*early), one) for one in early}
    made = plan(*early, schema("com.acme", "ad_click", "2-0-0"), schema("com.atk", "ad_click", "2-0-0"), PAIRS[2][1])
    assert {key: (one.name, one.base) for key, one in before.items()} == {
        one.key: (table(made, one).name, table(made, one).base) for one in early
    }


def test_recovery_tables_are_named_after_their_own_table() -> None:
    first = schema("com.acme", "ad_click", of={"type": "boolean"})
    twins = [
        schema("com.acme.ad", "click", version, of) for version, of in (("1-0-0", {"type": "boolean"}), ("1-0-1", INTEGER))
    ]
    found = table(plan(first, *twins), twins[1], 5)
    assert found.name.startswith(f"{found.base}_1_0_1_recovered_")
    assert found.folder.startswith("vendor=com.acme.ad/name=click/format=jsonschema/model=1_0_1_recovered_")
