"""Contracts at depth: fields that were not accepted stay hidden whatever becomes of their struct or of a version."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from schema.test_contracts import hold, rules, shown, version

from onefold.schema.contract_rules import Contract, NewColumns, Types, Verdict, Verdicts
from onefold.schema.contracts import held
from onefold.schema.held import Held
from onefold.schema.table_rules import TableRules


@pytest.mark.parametrize(
    ("brought", "fields"),
    [("STRUCT<city STRING, ssn STRING>", "STRUCT<city STRING>"), ("ARRAY<STRUCT<ssn STRING>>", None)],
)
def test_a_field_that_was_rejected_is_not_shown_with_its_new_struct(brought: str, fields: str | None) -> None:
    verdicts: dict[tuple[str, str], Verdict] = {("change of b", "addr"): "accept", ("change of b", "addr.ssn"): "reject"}
    found = hold(
        {"id": "INT64"}, [version("a", {"id": "INT64"}), version("b", {"addr": brought})], rules("review", verdicts=verdicts)
    )
    assert (shown(found).get("addr"), found.waiting) == (fields, ())


@pytest.mark.parametrize("types", ["widen", "review"])
@pytest.mark.parametrize("last", ["ARRAY<STRUCT<city STRING>>", "ARRAY<STRUCT<city STRING, ssn STRING>>"])
def test_fields_that_are_not_shown_stay_so_when_their_struct_becomes_a_list(types: Types, last: str) -> None:
    before, old = "STRUCT<city STRING>", "STRUCT<city STRING, ssn STRING>"
    versions = [version("a", {"at": before}), version("b", {"at": old}), version("c", {"at": last})]
    verdicts: dict[tuple[str, str], Verdict] = {("change of b", "at.ssn"): "reject", ("change of c", "at"): "accept"}
    found = hold({"at": before}, versions, rules("review", types, verdicts))
    assert (shown(found), found.waiting) == ({"at": "ARRAY<STRUCT<city STRING>>"}, ())


@pytest.mark.parametrize(("new", "waits"), [("review", [("c", "at")]), ("hide", []), ("show", None)])
@pytest.mark.parametrize("of", ["{}", "ARRAY<{}>"])
def test_a_text_of_a_struct_is_held_while_fields_of_it_are_not_shown(
    new: NewColumns, waits: list[tuple[str, str]] | None, of: str
) -> None:
    before, old = of.format("STRUCT<city STRING>"), of.format("STRUCT<city STRING, ssn STRING>")
    text = of.format("STRING")
    versions = [version("a", {"at": before}), version("b", {"at": old}), version("c", {"at": "STRING"})]
    reject: Verdict = "reject"
    found = hold({"at": before}, versions, rules(new, verdicts={("change of b", "at.ssn"): reject}))
    assert shown(found) == {"at": text if waits is None else before}
    assert [(one.version, one.path) for one in found.waiting] == (waits or [])
    # Whoever accepts the text knows that it has all fields; where all fields are shown, it waits for nobody.
    accepted = hold({"at": before}, versions, rules(new, verdicts={("change of c", "at"): "accept"}))
    assert shown(hold({"at": before}, [versions[0], versions[2]], rules(new))) == {"at": text}
    assert new != "review" or shown(accepted) == {"at": text}


def test_a_column_stays_rejected_when_the_version_that_brought_it_is_gone() -> None:
    verdicts: dict[tuple[str, str], Verdict] = {("new", "zip"): "reject", ("change of c", "fax"): "accept"}
    full = version("c", {"id": "INT64", "zip": "STRING", "fax": "STRING"})

    def held_by(verdicts: Mapping[tuple[str, str], Verdict]) -> Held:
        return held(
            version("", {"id": "INT64"}).columns, full.columns, [full], rules("review", verdicts=verdicts),
            lambda version, _: f"change of {version}", column_of=lambda *_: "", new_columns="new",
        )  # fmt: skip

    assert (list(shown(held_by(verdicts))), held_by(verdicts).waiting) == (["id", "fax"], ())
    assert list(shown(held_by({("new", "zip"): "accept"}))) == ["id"]  # another version is another change
    assert list(shown(held_by({**verdicts, ("change of c", "zip"): "accept"}))) == ["id", "zip", "fax"]


@pytest.mark.parametrize("types", ["widen", "review"])
@pytest.mark.parametrize("around", ["{}", "ARRAY<{}>", "ARRAY<STRUCT<p {}>>"])
def test_a_field_that_was_rejected_stays_so_where_a_text_is_a_struct_again(types: Types, around: str) -> None:
    before, last = around.format("STRING"), version("c", {"at": around.format("STRUCT<city STRING, ssn STRING>")})
    ssn = "at.p.ssn" if "p " in around else "at.ssn"
    by = rules("review", types, {("new", ssn): "reject", ("change of c", "at"): "accept"})
    found = held(
        version("", {"at": before}).columns, last.columns, [last], by, lambda version, _: f"change of {version}",
        new_columns="new",
    )  # fmt: skip
    assert shown(found) == {"at": around.format("STRUCT<city STRING>")}


@pytest.mark.parametrize("accepted", ["at", ""])
def test_a_field_that_was_rejected_is_not_accepted_with_the_struct_of_another_version(accepted: str) -> None:
    """The version that brought the field is gone, and a later one was accepted for the type, or as a whole."""
    verdicts: dict[tuple[str, str], Verdict] = {("new", "at.ssn"): "reject", ("change of c", accepted): "accept"}
    last = version("c", {"at": "ARRAY<STRUCT<city STRING, ssn STRING>>"})
    former = version("", {"at": "ARRAY<STRUCT<city STRING>>"}).columns

    def held_by(verdicts: Mapping[tuple[str, str], Verdict]) -> dict[str, str]:
        by = rules("review", "review", verdicts)
        return shown(held(former, last.columns, [last], by, lambda version, _: f"change of {version}", new_columns="new"))

    assert held_by(verdicts) == {"at": "ARRAY<STRUCT<city STRING>>"}
    assert held_by({**verdicts, ("change of c", "at.ssn"): "accept"}) == {"at": "ARRAY<STRUCT<city STRING, ssn STRING>>"}


@pytest.mark.parametrize("path", ["at", "at.ssn"])
@pytest.mark.parametrize("by_command", [True, False])
def test_a_command_accepts_no_field_that_comes_to_an_accepted_struct_later(path: str, by_command: bool) -> None:
    """In place, or from a version that is gone. A line of onefold.yaml is about all fields of its column."""
    key = ("change of b", path)
    times = {key: datetime(2026, 1, 1, tzinfo=UTC)} if by_command else {}
    contract = Contract("review", "review", verdicts=Verdicts({key: "accept"}, times))
    found = hold(
        {"at": "STRUCT<city STRING>"},
        [version("b", {"at": "STRUCT<city STRING, ssn STRING>"})],
        TableRules(contract=contract),
    )
    is_accepted = path == "at.ssn" or not by_command
    assert [one.path for one in found.waiting] == ([] if is_accepted else ["at.ssn"])
    assert shown(found) == {"at": "STRUCT<city STRING, ssn STRING>" if is_accepted else "STRUCT<city STRING>"}


def test_a_field_that_was_rejected_stays_so_where_each_column_is_a_change_of_its_own() -> None:
    verdicts: dict[tuple[str, str], Verdict] = {("new", "at.ssn"): "reject", ("at", "at"): "accept"}
    old, new = version("", {"id": "INT64"}), version("", {"id": "INT64", "at": "STRUCT<city STRING, ssn STRING>"})
    by = rules("review", verdicts=verdicts)
    found = held(old.columns, new.columns, [new], by, lambda _, path: path, new_columns="new")
    assert (shown(found)["at"], found.waiting) == ("STRUCT<city STRING>", ())


@pytest.mark.parametrize("around", ["{}", "STRUCT<a INT64, p {}>", "ARRAY<STRUCT<p {}>>", "ARRAY<STRUCT<p STRUCT<q {}>>>"])
@pytest.mark.parametrize(("new", "types"), [("hide", "widen"), ("review", "widen"), ("review", "review"), ("hide", "keep")])
def test_fields_that_are_not_shown_stay_so_when_a_list_becomes_a_struct_again(
    around: str, new: NewColumns, types: Types
) -> None:
    list_, left = around.format("ARRAY<STRUCT<city STRING>>"), around.format("STRUCT<city STRING, ssn STRING>")
    versions = [version("a", {"at": list_}), version("b", {"at": left})]
    path = "at" + ".p" * around.count("p ") + ".q" * around.count("q ")
    assert shown(hold({"at": list_}, versions, rules(new, types))) == {"at": list_}
    kept = around.format("STRUCT<city STRING>")
    assert shown(hold({"at": list_}, versions[1:], rules(new, types))) == {"at": kept if types == "widen" else list_}
    # Whoever accepts the type accepts no field that was rejected.
    verdicts: dict[tuple[str, str], Verdict] = {
        ("change of b", path): "accept", ("change of b", f"{path}.ssn"): "reject",
    }  # fmt: skip
    assert shown(hold({"at": list_}, versions[1:], rules(new, types, verdicts))) == {"at": kept}


@pytest.mark.parametrize("around", ["{}", "ARRAY<{}>", "STRUCT<p {}>", "ARRAY<STRUCT<p STRUCT<q {}>>>"])
def test_a_struct_keeps_its_fields_where_none_of_them_is_left(around: str) -> None:
    old, new = around.format("STRUCT<city STRING>"), around.format("STRUCT<town STRING>")
    path = "at" + ".p" * around.count("p ") + ".q" * around.count("q ")
    found = hold({"at": old}, [version("b", {"at": new})], rules("review", "review"))
    assert (shown(found), found.lost) == ({"at": old}, (f"{path}.city",))
    assert [one.path for one in found.waiting] == [f"{path}.town"]
    assert hold({"at": old}, [version(new, {"at": new}), version(old, {"at": old})], rules("hide", "keep")).lost == ()
    accepted = rules("review", "review", {("change of b", f"{path}.town"): "accept"})
    assert shown(hold({"at": old}, [version("b", {"at": new})], accepted)) == {"at": new}


@pytest.mark.parametrize("held_type", ["STRING", "JSON", "ARRAY<STRUCT<city STRING>>"])
@pytest.mark.parametrize("around", ["{}", "ARRAY<STRUCT<p {}>>"])
def test_a_type_that_is_held_hides_no_new_field_of_other_versions(held_type: str, around: str) -> None:
    before, old, new = (around.format(one) for one in ("STRUCT<city STRING>", held_type, "STRUCT<city STRING, zip STRING>"))
    path = "at" + ".p" * around.count("p ")
    for versions in ([before, old, new], [before, new, old]):
        made = [version(type_, {"at": type_}) for type_ in versions]
        assert shown(hold({"at": before}, made, rules("show", "keep"))) == {"at": new}
        waiting = hold({"at": before}, made, rules("review", "review")).waiting
        assert {(one.version, one.path) for one in waiting} == {(new, f"{path}.zip"), (old, path)}
        accepted: dict[tuple[str, str], Verdict] = {(f"change of {new}", f"{path}.zip"): "accept"}
        assert shown(hold({"at": before}, made, rules("review", "review", accepted))) == {"at": new}


def test_what_waits_names_the_list_of_structs_that_accepting_its_type_gives() -> None:
    """Two decisions: whether it is a list, and whether the new field is there."""
    before, list_ = "STRUCT<city STRING>", "ARRAY<STRUCT<city STRING, zip STRING>>"
    found = hold({"at": before}, [version("a", {"at": before}), version("b", {"at": list_})], rules("review", "review"))
    assert {(one.path, one.new) for one in found.waiting} == {("at.zip", "STRING"), ("at", "ARRAY<STRUCT<city STRING>>")}
