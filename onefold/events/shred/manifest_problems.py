"""What is wrong with the content of a manifest's file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, get_args

from onefold.core.errors import InvalidInput, InvalidType
from onefold.core.names import fold_case, problems_of_name
from onefold.core.shred_options import FORMATS_OF, FileFormat, implied_warehouse
from onefold.core.text import shortened
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.counts import problems_of_counts
from onefold.ports.event_tables import MANIFEST_TABLE
from onefold.schema import redshift_catalog, types

FORMATS: tuple[FileFormat, ...] = get_args(FileFormat)
_RUN = re.compile(r"[0-9]{4}(?:-[0-9]{2}){5}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"[0-9a-z]{0,63}")
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
"""Characters that JSON can hold by an escape, and no warehouse in a name or a text."""
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._=-]*(?:/[A-Za-z0-9_][A-Za-z0-9._=-]*)*")
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


def _is_used_schema(value: Any) -> bool:
    return _is_uri(value) or (isinstance(value, dict) and not _problems_of(value, _USED_SCHEMA, ""))


def _is_column(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value)) and all(value)


def _are_columns(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_column, value))


def _is_table_name(value: Any) -> bool:
    return not problems_of_name("table", value) and fold_case(value) != MANIFEST_TABLE


_MANIFEST: Mapping[str, _Check] = {
    "run": _matches(_RUN), "format": FORMATS.__contains__, "compression": _is_text, "registry": _is_text,
    "inputs": _list_of(_is_text), "schemas": _list_of(_is_used_schema),
    "tables": _list_of(lambda one: isinstance(one, dict)),
    "events": _is_count, "bad": _are_counts,
    "started_at": _is_time, "completed_at": _is_time, "algorithm": _is_count,
}  # fmt: skip
OPTIONAL: Mapping[str, _Check] = {
    "reasons": _are_counts, "bad_entities": _are_counts, "retried": _is_count, "duplicates": _are_counts,
    "warehouse": FORMATS_OF.__contains__,
}  # fmt: skip
"""The fields that runs of earlier releases do not have. They are written where they hold something."""
_USED_SCHEMA: Mapping[str, _Check] = {
    "uri": _is_uri, "sha256": _matches(re.compile("[0-9a-f]{64}")), "registry": _is_text,
}  # fmt: skip
_TABLE: Mapping[str, _Check] = {
    "name": _is_table_name, "base": lambda one: not problems_of_name("table", one),
    "version": _matches(_VERSION), "uri": lambda one: one == "" or _is_uri(one), "columns": _are_columns,
    "adopted": _list_of(_is_column), "folder": _matches(_FOLDER), "files": _list_of(lambda one: isinstance(one, dict)),
}  # fmt: skip
_TYPES: Mapping[str, Callable[[str], object]] = {"redshift": redshift_catalog.parse_type, "bigquery": types.parse_type}
"""The types of each warehouse."""
_FILES: Mapping[str, _Check] = {"name": _matches(_FILE), "rows": _is_count, "bytes": _is_count}


def problems_of_manifest(found: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the content of a manifest; an empty list where nothing is."""
    problems = _problems_of(found, {**_MANIFEST, **{name: OPTIONAL[name] for name in OPTIONAL if name in found}}, "")
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
    duplicates = (found.get("duplicates", {}).get(name, 0) for name in ("left_out", "renamed"))
    yield from problems_of_counts(found["events"], found["bad"], rows, found.get("retried", 0), *duplicates)
    warehouse = found.get("warehouse") or implied_warehouse(found["format"])
    if found["format"] not in FORMATS_OF[warehouse]:
        yield f"format is not valid: {warehouse} takes no {found['format']} files"
    for number, table in enumerate(found["tables"]):
        where = f"tables[{number}]"
        yield from _repeated(f"{where}.files", [file["name"] for file in table["files"]])
        yield from _repeated(f"{where}.columns", [fold_case(name) for name, _ in table["columns"]])
        yield from (f"{where}.columns: {problem}" for problem in _problems_of_types(table["columns"], warehouse))


def _problems_of_types(columns: Sequence[Sequence[str]], warehouse: str) -> Iterator[str]:
    for name, type_ in columns:
        try:
            _TYPES[warehouse](type_)
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
