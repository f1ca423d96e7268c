"""Captured tables of several tenants in the warehouse: their keys, their current views and their bases."""

from __future__ import annotations

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.merge_shop import now
from support.tenants import CODE, ID, NAME, ONE, SINCE, TENANT, TWO, create, current_rows, land, read_key, row, version

from onefold.core.errors import SchemaConflict


def test_the_key_is_read_from_landed_rows_and_checked_in_the_window(dataset: EmulatedDataset) -> None:
    create(dataset, ONE, TWO)
    land(dataset, ONE, row("eu/a", "9", ("code",)), row("us/a", "1", ("ID",)))
    land(dataset, TWO, row("eu/a", "10"), row("eu/b", "3"))
    assert read_key(dataset) == (*TENANT, "id")
    base_keys = (*TENANT, "id")
    # A late change has an earlier key.
    land(dataset, ONE, row("eu/a", "8", ("code",), landed_at="2024-05-02 00:00:00"))
    assert read_key(dataset, *base_keys, since=SINCE) == base_keys
    land(dataset, ONE, row("eu/a", "11", ("code",), landed_at="2024-05-02 00:00:00"))
    with pytest.raises(SchemaConflict, match=r"but code in eu/a: .* drop local.*_base and set `keys: "):
        read_key(dataset, *base_keys, since=SINCE)
    with pytest.raises(SchemaConflict, match="but code in eu/a"):
        read_key(dataset)


def test_each_tenant_has_its_rows(run: Run, dataset: EmulatedDataset) -> None:
    """Two databases and two sources have the same primary keys, in two versions."""
    create(dataset, ONE, TWO)
    land(
        dataset,
        ONE,
        row("eu/a", "1", id=1, name="anna"),
        row("eu/b", "2", id=1, name="bert"),
        row("us/a", "1", id=1, name="cleo"),
        row("eu/a", "3", id=2, name="gone"),
    )
    land(dataset, TWO, row("eu/a", "4", id=2, kind="DELETE"), row("eu/b", "5", ("ID",), id=2, name="dora", mail="d@x"))

    assert run("current", f"{dataset.name}.customer").code == 0
    expected = [("eu", "a", 1, "anna"), ("eu", "b", 1, "bert"), ("eu", "b", 2, "dora"), ("us", "a", 1, "cleo")]
    assert current_rows(dataset) == expected
    merged = run("merge", f"{dataset.name}.customer", "--json")
    assert (merged.result["key"], merged.result["written"]) == ([*TENANT, "id"], 5)
    assert current_rows(dataset) == expected

    land(dataset, TWO, row("eu/b", "6", kind="UPDATE-INSERT", id=1, name="berta", landed_at=now()))
    expected[1] = ("eu", "b", 1, "berta")
    assert current_rows(dataset) == expected


def test_tenants_without_a_key_have_neither_view_nor_base_unless_a_user_names_the_key(
    run: Run, dataset: EmulatedDataset
) -> None:
    create(dataset, ONE)
    land(dataset, ONE, row("eu/a", "1", id=1, name="a"), row("eu/b", "1", (), id=1, name="b"), row("eu/c", "1", ()))
    for command in ("current", "merge"):
        refused = run(command, dataset.name, "customer")
        assert refused.code == 1
        assert "there is no key in eu/b, eu/c: give the table one there" in refused.err
    assert tables(dataset) == {ONE.name}
    shown = run("merge", f"{dataset.name}.customer", "--dry-run", "--keys", ",".join((*TENANT, "code")))
    assert "PARTITION BY r.`source_name`, r.`database_name`, r.`code` ORDER BY" in shown.out


def tables(dataset: EmulatedDataset) -> set[str]:
    return {item.table_id for item in dataset.client.list_tables(dataset.name)} - {"customer_unified"}


@pytest.mark.long
def test_a_changed_key_is_reported_and_a_new_base_has_it(run: Run, dataset: EmulatedDataset) -> None:
    create(dataset, ONE)
    land(dataset, ONE, row("eu/a", "1", id=1, code=7, name="a"), row("eu/b", "1", id=1, code=7, name="b"))
    assert run("merge", f"{dataset.name}.customer").code == 0
    land(dataset, ONE, *(row(f"eu/{name}", "2", ("code",), id=1, code=8, name=name, landed_at=now()) for name in "ab"))
    for command in ("merge", "current"):
        refused = run(command, dataset.name, "customer")
        assert refused.code == 1
        assert "the key is code by now in eu/a, eu/b" in refused.err
    dataset.run(f"DROP TABLE {dataset.quoted('customer_base')}")
    shown = run("merge", f"{dataset.name}.customer", "--dry-run")
    assert "PARTITION BY r.`source_name`, r.`database_name`, r.`code` ORDER BY" in shown.out


def test_a_version_without_a_column_of_the_key_is_named(run: Run, dataset: EmulatedDataset) -> None:
    other = version(CODE, NAME)
    create(dataset, version(ID, NAME), other)
    land(dataset, other, row("eu/a", "1", ("code",), code=1, name="a"))
    land(dataset, version(ID, NAME), row("eu/a", "2", id=1, name="a"))
    refused = run("merge", f"{dataset.name}.customer")
    assert f"customer_v_{other.version} has no column id for the key; `retire` the version" in refused.err
