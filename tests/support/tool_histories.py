"""Tables as other tools write them from one history of a source, each by the documentation that its module names.

The history has insertions, changes, deletions and rows that come back. Writers that append deliver at least once, in
batches, and in any order within one; a deletion has the key and nothing else, where the documentation promises no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

Row = dict[str, Any]
Values = tuple[str | None, int | None]
_BATCH = 400
_START = 1_767_225_600  # 2026-01-01


@dataclass(frozen=True)
class Change:
    """A change of a row of the source: `place` grows by chance, as positions of a log do."""

    place: int
    id: int
    values: Values | None
    before: Values | None

    @property
    def op(self) -> str:
        return "d" if self.values is None else "c" if self.before is None else "u"

    @property
    def row(self) -> Row:
        """The row; of a deletion the key."""
        name, amount = self.values or (None, None)
        return {"id": self.id, "name": name, "amount": amount}


def random_history(random: Random, number: int, keys: int, *, deletes: bool = True) -> list[Change]:
    """Return changes in the order of the source; without deletions for tools that see none."""
    rows: dict[int, Values] = {}
    place, found = 1, []
    for _ in range(number):
        place += random.choice((1, 2, 500, 70_000))
        id_ = random.randint(1, keys)
        name = random.choice((None, "", "Łódź ' \\ \"", f"n{place}"))
        after = (
            None if deletes and id_ in rows and random.random() < 0.2 else (name, random.choice((None, 0, -place, place)))
        )
        found.append(Change(place, id_, after, rows.get(id_)))
        if after:
            rows[id_] = after
        else:
            rows.pop(id_, None)
    return found


def present(changes: list[Change]) -> list[tuple[Any, ...]]:
    """Return the rows that the source has in the end."""
    last = {change.id: change.values for change in changes}
    return [(id_, *values) for id_, values in sorted(last.items()) if values]


def time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def delivered(random: Random, changes: list[Change]) -> Iterator[tuple[int, Change]]:
    """Yield each change with the number of the batch in which it lands, some in the next batch once more."""
    for number in range(0, len(changes), _BATCH):
        again = random.sample(changes[max(0, number - _BATCH) : number], min(number, 20))
        batch = [*changes[number : number + _BATCH], *again]
        yield from ((number // _BATCH, change) for change in random.sample(batch, len(batch)))


def file_and_offset(change: Change) -> dict[str, Any]:
    """Return the position in a binary log that has 9, then 99, then 999 files and more."""
    file, offset = divmod(change.place, 100_000)
    return {"file": f"bin.{1 + file}", "pos": offset}


def lsn_text(change: Change) -> str:
    """Return an LSN as PostgreSQL writes it."""
    return f"{change.place >> 16:X}/{change.place & 0xFFFF:X}"


def lsn_sections(change: Change) -> str:
    """Return an LSN as SQL Server writes it, in sections of a fixed width."""
    return f"{change.place >> 16:08x}:{change.place & 0xFFFF:08x}:0001"


Writer = Callable[[Random, list[Change]], Iterator[Row]]


@dataclass(frozen=True)
class Form:
    """A form of a tool: what it adds to the columns of the source, and how it writes a history."""

    added: Mapping[str, str]
    write: Writer
    source: Mapping[str, str] | None = None
    table: str = "orders"
    deletes: bool = True
    changes: int = 10_000


def airbyte(position: Callable[[Change], Row]) -> Writer:
    """Airbyte appends each change; `_ab_cdc_deleted_at` marks a deletion."""

    def write(random: Random, changes: list[Change]) -> Iterator[Row]:
        for number, (batch, change) in enumerate(delivered(random, changes)):
            at = time(_START + 60 * batch)
            yield {
                **change.row, "_airbyte_raw_id": f"r{number}", "_airbyte_extracted_at": at, "_airbyte_generation_id": 0,
                "_ab_cdc_deleted_at": at if change.op == "d" else None, **position(change),
            }  # fmt: skip

    return write


def airbyte_cursor(random: Random, changes: list[Change]) -> Iterator[Row]:
    """Airbyte without a log: a sync appends the rows that changed since the last one, as they are then; no deletions."""
    for number in range(0, len(changes), _BATCH):
        last = {change.id: change for change in changes[number : number + _BATCH]}
        for change in random.sample(list(last.values()), len(last)):
            yield {**change.row, "_airbyte_raw_id": f"r{change.place}", "_airbyte_extracted_at": time(_START + number)}


def debezium(source: Callable[[Change], Row]) -> Writer:
    """Debezium's envelopes: a deletion has the row in `before`, and its `after` is NULL."""

    def write(random: Random, changes: list[Change]) -> Iterator[Row]:
        for batch, change in delivered(random, changes):
            rows = [{"id": change.id, "name": v[0], "amount": v[1]} if v else None for v in (change.before, change.values)]
            yield {"before": rows[0], "after": rows[1], "op": change.op, "ts_ms": batch, "source": source(change)}

    return write


def flattened(random: Random, changes: list[Change]) -> Iterator[Row]:
    """Debezium's flattening with `delete.tombstone.handling.mode: rewrite`: `__deleted` is the text true or false."""
    for _, change in delivered(random, changes):
        yield {**change.row, "__op": change.op, "__deleted": str(change.op == "d").lower(), "__source_lsn": change.place}


def dataflow(position: Callable[[Change], Row]) -> Writer:
    """The table of changes of the Dataflow template, in which UPDATE-DELETE is the old row of a changed key."""

    def write(random: Random, changes: list[Change]) -> Iterator[Row]:
        for _, change in delivered(random, changes):
            is_deleted = change.op == "d"
            type_ = random.choice(("DELETE", "UPDATE-DELETE")) if is_deleted else "INSERT"
            yield {
                **change.row, "_metadata_timestamp": time(_START + change.place // 1_000_000),
                "_metadata_deleted": is_deleted, "_metadata_change_type": type_, **position(change),
            }  # fmt: skip

    return write


def periods(changes: list[Change]) -> Iterator[tuple[Change, Change | None]]:
    """Yield each state of a row with the change that ended it; None for a state that lasts."""
    last: dict[int, Change] = {}
    for change in changes:
        if (former := last.pop(change.id, None)) and former.values:
            yield former, change
        last[change.id] = change
    yield from ((change, None) for change in last.values() if change.values)


def fivetran_history(random: Random, changes: list[Change]) -> Iterator[Row]:
    """Fivetran's HISTORY mode: a row for each state, of which `_fivetran_active` is the present one."""
    for state, end in periods(changes):
        until = time(_START + end.place / 1000) if end else "9999-12-31T23:59:59.999000+00:00"
        yield {
            **state.row, "_fivetran_start": time(_START + state.place / 1000), "_fivetran_end": until,
            "_fivetran_active": end is None, "_fivetran_synced": time(_START + random.randint(0, 9)),
        }  # fmt: skip


def scd2(random: Random, changes: list[Change]) -> Iterator[Row]:
    """dlt's slowly changing dimension: `_dlt_valid_to` is NULL in the present row."""
    for state, end in periods(changes):
        until = time(_START + end.place / 1000) if end else None
        start = time(_START + state.place / 1000)
        yield {**state.row, "_dlt_valid_from": start, "_dlt_valid_to": until, "_dlt_id": f"{random.random()}"}


def dlt_append(random: Random, changes: list[Change]) -> Iterator[Row]:
    """dlt appends what a source yields in a load, here each row that has changed since the last one, once."""
    for number in range(0, len(changes), _BATCH):
        last = {change.id: change for change in changes[number : number + _BATCH]}
        for change in random.sample(list(last.values()), len(last)):
            yield {**change.row, "_dlt_id": f"{change.place}", "_dlt_load_id": f"{_START + number}.{random.randint(1, 9)}"}


def stitch(random: Random, changes: list[Change]) -> Iterator[Row]:
    """Stitch appends; a full replication raises `_sdc_table_version`, and lower versions count no more."""
    for number, (batch, change) in enumerate(delivered(random, changes)):
        yield {
            **change.row, "_sdc_sequence": change.place, "_sdc_batched_at": time(_START + batch), "_sdc_table_version": 2,
            "_sdc_deleted_at": time(_START) if change.op == "d" else None,
        }  # fmt: skip
        if number % 50 == 0:  # of the former version, with a sequence that is greater than all
            stale = {**change.row, "id": number, "_sdc_sequence": 10**15, "_sdc_batched_at": time(_START)}
            yield {**stale, "_sdc_table_version": 1, "_sdc_deleted_at": None}


def soft_deleting(synced: str, deleted: str) -> Writer:
    """A table that its tool keeps current, in which rows that are gone stay with a mark."""

    def write(random: Random, changes: list[Change]) -> Iterator[Row]:
        last = {change.id: change for change in changes}
        for change in random.sample(list(last.values()), len(last)):
            values = change.values or change.before or (None, None)
            row = {"id": change.id, "name": values[0], "amount": values[1]}
            yield {**row, synced: time(_START), deleted: change.op == "d"}

    return write


_AIRBYTE = {"_airbyte_raw_id": "STRING", "_airbyte_extracted_at": "TIMESTAMP", "_airbyte_generation_id": "INT64"}
_CDC = {**_AIRBYTE, "_ab_cdc_deleted_at": "STRING"}
_ROW = "STRUCT<id INT64, name STRING, amount INT64>"
_DATAFLOW = {"_metadata_timestamp": "TIMESTAMP", "_metadata_deleted": "BOOL", "_metadata_change_type": "STRING"}
_STITCH = {
    "_sdc_sequence": "INT64", "_sdc_batched_at": "TIMESTAMP", "_sdc_table_version": "INT64", "_sdc_deleted_at": "TIMESTAMP",
}  # fmt: skip
_PERIOD = {"_fivetran_start": "TIMESTAMP", "_fivetran_end": "TIMESTAMP", "_fivetran_active": "BOOL"}
_SCD2 = {"_dlt_valid_from": "TIMESTAMP", "_dlt_valid_to": "TIMESTAMP", "_dlt_id": "STRING"}


def _envelope(fields: str, source: Callable[[Change], Row], changes: int = 10_000) -> Form:
    columns = {"before": _ROW, "after": _ROW, "op": "STRING", "ts_ms": "INT64", "source": f"STRUCT<{fields}>"}
    return Form(columns, debezium(source), source={}, changes=changes)


def _log(columns: Mapping[str, str], position: Callable[[Change], Row]) -> Form:
    return Form({**_DATAFLOW, **columns}, dataflow(position), table="orders_log")


FORMS: Mapping[str, Form] = {
    "Airbyte, MySQL": Form(
        {**_CDC, "_ab_cdc_log_file": "STRING", "_ab_cdc_log_pos": "INT64"},
        airbyte(lambda c: {f"_ab_cdc_log_{name}": value for name, value in file_and_offset(c).items()}),
    ),
    "Airbyte, PostgreSQL": Form({**_CDC, "_ab_cdc_lsn": "NUMERIC"}, airbyte(lambda c: {"_ab_cdc_lsn": c.place})),
    "Airbyte, SQL Server": Form(
        {**_CDC, "_ab_cdc_lsn": "STRING", "_ab_cdc_event_serial_no": "STRING"},
        airbyte(lambda c: {"_ab_cdc_lsn": lsn_sections(c), "_ab_cdc_event_serial_no": "1"}),
    ),
    "Airbyte, cursor": Form(_AIRBYTE, airbyte_cursor, deletes=False),
    "Dataflow, MySQL": _log(
        {"_metadata_log_file": "STRING", "_metadata_log_position": "INT64"},
        lambda c: {"_metadata_log_file": file_and_offset(c)["file"], "_metadata_log_position": file_and_offset(c)["pos"]},
    ),
    "Dataflow, PostgreSQL": _log({"_metadata_lsn": "STRING"}, lambda c: {"_metadata_lsn": lsn_text(c)}),
    "Dataflow, Oracle": _log(
        {"_metadata_scn": "INT64", "_metadata_rs_id": "STRING", "_metadata_ssn": "INT64"},
        lambda c: {"_metadata_scn": c.place // 3, "_metadata_rs_id": " 0x0003.1.0", "_metadata_ssn": c.place % 3},
    ),
    "Debezium, MySQL": _envelope("file STRING, pos INT64", file_and_offset),
    "Debezium, PostgreSQL": _envelope("lsn INT64", lambda c: {"lsn": c.place}),
    "Debezium, SQL Server": _envelope(
        "change_lsn STRING, commit_lsn STRING", lambda c: {"change_lsn": lsn_sections(c), "commit_lsn": lsn_sections(c)},
        changes=2_000,
    ),
    "Debezium, Oracle": _envelope("scn STRING", lambda c: {"scn": str(c.place)}, changes=2_000),
    "Debezium, flattened": Form({"__op": "STRING", "__deleted": "STRING", "__source_lsn": "INT64"}, flattened),
    "Fivetran, HISTORY": Form({**_PERIOD, "_fivetran_synced": "TIMESTAMP"}, fivetran_history),
    "Fivetran, SOFT_DELETE": Form(
        {"_fivetran_synced": "TIMESTAMP", "_fivetran_deleted": "BOOL"},
        soft_deleting("_fivetran_synced", "_fivetran_deleted"),
    ),
    "PeerDB": Form(
        {"_PEERDB_SYNCED_AT": "TIMESTAMP", "_PEERDB_IS_DELETED": "BOOL"},
        soft_deleting("_PEERDB_SYNCED_AT", "_PEERDB_IS_DELETED"),
    ),
    "Stitch": Form(_STITCH, stitch),
    "dlt, append": Form({"_dlt_id": "STRING", "_dlt_load_id": "STRING"}, dlt_append, deletes=False),
    "dlt, scd2": Form(_SCD2, scd2),
}  # fmt: skip
