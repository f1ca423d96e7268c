"""The shredder's job in tests: a registry, files of events, and what a reader finds in the output."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from support.registries import document, folder_store

from onefold.batches.shred_arguments import ShredArguments
from onefold.events.registry.json_schema import parse_schema
from onefold.events.shred.manifest import MANIFEST, RunManifest, ShreddedTable, parse_manifest
from onefold.events.shred.report import ShredReport
from onefold.spark.shred.job import shred
from onefold.spark.shred.registry import read_registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLICK = "iglu:com.acme/ad_click/jsonschema/1-0-0"


def click(number: int, uri: str = CLICK, **data: Any) -> str:
    """A self-describing event; `id` of its data is its number."""
    return json.dumps({"schema": uri, "data": {"id": number, **data}}, ensure_ascii=False)


def events_in(printed: str) -> list[str]:
    """The events of the lines of a log, in their order."""
    return [json.loads(line)["event"] for line in printed.splitlines() if line.startswith("{")]


@dataclass(frozen=True)
class ShredScene:
    """A registry with two versions of `ad_click`, a folder of events, and an output folder."""

    folder: Path

    @property
    def events(self) -> Path:
        return self.folder / "events"

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def registry(self) -> Path:
        return self.folder / "registry"

    def add_schemas(self, *documents: Mapping[str, Any]) -> None:
        store = folder_store(self.registry)
        for one in documents:
            store.add(parse_schema(dict(one)))

    def write(self, name: str, lines: Iterable[str]) -> Path:
        path = self.events / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
        return path

    def words(self, *more: str, events: Sequence[object] = (), **changed: object) -> list[str]:
        named = {"registry": self.registry, "output": self.output, "format": "csv", "input": "self-describing", **changed}
        places = [str(place) for place in events or [self.events]]
        return ["--events", *places, *(f"--{name}={value}" for name, value in named.items()), *more]

    def shred(self, spark: SparkSession, *more: str, events: Sequence[object] = (), **changed: object) -> ShredReport:
        arguments = ShredArguments.parse(self.words(*more, events=events, **changed))
        return shred(spark, arguments, partial(read_registry, arguments.registry, None))

    def manifests(self) -> list[RunManifest]:
        """The manifests of all finished runs, the oldest first."""
        paths = sorted(self.output.glob(f"run=*/{MANIFEST}"))
        return [parse_manifest(path.read_text(), str(path)) for path in paths]

    def rows(self, manifest: RunManifest, name: str) -> list[dict[str, Any]]:
        """The rows of the files of a table that a manifest lists; values of CSV are texts, NULL is None."""
        (table,) = (one for one in manifest.tables if one.name == name)
        found = [row for path in self.files(manifest, table) for row in _read(path, manifest.format, table)]
        assert len(found) == table.rows
        return found

    def files(self, manifest: RunManifest, table: ShreddedTable) -> list[Path]:
        return [self.output / manifest.folder / table.folder / file.name for file in table.files]

    def bad_rows(self, manifest: RunManifest) -> list[dict[str, Any]]:
        """The bad rows of a run: one JSON object a line."""
        paths = sorted((self.output / manifest.folder / "bad").glob("part-*.json"))
        return [json.loads(line) for path in paths for line in path.read_text().split("\n") if line]


def scene_with_clicks(folder: Path) -> ShredScene:
    scene = ShredScene(folder)
    scene.add_schemas(document("1-0-0"), document("1-0-1", page={"type": "string"}))
    return scene


def _read(path: Path, format_: str, table: ShreddedTable) -> Iterator[dict[str, Any]]:
    names = [name for name, _ in table.columns]
    if format_ == "parquet":
        yield from pq.ParquetFile(path).read().to_pylist()
        return
    # By bytes: a file that is opened as text loses carriage returns.
    for fields in csv.reader(io.StringIO(path.read_bytes().decode(), newline=""), delimiter="\t", strict=True):
        yield {name: None if text == "\\N" else text for name, text in zip(names, fields, strict=True)}
