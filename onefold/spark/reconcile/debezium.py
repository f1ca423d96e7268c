"""Debezium's events: `op`, the row `before` and `after`, and in `source` the place in the log; with or without `payload`."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

from onefold.batches.arguments import ReconcileArguments
from onefold.changelog.metadata import key_problems
from onefold.core.names import fold_case
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Column
from onefold.schema.types import Struct, Type
from onefold.spark.columns import named
from onefold.spark.io.frames import ChangeLog, LandedFrame, column_of
from onefold.spark.reconcile.change_log import Part, landing_problems, within_landing_times, within_sequences
from onefold.spark.reconcile.unavailable import UNAVAILABLE, unavailable_columns
from onefold.spark.values.casts import convert
from onefold.spark.values.position import position
from onefold.spark.values.types import held

_UPSERTS, _DELETION, _UPDATE, _SNAPSHOT = ("c", "u", "r"), "d", "u", "r"
_NO_CHANGE = ("m",)
"""What the source's program wrote into the log beside its rows."""


@dataclass(frozen=True)
class _Field:
    value: Value
    type: Type


class Debezium:
    """Creations, updates, deletions and rows of a snapshot. An update that changes the key also deletes the old one."""

    def columns(self, log: ChangeLog) -> list[tuple[Column, ...]]:
        envelope = _envelope(log)
        return [_columns(envelope[side]) for side in ("after", "before") if side in envelope]

    def problems(self, log: ChangeLog, arguments: ReconcileArguments) -> Iterable[str]:
        envelope = _envelope(log)
        if "op" not in envelope or not {"before", "after"} & envelope.keys():
            yield f"{log.name} holds no events of Debezium: they have op, before, after and source"
        for side in ("before", "after"):
            if side in envelope:
                yield from key_problems(f"{side} of {log.name}", _columns(envelope[side]), arguments.keys)
        yield from landing_problems(log, arguments)

    def parts(self, landed: LandedFrame, arguments: ReconcileArguments, unified: Sequence[Column]) -> list[Part]:
        landed, envelope = _without_tombstones(landed), _with_both_sides(_envelope(landed))
        deleting = F.when(_op(envelope) == _UPDATE, _key_changes(envelope, arguments.keys, unified))
        deleting = F.coalesce(deleting, _op(envelope) == _DELETION)
        wanted = {"after": (_op(envelope).isin(*_UPSERTS), False), "before": (deleting, True)}
        return [_part(landed, envelope, side, which, deleted, arguments) for side, (which, deleted) in wanted.items()]


def _part(
    landed: LandedFrame,
    envelope: Mapping[str, _Field],
    side: str,
    which: Value,
    deleted: bool,
    arguments: ReconcileArguments,
) -> Part:
    columns = _columns(envelope[side])
    frame = within_landing_times(landed, arguments).where(which)
    values = [_of_row(envelope[side], column.name, side) for column in columns]
    # Of a deletion nothing but its key is kept, which is always in the log.
    lacking = () if deleted else columns
    rows = frame.select(
        *(value.alias(column.name) for column, value in zip(columns, values, strict=True)),
        _position(envelope, deleted).alias(POSITION),
        F.lit(deleted).alias(DELETED),
        unavailable_columns(lacking, values[: len(lacking)], arguments.unavailable, arguments.keys).alias(UNAVAILABLE),
    )
    return Part(within_sequences(rows, arguments), columns, carried=(UNAVAILABLE,))


def _without_tombstones(landed: LandedFrame) -> LandedFrame:
    """Kafka's own deletion marks, which follow a deletion and hold no event: `payload` is NULL."""
    payload = column_of(landed, "payload")
    if payload is None or not isinstance(payload.type, Struct):
        return landed
    return replace(landed, frame=landed.frame.where(named(payload.name).isNotNull()))


def _envelope(log: ChangeLog) -> dict[str, _Field]:
    payload = column_of(log, "payload")
    if payload and isinstance(payload.type, Struct):
        return _fields(_Field(named(payload.name), payload.type))
    return {fold_case(column.name): _Field(named(column.name), column.type) for column in log.columns}


def _with_both_sides(envelope: Mapping[str, _Field]) -> dict[str, _Field]:
    """JSON lines that hold no row on one side do not say its type: it is that of the other, and every row of it NULL."""
    known = (envelope.get("after") or envelope["before"]).type
    nothing = _Field(F.lit(None).cast(held(known)), known)
    return {"before": nothing, "after": nothing, **envelope}


def _fields(struct: _Field | None) -> dict[str, _Field]:
    if struct is None or not isinstance(struct.type, Struct):
        return {}
    return {fold_case(field.name): _Field(struct.value.getField(field.name), field.type) for field in struct.type.fields}


def _columns(side: _Field) -> tuple[Column, ...]:
    return tuple(Column(field.name, field.type) for field in side.type.fields) if isinstance(side.type, Struct) else ()


def _op(envelope: Mapping[str, _Field]) -> Value:
    """What happened. A truncation is no change of a row: after it, only a snapshot of the source tells what is left."""
    op = envelope["op"].value
    problem = F.concat(
        F.lit("an event of Debezium has op "), F.coalesce(op, F.lit("NULL")),
        F.lit(": only c, u, d, r and m are changes of rows; after a truncation, begin with a new snapshot"),
    )  # fmt: skip
    return F.when(op.isin(*_UPSERTS, _DELETION, *_NO_CHANGE), op).otherwise(F.raise_error(problem))


def _of_row(side: _Field, name: str, which: str) -> Value:
    problem = F.raise_error(F.lit(f"an event of Debezium has no row in {which}"))
    return F.when(side.value.isNull(), problem).otherwise(side.value.getField(name))


def _key_changes(envelope: Mapping[str, _Field], keys: Sequence[str], unified: Sequence[Column]) -> Value:
    """Whether an update gave the row another key; without the row before, it did not."""
    before, after = _fields(envelope.get("before")), _fields(envelope.get("after"))
    targets = {fold_case(column.name): column.type for column in unified}
    same = [
        convert(before[key].value, before[key].type, targets[key]).eqNullSafe(
            convert(after[key].value, after[key].type, targets[key])
        )
        for key in map(fold_case, keys)
        if key in before and key in after
    ]
    if not same:
        return F.lit(False)
    return envelope["before"].value.isNotNull() & ~functools.reduce(Value.__and__, same)


def _position(envelope: Mapping[str, _Field], deleted: bool) -> Value:
    source = _fields(envelope.get("source"))
    sequence, sort_keys = _place(source)
    times = [fields["ts_ms"].value.cast("bigint") for fields in (source, envelope) if "ts_ms" in fields]
    # A row of a snapshot is read at its place in the log: it has what is below that place, and changes of the place itself
    # come after it. Without a time and sort keys it is below all of them. Without a place nothing but its time orders it.
    is_placed_read = (envelope["op"].value == _SNAPSHOT) & sequence.isNotNull()
    time = F.when(~is_placed_read, F.coalesce(*times, F.lit(None).cast("bigint")))
    within = F.when(~is_placed_read, sort_keys)
    return position(sequence, time, within, F.lit(deleted), F.lit(""))


def _place(source: Mapping[str, _Field]) -> tuple[Value, Value]:
    """The sequence and what orders further within it, by what each connector writes; without any, the time has to do."""
    text = {name: field.value.cast("string") for name, field in source.items()}
    none = F.array().cast("array<string>")
    if {"file", "pos"} <= text.keys():  # MySQL, MariaDB
        row = F.coalesce(text.get("row", F.lit("0")), F.lit("0"))
        return F.concat(text["file"], F.lit("/"), text["pos"], F.lit("/"), row), none
    if "commit_lsn" in text:  # SQL Server
        within = [*_numbers(text.get("change_lsn"), ":"), text.get("event_serial_no", F.lit(None).cast("string"))]
        return F.translate(text["commit_lsn"], ":", "/"), F.array(*within)
    if "lsn" in text:  # PostgreSQL
        return F.hex(text["lsn"].cast("bigint")), none
    if "scn" in text:  # Oracle
        within = [*_numbers(text.get("rs_id"), "."), text.get("ssn", F.lit(None).cast("string"))]
        return F.conv(text["scn"], 10, 16), F.array(*within)
    return F.lit(None).cast("string"), none


def _numbers(text: Value | None, mark: str) -> list[Value]:
    """The three hexadecimal sections of a place, as numbers."""
    if text is None:
        return []
    plain = F.regexp_replace(F.trim(text), "^0x", "")
    return [F.conv(F.split_part(plain, F.lit(mark), F.lit(section)), 16, 10) for section in (1, 2, 3)]
