"""The key that the versions of a captured table declare."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.merge_shop import now
from support.tenants import ONE, TENANT, TWO, create, current_rows, customer, land, read_key, row

from onefold.core.errors import NotFound, SchemaConflict
from onefold.landing.table import VersionedTable
from onefold.merge.change_tables import ChangeTable
from onefold.merge.keys import (
    captured_keys,
)
from onefold.schema.versions import Version
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

LINE = 'keys: ["source_name", "database_name", "id", "code"]'
"""The line for onefold.yaml by which rows of tenants with the keys `id` and `id, code` never hide each other."""


def declare(dataset: EmulatedDataset, declared: Mapping[VersionedTable, tuple[str, ...]]) -> EmulatedWarehouse:
    """Create versions with the key that each of them declares."""
    warehouse = EmulatedWarehouse(dataset.client)
    for table, key in declared.items():
        warehouse.create_table(customer(dataset).sibling(table.name), table.columns, primary_key=key)
    return warehouse


def test_a_declared_key_is_known_before_a_row_has_landed(dataset: EmulatedDataset) -> None:
    declare(dataset, {ONE: (*TENANT, "id", "code"), TWO: (*TENANT, "Code", "ID")})
    table = customer(dataset)
    changes = [ChangeTable(table.sibling(found.name), Version(found.version, found.columns)) for found in (ONE, TWO)]
    for base_keys in [(), (*TENANT, "id", "code"), ("CODE", "Database_Name", "id", "source_name")]:
        found = captured_keys(EmulatedWarehouse(dataset.client), table, changes, base_keys)
        assert found == (base_keys or (*TENANT, "id", "code"))
    with pytest.raises(SchemaConflict) as raised:
        captured_keys(EmulatedWarehouse(dataset.client), table, changes, (*TENANT, "id"))
    (problem,) = raised.value.problems
    assert (
        "its versions declare the key id, code, and its base was made with source_name, database_name, id: drop " in problem
    )


def test_a_table_whose_tenants_have_several_keys_has_no_view_and_no_base(run: Run, dataset: EmulatedDataset) -> None:
    """By the declared key the rows of a tenant hide each other. The line that the error names shows all of them."""
    declare(dataset, {ONE: (*TENANT, "id")})
    land(dataset, ONE, row("eu/b", "1", id=1, code=1, name="b"))
    land(dataset, ONE, *(row("eu/a", str(code), ("id", "code"), id=1, code=code, name=f"{code}") for code in (2, 3)))
    for command in ("merge", "current"):
        refused = run(command, dataset.name, "customer")
        assert refused.code == 1
        assert "the key is id, code in eu/a, but id in eu/b" in refused.err
        assert LINE in refused.err
    Path("onefold.yaml").write_text(f"tables: {{customer: {{{LINE}}}}}")
    for command in ("current", "merge", "current"):
        assert run(command, dataset.name, "customer").code == 0
        assert current_rows(dataset) == [("eu", "a", 1, "2"), ("eu", "a", 1, "3"), ("eu", "b", 1, "b")]


def test_a_key_that_all_tenants_have_widened_is_followed_by_the_view(run: Run, dataset: EmulatedDataset) -> None:
    """`DROP PRIMARY KEY, ADD PRIMARY KEY (id, code)` changes no column, so the version and its declared key stay."""
    declare(dataset, {ONE: (*TENANT, "id")})
    land(dataset, ONE, *(row(tenant, "1", id=1, code=1, name="a") for tenant in ("eu/a", "eu/b")))
    assert run("current", f"{dataset.name}.customer").code == 0
    widened = [row("eu/a", str(code), ("id", "code"), id=1, code=code, name=f"{code}") for code in (2, 3)]
    land(dataset, ONE, *widened)
    refused = run("current", f"{dataset.name}.customer")
    assert (refused.code, LINE in refused.err) == (1, True), "one of two tenants has another key"
    land(dataset, ONE, row("eu/b", "2", ("id", "code"), id=1, code=1, name="b"))
    assert run("current", f"{dataset.name}.customer").code == 0
    assert current_rows(dataset) == [("eu", "a", 1, "2"), ("eu", "a", 1, "3"), ("eu", "a", 1, "a"), ("eu", "b", 1, "b")]


def test_a_base_takes_no_rows_of_a_tenant_that_has_widened_the_key(run: Run, dataset: EmulatedDataset) -> None:
    """To drop the base alone would not help: the next one would have no key, either."""
    Path("onefold.yaml").write_text("overlap_minutes: 0")
    declare(dataset, {ONE: (*TENANT, "id")})
    land(dataset, ONE, *(row(tenant, "1", id=1, code=1, name="a") for tenant in ("eu/a", "eu/b")))
    assert run("merge", f"{dataset.name}.customer").code == 0
    land(dataset, ONE, row("eu/a", "2", ("id", "code"), landed_at=now(), id=1, code=2, name="b"))
    for command in ("merge", "current"):
        refused = run(command, dataset.name, "customer")
        assert refused.code == 1
        assert "the key is id, code in eu/a, but id in eu/b" in refused.err
        assert f"drop {customer(dataset)}_base and set `{LINE}`" in refused.err
    Path("onefold.yaml").write_text(f"overlap_minutes: 0\ntables: {{customer: {{{LINE}}}}}")
    dataset.run(f"DROP TABLE {dataset.quoted('customer_base')}")
    for command in ("merge", "current"):
        assert run(command, dataset.name, "customer").code == 0
    assert current_rows(dataset) == [("eu", "a", 1, "a"), ("eu", "a", 1, "b"), ("eu", "b", 1, "a")]


def test_a_tenant_that_comes_with_the_former_key_is_not_answered_by_a_new_base(run: Run, dataset: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text("overlap_minutes: 0")
    declare(dataset, {ONE: (*TENANT, "id")})
    land(dataset, ONE, row("eu/a", "1", ("id", "code"), id=1, code=1, name="a"))
    assert run("merge", f"{dataset.name}.customer").code == 0
    land(dataset, ONE, row("eu/new", "2", landed_at=now(), id=1, code=2, name="b"))
    refused = run("merge", f"{dataset.name}.customer")
    assert "the key is id, code in eu/a, but id in eu/new" in refused.err
    assert f"or set `{LINE}`" in refused.err
    assert "drop" not in refused.err
    Path("onefold.yaml").write_text(f"overlap_minutes: 0\ntables: {{customer: {{{LINE}}}}}")
    for command in ("merge", "current"):
        assert run(command, dataset.name, "customer").code == 0
    assert current_rows(dataset) == [("eu", "a", 1, "a"), ("eu", "new", 1, "b")]


def test_a_base_of_a_key_that_all_tenants_have_widened_takes_no_more_rows(run: Run, dataset: EmulatedDataset) -> None:
    declare(dataset, {ONE: (*TENANT, "id")})
    land(dataset, ONE, row("eu/a", "1", id=1, code=1, name="a"))
    assert run("merge", f"{dataset.name}.customer").code == 0
    land(dataset, ONE, row("eu/a", "2", ("id", "code"), landed_at=now(), id=1, code=2, name="b"))
    for command in ("merge", "current"):
        refused = run(command, dataset.name, "customer")
        assert refused.code == 1
        assert "the key is id, code by now in eu/a, and its base was made with source_name, database_name, id" in refused.err
        assert "as `keys` of the table in onefold.yaml" in refused.err


def test_a_base_that_was_made_anew_by_a_widened_key_goes_on(run: Run, dataset: EmulatedDataset) -> None:
    """As the refusal advises. No row of the window names the key after that."""
    Path("onefold.yaml").write_text("overlap_minutes: 0")
    declare(dataset, {ONE: (*TENANT, "id")})
    land(dataset, ONE, row("eu/a", "1", id=1, code=1, name="a"))
    assert run("merge", f"{dataset.name}.customer").code == 0
    land(dataset, ONE, row("eu/a", "2", ("id", "code"), landed_at=now(), id=1, code=2, name="b"))
    assert run("merge", f"{dataset.name}.customer").code == 1
    dataset.run(f"DROP TABLE {dataset.quoted('customer_base')}")
    for command in ("merge", "merge", "current"):
        outcome = run(command, dataset.name, "customer")
        assert outcome.code == 0, outcome.err
    assert current_rows(dataset) == [("eu", "a", 1, "a"), ("eu", "a", 1, "b")]


def test_the_rows_of_a_version_without_a_declared_key_have_to_agree(dataset: EmulatedDataset) -> None:
    create(dataset, ONE)
    declare(dataset, {TWO: (*TENANT, "id")})
    assert read_key(dataset) == (*TENANT, "id")
    land(dataset, ONE, row("eu/a", "1", ("ID",)))
    assert read_key(dataset) == (*TENANT, "id")
    # If the rows do not agree, the latest change of each tenant in all versions decides.
    land(dataset, ONE, row("eu/a", "2", ("code",)), row("eu/b", "1", ("code",)))
    with pytest.raises(SchemaConflict, match="the key is code by now in eu/a, eu/b"):
        read_key(dataset, *TENANT, "id")
    assert read_key(dataset) == (*TENANT, "code")
    land(dataset, TWO, row("eu/a", "3"), row("eu/b", "3"))
    assert read_key(dataset) == (*TENANT, "id")


@pytest.mark.parametrize(
    "declared",
    [{ONE: (*TENANT, "id"), TWO: (*TENANT, "code")}, {ONE: ("id",), TWO: ("id", "database_name")}, {ONE: (), TWO: ()}],
    ids=["versions disagree", "without the tenant", "none"],
)
def test_without_one_declared_key_the_key_is_read_from_the_rows(
    dataset: EmulatedDataset, declared: Mapping[VersionedTable, tuple[str, ...]]
) -> None:
    declare(dataset, declared)
    with pytest.raises(NotFound, match="no row has landed yet"):
        read_key(dataset)
    land(dataset, ONE, row("eu/a", "1", ("name",)))
    assert read_key(dataset) == (*TENANT, "name")


def test_a_declared_key_makes_the_view_and_the_base(run: Run, dataset: EmulatedDataset) -> None:
    declare(dataset, {ONE: (*TENANT, "code")})
    rows = ((1, "a"), (2, "b"))
    land(dataset, ONE, *(row("eu/a", f"{id_}", ("code",), id=id_, code=7, name=name) for id_, name in rows))
    assert run("current", f"{dataset.name}.customer").code == 0
    assert current_rows(dataset) == [("eu", "a", 2, "b")]
    merged = run("merge", f"{dataset.name}.customer", "--json")
    assert (merged.result["key"], merged.result["written"]) == ([*TENANT, "code"], 1)
    assert current_rows(dataset) == [("eu", "a", 2, "b")]
