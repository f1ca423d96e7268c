"""Proof, before a view is written, that its policy tags can be put back: a change of its query drops them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from google.api_core import exceptions as api
from google.cloud import bigquery

from onefold.adapters.bigquery.annotations import (
    Resource,
    carried_tags,
    noted_fields,
    tag_conflicts,
    tagged_columns,
    tags_only,
    with_annotations,
    with_notes,
)
from onefold.adapters.bigquery.client import BigQueryClient
from onefold.adapters.bigquery.errors import is_quota, message_of, missing_on_write, translated
from onefold.core.errors import LimitExceeded, PolicyTagsDenied, SchemaConflict
from onefold.core.names import TableId, leaf_name
from onefold.core.text import shown_list
from onefold.ports.warehouse import StoredView, ViewDraft

SET_TAGS = "bigquery.tables.setCategory"
GET_TAXONOMY = "datacatalog.taxonomies.get"
"""The two rights that it takes to put a policy tag on a column: on the table, and on the tag's taxonomy."""


class BigQueryPolicyTags(BigQueryClient):
    """Checks and writes of the policy tags on a view's columns."""

    def check_tags(self, stored: StoredView, draft: ViewDraft) -> StoredView:
        noted = noted_fields(stored.schema, stored.gone)
        checked = replace(stored, tags_checked=True)
        if draft.query == stored.query:
            return checked
        _check_draft(stored.id, noted, draft)
        if not (tags := carried_tags(draft.columns, noted)):
            return checked
        with translated(str(stored.id), not_found=missing_on_write):
            allowed = self._call(self._client.test_iam_permissions, str(stored.id), [SET_TAGS])
            if SET_TAGS not in allowed.get("permissions", ()):
                raise self._denied(stored, noted, f"it lacks {SET_TAGS}")
            return replace(checked, etag=self._prove_tags(stored, noted, tags))

    def copy_tags(self, stored: StoredView, leaf: TableId) -> None:
        noted = tags_only(noted_fields(stored.schema, stored.gone))
        if not noted:
            return
        with translated(str(leaf), not_found=missing_on_write):
            table = self._call(self._client.get_table, str(leaf))
            schema = with_annotations(table.schema, noted)
            if schema != table.schema:
                table.schema = schema
                with self._tags_denied(stored, noted):
                    self._call(self._client.update_table, table, ["schema"])

    def _prove_tags(self, stored: StoredView, noted: Sequence[Resource], tags: set[str]) -> str | None:
        """Write the columns as they are, tags included, and return the view's new etag.

        The write takes the rights on the tags' taxonomies, and changes nothing. The answer of `tables.testIamPermissions` is
        no proof: it knows nothing of taxonomies, and may "fail open". Tags that come back have no column yet, so a scratch
        view carries them.
        """
        present = carried_tags(None, noted_fields(stored.schema, ()))
        with self._tags_denied(stored, noted):
            if returning := sorted(tags - present):
                self._prove_on_scratch_view(stored.id, returning)
            if not present:
                return stored.etag
            table = table_with_etag(stored)
            table.schema = list(stored.schema)
            etag: str | None = self._call(self._client.update_table, table, ["schema"]).etag
            return etag

    def _prove_on_scratch_view(self, view: TableId, tags: Sequence[str]) -> None:
        """Put the tags on the columns of a view that reads no table, and delete the view.

        Its name is that of a leaf view, which the account may delete, and a digest of the tags: the next delivery uses and
        deletes a scratch view that a process has left behind when it died.
        """
        id_ = view.sibling(leaf_name(view, "\n".join(["scratch", *tags])))
        table = bigquery.Table(str(id_))
        table.view_query = "SELECT " + ", ".join(f"CAST(NULL AS STRING) AS c{number}" for number in range(len(tags)))
        with contextlib.suppress(api.Conflict):
            self._call(self._client.create_table, table)
        try:
            table = bigquery.Table(str(id_))
            table.schema = [
                bigquery.SchemaField(f"c{number}", "STRING", policy_tags=bigquery.PolicyTagList([tag]))
                for number, tag in enumerate(tags)
            ]
            self._call(self._client.update_table, table, ["schema"])
        finally:
            self._call(self._client.delete_table, str(id_), not_found_ok=True)

    @contextlib.contextmanager
    def _tags_denied(self, stored: StoredView, noted: Sequence[Resource]) -> Iterator[None]:
        """Tell what to grant where a write of columns with policy tags is denied.

        Raises:
            PolicyTagsDenied: the write is denied, as any later one would be.
            Forbidden: the refusal is about a quota, or there are no policy tags.
        """
        try:
            yield
        except api.Forbidden as error:
            if not tagged_columns(noted) or is_quota(error):
                raise
            raise self._denied(stored, noted, f"BigQuery answers: {message_of(error)}") from error

    def _denied(self, stored: StoredView, noted: Sequence[Resource], reason: str) -> PolicyTagsDenied:
        view, columns = stored.id, tagged_columns(noted)
        state = "Until then, people read these columns without them." if stored.unfinished else "Nothing was written."
        taxonomies = sorted({tag.partition("/policyTags/")[0] for tags in columns.values() for tag in tags})
        account = getattr(self._client._credentials, "service_account_email", None) or "the account of this process"
        return PolicyTagsDenied(
            f"{view}: {account} may not set the policy tags of the columns {shown_list(columns)}, which a change of the "
            f"view drops ({reason}). {state} Grant it {SET_TAGS} on the dataset {view.project}.{view.dataset} (Terraform: "
            f"restore_policy_tags = true) and {GET_TAXONOMY} on {shown_list(taxonomies)}, then send the message again"
        )


def table_with_etag(stored: StoredView) -> bigquery.Table:
    """Return a view for an update that is refused where somebody else wrote the view since it was read.

    Google's client sends If-Match with the etag of the object that it is given.
    """
    reference = {"projectId": stored.id.project, "datasetId": stored.id.dataset, "tableId": stored.id.table}
    return bigquery.Table.from_api_repr({"tableReference": reference, "etag": stored.etag})


def text_with_notes(view: TableId, query: str, noted: Sequence[Resource], unannounced: Sequence[str]) -> str:
    """Return the text of a view: its query, and the notes of what has to be put back.

    Args:
        view: the view, for the error.
        query: the query.
        noted: the fields with descriptions or policy tags, which the write drops.
        unannounced: the announcements that were not published yet.

    Raises:
        LimitExceeded: there is no room for the notes of policy tags.
    """
    text = with_notes(query, noted, unannounced)
    if text is None:
        raise LimitExceeded(
            f"{view}: its text leaves no room for the policy tags of the columns {shown_list(tagged_columns(noted))}, which "
            "have to be noted in it while it is written, or as long as they are not in the view: set `retire` for old "
            "versions in onefold.yaml"
        )
    return text


def _check_draft(view: TableId, noted: Sequence[Resource], draft: ViewDraft) -> None:
    """Check without a request that the new columns, and the text until they are written, can carry the policy tags.

    Raises:
        SchemaConflict: columns would have to carry several policy tags.
        LimitExceeded: the text has no room for them.
    """
    if conflicts := tag_conflicts(draft.columns or (), noted):
        raise SchemaConflict([f"{view}: {conflict}" for conflict in conflicts])
    text_with_notes(view, draft.query, noted, ())
