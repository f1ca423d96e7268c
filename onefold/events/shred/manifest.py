"""The manifest of a run of the shredder: which files hold the rows of which table, and the columns as they were.

`shredding_complete.json` is written last. A run without it is unfinished: nobody loads it, and the shredder starts it anew.
A loader migrates tables to the columns of a manifest and no further, whatever has been added to the registry since.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, get_args

from onefold.core.errors import InvalidInput, InvalidType, Rejected
from onefold.core.names import fold_case, problems_of_name
from onefold.core.text import shortened
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.counts import problems_of_counts
from onefold.ports.event_tables import MANIFEST_TABLE, FileFormat
from onefold.schema import redshift_catalog, types

MANIFEST = "shredding_complete.json"
ALGORITHM = 1
"""The version of the rules by which columns are derived and values are written. Files of another version are not loaded."""
FORMATS: tuple[FileFormat, ...] = get_args(FileFormat)
_RUN = re.compile(r"[0-9]{4}(?:-[0-9]{2}){5}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"[0-9a-z]{0,63}")
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
"""Characters that JSON can hold by an escape, and no warehouse in a name or a text."""
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._=-]*(?:/[A-Za-z0-9_][A-Za-z0-9._=-]*)*")


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
        columns: name and type of every column in the order of the table, those of the envelope included. For Parquet the
            types are BigQuery's, for CSV they are Redshift's.
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
class RunManifest:
    """What a run of the shredder has written.

    Attributes:
        run: its name, the time of its start as YYYY-MM-DD-hh-mm-ss in UTC. Its folder is `run=` and the name.
        format: the format of the files.
        compression: `none`, `gzip`, `snappy` or `zstd`.
        registry: the address of the registry.
        inputs: the addresses of the files that were read.
        schemas: the URIs of all schemas that a row of the run has, sorted.
        tables: the tables with rows.
        events: the events that were read.
        bad: the events that failed, by the kind of the first reason.
        started_at: when the registry was read.
        completed_at: when the manifest was written.
        algorithm: the version of the algorithm.
        reasons: the bad events by each of their reasons, without values; runs of earlier releases do not say them.
        bad_entities: the entities that the run has set apart, by the kind of the first reason.
        retried: the entities of earlier bad rows that became rows.
    """

    run: str
    format: FileFormat
    compression: str
    registry: str
    inputs: tuple[str, ...]
    schemas: tuple[str, ...]
    tables: tuple[ShreddedTable, ...]
    events: int
    bad: Mapping[str, int]
    started_at: datetime
    completed_at: datetime
    algorithm: int = ALGORITHM
    reasons: Mapping[str, int] = field(default_factory=dict)
    bad_entities: Mapping[str, int] = field(default_factory=dict)
    retried: int = 0

    @property
    def folder(self) -> str:
        """The name of the folder of the run."""
        return run_folder(self.run)

    def to_json(self) -> str:
        """Return the content of the manifest's file."""
        body = {name: value for name, value in asdict(self).items() if value or name not in _OPTIONAL}
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
    problems = [f"{place}: {problem}" for problem in _problems(found)]
    if problems:
        raise InvalidInput(problems)
    return _manifest(found)


def _manifest(found: Mapping[str, Any]) -> RunManifest:
    times = {name: datetime.fromisoformat(found[name]) for name in ("started_at", "completed_at")}
    lists = {name: tuple(found[name]) for name in ("inputs", "schemas")}
    tables = tuple(_table(one) for one in found["tables"])
    return RunManifest(**{**found, **times, **lists, "tables": tables})


def _table(found: Mapping[str, Any]) -> ShreddedTable:
    lists = {name: tuple((column, type_) for column, type_ in found.get(name, ())) for name in ("columns", "adopted")}
    return ShreddedTable(**{**found, **lists, "files": tuple(ShreddedFile(**one) for one in found["files"])})


_Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not _UNWRITABLE.search(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_count, value.values()))


def _matches(pattern: re.Pattern[str]) -> _Check:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_time(value: Any) -> bool:
    try:
        time = datetime.fromisoformat(value)
        return time.tzinfo is not None and time.astimezone(UTC) is not None
    except (TypeError, ValueError, OverflowError):
        return False


def _list_of(check: _Check) -> _Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _is_uri(value: Any) -> bool:
    try:
        return bool(SchemaKey.parse(value).uri == value)
    except (InvalidInput, AttributeError):
        return False


def _is_column(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value)) and all(value)


def _are_columns(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_column, value))


def _is_table_name(value: Any) -> bool:
    return not problems_of_name("table", value) and fold_case(value) != MANIFEST_TABLE


_MANIFEST: Mapping[str, _Check] = {
    "run": _matches(_RUN), "format": FORMATS.__contains__, "compression": _is_text, "registry": _is_text,
    "inputs": _list_of(_is_text), "schemas": _list_of(_is_uri), "tables": _list_of(lambda one: isinstance(one, dict)),
    "events": _is_count, "bad": _are_counts,
    "started_at": _is_time, "completed_at": _is_time, "algorithm": _is_count,
}  # fmt: skip
_OPTIONAL: Mapping[str, _Check] = {"reasons": _are_counts, "bad_entities": _are_counts, "retried": _is_count}
"""The fields that runs of earlier releases do not have. They are written where they hold something."""
_TABLE: Mapping[str, _Check] = {
    "name": _is_table_name, "base": lambda one: not problems_of_name("table", one),
    "version": _matches(_VERSION), "uri": lambda one: one == "" or _is_uri(one), "columns": _are_columns,
    "adopted": _list_of(_is_column), "folder": _matches(_FOLDER), "files": _list_of(lambda one: isinstance(one, dict)),
}  # fmt: skip
_TYPES: Mapping[str, Callable[[str], object]] = {"csv": redshift_catalog.parse_type, "parquet": types.parse_type}
"""The types of the warehouse that takes files of a format."""
_FILES: Mapping[str, _Check] = {"name": _matches(_FILE), "rows": _is_count, "bytes": _is_count}


def _problems(found: Mapping[str, Any]) -> list[str]:
    problems = _problems_of(found, {**_MANIFEST, **{name: _OPTIONAL[name] for name in _OPTIONAL if name in found}}, "")
    tables = found.get("tables", [])
    for number, table in enumerate(tables if not problems else []):
        where = f"tables[{number}]."
        wrong = _problems_of({"adopted": [], **table}, _TABLE, where)
        problems += wrong
        for place, file in enumerate(table["files"] if not wrong else []):
            problems += _problems_of(file, _FILES, f"{where}files[{place}].")
    return problems or [*_repeated("tables", [table["name"] for table in tables]), *_problems_of_tables(found)]


def _problems_of_tables(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with values that are valid by themselves.

    A file that is listed twice would be loaded twice. Where counts do not add up, files are missing or too many. A column
    that no warehouse takes would be listed as planned for the table, and later runs with the right column would not fit.
    """
    rows = {table["name"]: sum(file["rows"] for file in table["files"]) for table in found["tables"]}
    yield from problems_of_counts(found["events"], found["bad"], rows, found.get("retried", 0))
    for number, table in enumerate(found["tables"]):
        where = f"tables[{number}]"
        yield from _repeated(f"{where}.files", [file["name"] for file in table["files"]])
        yield from _repeated(f"{where}.columns", [fold_case(name) for name, _ in table["columns"]])
        yield from (f"{where}.columns: {problem}" for problem in _problems_of_types(table["columns"], found["format"]))


def _problems_of_types(columns: Sequence[Sequence[str]], format_: str) -> Iterator[str]:
    for name, type_ in columns:
        try:
            _TYPES[format_](type_)
        except InvalidType as error:
            yield f"{name}: {error}"


def _problems_of(found: Mapping[str, Any], checks: Mapping[str, _Check], where: str) -> list[str]:
    problems = [f"{where}{name} is missing" for name in checks if name not in found]
    problems += [f"{where}{name} is unknown" for name in found if name not in checks]
    return problems + [
        f"{where}{name} is not valid: {shortened(str(found[name]))}"
        for name, check in checks.items()
        if name in found and not check(found[name])
    ]


def _repeated(where: str, names: Sequence[str]) -> list[str]:
    counts = Counter(names)
    return [f"{where} has {name} twice" for name in sorted(counts) if counts[name] > 1]
