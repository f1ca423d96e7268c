"""The JSON Schemas of onefold.yaml and access.yaml: valid, complete, and in accord with the code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args, get_type_hints

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.access.policy import SCHEMA as ACCESS
from onefold.access.policy import policy_of
from onefold.core.errors import InvalidInput
from onefold.schema.casts import UNITS
from onefold.schema.column_policy import Action
from onefold.schema.table_rules import MergeWhen, TableRules
from onefold.settings.checked_form import SCHEMA as ONEFOLD
from onefold.settings.schema_check import load_schema, modeline, resolved
from onefold.settings.sources import Source, TableLoad, Tls
from onefold.settings.yaml_file import checked
from onefold.settings.yaml_loader import Document

ROOT = Path(__file__).parents[2]
SCHEMA = load_schema(ONEFOLD)
RULES = SCHEMA["definitions"]
BOTH = pytest.mark.parametrize("name", [ONEFOLD, ACCESS])


def described_rules(rule: Any, at: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each rule of a property, with its place in the schema."""
    for name, one in rule.get("properties", {}).items():
        yield f"{at}.{name}", one
    for name, one in rule.items():
        if isinstance(one, dict):
            yield from described_rules(one, f"{at}.{name}")


@BOTH
def test_a_schema_is_a_json_schema_that_describes_every_key(name: str) -> None:
    schema = load_schema(name)
    # Python reads no \p{L}, which every engine of JSON Schema does.
    jsonschema.Draft7Validator.check_schema(schema, format_checker=jsonschema.FormatChecker(()))
    rules = dict(described_rules(schema))
    assert len(rules) > 5
    assert [place for place, rule in rules.items() if not resolved(dict(rule), schema).get("description")] == []


@BOTH
def test_the_first_line_of_a_draft_names_the_schema_by_its_path_in_the_repository(name: str) -> None:
    assert (ROOT / modeline(name).partition("$schema=")[2]).is_file()


def test_words_of_the_schema_are_those_of_the_code() -> None:
    hints = get_type_hints(TableRules)
    assert RULES["policy"]["additionalProperties"]["enum"] == [str(action) for action in Action]
    assert RULES["target_type"]["properties"]["from"]["enum"] == list(UNITS)
    assert RULES["conversions"]["enum"] == list(get_args(hints["conversions"]))
    assert RULES["mixed_numbers"]["enum"] == list(get_args(hints["mixed_numbers"]))
    assert RULES["pull"]["properties"]["mode"]["enum"] == list(get_args(get_type_hints(TableLoad)["mode"]))
    tls = RULES["source"]["properties"]["tls"]["properties"]["mode"]["enum"]
    assert tls == [*get_args(get_type_hints(Tls)["mode"]), False]  # YAML reads `off` as false


def test_defaults_of_the_schema_are_those_of_the_code() -> None:
    rules = TableRules()
    for name in ("conversions", "mixed_numbers", "time_zone", "overlap_minutes", "current"):
        assert RULES[name]["default"] == getattr(rules, name)
    when = {name: one["default"] for name, one in RULES["merge_when"]["properties"].items()}
    assert (RULES["merge_when"]["default"], when) == ("always", asdict(MergeWhen()))
    source = RULES["source"]["properties"]
    assert (source["port"]["default"], source["time_zone"]["default"]) == (Source.port, Source.time_zone)
    assert source["tls"]["properties"]["mode"]["default"] == Tls.mode
    assert RULES["pull"]["properties"]["reload_days"]["default"] == TableLoad.reload_days


KEYS = {
    name: sorted({place.rpartition(".")[2] for place, _ in described_rules(load_schema(name))}) for name in (ONEFOLD, ACCESS)
}
NAMES = [
    "customer",
    "shop.customer",
    "*",
    "Customer",
    "a.b",
    "id",
    "",
    "7",
    "07",
    "user:a@x.com",
    "user:A@x.com",
    "a@x.com",
    "projectOwners",
]
TEXTS = [
    "id", "labels", "15m", "env:P", "Europe/Berlin", "hash", "clear", "full", "incremental", "STRING", "DATE", "h", "a(",
    "OWNER", "roles/bigquery.user", "a@x.com", "A@x.com",
]  # fmt: skip
SCALARS = st.sampled_from([*TEXTS, None, True, False, 0, 3, -1, 1.0, 1.5])


def anything(name: str) -> st.SearchStrategy[Any]:
    """Return values with the keys of a schema at any place."""
    keys = st.sampled_from([*KEYS[name], *NAMES])
    grown = st.recursive(
        SCALARS, lambda one: st.lists(one, max_size=3) | st.dictionaries(keys, one, max_size=4), max_leaves=12
    )
    return st.dictionaries(st.sampled_from(KEYS[name]), grown, max_size=4) | grown


def values_of(rule: dict[str, Any], schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return mostly right values of a rule of a schema."""
    rule = resolved(rule, schema)
    if "enum" in rule:
        return st.sampled_from(rule["enum"])
    if "else" in rule:
        inner = values_of(rule["else"], schema)
        return inner | st.lists(inner, max_size=3)
    found = rule.get("type", [])
    kinds = [found] if isinstance(found, str) else found
    return st.one_of([values_of_kind(kind, rule, schema) for kind in kinds])


def values_of_kind(kind: str, rule: dict[str, Any], schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    match kind:
        case "object":
            named = {name: values_of(one, schema) for name, one in rule.get("properties", {}).items()}
            known = st.fixed_dictionaries({name: named.pop(name) for name in rule.get("required", ())}, optional=named)
            others = rule.get("additionalProperties")
            if not others:
                return known
            other = st.dictionaries(st.sampled_from(NAMES), values_of(others, schema), max_size=3)
            return st.tuples(other, known).map(lambda pair: {**pair[0], **pair[1]})
        case "array":
            return st.lists(values_of(rule["items"], schema), max_size=3)
        case "integer":
            return st.integers(-1, 400)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    return st.sampled_from(TEXTS)


CONTENTS = {name: values_of(schema := load_schema(name), schema) | anything(name) for name in (ONEFOLD, ACCESS)}


@pytest.mark.parametrize(("name", "read"), [(ONEFOLD, checked), (ACCESS, policy_of)], ids=["onefold", "access"])
@given(data=st.data())
def test_whatever_a_file_holds_is_refused_with_its_problems_or_read(
    name: str, read: Callable[[Document], object], data: st.DataObject
) -> None:
    content = data.draw(CONTENTS[name])
    problems: tuple[str, ...] = ()
    try:
        found = read(Document("a.yaml", content))
    except InvalidInput as error:
        problems = error.problems
    else:
        assert read(Document("a.yaml", json.loads(json.dumps(content)))) == found
    assert all(problem.startswith("a.yaml: ") for problem in problems)
