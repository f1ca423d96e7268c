"""Clean views, checked by lineage in the analyzer's resolved tree, for generated versions and policies."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import policies as oracle
from support.lineage import Lineage, lineage
from support.policies import element, leaves
from support.seeding import examples
from support.strategies import FIELD_NAMES, above, types
from support.zetasql_judge import Judge

from onefold.core.names import TableId, fold_case
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.treatment import landed_types, treat
from onefold.schema.types import JSON, Struct, Type, render_type
from onefold.schema.versions import Version, fold
from onefold.views.clean import clean_columns, clean_query

BASE = TableId("p", "shop", "customer")
SOURCE, KEY = TableId("p", "shop", "customer_current"), TableId("p", "shop__keys", "hash_key")
KEY_COLUMNS = [("ipad", "STRING"), ("opad", "STRING"), ("created", "TIMESTAMP")]

Path = tuple[str, ...]


@st.composite
def tables(draw: st.DrawFn) -> list[Version]:
    known: dict[str, Type] = {}

    def version(number: int) -> Version:
        names = draw(st.lists(st.sampled_from(FIELD_NAMES), min_size=1, max_size=3, unique_by=str.lower))
        return Version(f"{number}", tuple(Column(name, column_type(name)) for name in names))

    def column_type(name: str) -> Type:
        """A wider type than in an earlier version, such as a struct that became JSON somewhere inside, or any type."""
        former = known.get(oracle.lower(name))
        known[oracle.lower(name)] = draw(above(former)) if former and draw(st.booleans()) else draw(types(max_leaves=7))
        return known[oracle.lower(name)]

    return [version(number) for number in range(draw(st.integers(1, 3)))]


def held(versions: Sequence[Version], path: Path) -> tuple[set[str], bool]:
    """What a value of the view holds in any version: itself and the fields below; and whether that may be any field."""
    found, open_ = {".".join(path)}, False
    for version in versions:
        types_ = [column.type for column in version.columns if oracle.lower(column.name) == oracle.lower(path[0])]
        for name in path[1:]:
            structs = [one for one in map(element, types_) if isinstance(one, Struct)]
            types_ = [f.type for one in structs for f in one.fields if oracle.lower(f.name) == oracle.lower(name)]
        for type_ in map(element, types_):
            open_ = open_ or type_ == JSON or isinstance(type_, Struct)
            found |= (
                {".".join((*path[:-1], *below)) for below in leaves(path[-1], type_)} if isinstance(type_, Struct) else set()
            )
    return found, open_


def strictness(versions: Sequence[Version], rules: list[PolicyRule], path: Path, names: set[str]) -> Action:
    """The least strict action that is allowed for a value of the view, given what it holds in some version."""
    found, _ = held(versions, path)
    actions = [oracle.decide(rules, name, names) for name in found]
    return max(Action.MASK if action is None else action for action in actions)


def check(found: Lineage, allowed: dict[Path, Action]) -> list[str]:
    """Return what a query shows of source values against their actions."""
    problems = []
    reached = {*found.control, *(one for outputs in found.outputs.values() for one in outputs)}
    for path, way in sorted(reached):
        below = [action for leaf, action in allowed.items() if leaf[: len(path)] == path]
        if way == "plain" and any(action is not Action.CLEAR for action in below):
            problems.append(f"{path} is shown as it is")
        if way == "hash" and any(action > Action.HASH for action in below):
            problems.append(f"{path} is shown hashed")
        if way == "presence" and all(action > Action.HASH for action in below):
            problems.append(f"whether {path} is there is shown")
    problems += [f"{path} is read by a filter or sort" for path, way in found.control if way != "presence"]
    return problems


@settings(max_examples=examples(50))
@given(st.data())
def test_no_output_reaches_a_hidden_value(judge: Judge, data: st.DataObject) -> None:
    versions = data.draw(tables())
    columns = fold(versions, TableRules())
    paths = sorted({*oracle.nodes(columns), *(path for version in versions for path in oracle.nodes(version.columns))})
    rules = [PolicyRule("*", data.draw(st.sampled_from(paths)), Action.CLEAR), *data.draw(oracle.rules(paths))]
    of_table = ColumnPolicies(tuple(rules)).of_table(BASE)
    types = landed_types(version.columns for version in versions)
    treatments = [treat(one, types[fold_case(one.name)], of_table) for one in columns]
    if not clean_columns(treatments):
        return
    query = clean_query(SOURCE, treatments, KEY)
    schema = [(column.name, render_type(column.type)) for column in columns]
    found = lineage(judge, query, {str(SOURCE): schema, str(KEY): KEY_COLUMNS}, str(SOURCE), str(KEY))

    names = oracle.witnesses(rules, paths)
    every = [path for column in columns for path in leaves(column.name, column.type)]
    allowed = {path: strictness(versions, rules, path, names) for path in every}
    assert check(found, allowed) == []

    # What is allowed is shown, too. Values that may hold any field can be stricter than what they hold in a version.
    shown = {one for outputs in found.outputs.values() for one in outputs}
    for path, action in allowed.items():
        if not held(versions, path)[1] and action is Action.CLEAR and not _named_below(rules, path):
            assert (path, "plain") in shown
        if not held(versions, path)[1] and action is Action.HASH and not _named_below(rules, path):
            assert (path, "hash") in shown
    kept = {path for path, action in allowed.items() if action is not Action.DROP}
    assert set(found.outputs) <= {path[0] for path in kept}


def _named_below(rules: list[PolicyRule], path: Path) -> bool:
    return any(rule.column.casefold().startswith(".".join(path).casefold() + ".") for rule in rules)


LEAKS = {
    "shown": ("SELECT a FROM t", "('a',) is shown as it is"),
    "in an expression": ("SELECT UPPER(a) AS x FROM t", "('a',) is shown as it is"),
    "other hash": ("SELECT TO_HEX(SHA256(a)) AS x FROM t", "('a',) is shown as it is"),
    "half a hash": (
        "SELECT TO_HEX(SHA256(FROM_HEX(CONCAT(ipad, TO_HEX(CAST(a AS BYTES)))))) AS x FROM t, k",
        "('a',) is shown as it is",
    ),
    "masked, hashed": (
        "SELECT TO_HEX(SHA256(FROM_HEX(CONCAT(opad, TO_HEX(SHA256(FROM_HEX(CONCAT(ipad, TO_HEX(CAST(m AS BYTES)))))))))) "
        "AS x FROM t, k",
        "('m',) is shown hashed",
    ),
    "filter": ("SELECT c FROM t WHERE a = 'x'", "('a',) is read by a filter or sort"),
    "sort": ("SELECT ARRAY(SELECT u FROM UNNEST([c]) AS u ORDER BY m) AS x FROM t", "('m',) is read by a filter or sort"),
    "group": ("SELECT a IS NULL AS x, COUNT(*) AS n FROM t GROUP BY x", "('a',) is shown as it is"),
    "whole struct": ("SELECT s FROM t", "('s',) is shown as it is"),
    "presence": ("SELECT h IS NULL AS x FROM t", "whether ('h',) is there is shown"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_check_finds_a_leak(name: str, judge: Judge) -> None:
    query, problem = LEAKS[name]
    types_: list[tuple[str, str]] = [
        ("a", "STRING"), ("m", "STRING"), ("c", "STRING"), ("s", "STRUCT<x INT64, y INT64>"), ("h", "STRUCT<x INT64>"),
    ]  # fmt: skip
    allowed = {
        ("a",): Action.HASH, ("m",): Action.MASK, ("c",): Action.CLEAR, ("s", "x"): Action.CLEAR, ("s", "y"): Action.MASK,
        ("h", "x"): Action.MASK,
    }  # fmt: skip
    found = lineage(judge, query, {"t": types_, "k": KEY_COLUMNS}, "t", "k")
    assert problem in check(found, allowed)
