"""Decisions where the version before is gone: a change has one identifier in the list, and another one in the plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run

REVIEW = 'contracts: {"*": {new_columns: review, types: review}}'


@pytest.fixture
def shop(dataset: EmulatedDataset, run: Run, monkeypatch: pytest.MonkeyPatch) -> EmulatedDataset:
    """A table with a ledger and a contract, whose second version brought a column that waits."""
    Path("onefold.yaml").write_text(REVIEW, "utf-8")
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", dataset.name)
    assert run("changes", "create").code == 0
    for version, columns, row in (("1", {"id": "INT64"}, "1"), ("2", {"id": "INT64", "amt": "INT64"}, "2, 7")):
        dataset.land(f"order_v_{version}", columns, row)
        assert run("refresh", f"{dataset.name}.order").code == 0
    return dataset


def listed(run: Run, shop: EmulatedDataset, version: str = "2") -> list[tuple[str, str]]:
    """The changes that a version brought, with their decisions, as the list has them."""
    found = run("changes", f"{shop.name}.order", "--json").results
    return [(one["change"], one["decision"]) for one in found if one["version_after"] == version]


def planned(run: Run, shop: EmulatedDataset) -> list[tuple[str, str]]:
    (entry,) = run("plan", f"{shop.name}.order", "--json").results
    return [(one["id"], one["new"]) for one in entry["waiting_changes"]]


def shown(shop: EmulatedDataset) -> list[tuple[object, ...]]:
    return sorted(shop.rows("order_unified"), key=str)


def lose(run: Run, shop: EmulatedDataset, version: str, gone: str) -> None:
    if gone == "dropped":
        shop.run(f"DROP TABLE {shop.quoted(f'order_v_{version}')}")
    else:
        Path("onefold.yaml").write_text(f'{REVIEW}\ntables: {{order: {{retire: ["{version}"]}}}}', "utf-8")
        assert run("refresh", f"{shop.name}.order", "--accept-settings").code == 0


@pytest.mark.parametrize("gone", ["dropped", "retired"])
def test_the_identifier_of_the_list_is_accepted_where_the_version_before_is_gone(
    run: Run, shop: EmulatedDataset, gone: str
) -> None:
    ((change, _),) = listed(run, shop)
    lose(run, shop, "1", gone)
    assert [id_ != change for id_, _ in planned(run, shop)] == [True]
    assert run("changes", "reject", planned(run, shop)[0][0], f"{shop.name}.order").code == 0
    assert run("changes", "accept", change).code == 0
    assert shown(shop)[-1] == (2, 7)
    assert (listed(run, shop), planned(run, shop)) == ([(change, "accepted")], [])


def test_the_identifier_of_the_plan_settles_the_entry_of_the_list(run: Run, shop: EmulatedDataset) -> None:
    ((change, _),) = listed(run, shop)
    lose(run, shop, "1", "dropped")
    ((other, _),) = planned(run, shop)
    assert run("changes", "reject", other, f"{shop.name}.order").code == 0
    assert (listed(run, shop), planned(run, shop)) == ([(change, "rejected")], [])
    assert run("changes", "accept", other, f"{shop.name}.order").code == 0
    assert (listed(run, shop), shown(shop)[-1]) == ([(change, "accepted")], (2, 7))


def test_a_line_of_onefold_yaml_settles_the_entry_of_the_list(run: Run, shop: EmulatedDataset) -> None:
    ((change, _),) = listed(run, shop)
    lose(run, shop, "1", "dropped")
    ((other, _),) = planned(run, shop)
    Path("onefold.yaml").write_text(REVIEW.replace("types", f'decisions: {{"{other}": reject}}, types'), "utf-8")
    assert (listed(run, shop), planned(run, shop)) == ([(change, "rejected")], [])


def test_what_nothing_follows_from_is_not_accepted(run: Run, shop: EmulatedDataset) -> None:
    ((change, _),) = listed(run, shop)
    lose(run, shop, "2", "dropped")
    refused = run("changes", "accept", change)
    assert (refused.code, shop.rows("schema_change_decisions"), "is accepted" in refused.err) == (1, [], False)
    assert f"nothing would follow: {shop.name}.order has version 2 no longer" in refused.err
    rejected = run("changes", "reject", change)
    assert (rejected.code, "Warning" in rejected.err, listed(run, shop)) == (0, False, [(change, "rejected")])


def test_a_type_of_a_column_that_is_not_shown_is_not_accepted_before_the_column(run: Run, shop: EmulatedDataset) -> None:
    shop.land("order_v_3", {"id": "INT64", "amt": "STRING"}, "3, 'x'")
    assert run("refresh", f"{shop.name}.order").code == 0
    ((column, _),), ((type_, _),) = listed(run, shop), listed(run, shop, "3")
    early = run("changes", "accept", type_)
    assert (early.code, shop.rows("schema_change_decisions")) == (1, [])
    assert f"does not show amt before change {column} is accepted: accept that one first" in early.err
    assert planned(run, shop) == [(column, "INT64")]
    assert run("changes", "accept", column, "--column", "amt").code == 0
    assert shown(shop) == [(1, None), (2, 7), (3, None)]
    assert (listed(run, shop), listed(run, shop, "3")) == ([(column, "accepted")], [(type_, "waiting")])
    assert run("changes", "accept", type_).code == 0
    assert shown(shop) == [(1, None), (2, "7"), (3, "x")]


def test_an_identifier_of_an_entry_may_be_given_with_its_table(run: Run, shop: EmulatedDataset) -> None:
    table = f"{shop.name}.order"
    tenant = "f" * 32
    shop.run(f"UPDATE {shop.quoted('schema_changes')} SET id = '{tenant}' WHERE version_after = '2'")
    assert run("changes", "accept", tenant, table).code == 0
    assert shown(shop)[-1] == (2, 7)
