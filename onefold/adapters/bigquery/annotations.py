"""What people put on columns, descriptions and policy tags, which a change of a view's query drops."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from google.cloud.bigquery import SchemaField

from onefold.core.names import fold_case
from onefold.core.text import shown_list
from onefold.schema.bigquery import MAX_TEXT
from onefold.schema.columns import Column
from onefold.schema.types import Array, Struct, Type

# Only a second request can put back what a change of a view's query drops. Between the two requests the view's text holds
# it in a last line, and a label says so: the next process that reads the view can finish the write.
UNFINISHED = "onefold_unfinished"
UNANNOUNCED = "onefold_unannounced"
"""The label with the number of announcements of schema changes that were not published yet."""
_NOTES = "\n-- onefold keeps: "
_UNANNOUNCED = "\n-- onefold has to announce: "
_GONE = "gone"
"""Marks a field of the notes that the view no longer has. It is never sent to BigQuery."""
_WHOLE = "whole"
"""The policy tags of a column before it became a STRUCT: new fields get them. The key is never sent to BigQuery."""

Resource = Mapping[str, Any]
"""A field of a schema in the JSON of the REST API."""


def tagged_columns(noted: Iterable[Resource]) -> dict[str, list[str]]:
    """Return the policy tags on and below each column that has any."""
    return {field["name"]: tags for field in noted if (tags := _tags_in(field))}


def noted_fields(schema: Iterable[SchemaField], gone: Iterable[Resource]) -> list[dict[str, Any]]:
    """Return the fields to put back after a write: those that people annotated, and former ones with policy tags.

    Args:
        schema: the view's fields as they are.
        gone: the fields with policy tags that the view had once.
    """
    return _merged([field.to_api_repr() for field in schema], gone)


def gone_fields(schema: Iterable[SchemaField], noted: Iterable[Resource]) -> tuple[dict[str, Any], ...]:
    """Return the noted columns and fields with policy tags that the schema no longer has, with nothing but their tags.

    The fields below a column that is no longer a STRUCT are left out: they are part of its value now.
    """
    return tuple(_gone([field.to_api_repr() for field in schema], noted))


def with_annotations(schema: Iterable[SchemaField], noted: Iterable[Resource]) -> list[SchemaField]:
    """Return the schema with the annotations that columns and fields of the same name had.

    A tag stays with the values that it protects: where a STRUCT has become JSON or STRING, a tag of its fields moves to the
    column; where it becomes a STRUCT again, a tag of the column moves to every field.
    """
    known = _by_name(noted)
    fields = (field.to_api_repr() for field in schema)
    return [SchemaField.from_api_repr(_annotated(field, known.get(fold_case(field["name"])))) for field in fields]


def tag_conflicts(columns: Iterable[Column], noted: Iterable[Resource]) -> list[str]:
    """Return one sentence for each column or field that would have to carry several policy tags.

    A field takes at most one (BigQuery, "REST Resource: tables", policyTags,
    https://cloud.google.com/bigquery/docs/reference/rest/v2/tables, 2025-11).
    """
    known = _by_name(noted)
    return [
        conflict
        for column in columns
        if (old := known.get(fold_case(column.name)))
        for conflict in _conflicts(column.name, column.type, old)
    ]


def carried_tags(columns: Iterable[Column] | None, noted: Iterable[Resource]) -> set[str]:
    """Return the policy tags that a view of these columns is to have after it is written; of all noted ones for None."""
    if columns is None:
        return {tag for field in noted for tag, _ in _each_tag(field, False)}
    known = _by_name(noted)
    fields = (_annotated(_as_resource(column.name, column.type), known.get(fold_case(column.name))) for column in columns)
    return {tag for field in fields for tag, _ in _each_tag(field, False)}


def _as_resource(name: str, type_: Type) -> dict[str, Any]:
    """Return the names of a column and of the fields below it, which is all that tags depend on."""
    element = type_.element if isinstance(type_, Array) else type_
    inner = [_as_resource(field.name, field.type) for field in element.fields] if isinstance(element, Struct) else []
    return {"name": name, **({"fields": inner} if inner else {})}


def with_notes(query: str, noted: Sequence[Resource], unannounced: Sequence[str] = ()) -> str | None:
    """Return the query with as many notes as there is room for; None where there is no room for the policy tags.

    Descriptions are left out first: without the note, they are lost only where a process dies between the two requests.
    Announcements are left out next: the label has their number, and the log has them in full.

    Args:
        query: the view's query, which always comes whole.
        noted: the fields to put back after the write.
        unannounced: the announcements that were not published yet, each as JSON.
    """
    tags = tags_only(noted)
    for kept, announced in ((noted, unannounced), (tags, unannounced), (noted, ()), (tags, ())):
        text = query
        text += f"{_UNANNOUNCED}{json.dumps(list(announced))}" if announced else ""
        text += f"{_NOTES}{json.dumps(list(kept))}" if kept else ""
        if len(text) <= MAX_TEXT:
            return text
    return None if tags else query


def notes_size(noted: Iterable[Resource]) -> int:
    """Return how many characters of a view's text the notes of policy tags take."""
    tags = tags_only(noted)
    return len(_NOTES) + len(json.dumps(tags)) if tags else 0


def split_notes(text: str) -> tuple[str, list[Resource], tuple[str, ...]]:
    """Return a view's query, the noted fields of its columns, and the announcements that it keeps.

    Where any text follows the notes, people have changed the view: then all of the text is the query.
    """
    head, _, notes = text.partition(_NOTES)
    query, _, announcements = head.partition(_UNANNOUNCED)
    try:
        noted, unannounced = json.loads(notes or "[]"), json.loads(announcements or "[]")
    except ValueError:
        return text, [], ()
    if not _are_fields(noted) or not isinstance(unannounced, list) or not all(isinstance(one, str) for one in unannounced):
        return text, [], ()
    return query, noted, tuple(unannounced)


def _are_fields(noted: object) -> bool:
    """Return whether parsed notes are fields of a schema, and not something that people wrote there."""
    return isinstance(noted, list) and all(_is_field(field) for field in noted)


def _is_field(field: object) -> bool:
    return isinstance(field, dict) and isinstance(field.get("name"), str) and _are_fields(field.get("fields", []))


def _by_name(fields: Iterable[Resource]) -> dict[str, Resource]:
    return {fold_case(field["name"]): field for field in fields}


def _own_tags(field: Resource) -> list[str]:
    return list((field.get("policyTags") or {}).get("names") or ())


def _tags_in(field: Resource) -> list[str]:
    """Return the distinct policy tags on and below a field; those of former fields only where there are no others."""
    found = list(_each_tag(field, False))
    return sorted({tag for tag, gone in found if not gone} or {tag for tag, _ in found})


def _each_tag(field: Resource, gone: bool) -> Iterator[tuple[str, bool]]:
    gone = gone or _GONE in field
    yield from ((tag, gone) for tag in _own_tags(field))
    yield from ((tag, True) for tag in field.get(_WHOLE, {}).get("names", ()))
    for part in field.get("fields", ()):
        yield from _each_tag(part, gone)


def _is_annotated(field: Resource) -> bool:
    return bool(field.get("description") or _own_tags(field)) or any(map(_is_annotated, field.get("fields", ())))


def tags_only(fields: Iterable[Resource], every: bool = False) -> list[dict[str, Any]]:
    """Return the fields that have policy tags, or `every` field, with nothing but their tags."""
    return [_tag_only(field, every) for field in fields if every or _tags_in(field)]


def _tag_only(field: Resource, every: bool = False) -> dict[str, Any]:
    kept = {key: field[key] for key in ("name", "type", "policyTags", _GONE, _WHOLE) if field.get(key)}
    inner = tags_only(field.get("fields", ()), every or _WHOLE in field)
    return {**kept, "fields": inner} if inner else kept


def _merged(live: Iterable[Resource], gone: Iterable[Resource], every: bool = False) -> list[dict[str, Any]]:
    """Return the annotated fields of the view, and those that it no longer has.

    Args:
        live: the fields of the view.
        gone: the fields that it no longer has.
        every: whether to return fields without annotations, too: below a former column, they would else read as new.
    """
    former = _by_name(gone)
    merged = []
    for field in live:
        note = former.pop(fold_case(field["name"]), {})
        inner = _merged(field.get("fields", ()), note.get("fields", ()), every or _WHOLE in note)
        whole = {**field, **({"fields": inner} if inner else {}), **({_WHOLE: note[_WHOLE]} if _WHOLE in note else {})}
        if every or _WHOLE in note or _is_annotated(whole):
            merged.append(whole)
    return [*merged, *(dict(field) for field in former.values())]


def _gone(live: Iterable[Resource], noted: Iterable[Resource]) -> Iterator[dict[str, Any]]:
    present = _by_name(live)
    for field in noted:
        now = present.get(fold_case(field["name"]))
        if now is None and _tags_in(field):
            yield {**_tag_only(field), _GONE: True}
        elif now and now.get("fields"):
            inner = list(_gone(now["fields"], field.get("fields", ())))
            whole = field.get(_WHOLE) or (field.get("policyTags") if _became_struct(field) else None)
            if inner or whole:
                yield {"name": field["name"], "type": "RECORD", "fields": inner, **({_WHOLE: whole} if whole else {})}


def _became_struct(noted: Resource) -> bool:
    """Return whether a noted column, which is a STRUCT now, was of another type when it was noted."""
    return not noted.get("fields") and noted.get("type") not in ("RECORD", "STRUCT") and bool(_own_tags(noted))


def _annotated(new: Resource, old: Resource | None) -> dict[str, Any]:
    if old is None:
        return dict(new)
    result = {**new, **({"description": old["description"]} if old.get("description") else {})}
    tags = _own_tags(old) if new.get("fields") else _tags_in(old)
    if new.get("fields"):
        # A tag on a value that was not a STRUCT moves to each of the fields: BigQuery takes tags there in any case.
        whole = {"policyTags": old.get("policyTags")} if not old.get("fields") else None
        inner = _by_name(old.get("fields", ()))
        result["fields"] = [
            _annotated(part, whole or _inheriting(inner.get(fold_case(part["name"])), old.get(_WHOLE)))
            for part in new["fields"]
        ]
        tags = [] if whole else tags
    # `tag_conflicts` refuses a write with several tags on one column; without it, one tag protects more than none.
    return {**result, "policyTags": {"names": tags[:1]}} if tags else result


def _inheriting(old: Resource | None, whole: Resource | None) -> Resource | None:
    """Return the note of a field of a column that became a STRUCT: a new field has the tag of the whole column."""
    if whole is None:
        return old
    if old is None:
        return {"policyTags": whole}
    return {_WHOLE: whole, **old} if old.get("fields") else old


def _conflicts(path: str, type_: Type, old: Resource) -> Iterator[str]:
    element = type_.element if isinstance(type_, Array) else type_
    if isinstance(element, Struct):
        inner = _by_name(old.get("fields", ()))
        for part in element.fields:
            if below := inner.get(fold_case(part.name)):
                yield from _conflicts(f"{path}.{part.name}", part.type, below)
    elif len(tags := _tags_in(old)) > 1:
        yield (
            f"column {path} becomes {type_}, and its fields have {len(tags)} policy tags ({shown_list(tags)}), of which "
            "it can carry one: put one and the same tag on all of its fields, or keep its type by `types` in onefold.yaml"
        )
