"""A current view that is missing is written again, and the clean view that is there shows nothing of it on the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.api_core.exceptions import GoogleAPICallError
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.clean_shop import BY_ID, KEY, CleanShop, policies
from support.cli import Run
from support.merge_shop import Shop
from support.sweeps import sweep

from onefold.changelog.metadata import LANDED_AT
from onefold.core.names import TableId
from onefold.ports.warehouse import ViewDraft
from onefold.settings.environment import Settings
from onefold.views.refresh_current import refresh_current
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

CUSTOMER = {"id": "INT64", "email": "STRING", "note": "STRING", LANDED_AT: "TIMESTAMP"}
RULES = {"id": "clear", "email": "hash", "note": "clear"}
SHOWN = [(1, KEY.hash(b"ada@example.com"), "n")]


@pytest.fixture
def shop(dataset: EmulatedDataset) -> Shop:
    """A version with one row."""
    shop = Shop(dataset)
    shop.create("a1", CUSTOMER)
    shop.land("a1", change("INSERT", "1", id=1, email="ada@example.com", note="n"))
    return shop


@pytest.fixture
def clean(shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CleanShop:
    """A clean view whose current view is missing, and the file of the deployment for commands."""
    made = CleanShop(shop.dataset, monkeypatch)
    made.write_key()
    made.function(**RULES).deliver("a1")
    assert made.rows() == SHOWN
    drop_current(made)
    actions = ", ".join(f"{column}: {action}" for column, action in RULES.items())
    (tmp_path / "onefold.yaml").write_text(
        f"tables:\n  customer: {{keys: [id], overlap_minutes: 0}}\npolicies:\n  '*': {{{actions}}}\n"
    )
    return made


def drop_current(clean: CleanShop) -> None:
    clean.warehouse.delete_view(clean.base.sibling("customer_current"))


@pytest.mark.parametrize("version", sweep(["a1", None]))
def test_a_message_writes_both_again(clean: CleanShop, version: str | None) -> None:
    function = clean.function(**RULES)
    function.deliver(version)
    assert clean.rows() == SHOWN
    assert function.announced("customer") == []
    assert function.dead_letters() == []


@pytest.mark.parametrize("command", ["refresh", "current"])
def test_a_command_writes_both_again(run: Run, clean: CleanShop, dataset: EmulatedDataset, command: str) -> None:
    assert run(command, dataset.name, "customer").code == 0
    assert clean.rows() == SHOWN


class StopsAtCurrent(EmulatedWarehouse):
    """A warehouse whose process dies right after the current view was created."""

    def create_view(self, id_: TableId, draft: ViewDraft) -> None:
        super().create_view(id_, draft)
        if id_.table == "customer_current":
            raise KeyboardInterrupt


def test_the_old_clean_view_never_reads_the_new_current_view(clean: CleanShop, shop: Shop) -> None:
    """`note` is text in one version and a struct with an undecided field in the next: it stays text, with other content."""
    shop.create("b2", {**CUSTOMER, "note": "STRUCT<phone STRING>"})
    shop.land("b2", change("INSERT", "2", id=2, email=None, note={"phone": "030"}))
    with pytest.raises(KeyboardInterrupt):
        refresh_current(StopsAtCurrent(clean.client), clean.base, (), Settings(rules=BY_ID, policies=policies(**RULES)))
    assert "030" in str(shop.dataset.rows("customer_current"))
    with pytest.raises(GoogleAPICallError, match=r"customer_current does not exist: .onefold refresh. writes it"):
        clean.rows()
    assert [column.name for column in clean.view().columns] == ["id", "email", "note"]
    clean.function(**RULES).deliver("b2")
    assert clean.rows() == [(1, SHOWN[0][1], None), (2, None, None)]


def test_what_landed_as_structs_is_not_forgotten_while_the_view_is_closed(clean: CleanShop, shop: Shop) -> None:
    shop.create("b2", {**CUSTOMER, "note": "STRUCT<phone STRING>"})
    clean.function(**RULES).deliver("b2")
    shop.dataset.run(f"DROP TABLE {shop.dataset.quoted('customer_v_b2')}")
    drop_current(clean)
    clean.function(**RULES).deliver()
    assert clean.rows() == [(1, SHOWN[0][1], None)]


def test_versions_that_come_back_after_a_prune_without_policies_have_both_views(
    run: Run, clean: CleanShop, dataset: EmulatedDataset, shop: Shop, tmp_path: Path
) -> None:
    dataset.run(f"DROP TABLE {dataset.quoted('customer_v_a1')}")
    (tmp_path / "onefold.yaml").write_text("tables:\n  customer: {keys: [id], overlap_minutes: 0}\n")
    assert run("refresh", f"{dataset.name}.customer", "--prune").code == 0
    shop.create("b2", CUSTOMER)
    shop.land("b2", change("INSERT", "1", id=1, email="ada@example.com", note="n"))
    clean.function(**RULES).deliver("b2")
    assert clean.rows() == SHOWN
