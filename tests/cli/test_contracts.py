"""Contracts at the command line: `plan` says what waits, with the identifiers that decisions name."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run

REVIEW = 'contracts: {"*": {new_columns: review, types: review}}'


@pytest.fixture
def shop(dataset: EmulatedDataset, run: Run) -> EmulatedDataset:
    """A table whose view was written, with a contract that reviews changes, and a second version."""
    Path("onefold.yaml").write_text(REVIEW, "utf-8")
    dataset.land("order_v_1", {"id": "INT64", "amount": "INT64"}, "1, 7")
    assert run("refresh", f"{dataset.name}.order").code == 0
    dataset.land("order_v_2", {"id": "INT64", "amount": "STRING", "email": "STRING"}, "2, 'many', 'e'")
    return dataset


def test_plan_says_what_waits_and_refresh_keeps_the_view_as_it_is(run: Run, shop: EmulatedDataset) -> None:
    (entry,) = run("plan", f"{shop.name}.order", "--json").results
    waiting = {one.pop("path"): one for one in entry["waiting_changes"]}
    id_ = waiting["email"]["id"]
    assert waiting == {
        "amount": {"id": id_, "version": "2", "old": "INT64", "new": "STRING"},
        "email": {"id": id_, "version": "2", "old": None, "new": "STRING"},
    }
    text = f"waits for a decision: new column email STRING of version 2: onefold changes accept {id_} {shop.name}.order"
    assert " ".join(text.split()[:-1]) in run("plan", f"{shop.name}.order").out
    assert text in entry["warnings"]
    assert run("refresh", f"{shop.name}.order").code == 0
    assert sorted(shop.rows("order_unified"), key=str) == [(1, 7), (2, None)]
    after = run("plan", f"{shop.name}.order", "--json").result
    assert (after["action"], [one["path"] for one in after["waiting_changes"]]) == ("none", ["amount", "email"])


def test_a_view_answers_where_the_versions_that_had_its_columns_are_gone(run: Run, shop: EmulatedDataset) -> None:
    shop.land("order_v_3", {"uid": "INT64"}, "3")
    for number in (1, 2):
        shop.run(f"DROP TABLE {shop.quoted(f'order_v_{number}')}")
    done = run("refresh", f"{shop.name}.order")
    assert (done.code, shop.rows("order_unified")) == (0, [(None, None)])
    assert "all rows are NULL: accept a column" in done.err


def test_a_line_of_onefold_yaml_decides(run: Run, shop: EmulatedDataset) -> None:
    id_ = run("plan", f"{shop.name}.order", "--json").result["waiting_changes"][0]["id"]
    decisions = f'decisions: {{"{id_}": {{email: accept, amount: reject}}}}'
    Path("onefold.yaml").write_text(REVIEW.replace("types", f"{decisions}, types"), "utf-8")
    assert run("refresh", f"{shop.name}.order").code == 0
    assert sorted(shop.rows("order_unified"), key=str) == [(1, 7, None), (2, None, "e")]
    assert run("plan", f"{shop.name}.order", "--json").result["waiting_changes"] == []


def test_a_contract_that_cannot_be_read_stops_a_refresh(run: Run, shop: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text('contracts: {"*": {new_columns: revue}}', "utf-8")
    outcome = run("refresh", f"{shop.name}.order")
    assert outcome.code == 1
    assert (
        "contracts.*.new_columns: expected show, hide, review or refuse, got 'revue' (did you mean review?)" in outcome.err
    )
    Path("onefold.yaml").unlink()
    assert "contract.new_columns: review -> default" in run("refresh", f"{shop.name}.order").err


@pytest.fixture
def decisions(shop: EmulatedDataset, run: Run, monkeypatch: pytest.MonkeyPatch) -> EmulatedDataset:
    """The shop, whose dataset holds the ledger, too."""
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", shop.name)
    assert run("changes", "create").code == 0
    return shop


def waiting(run: Run, shop: EmulatedDataset) -> dict[str, str]:
    (entry,) = run("plan", f"{shop.name}.order", "--json").results
    return {one["path"]: one["id"] for one in entry["waiting_changes"]}


def test_a_change_is_accepted_and_the_views_are_written(run: Run, decisions: EmulatedDataset) -> None:
    table = f"{decisions.name}.order"
    id_ = waiting(run, decisions)["email"]
    assert run("changes", "accept", id_, table, "--dry-run").code == 0
    assert waiting(run, decisions) == {"amount": id_, "email": id_}
    done = run("changes", "accept", id_, table, "--column", "email", "--json").result
    assert (done["columns"], [view.rpartition(".")[2] for view in done["views"]]) == (["email"], ["order_unified"])
    assert sorted(decisions.rows("order_unified"), key=str) == [(1, 7, None), (2, None, "e")]
    assert waiting(run, decisions) == {"amount": id_}
    assert f"change {id_} is accepted" in run("changes", "accept", id_, table).err
    assert sorted(decisions.rows("order_unified"), key=str) == [(1, "7", None), (2, "many", "e")]
    assert waiting(run, decisions) == {}


def test_a_change_is_rejected_and_waits_no_longer_and_may_be_accepted_later(run: Run, decisions: EmulatedDataset) -> None:
    table = f"{decisions.name}.order"
    id_ = waiting(run, decisions)["email"]
    assert run("changes", "reject", id_, table).code == 0
    assert waiting(run, decisions) == {}
    assert sorted(decisions.rows("order_unified"), key=str) == [(1, 7), (2, None)]
    assert run("changes", "accept", id_, table).code == 0
    assert len(decisions.rows("order_unified")[0]) == 3


@pytest.mark.parametrize(
    ("id_", "table", "columns", "text"),
    [
        ("", "order", (), "the ID is empty"),
        ("deadbeef", "order", (), "has no change deadbeef"),
        ("of order", "ordr", (), "no versioned table"),
        ("of order", "customer", (), "has no change"),
        ("of order", "order", ("nosuch",), "is not about nosuch, but about amount, email"),
    ],
)
def test_a_decision_about_another_table_change_or_column_is_none(
    run: Run, decisions: EmulatedDataset, id_: str, table: str, columns: tuple[str, ...], text: str
) -> None:
    decisions.land("customer_v_1", {"id": "INT64"}, "1")
    change = waiting(run, decisions)["email"] if id_ == "of order" else id_
    words = [word for column in columns for word in ("--column", column)]
    refused = run("changes", "accept", change, f"{decisions.name}.{table}", *words)
    assert (refused.code, decisions.rows("schema_change_decisions")) == (1, [])
    assert text in refused.err
    assert "is accepted" not in refused.err


def test_who_decides_what_has_no_effect_is_told_so(run: Run, decisions: EmulatedDataset) -> None:
    table, plain = f"{decisions.name}.order", Path("onefold.yaml").read_text("utf-8")
    assert run("refresh", table).code == 0
    id_ = waiting(run, decisions)["email"]
    Path("onefold.yaml").write_text(REVIEW.replace("types", f'decisions: {{"{id_}": reject}}, types'), "utf-8")
    overruled = run("changes", "accept", id_, table)
    assert (overruled.code, "onefold.yaml says `reject` about it, and comes first" in overruled.err) == (1, True)
    Path("onefold.yaml").write_text(plain, "utf-8")
    accepted = run("changes", "accept", id_, table)
    assert (accepted.code, "Warning" in accepted.err) == (0, False)
    late = run("changes", "reject", id_, table)
    assert (late.code, "the views show this change already, and go on to show it" in late.err) == (0, True)


def test_a_decision_of_onefold_yaml_comes_before_one_of_the_table(run: Run, decisions: EmulatedDataset) -> None:
    id_ = waiting(run, decisions)["email"]
    Path("onefold.yaml").write_text(REVIEW.replace("types", f'decisions: {{"{id_}": reject}}, types'), "utf-8")
    assert run("changes", "accept", id_, f"{decisions.name}.order").code == 1
    assert run("refresh", f"{decisions.name}.order").code == 0
    assert sorted(decisions.rows("order_unified"), key=str) == [(1, 7), (2, None)]
    assert decisions.rows("schema_change_decisions") == []


def test_a_change_that_the_ledger_does_not_list_needs_its_table(run: Run, decisions: EmulatedDataset) -> None:
    outcome = run("changes", "accept", "0" * 32)
    assert (outcome.code, decisions.rows("schema_change_decisions")) == (1, [])
    assert f"the ledger lists no change {'0' * 32}: name its table, too" in outcome.err


def test_the_entry_of_a_version_says_what_was_decided_and_when(run: Run, decisions: EmulatedDataset) -> None:
    table = f"{decisions.name}.order"

    def entry() -> dict[str, object]:
        (found,) = (one for one in run("changes", table, "--json").results if one["version_after"] == "2")
        return {"decision": found["decision"], **{one["path"]: one["kind"] for one in found["effects"]}}

    assert run("refresh", table).code == 0
    rows = decisions.rows("schema_changes")
    id_ = waiting(run, decisions)["email"]
    assert run("changes", "accept", id_, table, "--column", "email").code == 0
    assert entry() == {"decision": "waiting", "email": "new column", "amount": "null"}
    assert run("changes", "reject", id_, "--column", "amount").code == 0
    assert entry() == {"decision": "rejected", "email": "new column", "amount": "null"}
    assert "decision: rejected on 20" in run("changes", table).out
    assert run("changes", "accept", id_).code == 0
    assert entry() == {"decision": "accepted", "email": "new column", "amount": "cast"}
    assert rows == [row for row in decisions.rows("schema_changes") if row in rows]


def test_the_entry_of_a_version_says_what_onefold_yaml_decided_and_what_is_shown_without_the_line(
    run: Run, decisions: EmulatedDataset
) -> None:
    table, plain = f"{decisions.name}.order", Path("onefold.yaml").read_text("utf-8")

    def decision() -> tuple[str, str | None]:
        (found,) = (one for one in run("changes", table, "--json").results if one["version_after"] == "2")
        return found["decision"], found["decided_at"]

    assert run("refresh", table).code == 0
    id_ = waiting(run, decisions)["email"]
    Path("onefold.yaml").write_text(REVIEW.replace("types", f'decisions: {{"{id_}": accept}}, types'), "utf-8")
    assert run("refresh", table).code == 0
    assert decision() == ("accepted", None)
    Path("onefold.yaml").write_text(plain, "utf-8")
    assert decision() == ("shown", None)


@pytest.mark.parametrize("gone", ["dropped", "retired"])
def test_a_decision_about_columns_stays_where_the_version_before_is_gone(
    run: Run, decisions: EmulatedDataset, gone: str
) -> None:
    id_ = waiting(run, decisions)["email"]
    assert run("changes", "reject", id_, f"{decisions.name}.order").code == 0
    if gone == "dropped":
        decisions.run(f"DROP TABLE {decisions.quoted('order_v_1')}")
    else:
        Path("onefold.yaml").write_text(REVIEW + '\ntables: {order: {retire: ["1"]}}', "utf-8")
    assert waiting(run, decisions) == {}


def test_what_nobody_has_decided_waits_where_a_version_before_is_gone(run: Run, decisions: EmulatedDataset) -> None:
    """The third version was accepted as a whole, and now has a column that the second one brought, and that stays rejected.

    The type that the second one brought was accepted, and nobody has decided that it goes.
    """
    table = f"{decisions.name}.order"
    id_ = waiting(run, decisions)["email"]
    assert run("changes", "reject", id_, table, "--column", "email").code == 0
    assert run("changes", "accept", id_, table, "--column", "amount").code == 0
    decisions.land("order_v_3", {"id": "INT64", "email": "STRING", "fax": "STRING"})
    assert run("changes", "accept", waiting(run, decisions)["fax"], table).code == 0
    decisions.run(f"DROP TABLE {decisions.quoted('order_v_2')}")
    assert set(waiting(run, decisions)) == {"amount"}
    assert run("refresh", table).code == 0
    assert all(len(row) == 3 for row in decisions.rows("order_unified"))  # id, amount and fax
