"""A workload in files: lines of JSON, or Parquet, which contains its types."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from onefold.changelog.generator import Row, Workload, type_of
from onefold.changelog.metadata import METADATA
from onefold.core.errors import InvalidInput
from onefold.core.extras import how_to_install
from onefold.schema.types import STRING, Array, Field, Range, Scalar, Struct, Type, parse_type

if TYPE_CHECKING:
    import pyarrow as pa

Format = Literal["jsonl", "parquet"]
FORMATS: tuple[Format, ...] = ("jsonl", "parquet")

_IN_PARQUET = frozenset({"STRING", "BYTES", "BOOL", "INT64", "FLOAT64", "NUMERIC", "DATE", "DATETIME", "TIMESTAMP"})
"""The scalar types that Parquet has, too. Other values are stored as the text of BigQuery's conversion to STRING."""


def write_workload(workload: Workload, folder: Path, form: Format = "jsonl") -> None:
    """Write `changes/VERSION`, `base` and `truth` as files of one format, and `types.json`, into a new folder.

    Args:
        workload: the workload.
        folder: a folder that is empty or does not exist.
        form: the format of the files, and the end of their names.

    Raises:
        InvalidInput: the folder is not empty or cannot be created, or the library for Parquet is not installed.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} is there already, and not empty: name a new folder")
    write = {"jsonl": _write_lines, "parquet": _write_parquet}[form]
    try:
        (folder / "changes").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be made: {error.strerror}") from error
    for version, rows in workload.changes.items():
        write(folder / "changes" / f"{version}.{form}", rows, list(rows[0]) if rows else [])
    for name, rows in (("base", workload.base), ("truth", workload.truth)):
        write(folder / f"{name}.{form}", rows, list(rows[0] if rows else workload.types))
    (folder / "types.json").write_text(json.dumps({**workload.types, METADATA: type_of(METADATA)}, indent=2) + "\n")


def type_in_parquet(type_: Type) -> Type:
    """Return the type with STRING in place of each scalar type that Parquet does not have.

    Examples:
        >>> str(type_in_parquet(parse_type("ARRAY<STRUCT<a TIME, b RANGE<DATE>, c BYTES>>")))
        'ARRAY<STRUCT<a STRING, b STRING, c BYTES>>'
    """
    match type_:
        case Array(element):
            return Array(type_in_parquet(element))  # type: ignore[arg-type]  # an element is no array
        case Struct(fields):
            return Struct(tuple(Field(field.name, type_in_parquet(field.type)) for field in fields))
        case Scalar(name) if name in _IN_PARQUET:
            return type_
    return STRING


def value_in_parquet(value: Any, type_: Type) -> Any:
    """Return a workload's value in the form of `type_in_parquet`: a RANGE becomes text, all others stay as they are.

    Examples:
        >>> value_in_parquet({"start": None, "end": "2020-01-01"}, parse_type("RANGE<DATE>"))
        '[UNBOUNDED, 2020-01-01)'
    """
    if value is None:
        return None
    match type_:
        case Array(element):
            return [value_in_parquet(one, element) for one in value]
        case Struct(fields):
            return {field.name: value_in_parquet(value[field.name], field.type) for field in fields}
        case Range():
            return f"[{value['start'] or 'UNBOUNDED'}, {value['end'] or 'UNBOUNDED'})"
    return value


def _write_lines(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:  # noqa: ARG001  # as for Parquet
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def _write_parquet(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    parquet_rows(rows, {name: parse_type(type_of(name)) for name in columns}, path)


def parquet_rows(rows: Sequence[Row], types: Mapping[str, Type], path: Path) -> None:
    """Write rows of a workload's form as one Parquet file.

    Args:
        rows: their values in the form of `onefold.changelog.generator_values`.
        types: the BigQuery type of each column.
        path: the file to write.

    Raises:
        InvalidInput: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise InvalidInput(f"Parquet needs pyarrow: {how_to_install('files')}") from error
    arrays = {
        name: pa.array([_parsed(value_in_parquet(row.get(name), type_), type_) for row in rows], _arrow_type(type_))
        for name, type_ in types.items()
    }
    parquet.write_table(pa.table(arrays), path)


def _arrow_type(type_: Type) -> pa.DataType:
    import pyarrow as pa

    match type_in_parquet(type_):
        case Array(element):
            return pa.list_(_arrow_type(element))
        case Struct(fields):
            return pa.struct([(field.name, _arrow_type(field.type)) for field in fields])
        case other:
            return {
                "STRING": pa.string(), "BYTES": pa.binary(), "BOOL": pa.bool_(), "INT64": pa.int64(),
                "FLOAT64": pa.float64(), "NUMERIC": pa.decimal128(38, 9), "DATE": pa.date32(),
                "DATETIME": pa.timestamp("us"), "TIMESTAMP": pa.timestamp("us", tz="UTC"),
            }[str(other)]  # fmt: skip


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "BYTES": base64.b64decode,
    "FLOAT64": float,
    "NUMERIC": Decimal,
    "DATE": date.fromisoformat,
    "DATETIME": datetime.fromisoformat,
    "TIMESTAMP": lambda text: datetime.fromisoformat(text).astimezone(UTC),
}


def _parsed(value: Any, type_: Type) -> Any:
    """Return a value of a workload in the form that Arrow accepts for its type."""
    if value is None:
        return None
    match type_:
        case Array(element):
            return [_parsed(one, element) for one in value]
        case Struct(fields):
            return {field.name: _parsed(value[field.name], field.type) for field in fields}
    return _PARSERS.get(str(type_), lambda unchanged: unchanged)(value)
