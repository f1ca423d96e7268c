"""Change tables: one row per change, in the form of Datastream's append-only mode, and the metadata of each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from onefold.changelog.digest import digest_sql
from onefold.changelog.position import LOW, position_sql
from onefold.core.names import fold_case, quote
from onefold.core.text import shown_list
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.types import STRING, Array, Field, Scalar, Struct, Type
from onefold.schema.versions import Version

METADATA = "datastream_metadata"
LANDED_AT = "_landed_at"
"""The time at which a row landed, set by the sink. A merge reads by this time, not by the time of the change."""
DAY = "_day"
"""The day of the watermark of a pulled row, by which its table is partitioned. Captured rows have none."""
SOURCE_NAME, DATABASE_NAME = "source_name", "database_name"
"""The tenant of a captured row: many databases share one versioned table."""
DELETIONS = ("DELETE", "UPDATE-DELETE")
"""Datastream: an update that changes the key is an UPDATE-DELETE of the old key and an UPDATE-INSERT of the new key."""

METADATA_FIELDS: Mapping[str, Type] = {
    "uuid": STRING,
    "source_timestamp": Scalar("INT64"),
    "change_sequence_number": STRING,
    "change_type": STRING,
    "sort_keys": Array(STRING),
}
"""The fields of `datastream_metadata` (Google Cloud, "Datastream: BigQuery destination", append-only mode)."""

CAPTURE_FIELDS: Mapping[str, Type] = {**METADATA_FIELDS, "ingestion_method": STRING, "primary_key": Array(STRING)}
"""The fields that capture writes: those of Datastream, how the row was read, and which of its columns are the key."""

NEEDED_FIELDS = ("change_sequence_number", "change_type", "source_timestamp")
"""Without the other fields a position has fewer parts; `sort_keys` exist for some sources only."""

CHANGE_TYPES = ("INSERT", "UPDATE-INSERT", *DELETIONS)
_SORT_KEYS = "sort_keys"
_BELOW_DIGESTS = "' !'"
"""Ends a position without a digest: below the same position with one, and above the time of a copy of the source."""
_NO_KEYS = "CAST([] AS ARRAY<STRING>)"

UNUSED_BY_CAPTURE: Mapping[str, Any] = {"uuid": None, "sort_keys": []}
"""Fields that capture leaves empty, because its sequence alone is a total order."""


class ChangeMetadata(NamedTuple):
    """The metadata that capture publishes with one change, without the fields of `UNUSED_BY_CAPTURE`.

    A named tuple, because capture creates one for every row.
    """

    ingestion_method: str
    change_type: str
    change_sequence_number: str
    source_timestamp: int
    """Milliseconds of the epoch, by the clock of the source."""
    primary_key: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the metadata in the form of JSON.

        Examples:
            >>> ChangeMetadata("BINLOG", "INSERT", "1/4", 0, ("id",)).to_json()["primary_key"]
            ['id']
        """
        return {**self._asdict(), "primary_key": list(self.primary_key)}


def is_pulled(columns: Sequence[Column]) -> bool:
    """Return whether rows were pulled: they have the day of their watermark, behind the metadata.

    A captured table may have a column of this name at its source, whose columns come before the metadata.

    Args:
        columns: those of a version, or of all versions together, in order.

    Examples:
        >>> day, metadata = Column(DAY, Scalar("DATE")), Column(METADATA, STRING)
        >>> is_pulled([metadata, day]), is_pulled([day, metadata])
        (True, False)
    """
    names = [fold_case(column.name) for column in columns]
    return METADATA in names and DAY in names[names.index(METADATA) :]


def metadata_type(fields: Mapping[str, Type]) -> Struct:
    """Return the type of the column `datastream_metadata` with these fields.

    Examples:
        >>> str(metadata_type({"uuid": STRING, "sort_keys": Array(STRING)}))
        'STRUCT<uuid STRING, sort_keys ARRAY<STRING>>'
    """
    return Struct(tuple(Field(name, type_) for name, type_ in fields.items()))


def metadata_sql(row: str, field: str) -> str:
    """Return one field of the metadata as an expression over a row's alias.

    Examples:
        >>> metadata_sql("v", "change_type")
        'v.`datastream_metadata`.change_type'

    Raises:
        KeyError: there is no such field.
    """
    if field not in CAPTURE_FIELDS:
        raise KeyError(f"{METADATA} has no field {field}")
    return f"{row}.{quote(METADATA)}.{field}"


def metadata_of(columns: Sequence[Column]) -> Struct:
    """Return the type of the column `datastream_metadata`; a STRUCT without fields where there is no such column.

    Examples:
        >>> str(metadata_of([Column("datastream_metadata", metadata_type({"uuid": STRING}))]))
        'STRUCT<uuid STRING>'
    """
    column = Schema(columns).get(METADATA)
    return column.type if column and isinstance(column.type, Struct) else Struct(())


def position_of(row: str, columns: Sequence[Column], landed: Sequence[Column] = ()) -> str:
    """Return the position of a change as an expression of SQL.

    Args:
        row: the alias of the row.
        columns: the columns of the table or view that is read.
        landed: the columns whose digest is the last tie-break: those of the source in the row as it landed. Empty for a
            view, whose last tie-break is the identifier: a digest would make every query of the view read every column.

    Examples:
        >>> position_of("v", [Column(METADATA, metadata_type(METADATA_FIELDS))]).startswith("CONCAT(CASE WHEN v.")
        True
    """
    metadata = metadata_of(columns)
    return position_sql(
        metadata_sql(row, "change_sequence_number"),
        metadata_sql(row, "source_timestamp"),
        metadata_sql(row, _SORT_KEYS) if metadata.get(_SORT_KEYS) else _NO_KEYS,
        is_deletion(row),
        _tie_break(row, metadata, landed),
    )


def is_deletion(row: str) -> str:
    """Return an expression of SQL, TRUE where the change deletes its key, FALSE elsewhere, never NULL.

    Examples:
        >>> is_deletion("v")
        "IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE)"
    """
    kinds = ", ".join(f"'{kind}'" for kind in DELETIONS)
    return f"IFNULL(UPPER({metadata_sql(row, 'change_type')}) IN ({kinds}), FALSE)"


def is_of_unknown_type(row: str) -> str:
    """Return an expression of SQL, TRUE where the type of the change is none of `CHANGE_TYPES`, FALSE elsewhere, never NULL.

    Such a change counts as an upsert in every engine. Merges count them, and warn.

    Examples:
        >>> is_of_unknown_type("v").startswith("IFNULL(UPPER(v.`datastream_metadata`.change_type) NOT IN ('INSERT', ")
        True
    """
    kinds = ", ".join(f"'{kind}'" for kind in CHANGE_TYPES)
    return f"IFNULL(UPPER({metadata_sql(row, 'change_type')}) NOT IN ({kinds}), TRUE)"


def source_columns(columns: Sequence[Column]) -> Schema:
    """Return the columns of the source's row: all but the metadata and the time of landing.

    Examples:
        >>> source_columns([Column("id", STRING), Column("_landed_at", STRING)]).names
        ('id',)
    """
    return Schema(columns).minus((METADATA, LANDED_AT))


def _tie_break(row: str, metadata: Struct, landed: Sequence[Column]) -> str:
    # The digest comes second: a position with a digest sorts directly above the same position without one. That needs
    # identifiers without characters that sort at or below the blank between the two.
    readable = f"REGEXP_REPLACE({metadata_sql(row, 'uuid')}, r'{LOW}', '!')"
    identifier = f"IFNULL({readable}, '')" if metadata.get("uuid") else "''"
    last = f"' ', {digest_sql(row, landed)}" if landed else _BELOW_DIGESTS
    return f"CONCAT({identifier}, {last})"


def metadata_problems(table: str, columns: Sequence[Column], *, casts_sort_keys: bool = False) -> Iterator[str]:
    """Yield the reasons why the rows of a table are not changes.

    Args:
        table: the name of the table, for the texts.
        columns: its columns.
        casts_sort_keys: True where the reader converts sort keys of other types to text; SQL accepts text only.

    Examples:
        >>> list(metadata_problems("shop.t", [Column("id", STRING)]))
        ['shop.t is no change table: it has no column datastream_metadata of type STRUCT; it has id: name a change table']
    """
    metadata = metadata_of(columns)
    if not metadata.fields:
        yield (
            f"{table} is no change table: it has no column {METADATA} of type STRUCT; it has "
            f"{_listed(columns)}: name a change table"
        )
        return
    names = shown_list(field.name for field in metadata.fields)
    yield from (
        f"{table}: {METADATA} has no field {name}; it has {names}: write it, as NULL where there is no value"
        for name in NEEDED_FIELDS
        if not metadata.get(name)
    )
    for name, type_ in METADATA_FIELDS.items():
        field = metadata.get(name)
        is_cast = casts_sort_keys and name == _SORT_KEYS and field and _is_array_of_scalars(field.type)
        if field and field.type != type_ and not is_cast:
            yield f"{table}: {METADATA}.{name} is {field.type}, and has to be {type_}: write it so"


def _is_array_of_scalars(type_: Type) -> bool:
    return isinstance(type_, Array) and isinstance(type_.element, Scalar)


def _listed(columns: Sequence[Column]) -> str:
    """Return the names of columns, and the type of the metadata, which is not a STRUCT."""
    with_type = Schema(columns).only([METADATA])
    return shown_list(f"{one.name} {one.type}" if one in with_type else one.name for one in columns)


def has_metadata(columns: Iterable[Column]) -> bool:
    """Return whether there is a column of the metadata, of whatever type.

    Examples:
        >>> has_metadata([Column("id", STRING)]), has_metadata([Column("Datastream_Metadata", STRING)])
        (False, True)
    """
    return any(len(column.name) == len(METADATA) and fold_case(column.name) == METADATA for column in columns)


def unused_order(versions: Iterable[Version], rules: TableRules) -> list[str]:
    """Return a warning where `order_by` has no effect, because the metadata of rows says which of them is the latest.

    Examples:
        >>> unused_order([Version("abc", (Column(METADATA, STRING),))], TableRules(order_by=("at",)))
        ['order_by has no effect: datastream_metadata says which row is the latest']
    """
    if rules.order_by and any(has_metadata(version.columns) for version in versions if version.id not in rules.retired):
        return [f"order_by has no effect: {METADATA} says which row is the latest"]
    return []
