"""Debezium's embedded engine against a real MySQL: its events, as envelopes and flattened, as rows of BigQuery."""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from google.cloud import bigquery
from support.bigquery_emulator import EmulatedDataset

VERSION = "3.0.8.Final"
JARS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "onefold", f"debezium-{VERSION}")
_DEPENDENCY = "<dependency><groupId>io.debezium</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
_POM = (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>onefold</groupId>'
    "<artifactId>debezium</artifactId><version>1</version><dependencies>{}</dependencies></project>"
)
FORMS = ("envelope", "flattened")
LAST = 99_999
"""The identifier of the row with which a recording ends."""
TYPES = {"int32": "INT64", "int64": "INT64", "string": "STRING", "boolean": "BOOL"}
"""The types of BigQuery by those of Kafka Connect, as Confluent's "BigQuery Sink Connector" maps them."""
_FLATTENED = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "transforms.unwrap.add.fields": "op,source.file,source.pos,source.row,ts_ms",
}


def engine_settings(name: str, port: int, folder: Path, database: str, server_id: int) -> dict[str, object]:
    """Return the settings of an engine that follows a database of a local MySQL, and keeps its files in a folder."""
    return {
        "name": name, "topic.prefix": name, "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": folder / f"{name}.history",
        "database.hostname": "127.0.0.1", "database.port": port, "database.user": "root", "database.password": "",
        "database.ssl.mode": "disabled", "database.server.id": server_id, "database.include.list": database,
        "include.schema.changes": "false", "snapshot.locking.mode": "none",
    }  # fmt: skip


def write_settings(path: Path, settings: Mapping[str, object]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))


def _settings(port: int, folder: Path, form: str) -> Mapping[str, object]:
    common = engine_settings(form, port, folder, "shop", 85_000 + FORMS.index(form))
    return common if form == "envelope" else {**common, **_FLATTENED}


def fetch_jars() -> bool:
    """Bring the engine and all that it depends on into the cache of this machine, once. Returns False if that fails.

    Spark's resolver, which brings other jars, cannot download a library of Kafka.
    """
    JARS.mkdir(parents=True, exist_ok=True)
    with (JARS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (JARS / "complete").exists():
            return True
        names = ("debezium-embedded", "debezium-connector-mysql")
        (JARS / "pom.xml").write_text(_POM.format("".join(_DEPENDENCY.format(name, VERSION) for name in names)))
        words = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={JARS}"]
        if shutil.which("mvn") is None or subprocess.run(words, cwd=JARS, capture_output=True, check=False).returncode:
            return False
        (JARS / "complete").touch()
        return True


@contextmanager
def recording(port: int, folder: Path) -> Iterator[dict[str, Path]]:
    """Run the engine in both forms while the block runs, and until it has the last row. Yields the files of the events."""
    if not fetch_jars():
        pytest.skip("Debezium's engine cannot be downloaded from Maven Central")
    files = {form: folder / f"{form}.jsonl" for form in FORMS}
    words: list[str | Path] = []
    for form in FORMS:
        properties = folder / f"{form}.properties"
        write_settings(properties, _settings(port, folder, form))
        words += [properties, files[form]]
    java = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{JARS}/*"]
    with (folder / "engine.log").open("w") as log:
        program = Path(__file__).with_name("RecordDebezium.java")
        process = subprocess.Popen([*java, program, f'"id":{LAST}', *words], stdout=log, stderr=log)
        try:
            yield files
            assert process.wait() == 0, (folder / "engine.log").read_text()[-3000:]
        finally:
            process.kill()
            process.wait()


def read_events(file: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the columns of a table for the events, and the events as its rows."""
    events = [json.loads(line) for line in file.read_text().splitlines()]
    return columns_of(events[0]["schema"]), [event["payload"] for event in events]


def columns_of(struct: Mapping[str, Any]) -> dict[str, str]:
    return {one["field"]: _type(one) for one in struct["fields"]}


def _type(one: Mapping[str, Any]) -> str:
    if one["type"] != "struct":
        return TYPES[one["type"]]
    return f"STRUCT<{', '.join(f'{name} {type_}' for name, type_ in columns_of(one).items())}>"


def load_events(dataset: EmulatedDataset, table: str, columns: Mapping[str, str], rows: list[dict[str, Any]]) -> None:
    dataset.land(table, columns)
    config = bigquery.LoadJobConfig(write_disposition="WRITE_APPEND", source_format="NEWLINE_DELIMITED_JSON")
    file = io.BytesIO("\n".join(map(json.dumps, rows)).encode())
    dataset.client.load_table_from_file(file, f"{dataset.name}.{table}", job_config=config).result()
