"""Tables of each tool, with the columns that its documentation lists, and how each has to be recognised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from support.wide_events import EVENT, WIDE

from onefold.existing.table import Confidence, ExistingTable, Rows, TableNote
from onefold.schema.columns import Column, Schema
from onefold.schema.types import parse_type

SOURCE = {"id": "INT64", "name": "STRING"}
"""The columns of the source."""
APPEND_METADATA = (
    "STRUCT<uuid STRING, source_timestamp INT64, change_sequence_number STRING, change_type STRING, sort_keys ARRAY<STRING>>"
)
_AIRBYTE = {
    "_airbyte_raw_id": "STRING", "_airbyte_extracted_at": "TIMESTAMP", "_airbyte_meta": "JSON",
    "_airbyte_generation_id": "INT64",
}  # fmt: skip
_CDC = {"_ab_cdc_updated_at": "STRING", "_ab_cdc_deleted_at": "STRING"}
_DATAFLOW = {
    "_metadata_timestamp": "TIMESTAMP", "_metadata_read_timestamp": "TIMESTAMP", "_metadata_deleted": "BOOL",
    "_metadata_change_type": "STRING",
}  # fmt: skip
_STITCH = {
    "_sdc_sequence": "INT64", "_sdc_batched_at": "TIMESTAMP", "_sdc_received_at": "TIMESTAMP", "_sdc_table_version": "INT64",
}  # fmt: skip
_ENVELOPE = {
    "before": "STRUCT<id INT64, name STRING>", "after": "STRUCT<id INT64, name STRING>", "op": "STRING", "ts_ms": "INT64",
    "source": "STRUCT<version STRING, db STRING, ts_ms INT64, lsn INT64>",
}  # fmt: skip


@dataclass(frozen=True)
class Documented:
    """A table as a tool's documentation describes it."""

    tool: str
    form: str
    rows: Rows
    added: Mapping[str, str]
    confidence: Confidence = "certain"
    key: tuple[str, ...] = ("id",)
    order: tuple[str, ...] = ()
    deleted: bool = False
    landed: bool = False
    name: str = "orders"
    source: Mapping[str, str] = field(default_factory=lambda: SOURCE)
    declared: tuple[str, ...] = ("id",)
    partition: str = ""
    clustering: tuple[str, ...] = ()
    siblings: frozenset[str] = frozenset()
    notes: Mapping[str, TableNote] = field(default_factory=dict)

    def table(self, noise: Mapping[str, str] | None = None) -> ExistingTable:
        """The table, with more columns of the source."""
        columns = {**self.source, **(noise or {}), **self.added}
        return ExistingTable(
            self.name, schema(columns), self.declared, self.partition, self.clustering,
            self.siblings | {self.name}, self.notes,
        )  # fmt: skip


def schema(columns: Mapping[str, str]) -> Schema:
    return Schema(Column(name, parse_type(type_)) for name, type_ in columns.items())


DOCUMENTED = (
    Documented("Datastream", "append-only", "history", {"datastream_metadata": APPEND_METADATA}, deleted=True),
    Documented(
        "Datastream",
        "append-only",
        "history",
        {"datastream_metadata": APPEND_METADATA},
        deleted=True,
        landed=True,
        partition="_PARTITIONTIME",
    ),
    Documented("Datastream", "merge", "current", {"datastream_metadata": "STRUCT<uuid STRING, source_timestamp INT64>"}),
    Documented(
        "Datastream",
        "merge, without a key",
        "history",
        key=(),
        declared=(),
        deleted=True,
        added={"datastream_metadata": "STRUCT<uuid STRING, source_timestamp INT64, is_deleted BOOL>"},
    ),
    Documented(
        "Dataflow template",
        "staging",
        "history",
        {**_DATAFLOW, "_metadata_log_file": "STRING", "_metadata_log_position": "INT64"},
        name="orders_log",
        siblings=frozenset({"orders"}),
        deleted=True,
        landed=True,
    ),
    Documented(
        "Dataflow template",
        "replica",
        "current",
        _DATAFLOW,
        siblings=frozenset({"orders_log"}),
        deleted=True,
        landed=True,
    ),
    Documented(
        "Airbyte",
        "append",
        "history",
        {**_AIRBYTE, **_CDC, "_ab_cdc_lsn": "NUMERIC"},
        "likely",
        declared=(),
        key=(),
        clustering=("_airbyte_extracted_at",),
        order=("_airbyte_generation_id", "_ab_cdc_lsn", "_airbyte_extracted_at"),
        deleted=True,
        landed=True,
    ),
    Documented(
        "Airbyte",
        "deduplicated",
        "current",
        _AIRBYTE,
        "likely",
        declared=(),
        landed=True,
        clustering=("id", "_airbyte_extracted_at"),
    ),
    Documented(
        "Airbyte",
        "append",
        "history",
        {**_AIRBYTE, **_CDC, "_ab_cdc_log_file": "STRING", "_ab_cdc_log_pos": "INT64"},
        "guess",
        deleted=True,
        landed=True,
    ),
    Documented("Fivetran", "LIVE", "current", {"_fivetran_synced": "TIMESTAMP"}, "likely", landed=True),
    Documented(
        "Fivetran",
        "SOFT_DELETE",
        "current",
        {"_fivetran_synced": "TIMESTAMP", "_fivetran_deleted": "BOOL"},
        deleted=True,
        landed=True,
    ),
    Documented(
        "Fivetran",
        "SOFT_DELETE",
        "current",
        deleted=True,
        landed=True,
        declared=(),
        key=("_fivetran_id",),
        added={
            "_fivetran_synced": "TIMESTAMP",
            "_fivetran_deleted": "BOOL",
            "_fivetran_id": "STRING",
            "_fivetran_index": "INT64",
        },
    ),
    Documented(
        "Fivetran",
        "HISTORY",
        "history",
        order=("_fivetran_start",),
        landed=True,
        declared=("id", "_fivetran_start"),
        added={
            "_fivetran_synced": "TIMESTAMP",
            "_fivetran_start": "TIMESTAMP",
            "_fivetran_end": "TIMESTAMP",
            "_fivetran_active": "BOOL",
        },
    ),
    Documented(
        "dlt",
        "append or merge",
        "history",
        {"_dlt_id": "STRING", "_dlt_load_id": "STRING"},
        "guess",
        landed=True,
        order=("_dlt_load_id",),
    ),
    Documented(
        "dlt",
        "append",
        "history",
        {"_dlt_id": "STRING", "_dlt_load_id": "STRING"},
        landed=True,
        order=("_dlt_load_id",),
        declared=(),
        notes={"_dlt_version": TableNote(("id",), "history")},
    ),
    Documented(
        "dlt",
        "merge or replace",
        "current",
        {"_dlt_id": "STRING", "_dlt_load_id": "STRING"},
        landed=True,
        declared=(),
        notes={"_dlt_version": TableNote(("id",), "current")},
    ),
    Documented(
        "dlt",
        "scd2",
        "history",
        order=("_dlt_valid_from",),
        landed=True,
        added={
            "_dlt_valid_from": "TIMESTAMP",
            "_dlt_valid_to": "TIMESTAMP",
            "_dlt_id": "STRING",
            "_dlt_load_id": "STRING",
        },
    ),
    Documented(
        "dlt",
        "list",
        "current",
        {"_dlt_id": "STRING", "_dlt_parent_id": "STRING", "_dlt_list_idx": "INT64"},
        key=("_dlt_id",),
        name="orders__items",
    ),
    Documented("Debezium", "envelope", "history", _ENVELOPE, source={}, deleted=True),
    Documented(
        "Debezium",
        "flattened",
        "history",
        {"__op": "STRING", "__deleted": "STRING", "__source_lsn": "INT64"},
        "likely",
        order=("__source_lsn",),
        deleted=True,
    ),
    Documented(
        "Debezium",
        "flattened, upsert",
        "current",
        {"__op": "STRING", "__deleted": "STRING"},
        "likely",
        deleted=True,
        siblings=frozenset({"orders_tmp_0_2f1c8e6a_0b7d_4c55_9a3e_7d1f0c9b8a64_1764115200000"}),
    ),
    Documented(
        "PeerDB",
        "soft deletion",
        "current",
        {"_PEERDB_SYNCED_AT": "TIMESTAMP", "_PEERDB_IS_DELETED": "BOOL"},
        deleted=True,
        landed=True,
    ),
    Documented("PeerDB", "mirror", "current", {"_PEERDB_SYNCED_AT": "TIMESTAMP"}, "likely", landed=True),
    Documented("Snowplow", "wide columns", "current", WIDE, key=("event_id",), landed=True, source=EVENT, declared=()),
    Documented(
        "Stitch",
        "append or upsert",
        "history",
        {**_STITCH, "_sdc_deleted_at": "STRING"},
        "guess",
        declared=(),
        deleted=True,
        landed=True,
        order=("_sdc_sequence", "_sdc_batched_at"),
        notes={"_sdc_primary_keys": TableNote(("id",))},
    ),
    Documented("plain", "current", "current", {}, "guess"),
    Documented(
        "plain",
        "history by hand",
        "history",
        {"updated_at": "TIMESTAMP"},
        "guess",
        key=(),
        declared=(),
        order=("updated_at",),
    ),
)
