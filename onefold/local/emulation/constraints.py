"""Primary keys that a table declares, which `bqemulator` takes and forgets. A label that nobody is shown keeps them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from onefold.changelog.declared_keys import KEY_TYPES, MAX_KEY_COLUMNS

if TYPE_CHECKING:
    from bqemulator.catalog.models import TableMeta

_LABEL = "onefold/primary-key"
"""No user can have a label with a slash."""
_NAMES = {"INTEGER": "INT64", "BOOLEAN": "BOOL"}


def table_meta(
    usual: Callable[..., TableMeta],
    project_id: str,
    dataset_id: str,
    body: Mapping[str, Any],
    clock: Any,
    existing: TableMeta | None = None,
) -> TableMeta:
    """A table of a request, with the key that the request declares; without any word of it the former key stays."""
    meta = usual(project_id, dataset_id, body, clock, existing)
    if "tableConstraints" in body:
        key = ((body["tableConstraints"] or {}).get("primaryKey") or {}).get("columns") or []
        _check(meta, key)
        kept = {_LABEL: json.dumps(key)} if key else {}
    else:
        kept = {name: value for name, value in (existing.labels if existing else {}).items() if name == _LABEL}
    labels = {name: value for name, value in meta.labels.items() if name != _LABEL}
    return meta.model_copy(update={"labels": {**labels, **kept}})


def table_resource(usual: Callable[[TableMeta], dict[str, Any]], meta: TableMeta) -> dict[str, Any]:
    """A table as `tables.get` shows it."""
    body = usual(meta.model_copy(update={"labels": {k: v for k, v in meta.labels.items() if k != _LABEL}}))
    if key := meta.labels.get(_LABEL):
        body["tableConstraints"] = {"primaryKey": {"columns": json.loads(key)}}
    return body


def _check(meta: TableMeta, key: list[str]) -> None:
    """Raise the server's error for what BigQuery refuses."""
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
