"""Views of BigQuery, with the descriptions and policy tags that people put on their columns."""

from __future__ import annotations

from google.api_core import exceptions as api
from google.cloud import bigquery

from onefold.adapters.bigquery.annotations import (
    UNANNOUNCED,
    UNFINISHED,
    gone_fields,
    noted_fields,
    notes_size,
    split_notes,
    tagged_columns,
    with_annotations,
    with_notes,
)
from onefold.adapters.bigquery.errors import missing_on_write, translated
from onefold.adapters.bigquery.policy_tags import BigQueryPolicyTags, table_with_etag, text_with_notes
from onefold.adapters.bigquery.schema import view_columns
from onefold.core.names import TableId
from onefold.ports.warehouse import StoredView, ViewDraft, ViewExists

_WITH_QUERY = ["view_query", "description", "labels"]
"""What is written with a change of the query."""


class BigQueryViews(BigQueryPolicyTags):
    """The views of a project."""

    def list_views(self, dataset: str) -> tuple[str, ...]:
        return tuple(item.table_id for item in self._list(dataset) if item.table_type == "VIEW")

    def get_view(self, id_: TableId) -> StoredView | None:
        table = self._get(id_)
        return self._stored(id_, table) if table else None

    def create_view(self, id_: TableId, draft: ViewDraft) -> None:
        table = bigquery.Table(str(id_))
        _fill(table, draft)
        with translated(str(id_), not_found=missing_on_write):
            try:
                self._call(self._client.create_table, table)
            except api.Conflict as error:
                raise ViewExists(f"{id_} was created by somebody else") from error

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        checked = stored if stored.tags_checked else self.check_tags(stored, draft)
        with translated(str(stored.id), not_found=missing_on_write):
            if draft.query == stored.query:
                self._update_around_query(checked, draft)
            else:
                self._update_query(checked, draft)

    def delete_view(self, id_: TableId) -> None:
        with translated(str(id_)):
            self._call(self._client.delete_table, str(id_), not_found_ok=True)

    def _update_around_query(self, stored: StoredView, draft: ViewDraft) -> None:
        """Write description and labels, and the schema where an earlier write broke off before the schema was written."""
        table = _table_to_update(stored, draft)
        if not stored.unfinished:
            self._call(self._client.update_table, table, ["description", "labels"])
            return
        table.schema = list(stored.schema)
        noted = noted_fields(stored.schema, ())
        with self._tags_denied(stored, noted):
            self._call(self._client.update_table, table, ["description", "labels", "schema"])

    def _update_query(self, stored: StoredView, draft: ViewDraft) -> None:
        """Write the query, then put back what that drops from the columns.

        Between the two requests the text and a label hold what has to be put back, so that any later write can do so where
        this process dies.
        """
        table = _table_to_update(stored, draft)
        noted = noted_fields(stored.schema, stored.gone)
        table.view_query = text_with_notes(stored.id, draft.query, noted, draft.unannounced)
        if noted:
            table.labels = {**table.labels, UNFINISHED: "yes"}
        written = self._write_with_tags(stored, draft, table) or self._call(self._client.update_table, table, _WITH_QUERY)
        if noted:
            written.schema = with_annotations(written.schema, noted)
            written.labels = {UNFINISHED: None}
            self._call(self._client.update_table, written, ["schema", "labels"])

    def _write_with_tags(self, stored: StoredView, draft: ViewDraft, table: bigquery.Table) -> bigquery.Table | None:
        """Write the query together with the columns and their policy tags, so that the tags are never absent.

        BigQuery has refused that, or has taken the query and dropped the tags; its team announced in January 2025 to support
        it (https://github.com/hashicorp/terraform-provider-google/issues/16647). So the answer decides what is put back.

        Returns:
            The view; None where BigQuery refuses, or where nothing was sent: there are no tags, or the columns change.
        """
        noted = noted_fields(stored.schema, ())
        if not tagged_columns(noted) or draft.columns != stored.columns:
            return None
        table.schema = list(stored.schema)
        try:
            with self._tags_denied(stored, noted):
                written: bigquery.Table = self._call(self._client.update_table, table, [*_WITH_QUERY, "schema"])
        except api.BadRequest:
            return None
        return written

    def _stored(self, id_: TableId, table: bigquery.Table) -> StoredView:
        labels = {key: value for key, value in table.labels.items() if key not in (UNFINISHED, UNANNOUNCED)}
        is_view = table.table_type == "VIEW"
        query, notes, unannounced = split_notes(table.view_query or "")
        unfinished = UNFINISHED in table.labels
        schema = with_annotations(table.schema, notes) if unfinished else table.schema
        gone = gone_fields(table.schema, notes)
        if UNANNOUNCED not in table.labels:
            unannounced = ()  # published since: the text is not written again for that
        return StoredView(
            id=id_,
            is_view=is_view,
            query=query,
            columns=view_columns(schema) if is_view else (),
            description=table.description or "",
            descriptions={column.name: column.description for column in schema if column.description},
            labels=labels,
            etag=table.etag,
            unfinished=unfinished,
            schema=tuple(schema),
            gone=gone,
            reserved=notes_size(noted_fields(schema, gone)),
            unannounced=unannounced or (("{}",) if UNANNOUNCED in table.labels else ()),
        )


def _table_to_update(stored: StoredView, draft: ViewDraft) -> bigquery.Table:
    table = table_with_etag(stored)
    _fill(table, draft)
    former = [*stored.labels, *([UNFINISHED] if stored.unfinished else []), *([UNANNOUNCED] if stored.unannounced else [])]
    table.labels = {**dict.fromkeys(former), **table.labels}  # a label that is set to None is removed
    return table


def _fill(table: bigquery.Table, draft: ViewDraft) -> None:
    table.view_query = with_notes(draft.query, (), draft.unannounced) or draft.query
    table.description = draft.description or None
    unannounced = {UNANNOUNCED: str(len(draft.unannounced))} if draft.unannounced else {}
    table.labels = {**draft.labels, **unannounced}
