"""Change tables: one row per change, as Datastream's append-only mode writes them, and what each row says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onefold.changelog.digest import digest_sql
from onefold.changelog.position import position_sql
from onefold.core.errors import SchemaConflict
from onefold.core.names import fold_case, quote
from onefold.schema.types import STRING, Array, Range, Scalar, Struct, Type
from onefold.schema.versions import Column

METADATA = "datastream_metadata"
LANDED_AT = "_landed_at"
"""When a row landed, set by the sink: what a merge reads is told by it, not by when a change happened."""
SOURCE_NAME, DATABASE_NAME = "source_name", "database_name"
"""The tenant of a captured row: a thousand databases share one versioned table."""
DELETIONS = ("DELETE", "UPDATE-DELETE")
"""Datastream: an update that changes the key is an UPDATE-DELETE of the old one and an UPDATE-INSERT of the new one."""

METADATA_FIELDS: Mapping[str, Type] = {
    "uuid": STRING,
    "source_timestamp": Scalar("INT64"),
    "change_sequence_number": STRING,
    "change_type": STRING,
    "sort_keys": Array(STRING),
}
"""What Datastream promises of `datastream_metadata` (Google Cloud, "Datastream: BigQuery destination", append-only mode)."""

NEEDED_FIELDS = ("change_sequence_number", "change_type", "source_timestamp")
"""Without the others a position has fewer parts; `sort_keys` are there for some sources only."""

CHANGE_TYPES = ("INSERT", "UPDATE-INSERT", *DELETIONS)
_SORT_KEYS = "sort_keys"
_NO_KEYS = "CAST([] AS ARRAY<STRING>)"
# GoogleSQL, "Groupable data types": FLOAT64 may be grouped but not partitioned by.
_NOT_A_KEY = frozenset({"FLOAT64", "GEOGRAPHY", "JSON"})


def check_change_table(table: str, columns: Sequence[Column], keys: Sequence[str]) -> None:
    """Raise SchemaConflict with everything that keeps `table` from having a latest state by these keys."""
    problems = [*metadata_problems(table, columns), *key_problems(table, columns, keys)]
    if problems:
        raise SchemaConflict(problems)


def position_of(row: str, columns: Sequence[Column], landed: Sequence[Column] = ()) -> str:
    """The position of a change as an expression over a row's alias.

    Args:
        columns: the columns of the table or view that is read.
        landed: the columns whose digest is the last tie-break: those of the source in the row as it landed. A view gives
            none, and leaves the last tie-break to metadata: a digest would make every query on it read every column.
    """
    metadata = f"{row}.{quote(METADATA)}"
    names = {fold_case(field.name) for field in _metadata(columns).fields}
    sort_keys = f"{metadata}.{_SORT_KEYS}" if _SORT_KEYS in names else _NO_KEYS
    return position_sql(
        f"{metadata}.change_sequence_number",
        f"{metadata}.source_timestamp",
        sort_keys,
        is_deletion(row),
        _tie_break(row, metadata, names, landed),
    )


def is_deletion(row: str) -> str:
    """Whether the change removes its key, as an expression that is never NULL."""
    kinds = ", ".join(f"'{kind}'" for kind in DELETIONS)
    return f"IFNULL(UPPER({row}.{quote(METADATA)}.change_type) IN ({kinds}), FALSE)"


def source_columns(columns: Sequence[Column]) -> list[Column]:
    """The columns of the source's row."""
    return [column for column in columns if fold_case(column.name) not in (METADATA, LANDED_AT)]


def _tie_break(row: str, metadata: str, names: set[str], landed: Sequence[Column]) -> str:
    """The identifier, then the digest: so a position with a digest is above the same one without, and in the same order."""
    identifier = f"IFNULL({metadata}.uuid, '')" if "uuid" in names else "''"
    return f"CONCAT({identifier}, ' ', {digest_sql(row, landed)})" if landed else identifier


def _metadata(columns: Sequence[Column]) -> Struct:
    for column in columns:
        if fold_case(column.name) == METADATA and isinstance(column.type, Struct):
            return column.type
    return Struct(())


def metadata_problems(table: str, columns: Sequence[Column], *, casts_sort_keys: bool = False) -> Iterator[str]:
    """Yield what keeps the rows of a table from being changes.

    Args:
        casts_sort_keys: whether the reader makes text of sort keys of other types; SQL takes text alone.
    """
    found = {fold_case(field.name): field.type for field in _metadata(columns).fields}
    if not found:
        yield f"{table} is no change table: it has no column {METADATA} of type STRUCT; it has {_listed(columns)}"
        return
    names = ", ".join(field.name for field in _metadata(columns).fields)
    yield from (
        f"{table}: {METADATA} has no field {name}; it has {names}: write it, as NULL where there is no value"
        for name in NEEDED_FIELDS
        if name not in found
    )
    for name, type_ in METADATA_FIELDS.items():
        is_cast = casts_sort_keys and name == _SORT_KEYS and _is_array_of_scalars(found.get(name))
        if found.get(name, type_) != type_ and not is_cast:
            yield f"{table}: {METADATA}.{name} is {found[name]}, and has to be {type_}: write it so"


def _is_array_of_scalars(type_: Type | None) -> bool:
    return isinstance(type_, Array) and isinstance(type_.element, Scalar)


def _listed(columns: Sequence[Column]) -> str:
    """Return the names of columns, and the type of one that was to be a STRUCT."""
    return ", ".join(f"{one.name} {one.type}" if fold_case(one.name) == METADATA else one.name for one in columns)


def key_problems(table: str, columns: Sequence[Column], keys: Sequence[str]) -> Iterator[str]:
    """What keeps these columns from being a key."""
    known = {fold_case(column.name): column for column in source_columns(columns)}
    if not keys:
        yield f"{table}: name the columns of the key"
    for key in keys:
        column = known.get(fold_case(key))
        if not column:
            yield f"{table} has no column {key} for the key; it has {', '.join(column.name for column in known.values())}"
        elif not _can_be_key(column.type):
            yield f"{table}: the key {key} is {column.type}, which has no equality to group rows by"


def _can_be_key(type_: Type) -> bool:
    return not isinstance(type_, Array | Struct | Range) and type_.name not in _NOT_A_KEY
