"""Tables that services write themselves, without capture: in the unified view with every row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.cli import Run
from support.in_memory import MemoryPublisher, push_body

from onefold.settings.environment import load_settings
from onefold.views.handler import TableCreatedHandler
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

BY_DAY = r"datasets: {%s: {version_pattern: '^(?P<base>.+)_(?P<version>[0-9]{8})$'}}"


def message(dataset: EmulatedDataset, folder: Path, table: str) -> None:
    assert refusal(dataset, folder, table) is None


def refusal(dataset: EmulatedDataset, folder: Path, table: str) -> str | None:
    """Handle the entry of the audit log about a new table, with the settings of the folder; return why it is refused."""
    settings = load_settings({}, folder / "onefold.yaml")
    entry = {
        "protoPayload": {
            "metadata": {"tableCreation": {}},
            "resourceName": f"projects/{DEFAULT_PROJECT}/datasets/{dataset.name}/tables/{table}",
        }
    }
    handler = TableCreatedHandler(settings, EmulatedWarehouse(dataset.client), MemoryPublisher())
    return handler.handle(push_body(json.dumps(entry).encode()))


def test_tables_with_date_suffixes_join_the_view_with_every_row(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    (tmp_path / "onefold.yaml").write_text(BY_DAY % dataset.name)
    dataset.land("clicks_20260503", {"id": "INT64", "page": "STRING"}, "1, 'a'", "1, 'a'", "2, 'b'")
    dataset.land("clicks_20260504", {"id": "INT64", "page": "STRING", "ms": "INT64"}, "1, 'ä', 5")
    dataset.land("clicks_2026", {"id": "INT64"}, "9")
    assert run("refresh", f"{dataset.name}.clicks").code == 0
    rows = dataset.run(f"SELECT id, page, ms FROM {dataset.quoted('clicks_unified')} ORDER BY id, page")
    assert sorted(rows, key=str) == [(1, "a", None), (1, "a", None), (1, "ä", 5), (2, "b", None)]


def read(dataset: EmulatedDataset, view: str = "clicks_current", columns: str = "*") -> list[tuple[object, ...]]:
    return sorted(dataset.run(f"SELECT {columns} FROM {dataset.quoted(view)}"), key=str)


def test_rows_are_deduplicated_only_in_the_current_view_and_only_where_keys_are_declared(
    run: Run, dataset: EmulatedDataset, tmp_path: Path
) -> None:
    settings = BY_DAY % dataset.name
    (tmp_path / "onefold.yaml").write_text(settings)
    dataset.land("clicks_20260503", {"id": "INT64", "page": "STRING"}, "1, 'a'", "1, 'a'", "2, 'b'", "NULL, 'c'")
    dataset.land("clicks_20260504", {"id": "INT64", "page": "STRING", "ms": "INT64"}, "1, 'ä', 5")
    refused = run("current", f"{dataset.name}.clicks")
    assert (refused.code, "keys" in refused.err) == (1, True)
    assert "1 skipped" in run("current", "--dataset", dataset.name, "--all").out
    (tmp_path / "onefold.yaml").write_text(f"{settings}\ntables: {{clicks: {{keys: [id]}}}}")
    assert run("current", f"{dataset.name}.clicks").code == 0
    assert read(dataset) == [(1, "ä", 5), (2, "b", None), (None, "c", None)]
    (row, *_) = dataset.client.query_and_wait(f"SELECT * FROM {dataset.quoted('clicks_current')}")
    assert list(row.keys()) == ["id", "page", "ms"]
    assert run("refresh", f"{dataset.name}.clicks").code == 0
    assert dataset.run(f"SELECT COUNT(*) FROM {dataset.quoted('clicks_unified')}") == [(5,)]


def test_a_day_that_is_loaded_late_is_no_later_version(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    (tmp_path / "onefold.yaml").write_text(f"{BY_DAY % dataset.name}\ntables: {{clicks: {{keys: [id]}}}}")
    dataset.land("clicks_20260504", {"id": "INT64", "page": "STRING"}, "1, 'new'")
    dataset.land("clicks_20260503", {"id": "INT64", "page": "STRING"}, "1, 'old'", "2, 'old'")
    assert run("current", f"{dataset.name}.clicks").code == 0
    assert read(dataset) == [(1, "new"), (2, "old")]


@pytest.mark.parametrize("version_column", ["", ", version_column: day"])
def test_a_column_of_the_service_decides_before_the_version(
    run: Run, dataset: EmulatedDataset, tmp_path: Path, version_column: str
) -> None:
    table = f"tables: {{clicks: {{keys: [id], order_by: [At]{version_column}}}}}"
    (tmp_path / "onefold.yaml").write_text(f"{BY_DAY % dataset.name}\n{table}")
    dataset.land("clicks_20260503", {"id": "STRING", "at": "DATETIME"}, "'a', '2026-05-06'", "'a', NULL", "'b', NULL")
    # The name that the view gives the version is taken, and the column has another type.
    more = {"at": "TIMESTAMP", "id": "STRING", "_onefold_version": "INT64"}
    dataset.land("clicks_20260504", more, "'2026-05-05', 'a', 2", "NULL, 'b', 4")
    assert run("current", f"{dataset.name}.clicks").code == 0
    day = ("20260503",), ("20260504",)
    found = [(id_, version) for id_, version in read(dataset, columns="id, _onefold_version")]
    assert found == [("a", None), ("b", 4)]
    if version_column:
        assert read(dataset, columns="day") == sorted(day)


def test_one_partitioned_table_without_a_version_has_a_current_view_too(
    run: Run, dataset: EmulatedDataset, tmp_path: Path
) -> None:
    table = dataset.quoted("clicks")
    dataset.run(f"CREATE TABLE {table} (id INT64, made TIMESTAMP, page STRING) PARTITION BY DATE(made)")
    dataset.run(f"INSERT INTO {table} VALUES (1, '2026-05-03', 'a'), (1, '2026-05-04', 'ä'), (2, NULL, 'b')")
    (tmp_path / "onefold.yaml").write_text("tables: {clicks: {keys: [id], order_by: [made]}}")
    assert run("current", f"{dataset.name}.clicks").code == 0
    assert read(dataset, columns="id, page") == [(1, "ä"), (2, "b")]


def test_messages_make_the_view_where_keys_are_declared_and_keep_it(
    dataset: EmulatedDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "onefold.yaml").write_text(BY_DAY % dataset.name)
    dataset.land("clicks_20260503", {"id": "INT64", "page": "STRING"}, "1, 'a'")
    message(dataset, tmp_path, "clicks_20260503")
    (skipped,) = (line for line in map(json.loads, capsys.readouterr().out.splitlines()) if line["event"] == "no_current")
    assert "as `keys` of the table in onefold.yaml" in skipped["message"]
    (tmp_path / "onefold.yaml").write_text(f"{BY_DAY % dataset.name}\ntables: {{clicks: {{keys: [id]}}}}")
    message(dataset, tmp_path, "clicks_20260503")
    dataset.land("clicks_20260504", {"id": "INT64", "page": "STRING", "ms": "INT64"}, "1, 'ä', 5")
    message(dataset, tmp_path, "clicks_20260504")
    assert read(dataset) == [(1, "ä", 5)]
    (tmp_path / "onefold.yaml").write_text(f"{BY_DAY % dataset.name}\ntables: {{clicks: {{keys: [id], order_by: [page]}}}}")
    dataset.run(f"UPDATE {dataset.quoted('clicks_20260503')} SET page = 'ö' WHERE TRUE")
    message(dataset, tmp_path, "clicks_20260504")
    assert read(dataset) == [(1, "ö", None)]
    capsys.readouterr()
    message(dataset, tmp_path, "clicks_20260504")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["action"] for line in lines if line["event"] == "current_refreshed"] == ["none"]


def test_wrong_declarations_are_errors_that_say_what_to_do(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    dataset.land("clicks_20260503", {"id": "INT64", "place": "JSON"})
    dataset.land("clicks_20260504", {"number": "INT64"})
    table = "tables: {clicks: {keys: [id, gone], order_by: [place, at]}}"
    (tmp_path / "onefold.yaml").write_text(f"{BY_DAY % dataset.name}\n{table}")
    refused = run("current", f"{dataset.name}.clicks")
    assert refused.code == 1
    for part in (
        "clicks has no column gone for the key",
        "`order_by` names place, and JSON has no order",
        "has no column at for `order_by`; it has id, place, number",
        "clicks_20260504 has no column id for the key; `retire`",
    ):
        assert part in refused.err
    assert "clicks_current" not in {table.table_id for table in dataset.client.list_tables(dataset.name)}


HASHES = ("clicks_v_5b6ffe5fb", "clicks_v_0f3a9c21d")
"""The newer one has the lesser text."""


def test_versions_that_are_hashes_have_no_view_until_columns_order_their_rows(
    run: Run, dataset: EmulatedDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "onefold.yaml").write_text("tables: {clicks: {keys: [id]}}")
    for table, page, at in zip(HASHES, ("old", "new"), (1, 2), strict=True):
        dataset.land(table, {"id": "INT64", "page": "STRING", "at": "INT64"}, f"1, '{page}', {at}")
    refused = run("current", f"{dataset.name}.clicks")
    assert refused.code == 1
    assert "expected versions that are numbers or dates, got 5b6ffe5fb, 0f3a9c21d" in " ".join(refused.err.split())
    assert "as `order_by` in onefold.yaml" in " ".join(refused.err.split())
    capsys.readouterr()
    assert "`order_by`" in (refusal(dataset, tmp_path, HASHES[1]) or "")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["severity"] for line in lines if "`order_by`" in line["message"]] == ["ERROR"]
    assert EmulatedWarehouse(dataset.client).list_views(dataset.name) == ("clicks_unified",)
    (tmp_path / "onefold.yaml").write_text("tables: {clicks: {keys: [id], order_by: [at]}}")
    assert run("current", f"{dataset.name}.clicks").code == 0
    assert read(dataset, columns="id, page") == [(1, "new")]


def test_one_version_that_is_a_hash_needs_no_order(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    (tmp_path / "onefold.yaml").write_text(f"tables: {{clicks: {{keys: [id], retire: [{HASHES[1][9:]}]}}}}")
    for table in HASHES:
        dataset.land(table, {"id": "INT64"}, "1", "1")
    assert run("current", f"{dataset.name}.clicks").code == 0
    assert read(dataset) == [(1,)]


def test_merges_of_all_tables_skip_rows_without_change_metadata(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    (tmp_path / "onefold.yaml").write_text(f"{BY_DAY % dataset.name}\ntables: {{clicks: {{keys: [id]}}}}")
    dataset.land("clicks_20260503", {"id": "INT64"}, "1")
    merged = run("merge", "--dataset", dataset.name, "--all")
    assert (merged.code, "no version in use has datastream_metadata" in merged.err) == (0, True)
    assert run("merge", f"{dataset.name}.clicks").code == 1


def test_change_metadata_decides_where_rows_have_it(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    settings = BY_DAY % dataset.name
    columns = {"id": "INT64", "page": "STRING"}
    land_changes(dataset, "clicks_20260503", columns, [change("INSERT", "4", id=1, page="z")])
    land_changes(dataset, "clicks_20260504", columns, [change("UPDATE-INSERT", "3", id=1, page="ä")])
    (tmp_path / "onefold.yaml").write_text(f"{settings}\ntables: {{clicks: {{keys: [id], order_by: [page]}}}}")
    assert run("current", f"{dataset.name}.clicks").code == 0
    assert read(dataset) == [(1, "z")]
    assert "order_by has no effect: datastream_metadata" in run("plan", f"{dataset.name}.clicks").out
    dataset.land("clicks_20260505", columns, "1, 'no change'")
    assert "clicks_20260505 is no change table" in run("current", f"{dataset.name}.clicks").err
    (tmp_path / "onefold.yaml").write_text(
        f"{settings}\ntables: {{clicks: {{keys: [id], retire: ['20260503', '20260504']}}}}"
    )
    assert run("current", f"{dataset.name}.clicks", "--accept-settings").code == 0
    assert read(dataset) == [(1, "no change")]
