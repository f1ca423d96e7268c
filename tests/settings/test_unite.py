"""The key `unite` of onefold.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.settings_problems import located_problems_of

from onefold.core.names import TableId
from onefold.core.united_names import UnitedTable
from onefold.settings.environment import Settings, load_settings
from onefold.settings.yaml_unite import united_over

ORDERS = TableId("p", "united", "orders")


def settings(tmp_path: Path, text: str, **environ: str) -> Settings:
    (tmp_path / "onefold.yaml").write_text(text)
    return load_settings(environ, tmp_path / "onefold.yaml")


def united(found: Settings, base: TableId = ORDERS) -> UnitedTable:
    return found.names_in(base.dataset).united[base.table]


def test_one_entry_is_a_list_of_one(tmp_path: Path) -> None:
    entry = "{datasets: 'tenant_*', table: orders}"
    alone = united(settings(tmp_path, f"unite: {entry}"))
    assert alone == united(settings(tmp_path, f"unite: [{entry}]"))
    assert (alone.datasets, alone.table, alone.into, alone.dataset_column) == ("tenant_*", "orders", "united", "dataset")


def test_no_value_unites_nothing(tmp_path: Path) -> None:
    for text in ("unite:", "unite: []", "{}"):
        assert not settings(tmp_path, text).names_in("united").united


def test_the_dataset_takes_the_place_of_the_version_and_is_part_of_the_key(tmp_path: Path) -> None:
    text = "unite: {datasets: 'tenant_*', table: orders, dataset_column: tenant}\ntables: {orders: {keys: [id]}}"
    found = settings(tmp_path, text)
    rules = found.rules_for(ORDERS)
    assert (rules.version_column, rules.keys) == ("tenant", ("tenant", "id"))
    assert rules.whole_key(["Tenant", "line"]) == ("tenant", "line")
    assert found.rules_for(TableId("p", "tenant_a", "orders")).keys == ("id",)


def test_a_version_column_of_all_tables_is_none_of_a_united_table(tmp_path: Path) -> None:
    found = settings(tmp_path, "unite: {datasets: 'tenant_*', table: orders}\nversion_column: _version")
    assert found.rules_for(ORDERS).version_column == "dataset"


@pytest.mark.parametrize(
    "dataset", ["tenant_a__onefold", "tenant_a__views_clean", "tenant_a__views_full", "tenant_a__keys", "tenant_all"]
)
def test_datasets_that_onefold_writes_are_not_read(tmp_path: Path, dataset: str) -> None:
    one = united(
        settings(tmp_path, "unite: {datasets: 'tenant_*', table: orders, into: tenant_all}"),
        TableId("p", "tenant_all", "orders"),
    )
    assert not one.reads(dataset)
    assert one.reads("tenant_a")


def test_templates_name_the_datasets_that_onefold_writes(tmp_path: Path) -> None:
    text = "unite: {datasets: '*', table: orders}"
    one = united(
        settings(tmp_path, text, ONEFOLD_PLAIN_DATASET="bases_of_{dataset}", ONEFOLD_VIEW_DATASET="{dataset}_views")
    )
    assert not any(map(one.reads, ("bases_of_a", "a_views", "united")))
    assert united(settings(tmp_path, text, ONEFOLD_PLAIN_DATASET="{dataset}")).reads("a")


def test_a_pattern_is_matched_as_a_whole_and_with_case(tmp_path: Path) -> None:
    one = united(settings(tmp_path, "unite: {datasets: 'tenant_?', table: orders}"))
    assert [name for name in ("tenant_a", "tenant_ab", "Tenant_a", "a_tenant_a") if one.reads(name)] == ["tenant_a"]


def test_the_tables_over_a_table_are_those_that_read_it(tmp_path: Path) -> None:
    entries = "[{datasets: 'tenant_*', table: orders}, {datasets: '*_a', table: orders, into: all_a}]"
    found = settings(tmp_path, f"unite: {entries}")

    def over(dataset: str, table: str = "orders") -> list[str]:
        return [str(one) for one in united_over(found, TableId("p", dataset, table))]

    assert over("tenant_a") == ["p.united.orders", "p.all_a.orders"]
    assert over("tenant_b") == ["p.united.orders"]
    assert over("tenant_a", "stock") == over("shop") == over("united") == []


def test_all_problems_are_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = """\
unite:
  - {datasets: tenant-a, tabel: orders}
  - {datasets: 'tenant_*', table: 'a b', into: a-b, dataset_column: _FILE_x}
  - {datasets: 'tenant_*', table: stock}
  - {datasets: 'shop_*', table: stock}
datasets: {united: {include: [a]}}
tables: {united.stock: {version_column: v, tool: Fivetran, rows: current}}
"""
    own = "`datasets` has rules for the versioned tables of united: expected a dataset of its own"
    no_tool = "no tool writes a united table: name the tool of the table in each dataset, and take this out"
    assert sorted(located_problems_of(text)) == [
        "2: unite[0].datasets: expected a pattern of datasets, as tenant_*, got 'tenant-a'",
        f"2: unite[0].into: {own}",
        "2: unite[0].tabel: not a setting (did you mean table?); known are dataset_column, datasets, into, table",
        "2: unite[0].table: missing; expected the name of a table",
        "3: unite[1].dataset_column: '_FILE_x' starts with a prefix that BigQuery reserves: name another",
        "3: unite[1].into: dataset 'a-b' is not a valid name: use letters, digits and underscores",
        "3: unite[1].table: table 'a b' is not a valid name: use letters, digits, underscores and hyphens",
        f"4: unite[2].into: {own}",
        f"5: unite[3].into: {own}",
        "5: unite[3]: united.stock is written by an entry before, too: name another dataset with `into`",
        f"7: tables.united.stock.rows: {no_tool}",
        f"7: tables.united.stock.tool: {no_tool}",
        "7: tables.united.stock.version_column: no column for versions here: `dataset_column` of `unite` holds the dataset "
        "of each row: take it out",
    ]
