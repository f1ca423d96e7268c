"""The real Spark BigQuery connector, from Maven Central, against the emulator; and what it is asked for, without it.

The connector is the one for the installed Spark. Where Maven Central does not have it, an older one runs on the Spark
that it was made for. Where it has none, or cannot be reached, these tests are skipped.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.cloud import bigquery

from onefold.core.names import TableId
from onefold.doctor.java import java_hint
from onefold.schema.types import parse_type
from onefold.spark.io.staging import rest_field
from onefold_lab.processes import bigquery_emulator, free_port
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, emulator_client

pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'onefold[spark]'")
from support.connector_job import FLAT, NESTED, STRANGE
from support.tls_proxy import tls_front

from onefold.schema.columns import Column
from onefold.spark.io.bigquery_connector import can_open, keeps_timestamps, parse_version, read_options, write_options

pytestmark = pytest.mark.long

TESTS = Path(__file__).parents[2]
DATASET = "shop"
SECONDS = 300


@dataclass(frozen=True)
class Candidate:
    """A connector, and the packages of the Spark that it needs where that is not the installed one."""

    package: str
    spark: tuple[str, ...] = ()


# With the first, the installed Spark; the second came before Spark 4.0 did.
CANDIDATES = (
    Candidate("com.google.cloud.spark:spark-4.0-bigquery:0.44.2"),
    Candidate("com.google.cloud.spark:spark-3.5-bigquery:0.42.1", ("pyspark==3.5.6", "py4j==0.10.9.7")),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The results of the job, which runs once for all tests of this file."""
    hint = java_hint()
    if hint:
        pytest.skip(hint)
    kept = request.config.cache.mkdir("spark-connector") if request.config.cache else tmp_path_factory.mktemp("kept")
    port = free_port()
    with pytest.MonkeyPatch.context() as patch, bigquery_emulator(storage_port=port) as host:
        patch.setenv("BIGQUERY_EMULATOR_HOST", host)
        land(emulator_client(None))
        with tls_front(port, tmp_path_factory.mktemp("front")) as front:
            options = {"spark.driver.extraJavaOptions": front.java_options, **emulated(host, front.endpoint)}
            yield first_that_runs(options, kept)


def first_that_runs(options: Mapping[str, str], kept: Path) -> dict[str, Any]:
    """Only what cannot be had is passed over: a job that fails is a failure."""
    for candidate in CANDIDATES:
        jar, spark = brought_jar(candidate.package, kept), brought_spark(candidate.spark, kept)
        if jar and spark:
            ended = run_job(jar, spark, options)
            assert ended.returncode == 0, ended.stderr[-5_000:]
            result: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
            return result
    pytest.skip("no Spark BigQuery connector can be had: Maven Central, or PyPI for its Spark, is out of reach")


def brought_jar(package: str, kept: Path) -> Path | None:
    jar = kept / "jars" / f"{package.replace(':', '_', 1).replace(':', '-')}.jar"
    if not jar.exists():
        fetched([str(TESTS / "support" / "maven_jar.py"), str(kept), package])
    return jar if jar.exists() else None


def brought_spark(packages: tuple[str, ...], kept: Path) -> Path | None:
    """The folder of another Spark, empty where the installed one will do."""
    folder = kept / "-".join(packages or ("installed",))
    if packages and not folder.exists():
        part = folder.with_name(f"{folder.name}.part")
        if not fetched(["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(part), *packages]):
            return None
        part.rename(folder)
    return folder


def run_job(jar: Path, spark: Path, options: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    conf = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.jars": str(jar),
        **options,
    }
    words = (f'--conf "{name}={value}"' for name, value in conf.items())
    environ = {
        "PYTHONPATH": os.pathsep.join([str(spark), str(TESTS.parent), str(TESTS)]),
        "PYSPARK_SUBMIT_ARGS": " ".join([*words, "pyspark-shell"]),
        "PYSPARK_PYTHON": sys.executable,
    }
    return run([str(TESTS / "support" / "connector_job.py"), DATASET], environ)


def fetched(words: list[str]) -> bool:
    """Where the network drops what is sent, it would be waited for for long."""
    try:
        return run(words, {}).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def run(words: list[str], environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """In Python, and without a Spark that the environment names."""
    kept = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    command = [sys.executable, *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, env={**kept, **environ}, timeout=SECONDS)


def emulated(host: str, endpoint: str) -> dict[str, str]:
    options = {"bigQueryHttpEndpoint": host, "bigQueryStorageGrpcEndpoint": endpoint, "gcpAccessToken": "any"}
    return {f"spark.datasource.bigquery.{name}": value for name, value in options.items()}


def land(client: bigquery.Client) -> None:
    """Rows of every kind of value. Tables are made through the API: in DDL the emulator takes NUMERIC for DECIMAL(18, 3)."""
    client.create_dataset(DATASET)
    for name, types, rows in LANDED:
        id_ = f"{DEFAULT_PROJECT}.{DATASET}.{name}"
        client.create_table(bigquery.Table(id_, [rest_field(column, parse_type(type_)) for column, type_ in types.items()]))
        assert client.insert_rows_json(id_, rows) == []


FLAT_ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "name": "ż",
        "price": "-99999999999999999999999999999.999999999",
        "day": "0001-01-01",
        "at": "0001-01-01T00:00:00.000001Z",
        "local": "0001-01-01T00:00:00.000001",
        "clock": "23:59:59.999999",
        "share": 0.1,
        "raw": "/wA=",
        "tags": ["b", "a"],
    },
    {"id": 2, "tags": []},
    {"id": 3, "name": "", "price": "1.5", "at": "2024-02-29T12:00:00Z", "local": "9999-12-31T23:59:59.999999", "tags": []},
]
NESTED_ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "place": {"city": "Łódź", "since": "1000-01-01T00:00:00Z", "open": "08:00:00"},
        "pairs": [{"key": "a", "value": 2}, {"key": "a", "value": 1}],
    },
    {"id": 2, "place": None, "pairs": []},
]
STRANGE_ROWS: list[dict[str, Any]] = [{"id": 1}, {"id": 2}]
LANDED = (("flat", FLAT, FLAT_ROWS), ("nested", NESTED, NESTED_ROWS), ("strange", STRANGE, STRANGE_ROWS))


def test_only_the_requested_rows_and_columns_are_read(found: dict[str, Any]) -> None:
    assert found["as it is"] == {
        "types": {"id": "bigint", "name": "string", "price": "decimal(38,9)", "day": "date"},
        "rows": [["2", None, None, None], ["3", "", "1.500000000", None]],
    }


def test_what_spark_cannot_convert_is_converted_by_bigquery(found: dict[str, Any]) -> None:
    assert found["converted"]["types"]["price"] == "bigint"
    assert found["converted"]["rows"] == [["1", None], ["2", None], ["3", "2"]]


def test_every_value_arrives_unchanged(found: dict[str, Any]) -> None:
    first, second, _ = (dict(zip(FLAT, row, strict=True)) for row in found["whole"]["rows"])
    assert first == {
        "id": "1",
        "name": "ż",
        "price": "-99999999999999999999999999999.999999999",
        "day": "0001-01-01",
        "at": "0001-01-01 00:00:00.000001",
        "local": "0001-01-01 00:00:00.000001",
        "clock": "23:59:59.999999",
        "share": "0.1",
        "raw": first["raw"],
        "tags": "[b, a]",
    }
    assert second == {**dict.fromkeys(FLAT), "id": "2", "tags": "[]"}


def test_structs_and_arrays_of_pairs_arrive_unchanged(found: dict[str, Any]) -> None:
    assert found["nested"]["types"]["pairs"] == "array<struct<key:string,value:bigint>>"
    assert found["nested"]["rows"] == [
        ["1", "{Łódź, 1000-01-01 00:00:00, 08:00:00}", "[{a, 2}, {a, 1}]"],
        ["2", None, "[]"],
    ]


def test_a_table_that_the_connector_cannot_open_is_read_for_its_other_columns(found: dict[str, Any]) -> None:
    assert found["strange"]["rows"] == [["2"]]


def test_what_is_staged_is_what_was_read(found: dict[str, Any]) -> None:
    first, second, third = (dict(zip(FLAT, row, strict=True)) for row in found["staged"])
    ancient = datetime.datetime(1, 1, 1, 0, 0, 0, 1)
    assert first == {
        "id": "1",
        "name": "ż",
        "price": "-99999999999999999999999999999.999999999",
        "day": "0001-01-01",
        "at": str(ancient.replace(tzinfo=datetime.UTC)),
        "local": str(ancient),
        "clock": "23:59:59.999999",
        "share": "0.1",
        "raw": str(b"\xff\x00"),
        "tags": str(["b", "a"]),
    }
    assert second == {**dict.fromkeys(FLAT, "None"), "id": "2", "tags": "[]"}
    assert (third["name"], third["local"]) == ("", str(datetime.datetime.max))


def test_a_frame_without_rows_is_staged_too(found: dict[str, Any]) -> None:
    assert found["nothing"] == []


CUSTOMER = TableId("other", "shop", "customer")


def test_a_read_names_the_table_the_filter_and_the_billed_project() -> None:
    options = read_options(CUSTOMER, billed="ours", where="_landed_at >= TIMESTAMP '2024-01-01 00:00:00+00'")
    assert {name: options[name] for name in ("parentProject", "project", "dataset", "table")} == {
        "parentProject": "ours",
        "project": "other",
        "dataset": "shop",
        "table": "customer",
    }
    assert options["filter"] == "_landed_at >= TIMESTAMP '2024-01-01 00:00:00+00'"
    assert "filter" not in read_options(CUSTOMER, billed="ours")


def test_a_read_keeps_old_timestamps_pairs_and_new_rows() -> None:
    options = read_options(CUSTOMER, billed="ours")
    assert options["enableArrowTimestampRebase"] == "false"
    assert options["allowMapTypeConversion"] == "false"
    assert options["enableReadSessionCaching"] == "false"


def test_a_write_is_visible_whole_or_not_at_all_and_creates_no_table() -> None:
    options = write_options(CUSTOMER, billed="ours")
    assert options["writeMethod"] == "direct"
    assert options["writeAtLeastOnce"] == "false"
    assert options["createDisposition"] == "CREATE_NEVER"


@pytest.mark.parametrize(
    ("text", "version", "keeps"),
    [
        ("0.42.1", (0, 42, 1), False),
        ("0.43.0-preview", (0, 43, 0), False),
        ("0.44.2", (0, 44, 2), True),
        ("1.0.0-SNAPSHOT", (1, 0, 0), True),
        ("", (), False),
    ],
)
def test_timestamps_of_any_year_can_be_read_from_some_version_on(text: str, version: tuple[int, ...], keeps: bool) -> None:
    assert parse_version(text) == version
    assert keeps_timestamps(version) == keeps


@pytest.mark.parametrize(
    ("type_", "opens"),
    [
        ("STRUCT<a ARRAY<JSON>, b GEOGRAPHY, c TIME>", True),
        ("BIGNUMERIC", False),
        ("RANGE<DATE>", False),
        ("ARRAY<STRUCT<a INTERVAL>>", False),
    ],
)
def test_a_table_with_a_type_unknown_to_the_connector_is_not_opened(type_: str, opens: bool) -> None:
    assert can_open([Column("id", parse_type("INT64")), Column("x", parse_type(type_))]) == opens
