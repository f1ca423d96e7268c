"""Declared primary keys and labels of tables.

`bqemulator` accepts and forgets primary keys, so a hidden label stores them. It fails with 500 where a label is null, which
is how a label is removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from onefold.changelog.declared_keys import KEY_TYPES, MAX_KEY_COLUMNS

if TYPE_CHECKING:
    from bqemulator.catalog.models import TableMeta

_LABEL = "onefold/primary-key"
"""Labels of users cannot contain a slash, so there is no conflict."""
_NAMES = {"INTEGER": "INT64", "BOOLEAN": "BOOL"}


def table_meta(
    usual: Callable[..., TableMeta],
    project_id: str,
    dataset_id: str,
    body: Mapping[str, Any],
    clock: Any,
    existing: TableMeta | None = None,
) -> TableMeta:
    """Return the table of a request with its primary key, and with the labels that it has after the request.

    Args:
        usual: the function of the server.
        project_id: the project of the table.
        dataset_id: the dataset of the table.
        body: the request. If it has no `tableConstraints`, the key of the existing table stays.
        clock: the clock of the server.
        existing: the table before an update.
    """
    if "labels" in body:
        body = {**body, "labels": _patched(existing.labels if existing else {}, body["labels"] or {})}
    meta = usual(project_id, dataset_id, body, clock, existing)
    if "tableConstraints" in body:
        key = ((body["tableConstraints"] or {}).get("primaryKey") or {}).get("columns") or []
        _check(meta, key)
        stored = {_LABEL: json.dumps(key)} if key else {}
    else:
        stored = {name: value for name, value in (existing.labels if existing else {}).items() if name == _LABEL}
    labels = {name: value for name, value in meta.labels.items() if name != _LABEL}
    return meta.model_copy(update={"labels": {**labels, **stored}})


def _patched(labels: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return labels after a request: those that it does not name stay, and one that is null is removed.

    Google, "Updating labels", https://cloud.google.com/bigquery/docs/updating-labels, 2026-11.

    Examples:
        >>> _patched({"a": "1", "b": "2"}, {"b": None, "c": "3"})
        {'a': '1', 'c': '3'}
    """
    return {name: value for name, value in {**labels, **changes}.items() if value is not None}


def table_resource(usual: Callable[[TableMeta], dict[str, Any]], meta: TableMeta) -> dict[str, Any]:
    """Return a table as the answer of `tables.get`."""
    body = usual(meta.model_copy(update={"labels": {k: v for k, v in meta.labels.items() if k != _LABEL}}))
    if key := meta.labels.get(_LABEL):
        body["tableConstraints"] = {"primaryKey": {"columns": json.loads(key)}}
    return body


def list_item(usual: Callable[[TableMeta], dict[str, Any]], meta: TableMeta) -> dict[str, Any]:
    """Return a table as an item of `tables.list`, with the labels that `tables.get` returns."""
    labels = {name: value for name, value in meta.labels.items() if name != _LABEL}
    return {**usual(meta), "labels": labels} if labels else usual(meta)


def _check(meta: TableMeta, key: list[str]) -> None:
    """Check a primary key as BigQuery does.

    Raises:
        ValidationError: a column is missing or of a type that a key cannot have, or there are too many columns.
    """
    from bqemulator.domain.errors import ValidationError

    types = {
        field.name.lower(): "REPEATED" if field.mode == "REPEATED" else _NAMES.get(field.type, field.type)
        for field in meta.schema_.fields
    }
    refused = [
        f"{name} is {types.get(name.lower(), 'no column')}" for name in key if types.get(name.lower()) not in KEY_TYPES
    ]
    if len(key) > MAX_KEY_COLUMNS:
        refused.append(f"{len(key)} columns are more than {MAX_KEY_COLUMNS}")
    if refused:
        raise ValidationError(f"table {meta.table_id} cannot have this primary key: {', '.join(refused)}")
