"""Debezium's events: `op`, the row `before` and `after`, and the position in the log in `source`; with or without `payload`.

The fields of `source` are those of Debezium's documentation ("Debezium connector for MySQL", "... for PostgreSQL", "... for
SQL Server", "... for Oracle", section "Data change events", https://debezium.io/documentation/reference/stable/connectors/).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

from onefold.batches.arguments import ReconcileArguments
from onefold.changelog.key_columns import missing_keys
from onefold.core.names import fold_case
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Column, Schema
from onefold.schema.types import Struct, Type
from onefold.spark.columns import named
from onefold.spark.io.frames import ChangeLog, LandedFrame
from onefold.spark.reconcile.change_log import Part, landing_problems, within_landing_times, within_sequences
from onefold.spark.reconcile.unavailable import UNAVAILABLE, unavailable_columns
from onefold.spark.values.casts import convert
from onefold.spark.values.position import position
from onefold.spark.values.types import spark_type

_UPSERTS, _DELETION, _UPDATE, _SNAPSHOT = ("c", "u", "r"), "d", "u", "r"
_NO_CHANGE = ("m",)
"""The `op` of a message that a program wrote into the source's log: no change of a row."""


@dataclass(frozen=True)
class _Field:
    value: Value
    type: Type


class Debezium:
    """The format of Debezium: creations, updates, deletions and rows of a snapshot.

    An update that changes the key also deletes the old key.
    """

    def columns(self, log: ChangeLog) -> list[Schema]:
        envelope = _envelope(log)
        return [_columns(envelope[side]) for side in ("after", "before") if side in envelope]

    def problems(self, log: ChangeLog, arguments: ReconcileArguments) -> Iterable[str]:
        envelope = _envelope(log)
        if "op" not in envelope or not {"before", "after"} & envelope.keys():
            yield f"{log.name} holds no events of Debezium: they have op, before, after and source"
        for side in ("before", "after"):
            if side in envelope:
                yield from missing_keys(f"{side} of {log.name}", _columns(envelope[side]), arguments.keys)
        yield from landing_problems(log, arguments)

    def parts(self, frame: LandedFrame, arguments: ReconcileArguments, unified: Sequence[Column]) -> list[Part]:
        envelope = _with_both_sides(_envelope(frame))
        # An update may also be a deletion of the old key; any other event is one by its `op` alone.
        deletes = F.when(_op(envelope) == _UPDATE, _changes_key(envelope, arguments.keys, unified))
        deletes = F.coalesce(deletes, _op(envelope) == _DELETION)
        return [
            _part(frame, envelope, "after", _op(envelope).isin(*_UPSERTS), arguments, deleted=False),
            _part(frame, envelope, "before", deletes, arguments, deleted=True),
        ]


def _part(
    frame: LandedFrame,
    envelope: Mapping[str, _Field],
    side: str,
    condition: Value,
    arguments: ReconcileArguments,
    *,
    deleted: bool,
) -> Part:
    """Return the changes that one side of the events gives.

    Args:
        frame: the events.
        envelope: the fields of an event.
        side: `before` or `after`.
        condition: which events give a change.
        arguments: the arguments of the job.
        deleted: whether the changes are deletions.
    """
    columns = _columns(envelope[side])
    values = [_of_row(envelope[side], column.name, side) for column in columns]
    # A deletion is stored as its key alone, which is always in the log.
    searched = Schema() if deleted else columns
    rows = within_landing_times(frame, arguments).where(condition)
    changes = rows.select(
        *(value.alias(column.name) for column, value in zip(columns, values, strict=True)),
        _position(envelope, deleted).alias(POSITION),
        F.lit(deleted).alias(DELETED),
        unavailable_columns(searched, values[: len(searched)], arguments.unavailable, arguments.keys).alias(UNAVAILABLE),
    )
    return Part(within_sequences(changes, arguments), columns, other_columns=(UNAVAILABLE,))


def _envelope(log: ChangeLog) -> dict[str, _Field]:
    """Return the fields of an event. Kafka's tombstones, which follow a deletion, have no `payload`: they change nothing.

    They are no rows to be left out by a filter of its own, which Spark may compute together with the one that reads `op`.
    """
    payload = log.columns.get("payload")
    if payload and isinstance(payload.type, Struct):
        fields = _fields(_Field(named(payload.name), payload.type))
        if op := fields.get("op"):
            fields["op"] = _Field(F.when(named(payload.name).isNull(), F.lit(_NO_CHANGE[0])).otherwise(op.value), op.type)
        return fields
    return {fold_case(column.name): _Field(named(column.name), column.type) for column in log.columns}


def _with_both_sides(envelope: Mapping[str, _Field]) -> dict[str, _Field]:
    """Add a missing side, with the other side's type and NULL in every row: JSON lines without such a row lack the field."""
    type_ = (envelope.get("after") or envelope["before"]).type
    null = _Field(F.lit(None).cast(spark_type(type_)), type_)
    return {"before": null, "after": null, **envelope}


def _fields(struct: _Field | None) -> dict[str, _Field]:
    if struct is None or not isinstance(struct.type, Struct):
        return {}
    return {fold_case(field.name): _Field(struct.value.getField(field.name), field.type) for field in struct.type.fields}


def _columns(side: _Field) -> Schema:
    fields = side.type.fields if isinstance(side.type, Struct) else ()
    return Schema(Column(field.name, field.type) for field in fields)


def _op(envelope: Mapping[str, _Field]) -> Value:
    """Return `op`; a truncation is an error, because no event says which rows are left: only a new snapshot does."""
    op = envelope["op"].value
    problem = F.concat(
        F.lit("an event of Debezium has op "), F.coalesce(op, F.lit("NULL")),
        F.lit(": expected c, u, d, r or m: after a truncation, begin with a new snapshot"),
    )  # fmt: skip
    return F.when(op.isin(*_UPSERTS, _DELETION, *_NO_CHANGE), op).otherwise(F.raise_error(problem))


def _of_row(side: _Field, name: str, side_name: str) -> Value:
    problem = F.raise_error(F.lit(f"an event of Debezium has no row in {side_name}"))
    return F.when(side.value.isNull(), problem).otherwise(side.value.getField(name))


def _changes_key(envelope: Mapping[str, _Field], keys: Sequence[str], unified: Sequence[Column]) -> Value:
    """Return whether an update gave the row another key; an update without the row before did not."""
    before, after = _fields(envelope.get("before")), _fields(envelope.get("after"))
    same = [
        _in_type(before[key], target.type).eqNullSafe(_in_type(after[key], target.type))
        for target in Schema(unified).only(keys)
        if (key := fold_case(target.name)) in before and key in after
    ]
    if not same:
        return F.lit(False)
    return envelope["before"].value.isNotNull() & ~functools.reduce(Value.__and__, same)


def _in_type(field: _Field, target: Type) -> Value:
    return convert(field.value, field.type, target)


def _position(envelope: Mapping[str, _Field], deleted: bool) -> Value:
    source = _fields(envelope.get("source"))
    sequence, sort_keys = _log_position(source)
    times = [fields["ts_ms"].value.cast("bigint") for fields in (source, envelope) if "ts_ms" in fields]
    # A row of a snapshot was read at a position of the log: changes at that very position come after it. Without a time and
    # sort keys the row is below all of them. A row without a position in the log is ordered by its time alone.
    is_snapshot_at_position = (envelope["op"].value == _SNAPSHOT) & sequence.isNotNull()
    time = F.when(~is_snapshot_at_position, F.coalesce(*times, F.lit(None).cast("bigint")))
    sort_keys = F.when(~is_snapshot_at_position, sort_keys)
    return position(sequence, time, sort_keys, F.lit(deleted), F.lit(""))


def _log_position(source: Mapping[str, _Field]) -> tuple[Value, Value]:
    """Return the sequence and the sort keys within it, from the fields of each connector.

    An unknown connector gives NULL and no sort keys: its changes are ordered by time.
    """
    text = {name: field.value.cast("string") for name, field in source.items()}
    none = F.array().cast("array<string>")
    if {"file", "pos"} <= text.keys():  # MySQL, MariaDB
        row = F.coalesce(text.get("row", F.lit("0")), F.lit("0"))
        return F.concat(text["file"], F.lit("/"), text["pos"], F.lit("/"), row), none
    if "commit_lsn" in text:  # SQL Server
        sort_keys = [*_sections(text.get("change_lsn"), ":"), text.get("event_serial_no", F.lit(None).cast("string"))]
        return F.translate(text["commit_lsn"], ":", "/"), F.array(*sort_keys)
    if "lsn" in text:  # PostgreSQL
        return F.hex(text["lsn"].cast("bigint")), none
    if "scn" in text:  # Oracle
        sort_keys = [*_sections(text.get("rs_id"), "."), text.get("ssn", F.lit(None).cast("string"))]
        return F.conv(text["scn"], 10, 16), F.array(*sort_keys)
    return F.lit(None).cast("string"), none


def _sections(text: Value | None, separator: str) -> list[Value]:
    """Return the three hexadecimal sections of a text as decimal numbers."""
    if text is None:
        return []
    plain = F.regexp_replace(F.trim(text), "^0x", "")
    return [F.conv(F.split_part(plain, F.lit(separator), F.lit(section)), 16, 10) for section in (1, 2, 3)]
