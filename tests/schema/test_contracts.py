"""Contracts: what a view shows equals an oracle that replays the versions one by one by the rules of the documentation."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.contract_oracle import Step, replay, wider

from onefold.schema.columns import Column
from onefold.schema.contract_rules import Contract, NewColumns, Types, Verdict, Verdicts
from onefold.schema.contracts import held
from onefold.schema.diff import SchemaChange, Severity, compare
from onefold.schema.dropped import dropped_paths
from onefold.schema.held import Held
from onefold.schema.outcomes import foremost, outcomes_of
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.schema.versions import Version, fold

CHAINS = ("BOOL", "INT64", "NUMERIC", "BIGNUMERIC", "STRING", "DATE", "DATETIME", "TIMESTAMP", "BYTES", "JSON")
NAMES = ("id", "changed", "a", "b", "c", "d")
PROTECTED = ("ID", "changed")
Fields = Mapping[str, str]


def version(id_: str, fields: Fields) -> Version:
    return Version(id_, tuple(Column(name, parse_type(type_)) for name, type_ in fields.items()))


def rules(
    new: NewColumns = "show", types: Types = "widen", verdicts: Mapping[tuple[str, str], Verdict] | None = None
) -> TableRules:
    return TableRules(contract=Contract(new, types, verdicts=Verdicts(verdicts or {})))


def shown(found: Held) -> dict[str, str]:
    return {column.name: str(column.type) for column in found.columns}


def hold(former: Fields | None, versions: Sequence[Version], by: TableRules, protected: Sequence[str] = ()) -> Held:
    before = None if former is None else version("", former).columns
    full = fold(versions, by, before or ())
    return held(before, full, versions, by, lambda version, _: f"change of {version}", protected)


def replayed(
    steps: Sequence[Step], new: NewColumns, types: Types, protected: Sequence[str]
) -> Iterator[tuple[dict[str, str], set[tuple[str, str]]]]:
    """Yield what the code shows after each step, as the stored view remembers it, and what waits."""
    former: Fields | None = None
    versions: list[Version] = []
    for step in steps:
        versions += [version(step.version, step.fields)] if step.fields else []
        verdicts: dict[tuple[str, str], Verdict] = {
            (f"change of {id_}", path): verdict for (id_, path), verdict in step.verdicts.items()
        }
        found = hold(former, versions, rules(new, types, verdicts), protected)
        former = shown(found)
        yield former, {(one.version, one.path) for one in found.waiting}


columns = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(CHAINS), min_size=1)


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """Versions that come one by one, and decisions between them, about versions that are there."""
    steps: list[Step] = []
    verdicts: dict[tuple[str, str], Verdict] = {}
    for number in range(draw(st.integers(1, 6))):
        fields = draw(columns) if not steps or draw(st.booleans()) else {}
        ids = [step.version for step in steps if step.fields]
        decides: bool = draw(st.booleans())
        if ids and decides:
            path = draw(st.sampled_from(("", *NAMES)))
            verdicts[draw(st.sampled_from(ids)), path] = draw(st.sampled_from(("accept", "reject")))
        steps.append(Step(f"v{number}", fields, dict(verdicts)))
    return steps


@given(histories(), st.sampled_from(("show", "hide", "review")), st.sampled_from(("widen", "keep", "review")))
@example([Step("v0", {"id": "INT64"}), Step("v1", {"id": "STRING", "a": "DATE"})], "review", "review")
def test_views_show_what_an_oracle_that_replays_the_versions_shows(steps: list[Step], new: NewColumns, types: Types) -> None:
    expected = [(one.shown, one.waiting) for one in replay(steps, new, types, {"id", "changed"})]
    assert list(replayed(steps, new, types, PROTECTED)) == expected


@given(histories(), st.sampled_from(("show", "hide", "review")), st.sampled_from(("widen", "keep", "review")))
def test_a_view_that_is_written_again_stays_as_it_is(steps: list[Step], new: NewColumns, types: Types) -> None:
    last = [one for one, _ in replayed([*steps, replace(steps[-1], fields={})], new, types, PROTECTED)][-2:]
    assert last[0] == last[1]


@given(st.lists(columns, min_size=1, max_size=5))
def test_without_a_contract_nothing_is_held(versions: list[Fields]) -> None:
    found = hold(versions[0], [version(str(number), one) for number, one in enumerate(versions)], rules())
    assert (found.hidden, found.types, found.waiting) == ((), (), ())


@given(st.lists(columns, min_size=1, max_size=5), columns)
def test_columns_of_the_key_the_order_and_the_tenant_are_never_held(versions: list[Fields], former: Fields) -> None:
    made = [version(str(number), one) for number, one in enumerate(versions)]
    for new, types in (("hide", "keep"), ("review", "review")):
        found = hold(former, made, rules(new, types), NAMES)  # type: ignore[arg-type]
        assert found.columns == found.full
        assert found.waiting == ()


@given(st.lists(columns, min_size=1, max_size=5))
def test_a_view_that_nobody_can_read_yet_shows_everything(versions: list[Fields]) -> None:
    found = hold(None, [version(str(number), one) for number, one in enumerate(versions)], rules("hide", "keep"))
    assert found.columns == found.full


@given(st.lists(columns, min_size=2, max_size=5))
def test_what_is_held_is_never_wider_than_the_unified_type(versions: list[Fields]) -> None:
    made = [version(str(number), one) for number, one in enumerate(versions)]
    found = hold(versions[0], made, rules("show", "keep"))
    full = {column.name.lower(): str(column.type) for column in found.full}
    assert all(wider(str(column.type), full[column.name]) == full[column.name] for column in found.columns)


OLD = {"id": "INT64", "address": "STRUCT<zip INT64, city STRING>", "tags": "ARRAY<STRUCT<n INT64>>", "codes": "ARRAY<INT64>"}
NEW = {
    "id": "INT64", "address": "STRUCT<zip STRING, city STRING, street STRING>",
    "tags": "ARRAY<STRUCT<n STRING, m DATE>>", "codes": "ARRAY<STRING>",
}  # fmt: skip


def nested(by: TableRules) -> Held:
    return hold(OLD, [version("a", OLD), version("b", NEW)], by)


def test_fields_of_structs_and_elements_of_arrays_are_held_as_columns_are() -> None:
    found = nested(rules("review", "review"))
    assert shown(found) == OLD
    assert [(one.path, one.old, one.new) for one in found.waiting] == [
        ("address.zip", "INT64", "STRING"),
        ("address.street", None, "STRING"),
        ("tags.n", "INT64", "STRING"),
        ("tags.m", None, "DATE"),
        ("codes", "ARRAY<INT64>", "ARRAY<STRING>"),
    ]


def test_a_single_field_is_accepted_or_rejected() -> None:
    verdicts: dict[tuple[str, str], Verdict] = {
        ("change of b", "address.zip"): "accept", ("change of b", "tags"): "accept", ("change of b", "codes"): "reject",
    }  # fmt: skip
    found = nested(rules("review", "review", verdicts))
    assert shown(found) == {**OLD, "address": "STRUCT<zip STRING, city STRING>", "tags": NEW["tags"]}
    assert [one.path for one in found.waiting] == ["address.street"]


def test_new_fields_are_shown_where_only_types_are_kept() -> None:
    assert shown(nested(rules("show", "keep"))) == {
        **OLD, "address": "STRUCT<zip INT64, city STRING, street STRING>", "tags": "ARRAY<STRUCT<n INT64, m DATE>>",
    }  # fmt: skip


def test_a_type_that_the_settings_name_is_a_decision() -> None:
    by = replace(
        rules("hide", "keep"), types=(("codes", parse_type("ARRAY<STRING>")), ("address.zip", parse_type("STRING")))
    )
    assert shown(nested(by)) == {**OLD, "codes": "ARRAY<STRING>", "address": "STRUCT<zip STRING, city STRING>"}


def test_a_column_of_the_settings_that_no_version_has_is_shown() -> None:
    by = replace(rules("hide", "keep"), version_column="_version")
    assert shown(hold({"id": "INT64"}, [version("a", {"id": "INT64"})], by)) == {"_version": "STRING", "id": "INT64"}


def test_names_of_protected_columns_are_compared_without_case() -> None:
    old, new = {"Order_ID": "INT64"}, {"Order_ID": "STRING"}
    assert shown(hold(old, [version("a", old), version("b", new)], rules("hide", "keep"), ["order_id"])) == new


def test_what_an_accepted_type_holds_waits_no_longer() -> None:
    types = ("INT64", "NUMERIC", "BIGNUMERIC", "STRING")
    versions = [version(type_, {"n": type_}) for type_ in types]
    found = hold({"n": "INT64"}, versions, rules("show", "review", {("change of BIGNUMERIC", ""): "accept"}))
    assert shown(found) == {"n": "BIGNUMERIC"}
    assert [one.new for one in found.waiting] == ["STRING"]


def test_of_several_wider_types_each_is_accepted_by_itself() -> None:
    versions = [version("a", {"n": "INT64"}), version("b", {"n": "NUMERIC"}), version("c", {"n": "STRING"})]
    found = hold({"n": "INT64"}, versions, rules("show", "review", {("change of b", ""): "accept"}))
    assert shown(found) == {"n": "NUMERIC"}
    assert [(one.version, one.new) for one in found.waiting] == [("c", "STRING")]
    found = hold({"n": "INT64"}, versions, rules("show", "review", {("change of c", ""): "accept"}))
    assert (shown(found), found.waiting) == ({"n": "STRING"}, ())


@pytest.mark.parametrize("types", ["widen", "review"])
def test_what_waits_names_the_type_that_accepting_it_gives(types: Types) -> None:
    """A version that was rejected decides no type. The least common type of INT64 and FLOAT64 is STRING."""
    pairs = {"a": {"id": "INT64"}, "b": {"n": "INT64"}, "c": {"n": "STRING"}, "d": {"n": "FLOAT64"}, "e": {"n": "NUMERIC"}}
    versions = [version(id_, fields) for id_, fields in pairs.items()]
    former, verdicts = pairs["a"], dict[tuple[str, str], Verdict]()
    told = []
    while waiting := hold(former, versions, rules("review", types, verdicts)).waiting:
        chosen = next(one for one in waiting if one.version != "c" or len(waiting) == 1)
        verdicts[f"change of {chosen.version}", ""] = "accept"
        former = shown(hold(former, versions, rules("review", types, verdicts)))
        told.append((chosen.version, chosen.new))
        assert former["n"] == chosen.new
        verdicts["change of c", ""] = "reject"
    assert told == ([("b", "STRING")] if types == "widen" else [("b", "INT64"), ("d", "STRING")])


@pytest.mark.parametrize(("left", "new"), [("b", "FLOAT64"), ("bc", "STRING")])
def test_what_waits_names_the_type_of_the_versions_that_are_left(left: str, new: str) -> None:
    versions = [version(id_, {"n": "FLOAT64"}) for id_ in left]  # INT64 is gone
    assert hold({"n": "INT64"}, versions, rules(types="review")).waiting[0].new == new
    assert shown(hold({"n": "INT64"}, versions, rules("show", "review", {("change of b", "n"): "accept"}))) == {"n": new}


@pytest.mark.parametrize("later", [None, "reject", "accept"])
def test_a_later_type_is_not_accepted_with_the_column_that_came_before_it(later: Verdict | None) -> None:
    versions = [version("a", {"id": "INT64"}), version("b", {"n": "INT64"}), version("c", {"n": "STRING"})]
    verdicts: dict[tuple[str, str], Verdict] = {("change of b", ""): "accept"}
    by = rules("review", "review", verdicts | ({("change of c", ""): later} if later else {}))
    found = hold({"id": "INT64"}, versions, by)
    assert shown(found)["n"] == ("STRING" if later == "accept" else "INT64")
    assert [one.version for one in found.waiting] == ([] if later else ["c"])


def test_what_is_accepted_stays_shown_when_its_decision_is_gone() -> None:
    versions = [version("a", {"n": "INT64"}), version("b", {"n": "STRING", "zip": "STRING"})]
    first = hold({"n": "INT64"}, versions, rules("review", "review", {("change of b", ""): "accept"}))
    assert shown(hold(shown(first), versions, rules("hide", "keep"))) == {"n": "STRING", "zip": "STRING"}


@pytest.mark.parametrize("rule", ["hide", "keep", "review", "show"])
def test_decisions_of_entries_follow_from_operations(rule: str) -> None:
    new: NewColumns = {"hide": "hide", "review": "review"}.get(rule, "show")  # type: ignore[assignment]
    types: Types = {"keep": "keep", "review": "review"}.get(rule, "widen")  # type: ignore[assignment]
    operations = compare(
        version("a", {"n": "INT64", "id": "INT64"}).columns,
        version("b", {"n": "STRING", "id": "STRING", "z": "DATE"}).columns,
    )
    expected = {"hide": "hidden", "keep": "kept", "review": "waiting", "show": "shown"}[rule]
    assert foremost(outcomes_of("c", operations, Contract(new, types), ["id"]).values()) == expected
    if rule != "show":
        for verdict, outcome in (("accept", "accepted"), ("reject", "rejected")):
            contract = Contract(new, types, verdicts=Verdicts({("c", ""): verdict}))  # type: ignore[dict-item]
            assert foremost(outcomes_of("c", operations, contract, ["id"]).values()) == outcome


def test_a_change_of_the_key_alone_is_always_shown() -> None:
    retyped = SchemaChange("retyped", "Id", Severity.CRITICAL, "INT64", "STRING")
    assert foremost(outcomes_of("c", [retyped], Contract("hide", "keep"), ["id"]).values()) == "shown"


def test_columns_and_fields_that_the_newest_version_lacks_are_dropped_ones() -> None:
    versions = [version("a", {**OLD, "fax": "STRING"}), version("b", {"id": "INT64", "address": "STRUCT<zip INT64>"})]
    assert dropped_paths(fold(versions, TableRules(version_column="_version")), versions) == (
        "address.city",
        "tags",
        "codes",
        "fax",
    )
    assert dropped_paths(fold(versions[::-1], TableRules()), versions[::-1]) == ()


def test_the_order_of_versions_with_equal_columns_makes_no_difference_to_what_is_shown() -> None:
    versions = [version("a", {"n": "INT64"}), *(version(str(number), {"n": type_}) for number, type_ in enumerate(CHAINS))]
    by = rules("hide", "keep")
    found = {tuple(shown(hold({"n": "INT64"}, random.sample(versions, len(versions)), by)).items()) for _ in range(5)}
    assert found == {(("n", "INT64"),)}


def test_what_waits_names_the_types_of_the_column_and_not_those_of_its_elements() -> None:
    array = "ARRAY<STRUCT<a INT64>>"
    found = hold(
        {"items": array}, [version("a", {"items": array}), version("b", {"items": "STRING"})], rules(types="review")
    )
    (waits,) = found.waiting
    assert (waits.path, waits.version, waits.old, waits.new) == ("items", "b", array, "ARRAY<STRING>")
    assert shown(found) == {"items": array}


def test_what_waits_of_a_field_in_an_array_names_the_types_of_the_field() -> None:
    old, new = ({"items": f"ARRAY<STRUCT<a {type_}>>"} for type_ in ("INT64", "STRING"))
    (waits,) = hold(old, [version("a", old), version("b", new)], rules(types="review")).waiting
    assert (waits.path, waits.old, waits.new) == ("items.a", "INT64", "STRING")


def test_a_change_that_several_tables_brought_waits_once() -> None:
    versions = [version("a", {"n": "INT64"}), version("b", {"n": "STRING"}), version("c", {"n": "STRING"})]
    found = held(versions[0].columns, versions[1].columns, versions, rules(types="review"), lambda *_: "n as text")
    assert [(one.change, one.version, one.path) for one in found.waiting] == [("n as text", "b", "n")]
