"""BigQuery's schemas: their types as text, and what people put on columns, which a change of a view's query drops."""

from __future__ import annotations

import json
from collections.abc import Iterable

from google.cloud.bigquery import SchemaField

from onefold.names import fold_case, quote
from onefold.view import MAX_TEXT

# Only a second call can put back what a change of a view's query drops. Between the two the view's text holds it in a last
# line, and a label says so: whoever reads the view next can finish the write.
UNFINISHED = "onefold_unfinished"
_NOTES = "\n-- onefold keeps: "


def type_string(field: SchemaField) -> str:
    """A field of a schema as the type string that INFORMATION_SCHEMA would give."""
    if field.field_type in ("RECORD", "STRUCT"):
        inner = ", ".join(f"{quote(part.name)} {type_string(part)}" for part in field.fields)
        type_ = f"STRUCT<{inner}>"
    elif field.field_type == "RANGE":
        type_ = f"RANGE<{field.range_element_type.element_type}>"
    else:
        type_ = field.field_type
    return f"ARRAY<{type_}>" if field.mode == "REPEATED" else type_


def is_annotated(field: SchemaField) -> bool:
    tags = field.policy_tags.names if field.policy_tags else ()
    return bool(field.description or tags) or any(is_annotated(part) for part in field.fields)


def with_annotations(schema: Iterable[SchemaField], annotated: Iterable[SchemaField]) -> list[SchemaField]:
    """The schema with what people had put on columns of the same name, nested ones too."""
    known = {fold_case(field.name): field for field in annotated}
    result = []
    for field in schema:
        old = known.get(fold_case(field.name))
        resource = field.to_api_repr()
        if old:
            kept = {key: value for key, value in old.to_api_repr().items() if key in ("description", "policyTags") and value}
            resource = {**resource, **kept}
            if field.fields:
                resource["fields"] = [part.to_api_repr() for part in with_annotations(field.fields, old.fields)]
        result.append(SchemaField.from_api_repr(resource))
    return result


def with_notes(query: str, noted: Iterable[SchemaField]) -> str:
    """Where there is no room for them, a write that breaks off loses them: a text that fits comes first."""
    text = f"{query}{_NOTES}{json.dumps([field.to_api_repr() for field in noted])}"
    return text if len(text) <= MAX_TEXT else query


def split_notes(text: str) -> tuple[str, list[SchemaField]]:
    """A view's text without the notes, and the notes. With anything behind them, people changed it: then all is text."""
    query, _, notes = text.partition(_NOTES)
    try:
        return query, [SchemaField.from_api_repr(resource) for resource in json.loads(notes or "[]")]
    except (ValueError, TypeError, KeyError, AttributeError):
        return text, []
