"""Views whose last version was dropped, and tables of the settings that do not exist: the nightly check names them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.fake_bigquery import FakeBigQuery
from support.in_memory import MemoryPublisher, push_body
from support.refresh_shop import BASE, VIEW, run, shop
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.names import TableId
from onefold.core.versioned_names import VersionedNames
from onefold.ports.warehouse import ViewDraft
from onefold.refresh.labels import TABLE_LABEL, owner_digest
from onefold.refresh.left_over import left_over_tables, unknown_patterns
from onefold.refresh.write import refresh
from onefold.schema.contract_rules import ContractRule, Contracts
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings
from onefold.settings.owners import Owner, Owners
from onefold.views.handler import TableCreatedHandler
from onefold.views.unified_kind import UnifiedKind

SETTINGS = Settings(topic_table_created="table-created")


def found(cloud: FakeBigQuery, settings: Settings = SETTINGS) -> list[str]:
    warehouse = BigQueryWarehouse(cloud.client())
    return [base.table for base in left_over_tables(warehouse, "shop", settings, warehouse.list_tables("shop"))]


def nightly_check(
    cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str], settings: Settings = SETTINGS
) -> list[dict[str, Any]]:
    handler = TableCreatedHandler(settings, BigQueryWarehouse(cloud.client()), MemoryPublisher())
    handler.handle(push_body(b'{"dataset": "shop"}'))
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def drop_all(cloud: FakeBigQuery) -> None:
    for table in cloud.names("TABLE"):
        cloud.drop(table)


def test_the_nightly_check_names_a_view_whose_last_version_was_dropped(
    cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]
) -> None:
    run(cloud)
    assert [line["event"] for line in nightly_check(cloud, capsys)] == ["fan_out"]
    drop_all(cloud)
    cloud.create_table("supplier_v_abc", "id INT64")
    checked, left_over = nightly_check(cloud, capsys)
    assert (checked["event"], checked["tables"]) == ("fan_out", 1)
    assert (left_over["event"], left_over["severity"]) == ("views_left_over", "WARNING")
    assert left_over["views"] == [f"{PROJECT}.shop.{VIEW}"]
    assert "`onefold refresh --dataset shop --all --prune`" in left_over["message"]


def test_a_view_that_others_made_or_that_belongs_to_another_table_is_not_left_over(cloud: FakeBigQuery) -> None:
    warehouse = BigQueryWarehouse(cloud.client())
    warehouse.create_view(TableId(PROJECT, "shop", "person_unified"), ViewDraft("SELECT 1 AS id"))
    run(cloud)
    drop_all(cloud)
    assert found(cloud) == ["customer"]
    cloud.change(VIEW, lambda resource: resource["labels"].update(onefold_table="0" * 16))
    assert found(cloud) == []


@pytest.mark.usefixtures("small_texts")
@pytest.mark.parametrize("versions", [2, 20])
def test_other_settings_of_names_do_not_make_a_view_left_over(versions: int) -> None:
    """Otherwise a command without the deployment's onefold.yaml would remove the views of other patterns."""
    cloud = shop(versions)
    run(cloud)
    other = Settings(names=VersionedNames("(?P<base>.+)__(?P<version>[0-9]+)"))
    assert found(cloud, other) == []
    drop_all(cloud)
    assert found(cloud, other) == ["customer"]


@pytest.mark.parametrize(
    ("view_dataset", "view_name"),
    [("{dataset}", "{table}_{dataset}_{table}_view"), ("{dataset}", "v-{table}"), ("shop", "{dataset}_{table}_unified")],
)
def test_the_table_is_found_through_every_template(cloud: FakeBigQuery, view_dataset: str, view_name: str) -> None:
    settings = Settings(view_dataset=view_dataset, view_name=view_name)
    refresh(UnifiedKind(BigQueryWarehouse(cloud.client()), BASE, settings))
    drop_all(cloud)
    assert found(cloud, settings) == ["customer"]


def test_a_dataset_of_views_that_does_not_exist_has_none(cloud: FakeBigQuery) -> None:
    assert found(cloud, Settings(view_dataset="{dataset}_nowhere")) == []
    assert found(cloud, Settings(view_dataset="{dataset}_{table}")) == []


def test_the_nightly_check_reports_a_mistyped_table_of_the_settings(
    cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.create_table("orders", "id INT64")
    tables = ("customer", "shop.customer", "orders", "crm.person", "custmer", "shop.zzz")
    settings = Settings(topic_table_created="t", tables=dict.fromkeys(tables, TableRules()))
    _, line = nightly_check(cloud, capsys, settings)
    assert (line["event"], line["severity"]) == ("unknown_tables", "WARNING")
    first, second = line["warnings"]
    for words in (
        "tables.custmer of onefold.yaml",
        "dataset shop has no table custmer",
        "did you mean customer?",
        "DATASET.",
    ):
        assert words in first
    assert "tables.shop.zzz of onefold.yaml: dataset shop has no table zzz: correct the name, or remove" in second


def test_the_nightly_check_names_a_current_view_that_is_left_over_alone(
    cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = BigQueryWarehouse(cloud.client())
    cloud.create_table("customer_base", "id INT64")
    cloud.create_table("customer_merges", "id INT64")
    owned = {TABLE_LABEL: owner_digest(f"{BASE} current")}
    text = f"SELECT * FROM `{PROJECT}.shop.customer_v_abc` UNION ALL SELECT * FROM `{PROJECT}.shop.customer_base` "
    text += f"WHERE id > (SELECT MAX(m.id) FROM `{PROJECT}.shop.customer_merges` AS m)"
    warehouse.create_view(TableId(PROJECT, "shop", "customer_current"), ViewDraft(text, labels=owned))
    warehouse.create_view(TableId(PROJECT, "shop", "person_current"), ViewDraft(text, labels=owned))
    drop_all(cloud)
    cloud.create_table("customer_base", "id INT64")
    cloud.create_table("customer_merges", "id INT64")
    assert found(cloud) == []
    _, left_over = nightly_check(cloud, capsys)
    assert left_over["views"] == [f"{PROJECT}.shop.customer_current"]
    (excluded,) = nightly_check(cloud, capsys, replace(SETTINGS, rules=TableRules(current=False)))
    assert excluded["event"] == "fan_out"
    cloud.create_table("customer_v_abc", "id INT64")
    assert [line["event"] for line in nightly_check(cloud, capsys)] == ["fan_out"]


@pytest.mark.parametrize(
    ("pattern", "datasets", "is_named"),
    [
        ("shop.custmer*", None, True),
        ("custmer*", None, True),
        ("custmer*", frozenset({"shop"}), True),
        ("custmer*", frozenset({"shop", "crm"}), False),
        ("sh*p.custmer*", frozenset({"shop", "crm"}), True),
        ("*m*.custmer*", frozenset({"shop", "crm", "cms"}), False),
        ("crm.custmer", None, False),
        ("shop.customer", None, False),
        ("cust*", None, False),
        ("*", None, False),
    ],
)
def test_the_nightly_check_names_owners_and_contracts_of_no_table(
    cloud: FakeBigQuery,
    capsys: pytest.CaptureFixture[str],
    pattern: str,
    datasets: frozenset[str] | None,
    is_named: bool,
) -> None:
    owners = Owners((Owner(pattern, "env:HOOK", "json"),))
    contracts = Contracts((ContractRule(pattern, "types", "keep"), ContractRule(pattern, "dropped", "warn")))
    settings = replace(SETTINGS, owners=owners, contracts=contracts, datasets=datasets)
    found = [one for line in nightly_check(cloud, capsys, settings) for one in line.get("warnings", ())]
    names = [f"{key}.{pattern} of onefold.yaml" for key in ("owners", "contracts")] if is_named else []
    assert [one.partition(": ")[0] for one in found] == names
    assert all("has no table custmer*: did you mean customer? Correct the name" in one for one in found)


def test_a_pattern_of_a_dataset_that_is_not_served_is_named_once() -> None:
    patterns = ("nix*.customer", "*.customer", "crm.*", "eu.tenants", "com.acme.click")
    owners = Owners(tuple(Owner(pattern, "env:HOOK", "json") for pattern in patterns))
    rules = Contracts((ContractRule("nix*.*", "types", "keep"), ContractRule("com.acme/click", "types", "keep")))
    datasets, names = frozenset({"shop", "crm"}), {"eu": VersionedNames()}
    settings = Settings(owners=owners, contracts=rules, datasets=datasets, dataset_names=names)
    advice = "of onefold.yaml: ONEFOLD_DATASETS has no dataset nix*: correct the name, add the dataset there, or remove"
    found = [one for name in ("shop", "crm") for one in unknown_patterns(settings, name, ["customer"])]
    assert found == [f"{at} {advice} the entry" for at in ("owners.nix*.customer", "contracts.nix*.*")]
    assert list(unknown_patterns(replace(settings, datasets=None), "crm", ["customer"])) == []


@pytest.mark.parametrize("pattern", ["order_v_*", "shop.order_v_1"])
def test_a_pattern_of_versions_names_no_table(pattern: str) -> None:
    settings = Settings(contracts=Contracts((ContractRule(pattern, "new_columns", "review"),)))
    (found,) = unknown_patterns(settings, "shop", ["order_v_1", "order_v_2", "orders"])
    assert found.startswith(f"contracts.{pattern} of onefold.yaml: dataset shop has no table order_v_")
    known = Settings(owners=Owners((Owner("orders", "env:HOOK", "json"), Owner("order", "env:HOOK", "json"))))
    assert list(unknown_patterns(known, "shop", ["order_v_1", "orders"])) == []
