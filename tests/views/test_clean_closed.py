"""A clean view that cannot be as the policies say shows nothing: what former policies showed may be hidden by now."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.api_core.exceptions import GoogleAPICallError
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.clean_shop import BY_ID, CleanShop, policies
from support.cli import Run
from support.functions import RefreshView
from support.merge_shop import Shop
from support.sweeps import sweep

from onefold.changelog.metadata import LANDED_AT
from onefold.core.names import TableId
from onefold.ports.warehouse import ViewDraft
from onefold.schema.column_policy import ColumnPolicies
from onefold.settings.environment import Settings
from onefold.views.refresh_current import refresh_current
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

ALL_CLEAR = {"id": "clear", "email": "clear"}
SHOWN = [(1, "ada@example.com")]


@pytest.fixture
def shop(dataset: EmulatedDataset) -> Shop:
    """A version with one row."""
    shop = Shop(dataset)
    shop.create("a1", {"id": "INT64", "email": "STRING", LANDED_AT: "TIMESTAMP"})
    shop.land("a1", change("INSERT", "1", id=1, email="ada@example.com"))
    return shop


@pytest.fixture
def clean(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> CleanShop:
    """A clean view that shows every column, with the key of hashes."""
    made = CleanShop(shop.dataset, monkeypatch)
    made.write_key()
    made.function(**ALL_CLEAR).deliver("a1")
    assert made.rows() == SHOWN
    return made


def check_closed(clean: CleanShop, reason: str) -> None:
    with pytest.raises(GoogleAPICallError, match=reason):
        clean.rows()


@pytest.mark.parametrize("version", sweep(["a1", None]))
def test_policies_that_drop_every_column_close_the_view_and_say_so(
    clean: CleanShop, version: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    function = clean.function(id="drop", email="drop")
    function.deliver(version)
    check_closed(clean, "the policies drop every column: mask one instead")
    (line,) = [one for one in map(json.loads, capsys.readouterr().out.splitlines()) if one["event"] == "clean_refreshed"]
    assert "every query of the view is an error: " in line["warnings"][0]
    clean.function(**ALL_CLEAR).deliver(version)
    assert clean.rows() == SHOWN


def test_a_command_that_closes_the_view_says_so(run: Run, clean: CleanShop, shop: Shop, tmp_path: Path) -> None:
    write_settings(tmp_path, id="drop", email="drop")
    done = run("refresh", f"{shop.dataset.name}.customer", "--accept-settings")
    assert (done.code, "every query of the view is an error: " in done.err) == (0, True)
    check_closed(clean, "the policies drop every column")


def test_the_view_does_not_go_on_reading_the_current_view_of_former_settings(
    clean: CleanShop, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current view is asked for in another dataset, and cannot be written there: its key is not known any more."""
    dataset.client.create_dataset(f"{dataset.name}_views")
    moved: dict[str, Any] = {"view_dataset": "{dataset}_views", "policies": policies(id="clear", email="mask")}
    RefreshView(dataset, monkeypatch, **moved).deliver()
    check_closed(clean, "_views.customer_current does not exist")
    RefreshView(dataset, monkeypatch, rules=BY_ID, **moved).deliver()
    assert clean.rows() == [(1, None)]


@pytest.mark.parametrize("rules", sweep([policies(id="clear", email="mask"), None]), ids=["mask", "no-policies"])
@pytest.mark.parametrize("version", ["a1", None])
def test_policies_count_also_where_every_version_is_retired(
    clean: CleanShop,
    dataset: EmulatedDataset,
    monkeypatch: pytest.MonkeyPatch,
    rules: ColumnPolicies | None,
    version: str | None,
) -> None:
    retired = replace(BY_ID, retired=frozenset({"a1"}))
    RefreshView(dataset, monkeypatch, rules=retired, policies=rules).deliver(version)
    assert clean.rows() == [(1 if rules else None, None)]


class StopsAtCurrent(EmulatedWarehouse):
    """A warehouse whose process dies right after the current view was created."""

    def create_view(self, id_: TableId, draft: ViewDraft) -> None:
        super().create_view(id_, draft)
        if id_.table == "customer_current":
            raise KeyboardInterrupt


def test_the_command_that_died_opens_the_view_when_it_runs_again(
    run: Run, clean: CleanShop, shop: Shop, tmp_path: Path
) -> None:
    clean.warehouse.delete_view(clean.base.sibling("customer_current"))
    settings = Settings(rules=BY_ID, policies=policies(**ALL_CLEAR))
    with pytest.raises(KeyboardInterrupt):
        refresh_current(StopsAtCurrent(clean.client), clean.base, (), settings)
    check_closed(clean, "does not exist")
    write_settings(tmp_path, **ALL_CLEAR)
    assert run("current", f"{shop.dataset.name}.customer").code == 0
    assert clean.rows() == SHOWN


def write_settings(folder: Path, **rules: str) -> None:
    actions = ", ".join(f"{column}: {action}" for column, action in rules.items())
    keys = "tables:\n  customer: {keys: [id], overlap_minutes: 0}"
    (folder / "onefold.yaml").write_text(f"{keys}\npolicies:\n  '*': {{{actions}}}\n")
