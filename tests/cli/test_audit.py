"""`onefold audit`: findings about tables of several tools in the embedded BigQuery."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.existing_tables import APPEND_METADATA

AIRBYTE = {
    "id": "INT64", "_airbyte_raw_id": "STRING", "_airbyte_extracted_at": "TIMESTAMP", "_airbyte_meta": "JSON",
    "_ab_cdc_lsn": "INT64", "_ab_cdc_deleted_at": "STRING",
}  # fmt: skip
STITCH = {
    "id": "INT64", "_sdc_sequence": "INT64", "_sdc_batched_at": "TIMESTAMP", "_sdc_table_version": "INT64",
}  # fmt: skip
KEYS = ("orders", "customers", "people", "visits")


@pytest.fixture
def others(dataset: EmulatedDataset, tmp_path: Path) -> EmulatedDataset:
    """A table for each finding, with the keys in onefold.yaml; one has a key by which no query can group."""
    dataset.land(
        "orders", {"id": "INT64", "datastream_metadata": APPEND_METADATA},
        change(1, "A1", "INSERT"), change(1, "A2", "UPDATE-DELETE"), *[change(2, "A3", "UPDATE-INSERT")] * 2,
        change(3, "A4", "DELETE"),
    )  # fmt: skip
    dataset.land(
        "customers", {"id": "INT64", "_fivetran_synced": "TIMESTAMP", "_fivetran_deleted": "BOOL"},
        "1, NULL, FALSE", "1, NULL, FALSE", "2, NULL, TRUE", "2, NULL, FALSE",
    )  # fmt: skip
    dataset.land(
        "people", AIRBYTE,
        "1, 'a', TIMESTAMP '2026-01-01', JSON '{\"changes\": []}', 2, NULL",
        "1, 'b', TIMESTAMP '2026-01-02', JSON '{\"changes\": [{\"field\": \"x\", \"change\": \"NULLED\"}]}', 1, NULL",
    )  # fmt: skip
    dataset.land("visits", STITCH, "1, 1, TIMESTAMP '2026-01-01', 1", "1, 2, TIMESTAMP '2026-01-01', 2")
    dataset.land(
        "scores", {"score": "INT64", "score__v_text": "STRING", "_dlt_id": "STRING"}, "1, NULL, 'a'", "NULL, 'x', 'b'"
    )
    dataset.land("broken", {"id": "STRUCT<a INT64>", "_fivetran_synced": "TIMESTAMP"}, "STRUCT(1), NULL")
    keys = "".join(f"  {dataset.name}.{name}: {{keys: [id]}}\n" for name in (*KEYS, "broken"))
    (tmp_path / "onefold.yaml").write_text(f"tables:\n{keys}")
    return dataset


def change(id_: int, sequence: str, type_: str) -> str:
    metadata = f"'u' AS uuid, 1 AS source_timestamp, '{sequence}' AS change_sequence_number, '{type_}' AS change_type"
    return f"{id_}, STRUCT({metadata}, CAST([] AS ARRAY<STRING>) AS sort_keys)"


def findings(results: list[Any]) -> dict[str, dict[str, Any]]:
    return {one["table"].split(".")[-1]: {f["check"]: f["count"] for f in one["findings"]} for one in results}


def test_each_finding_has_a_count_and_a_query_that_shows_what_was_counted(run: Run, others: EmulatedDataset) -> None:
    done = run("audit", others.name, "--json")
    assert done.code == 2, done.err
    whole = {"reads everything": None}
    assert findings(done.results) == {
        "orders": {"repeated changes": 1, "ghosts of changed keys": 1, "deleted rows": 2, **whole},
        "customers": {"duplicates": 1, "deleted rows": 1},
        "people": {"out of order": 1, "lost values": 1, **whole},
        "visits": {"replaced rows": 1, **whole},
        "scores": {"no key": None, "variants": None, **whole},
        "broken": {"not checked": None},
    }
    counted = [(one["count"], one["query"]) for table in done.results for one in table["findings"] if one["count"]]
    assert [len(others.run(query)) for _, query in counted] == [count for count, _ in counted]
    assert "reads " in done.err


def test_the_report_is_markdown_without_a_terminal_and_a_dry_run_prints_none(run: Run, others: EmulatedDataset) -> None:
    done = run("audit", f"{others.name}.c*")
    assert (done.code, done.out.splitlines()[0]) == (2, f"# Audit of {others.name}")
    assert "1 table, 2 findings: 1 CRITICAL, 1 WARNING, 0 INFO" in done.out
    assert done.out.index("## CRITICAL") < done.out.index("## WARNING")
    assert run("audit", others.name, "--markdown").out.count("```sql") > 5
    looked = run("audit", others.name, "--dry-run")
    assert (looked.code, looked.out, "in 4 queries" in looked.err or "in 5 queries" in looked.err) == (0, "", True)


def test_a_terminal_shows_each_finding_with_its_query(
    run: Run, others: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    done = run("audit", f"{others.name}.customers")
    assert (done.code, "#" in done.out) == (2, False)
    assert (
        "\x1b[31mCRITICAL\x1b[0m duplicates: keys with more than one row, in a table of one row for each key: 1" in done.out
    )
    assert "      GROUP BY r.`id`" in done.out


def test_a_dataset_without_a_finding_exits_with_0(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    dataset.land("customers", {"id": "INT64", "_fivetran_synced": "TIMESTAMP"}, "1, NULL", "2, NULL")
    (tmp_path / "onefold.yaml").write_text(f"tables: {{{dataset.name}.customers: {{keys: [id]}}}}\n")
    done = run("audit", dataset.name)
    assert (done.code, "1 table, 0 findings" in done.out) == (0, True)


@pytest.mark.parametrize(
    ("later", "files"),
    [
        ("'binlog.000002', 120, 9000000, 2", 1),
        ("'binlog.000900', 120, 9000000, 2", 1),
        ("'binlog.000900', 700, 9000000, 1", 0),
        ("'binlog.001000', 120, 9000000, 2", 0),
        ("'binlog.000899', 120, 3000000, 1", 0),
    ],
    ids=["a lower file", "the same file of another server", "the same log", "a higher file", "within an hour"],
)
def test_a_log_of_another_server_whose_files_have_lower_numbers_is_found(
    run: Run, dataset: EmulatedDataset, tmp_path: Path, later: str, files: int
) -> None:
    row, source = "STRUCT<id INT64>", "STRUCT<file STRING, pos INT64, ts_ms INT64, server_id INT64>"
    values = (f"NULL, STRUCT(1), 'u', {source}({place})" for place in ("'binlog.000900', 500, 1000, 1", later))
    dataset.land("t", {"before": row, "after": row, "op": "STRING", "source": source}, *values)
    (tmp_path / "onefold.yaml").write_text(f"tables: {{{dataset.name}.t: {{keys: [id]}}}}\n")
    done = run("audit", dataset.name, "--json")
    assert findings(done.results)["t"].get("another log", 0) == files, done.err
    (query,) = [one["query"] for one in done.results[0]["findings"] if one["check"] == "another log"] or [""]
    assert not query or dataset.run(query)[0][0] == later.split("'")[1]
