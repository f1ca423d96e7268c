"""The manifest of a run of the shredder: which files hold the rows of which table, and the columns as they were.

`shredding_complete.json` is written last. A run without it is unfinished: nobody loads it, and the shredder starts it anew.
A loader migrates tables to the columns of a manifest and no further, whatever has been added to the registry since.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from onefold.core.errors import InvalidInput, Rejected
from onefold.core.shred_options import FileFormat, Warehouse, implied_warehouse
from onefold.events.shred.manifest_problems import FORMATS as FORMATS
from onefold.events.shred.manifest_problems import OPTIONAL, problems_of_manifest

MANIFEST = "shredding_complete.json"
ALGORITHM = 1
"""The version of the rules by which columns are derived and values are written. Files of another version are not loaded."""


class OtherAlgorithm(Rejected):
    """A manifest by another version of the algorithm, whose files may have other columns or other values."""


@dataclass(frozen=True)
class ShreddedFile:
    """A file of rows: its name in the folder of its table, its rows and its size in bytes."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class ShreddedTable:
    """The rows of one table.

    Attributes:
        name: the name of the table, `com_acme_ad_click_1`, or that of a recovery table.
        base: what all models and recovery tables of the schema share, `com_acme_ad_click`; `events` for the events.
        version: the model, `1`, or `1r` and the hash of a recovery table; empty for the events.
        uri: the schema that the table is at; empty for the events.
        columns: name and type of every column in the order of the table, those of the envelope included; the types
            are the warehouse's.
        folder: where the files are, below the folder of the run.
        files: the files. Others in the same folder are left by tasks that failed.
        adopted: all columns of a table that another loader made, as it was adopted; then `columns` are some of these by
            their names, in any order, and columns that the table lacks. Empty for other tables.
    """

    name: str
    base: str
    version: str
    uri: str
    columns: tuple[tuple[str, str], ...]
    folder: str
    files: tuple[ShreddedFile, ...]
    adopted: tuple[tuple[str, str], ...] = ()

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return sum(file.rows for file in self.files)


@dataclass(frozen=True)
class UsedSchema:
    """A schema that a row of a run has; runs of earlier releases say its URI alone.

    Attributes:
        uri: the URI.
        sha256: the digest of its canonical text, as the index of a registry has it.
        registry: the address of the registry that it is of.
    """

    uri: str
    sha256: str = ""
    registry: str = ""


@dataclass(frozen=True)
class RunManifest:
    """What a run of the shredder has written.

    Attributes:
        run: its name, the time of its start as YYYY-MM-DD-hh-mm-ss in UTC. Its folder is `run=` and the name.
        format: the format of the files.
        compression: `none`, `gzip`, `snappy` or `zstd`.
        registry: the address of the registry; of several, separated by commas.
        inputs: the addresses of the files that were read.
        schemas: all schemas that a row of the run has, by URI.
        tables: the tables with rows.
        events: the events that were read.
        bad: the events that failed, by the kind of the first reason.
        started_at: when the registry was read.
        completed_at: when the manifest was written.
        algorithm: the version of the algorithm.
        reasons: the bad events by each of their reasons, without values; runs of earlier releases do not say them.
        bad_entities: the entities that the run has set apart, by the kind of the first reason.
        retried: the entities of earlier bad rows that became rows.
        duplicates: `window_days`, the `runs` of it that were compared, the `ids` kept, the events `left_out` and `renamed`.
        warehouse: the warehouse that takes the rows; None in runs of earlier releases, where the format says it.
    """

    run: str
    format: FileFormat
    compression: str
    registry: str
    inputs: tuple[str, ...]
    schemas: tuple[UsedSchema, ...]
    tables: tuple[ShreddedTable, ...]
    events: int
    bad: Mapping[str, int]
    started_at: datetime
    completed_at: datetime
    algorithm: int = ALGORITHM
    reasons: Mapping[str, int] = field(default_factory=dict)
    bad_entities: Mapping[str, int] = field(default_factory=dict)
    retried: int = 0
    duplicates: Mapping[str, int] = field(default_factory=dict)
    warehouse: Warehouse | None = None

    @property
    def target(self) -> Warehouse:
        """The warehouse that takes the rows: a manifest of an earlier release does not name it."""
        return self.warehouse or implied_warehouse(self.format)

    @property
    def folder(self) -> str:
        """The name of the folder of the run."""
        return run_folder(self.run)

    def to_json(self) -> str:
        """Return the content of the manifest's file."""
        body = {name: value for name, value in asdict(self).items() if value or name not in OPTIONAL}
        if self.target == implied_warehouse(self.format):  # earlier releases load such a run, too
            body.pop("warehouse", None)
        # A schema of a run of an earlier release is its URI alone, as it was read.
        body["schemas"] = [asdict(one) if one.sha256 else one.uri for one in self.schemas]
        for table in body["tables"]:
            if not table["adopted"]:
                del table["adopted"]
        return json.dumps(body, default=datetime.isoformat, ensure_ascii=False, indent=1) + "\n"


def run_folder(run: str) -> str:
    """Return the name of the folder of a run.

    Examples:
        >>> run_folder("2026-11-23-08-00-00")
        'run=2026-11-23-08-00-00'
    """
    return f"run={run}"


def parse_manifest(text: str | bytes, place: str) -> RunManifest:
    """Return the manifest that a file holds.

    Args:
        text: the content of the file.
        place: the address of the file, for errors.

    Raises:
        OtherAlgorithm: another version of the algorithm wrote the files.
        InvalidInput: the content is not a manifest; the error lists all problems.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{place} is not a manifest: expected JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{place} is not a manifest: expected a JSON object")
    if "algorithm" in found and found["algorithm"] != ALGORITHM:
        raise OtherAlgorithm(
            f"{place} is by version {found['algorithm']!r} of the algorithm, and this is version {ALGORITHM}: shred its "
            "inputs again, or load it with the release that wrote it"
        )
    problems = [f"{place}: {problem}" for problem in problems_of_manifest(found)]
    if problems:
        raise InvalidInput(problems)
    return _manifest(found)


def _manifest(found: Mapping[str, Any]) -> RunManifest:
    times = {name: datetime.fromisoformat(found[name]) for name in ("started_at", "completed_at")}
    schemas = tuple(UsedSchema(one) if isinstance(one, str) else UsedSchema(**one) for one in found["schemas"])
    lists = {"inputs": tuple(found["inputs"]), "schemas": schemas}
    tables = tuple(_table(one) for one in found["tables"])
    return RunManifest(**{**found, **times, **lists, "tables": tables})


def _table(found: Mapping[str, Any]) -> ShreddedTable:
    lists = {name: tuple((column, type_) for column, type_ in found.get(name, ())) for name in ("columns", "adopted")}
    return ShreddedTable(**{**found, **lists, "files": tuple(ShreddedFile(**one) for one in found["files"])})
