"""Load jobs of Parquet and updates of columns in the embedded BigQuery, where the plain server differs from BigQuery."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.api_core import exceptions as api
from google.cloud.bigquery import LoadJobConfig, SchemaField
from support.bigquery_emulator import EmulatedDataset

PARQUET = LoadJobConfig(source_format="PARQUET", write_disposition="WRITE_APPEND", create_disposition="CREATE_NEVER")


def load(dataset: EmulatedDataset, job: str, *files: Path) -> None:
    uris = [f"file://{path}" for path in files]
    dataset.client.load_table_from_uri(
        uris, f"{dataset.name}.t", job_id=f"{dataset.name}-{job}", job_config=PARQUET
    ).result()


def file(folder: Path, name: str, **columns: pa.Array) -> Path:
    path = folder / "model=1" / name
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def test_columns_are_loaded_by_name_and_absent_ones_are_null(dataset: EmulatedDataset, tmp_path: Path) -> None:
    dataset.run(f"CREATE TABLE {dataset.quoted('t')} (a INT64, b STRING, s STRUCT<x INT64, y STRING>)")
    load(dataset, "1", file(tmp_path, "1", s=pa.array([{"x": 5}]), a=pa.array([1])))
    assert dataset.run(f"SELECT a, b, s.x, s.y FROM {dataset.quoted('t')}") == [(1, None, 5, None)]


def test_a_job_of_a_known_identifier_is_refused_and_can_be_read(dataset: EmulatedDataset, tmp_path: Path) -> None:
    dataset.run(f"CREATE TABLE {dataset.quoted('t')} (a INT64)")
    path = file(tmp_path, "1", a=pa.array([1]))
    load(dataset, "1", path)
    with pytest.raises(api.Conflict, match="Already Exists"):
        load(dataset, "1", path)
    assert dataset.client.get_job(f"{dataset.name}-1").state == "DONE"
    assert dataset.rows("t") == [(1,)]


def test_a_job_takes_all_of_its_files_or_none(dataset: EmulatedDataset, tmp_path: Path) -> None:
    dataset.run(f"CREATE TABLE {dataset.quoted('t')} (a INT64)")
    good, bad = file(tmp_path, "1", a=pa.array([1])), file(tmp_path, "2", a=pa.array(["no number"]))
    with pytest.raises(api.GoogleAPICallError):
        load(dataset, "1", good, bad)
    assert dataset.rows("t") == []


def test_a_file_that_is_uploaded_is_loaded(dataset: EmulatedDataset) -> None:
    columns = LoadJobConfig(schema=[SchemaField("a", "INT64")], source_format="NEWLINE_DELIMITED_JSON")
    dataset.client.load_table_from_file(io.BytesIO(b'{"a": 1}\n'), f"{dataset.name}.t", job_config=columns).result()
    assert dataset.rows("t") == [(1,)]


def test_an_unknown_column_fails_the_job(dataset: EmulatedDataset, tmp_path: Path) -> None:
    dataset.run(f"CREATE TABLE {dataset.quoted('t')} (a INT64)")
    with pytest.raises(api.BadRequest, match="other"):
        load(dataset, "1", file(tmp_path, "1", a=pa.array([1]), other=pa.array([1])))


def test_an_update_adds_columns_and_nested_fields_and_keeps_the_rows(dataset: EmulatedDataset) -> None:
    dataset.run(f"CREATE TABLE {dataset.quoted('t')} AS SELECT 1 AS a, STRUCT(2 AS x) AS s")
    table = dataset.client.get_table(f"{dataset.name}.t")
    nested = SchemaField("s", "RECORD", fields=[SchemaField("x", "INTEGER"), SchemaField("y", "STRING")])
    table.schema = [SchemaField("a", "INTEGER"), nested, SchemaField("b", "DATE")]
    dataset.client.update_table(table, ["schema"])
    assert dataset.run(f"SELECT a, s.x, s.y, b FROM {dataset.quoted('t')}") == [(1, 2, None, None)]


def test_an_update_of_columns_on_an_old_state_is_refused(dataset: EmulatedDataset) -> None:
    dataset.run(f"CREATE TABLE {dataset.quoted('t')} (a INT64)")
    first, second = (dataset.client.get_table(f"{dataset.name}.t") for _ in range(2))
    for table, name in ((first, "b"), (second, "c")):
        table.schema = [*table.schema, SchemaField(name, "STRING")]
    dataset.client.update_table(first, ["schema"])
    with pytest.raises(api.PreconditionFailed):
        dataset.client.update_table(second, ["schema"])
    assert [field.name for field in dataset.client.get_table(f"{dataset.name}.t").schema] == ["a", "b"]
