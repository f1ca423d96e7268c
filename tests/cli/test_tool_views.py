"""Views of tables that Airbyte, Fivetran and dlt fill: from `discover` to current, unified and clean views."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run

_AIRBYTE = {
    "id": "INT64", "email": "STRING", "_airbyte_raw_id": "STRING", "_airbyte_extracted_at": "TIMESTAMP",
    "_ab_cdc_lsn": "NUMERIC", "_ab_cdc_deleted_at": "STRING",
}  # fmt: skip
_DLT = {"id": "INT64", "score": "INT64", "score__v_double": "FLOAT64", "_dlt_id": "STRING", "_dlt_load_id": "STRING"}
_SCHEMA = '{"tables": {"events": {"write_disposition": "append", "columns": {"id": {"primary_key": true}}}}}'
_AT = "TIMESTAMP '2026-01-01'"
THEIRS = {"orders", "customers", "events", "_dlt_version"}


@pytest.fixture
def shop(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> EmulatedDataset:
    """A dataset that three tools fill."""
    monkeypatch.delenv("ONEFOLD_PLAIN_DATASET")
    dataset.land(
        "orders", _AIRBYTE,
        f"1, 'old', 'a', {_AT}, 10, NULL", f"1, 'new', 'b', {_AT}, 11, NULL", f"2, 'x', 'c', {_AT}, 5, NULL",
        f"2, NULL, 'd', {_AT}, 6, '2026-01-02'",
    )  # fmt: skip
    fivetran = {"id": "INT64", "name": "STRING", "_fivetran_synced": "TIMESTAMP", "_fivetran_deleted": "BOOL"}
    dataset.land("customers", fivetran, f"1, 'Ada', {_AT}, FALSE", f"2, 'Bob', {_AT}, TRUE")
    dataset.land("events", _DLT, "1, 5, NULL, 'a', '1700000000.5'", "1, NULL, 2.5, 'b', '1700000000.57'")
    versions = {"schema_name": "STRING", "inserted_at": "TIMESTAMP", "schema": "STRING"}
    dataset.land("_dlt_version", versions, f"'shop', {_AT}, '{_SCHEMA}'")
    return dataset


@pytest.fixture
def own(shop: EmulatedDataset) -> EmulatedDataset:
    return made(shop, "onefold")


def made(shop: EmulatedDataset, purpose: str) -> EmulatedDataset:
    name = f"{shop.name}__{purpose}"
    shop.client.create_dataset(name)
    return EmulatedDataset(shop.host, shop.client, name)


def names(dataset: EmulatedDataset) -> set[str]:
    return {table.table_id for table in dataset.client.list_tables(dataset.name)}


def drafted(run: Run, shop: EmulatedDataset) -> Path:
    """The draft as `discover` writes it, with the key of Airbyte's table, which only a person knows."""
    assert run("discover", shop.name, "--output", "onefold.yaml").code == 0
    path = Path("onefold.yaml")
    path.write_text(path.read_text().replace("# keys: [COLUMN]", "keys: [id]"))
    return path


def test_the_draft_gives_a_current_view_of_each_table_in_a_dataset_of_their_own(
    run: Run, shop: EmulatedDataset, own: EmulatedDataset
) -> None:
    drafted(run, shop)
    assert run("plan", f"{shop.name}.*").code == 2
    done = run("refresh", f"{shop.name}.*")
    assert done.code == 0, done.err
    assert own.rows("orders_current") == [(1, "new")]
    assert own.rows("customers_current") == [(1, "Ada")]
    assert own.rows("events_current") == [(1, "2.5", "b")]
    assert sorted(str(row[1]) for row in own.rows("events_unified")) == ["2.5", "5"]
    assert names(own) == {"orders_current", "customers_current", "events_current", "events_unified"}
    assert names(shop) == THEIRS
    assert run("plan", f"{shop.name}.*").out.endswith("4 up to date, 0 to change\n")


def test_a_new_column_and_a_new_variant_are_in_the_views_with_the_next_refresh(
    run: Run, shop: EmulatedDataset, own: EmulatedDataset
) -> None:
    drafted(run, shop)
    run("refresh", f"{shop.name}.*")
    columns = {**_DLT, "score__v_text": "STRING"}  # the embedded server's API does not show what ALTER TABLE adds
    shop.run(f"DROP TABLE {shop.quoted('events')}")
    shop.land("events", columns, "1, NULL, 2.5, 'b', '1700000000.57', NULL", "3, NULL, NULL, 'c', '1700000001', 'high'")
    assert own.rows("events_current") == [(1, "2.5", "b"), (3, None, "c")]
    assert run("refresh", f"{shop.name}.events").code == 0
    assert own.rows("events_current") == [(1, "2.5", "b"), (3, "high", "c")]


def test_of_columns_of_validity_that_dlt_notes_the_view_shows_the_valid_rows(
    run: Run, shop: EmulatedDataset, own: EmulatedDataset
) -> None:
    columns = {
        "id": "INT64",
        "valid_from": "TIMESTAMP",
        "valid_to": "TIMESTAMP",
        "_dlt_id": "STRING",
        "_dlt_load_id": "STRING",
    }
    shop.land(
        "dim", columns, f"1, {_AT}, {_AT}, 'a', '1.5'", f"1, {_AT}, NULL, 'b', '2.5'", f"2, {_AT}, {_AT}, 'c', '1.5'"
    )  # fmt: skip
    hints = '{"id": {"primary_key": true}, "valid_from": {"x-valid-from": true}, "valid_to": {"x-valid-to": true}}'
    schema = f'{{"tables": {{"dim": {{"write_disposition": "merge", "x-merge-strategy": "scd2", "columns": {hints}}}}}}}'
    shop.run(f"INSERT INTO {shop.quoted('_dlt_version')} VALUES ('dim', {_AT}, '{schema}')")
    drafted(run, shop)
    assert run("refresh", f"{shop.name}.dim").code == 0
    assert [(row[0], row[-1]) for row in own.rows("dim_current")] == [(1, "b")]


def test_clean_views_show_what_the_policies_name_and_mask_the_rest(
    run: Run, shop: EmulatedDataset, own: EmulatedDataset
) -> None:
    path, clean = drafted(run, shop), made(shop, "views_clean")
    assert run("policies", "check", f"{shop.name}.*").code == 2
    path.write_text(path.read_text() + f"\npolicies:\n  {shop.name}.orders:\n    id: clear\n")
    done = run("refresh", f"{shop.name}.*")
    assert done.code == 0, done.err
    assert clean.rows("orders") == [(1, None)]
    assert clean.rows("customers") == [(None, None)]
    checked = run("policies", "check", f"{shop.name}.orders")
    assert "email" in checked.out + checked.err
    assert "_airbyte" not in checked.out + checked.err
    assert own.rows("orders_current") == [(1, "new")]


def test_a_policy_hides_a_column_again_also_where_the_tool_is_wrong(
    run: Run, shop: EmulatedDataset, own: EmulatedDataset
) -> None:
    path, clean = drafted(run, shop), made(shop, "views_clean")
    text = path.read_text()
    path.write_text(text + f"\npolicies:\n  {shop.name}.customers: {{id: clear, name: clear}}\n")
    assert run("refresh", f"{shop.name}.*").code == 0
    assert clean.rows("customers") == [(1, "Ada")]
    wrong = text.replace('tool: "Fivetran"', 'tool: "Stitch"')
    path.write_text(wrong + f"\npolicies:\n  {shop.name}.customers: {{id: clear}}\n")
    failed = run("refresh", f"{shop.name}.*", "--accept-settings")
    assert (failed.code, "customers: its columns are not those of Stitch" in failed.err) == (1, True), failed.err
    assert clean.rows("customers") == [(1, None)]
    assert own.rows("customers_current") == [(1, "Ada")]


def test_a_policy_on_a_variant_holds_for_the_column_that_shows_it(
    run: Run, shop: EmulatedDataset, own: EmulatedDataset
) -> None:
    path, clean = drafted(run, shop), made(shop, "views_clean")
    policies = "{id: clear, _dlt_id: clear, score: clear, score__v_double: mask}"
    path.write_text(path.read_text() + f"\npolicies:\n  {shop.name}.events: {policies}\n")
    assert run("refresh", f"{shop.name}.*").code == 0
    assert own.rows("events_current") == [(1, "2.5", "b")]
    assert clean.rows("events") == [(1, None, "b")]
    assert "names no column" not in run("policies", "check", f"{shop.name}.events").err


@pytest.mark.parametrize("wrong", ["tool: dtl, rows: history", "tool: Airbyte, rows: history", "order_by: [nosuch]"])
def test_a_policy_on_a_variant_holds_although_the_tool_of_the_table_is_wrong(
    run: Run, shop: EmulatedDataset, own: EmulatedDataset, wrong: str
) -> None:
    path, clean = Path("onefold.yaml"), made(shop, "views_clean")
    declared = f"tables: {{{shop.name}.events: {{tool: dlt, rows: history, keys: [id]}}}}\n"
    policies = "{id: clear, _dlt_id: clear, score: clear, score__v_double: mask}"
    path.write_text(f"{declared}policies:\n  {shop.name}.events: {policies}\n")
    assert run("refresh", f"{shop.name}.*").code == 0
    path.write_text(path.read_text().replace("tool: dlt, rows: history", wrong))
    assert run("refresh", f"{shop.name}.events", "--accept-settings").code == 1
    assert own.rows("events_current") == [(1, "2.5", "b")], "it is the view of before"
    assert [row[1] for row in clean.rows("events")] == [None]


def test_without_a_key_an_order_or_a_dataset_the_table_is_named_with_what_to_do(run: Run, shop: EmulatedDataset) -> None:
    run("discover", shop.name, "--output", "onefold.yaml")
    skipped = run("refresh", f"{shop.name}.*")
    assert skipped.code == 1
    assert f"CREATE SCHEMA `{shop.name}__onefold`" in skipped.err
    made(shop, "onefold")
    shown = run("refresh", f"{shop.name}.*")
    assert shown.code == 0
    assert f"tables: {{{shop.name}.orders: {{keys: [COLUMN]}}}}" in shown.err
    Path("onefold.yaml").write_text(
        f"tables:\n  {shop.name}.orders: {{tool: airbyte, rows: history, keys: [nay], order_by: [never]}}\n"
        f"  {shop.name}.events: {{tool: dlt2, rows: history}}\n"
    )
    failed = run("refresh", f"{shop.name}.*", "--accept-settings")
    assert failed.code == 1
    for problem in (
        "no column nay for the key",
        "no column never for `order_by`",
        "no tool is named dlt2 (did you mean dlt?)",
    ):
        assert problem in failed.err


def test_keys_alone_make_no_view_of_a_table_of_a_tool(run: Run, shop: EmulatedDataset, own: EmulatedDataset) -> None:
    """Of a table of Fivetran it would show the deleted rows."""
    table = f"{shop.name}.customers"
    Path("onefold.yaml").write_text(f"tables: {{{table}: {{keys: [id]}}}}")
    for command in ("refresh", "current"):
        refused = run(command, table)
        assert refused.code == 1
        assert "it has the columns of Fivetran, and by its keys alone deleted or old rows would be shown" in refused.err
        assert f"Write `tool` and `rows` of tables.{table} into onefold.yaml" in refused.err
    Path("onefold.yaml").unlink()
    assert "the columns of Fivetran" in run("current", table, "--keys", "id").err
    assert names(own) == set()
    assert names(shop) == THEIRS


def test_a_merge_says_that_there_is_nothing_to_merge(run: Run, shop: EmulatedDataset, own: EmulatedDataset) -> None:
    drafted(run, shop)
    assert {one["outcome"] for one in run("merge", f"{shop.name}.*", "--json").results} == {"skipped"}
    assert names(own) == set()
    assert names(shop) == THEIRS


def test_order_by_of_onefold_yaml_wins_over_the_order_of_the_tool(
    run: Run, shop: EmulatedDataset, own: EmulatedDataset
) -> None:
    path = drafted(run, shop)
    path.write_text(path.read_text().replace("keys: [id]", "keys: [id]\n    order_by: [_airbyte_raw_id, _ab_cdc_lsn]"))
    shop.run(f"INSERT INTO {shop.quoted('orders')} VALUES (1, 'last', 'z', {_AT}, 1, NULL)")
    run("refresh", f"{shop.name}.orders")
    assert own.rows("orders_current") == [(1, "last")]


def test_tables_shows_all_views_and_those_of_a_table_that_is_gone_are_pruned(
    run: Run, shop: EmulatedDataset, own: EmulatedDataset
) -> None:
    drafted(run, shop)
    run("refresh", f"{shop.name}.*")
    shown = run("tables", f"{shop.name}.*", "--json").json
    states = {view["view"].rpartition(".")[2]: view["state"] for one in shown["results"] for view in one["views"]}
    assert states == dict.fromkeys(names(own), "up to date")
    assert shown["warnings"] == []
    shop.run(f"DROP TABLE {shop.quoted('events')}")
    assert run("plan", f"{shop.name}.*").out.endswith("2 up to date, 0 to change, 2 left over\n")
    assert run("refresh", f"{shop.name}.*", "--prune", "--yes").code == 0
    assert names(own) == {"orders_current", "customers_current"}


def test_a_declared_table_that_is_named_like_a_version_gets_its_own_view_and_a_history_by_hand_its_order(
    run: Run, shop: EmulatedDataset, own: EmulatedDataset
) -> None:
    fivetran = {"id": "INT64", "_fivetran_synced": "TIMESTAMP", "_fivetran_deleted": "BOOL"}
    shop.land("report_v_2", fivetran, f"1, {_AT}, FALSE", f"2, {_AT}, TRUE")
    by_hand = {"id": "INT64", "v": "STRING", "updated_at": "TIMESTAMP"}
    shop.land("h", by_hand, "1, 'old', TIMESTAMP '2026-11-01'", "1, 'new', TIMESTAMP '2026-11-02'")
    path = drafted(run, shop)
    path.write_text(path.read_text() + f'\n  "{shop.name}.gone":\n    tool: Fivetran\n    rows: current\n')
    done = run("refresh", f"{shop.name}.*")
    assert done.code == 0, done.err
    assert own.rows("report_v_2_current") == [(1,)]
    assert [row[:2] for row in own.rows("h_current")] == [(1, "new")]
    assert names(shop) == {*THEIRS, "report_v_2", "h"}
    named = run("refresh", f"{shop.name}.report_v_2")
    assert named.code == 0, named.err
    assert "correct its name in onefold.yaml" in run("refresh", f"{shop.name}.gone").err
    path.write_text(path.read_text() + f"policies:\n  {shop.name}.report_v_2:\n    id: hide\n")
    checked = run("policies", "check", f"{shop.name}.*")
    assert "has no table" not in checked.out + checked.err


def test_dbt_gets_a_model_with_its_key_for_each_view(run: Run, shop: EmulatedDataset) -> None:
    made(shop, "onefold")
    drafted(run, shop)
    assert run("refresh", f"{shop.name}.*").code == 0
    written = run("export", "dbt", shop.name, "--output", "dbt")
    assert written.code == 0, written.err
    models = {path.stem for path in Path("dbt").rglob("*.sql")}
    assert {f"{name}_current" for name in ("orders", "customers", "events")} <= {
        name.rpartition("__")[2] or name for name in models
    }
    described = "".join(path.read_text() for path in Path("dbt").rglob("*.yml"))
    assert "unique" in described
    assert "loaded_at_field" in described


def test_a_column_that_is_gone_keeps_no_policy_from_being_tightened(
    run: Run, shop: EmulatedDataset, own: EmulatedDataset
) -> None:
    clean, synced = made(shop, "views_clean"), {"_fivetran_synced": "TIMESTAMP"}
    made(shop, "keys")
    assert run("policies", "key", shop.name).code == 0
    shop.land("people", {"id": "INT64", "mail": "STRING", "secret": "STRING", **synced}, f"1, 'a@x', 's', {_AT}")
    path = Path("onefold.yaml")
    declared = f"tables: {{{shop.name}.people: {{tool: Fivetran, rows: current}}}}\npolicies:\n  {shop.name}.people: "
    path.write_text(f"{declared}{{id: clear, phone: hash, mail: hash}}\n")
    assert run("refresh", f"{shop.name}.people").code == 0
    shop.run(f"DROP TABLE {shop.quoted('people')}")
    shop.land("people", {"id": "INT64", "mail": "STRING", **synced}, f"1, 'a@x', {_AT}")
    path.write_text(f"{declared}{{id: clear, mail: drop}}\n")
    done = run("refresh", f"{shop.name}.people", "--accept-settings")
    assert done.code == 0, done.err
    assert own.rows("people_current") == [(1, "a@x")]
    assert clean.rows("people") == [(1,)]
