"""Tables that services write themselves, without capture: in the unified view with every row."""

from __future__ import annotations

from pathlib import Path

from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.cli import Run

BY_DAY = r"datasets: {%s: {version_pattern: '^(?P<base>.+)_(?P<version>[0-9]{8})$'}}"


def test_tables_with_date_suffixes_join_the_view_with_every_row(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    (tmp_path / "onefold.yaml").write_text(BY_DAY % dataset.name)
    dataset.land("clicks_20260503", {"id": "INT64", "page": "STRING"}, "1, 'a'", "1, 'a'", "2, 'b'")
    dataset.land("clicks_20260504", {"id": "INT64", "page": "STRING", "ms": "INT64"}, "1, 'ä', 5")
    dataset.land("clicks_2026", {"id": "INT64"}, "9")
    assert run("refresh", dataset.name, "clicks").code == 0
    rows = dataset.run(f"SELECT id, page, ms FROM {dataset.quoted('clicks_unified')} ORDER BY id, page")
    assert sorted(rows, key=str) == [(1, "a", None), (1, "a", None), (1, "ä", 5), (2, "b", None)]


def test_rows_are_deduplicated_only_in_the_current_view_and_only_where_keys_are_declared(
    run: Run, dataset: EmulatedDataset, tmp_path: Path
) -> None:
    settings = BY_DAY % dataset.name
    (tmp_path / "onefold.yaml").write_text(settings)
    columns = {"id": "INT64", "page": "STRING"}
    land_changes(
        dataset, "clicks_20260503", columns, [change("INSERT", "1", id=1, page="a"), change("INSERT", "2", id=2, page="b")]
    )
    land_changes(dataset, "clicks_20260504", columns, [change("UPDATE-INSERT", "3", id=1, page="ä")])
    refused = run("current", dataset.name, "clicks")
    assert refused.code == 1
    assert "keys" in refused.err
    (tmp_path / "onefold.yaml").write_text(f"{settings}\ntables: {{clicks: {{keys: [id]}}}}")
    assert run("current", dataset.name, "clicks").code == 0
    assert dataset.run(f"SELECT id, page FROM {dataset.quoted('clicks_current')} ORDER BY id") == [(1, "ä"), (2, "b")]
    assert run("refresh", dataset.name, "clicks").code == 0
    assert dataset.run(f"SELECT COUNT(*) FROM {dataset.quoted('clicks_unified')}") == [(3,)]
