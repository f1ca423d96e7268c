"""Fields of a table's schema as BigQuery's REST API has them."""

from __future__ import annotations

from support.rest import Resource

from onefold.schema.types import Array, Range, Scalar, Struct, Type

_REST_NAMES = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN"}


def rest_field(name: str, type_: Type) -> Resource:
    """A field of a schema as the REST API has it."""
    match type_:
        case Array(element):
            return {**rest_field(name, element), "mode": "REPEATED"}
        case Struct(fields):
            return {
                "name": name,
                "type": "RECORD",
                "mode": "NULLABLE",
                "fields": [rest_field(part.name, part.type) for part in fields],
            }
        case Range(element):
            return {"name": name, "type": "RANGE", "mode": "NULLABLE", "rangeElementType": {"type": element.name}}
        case Scalar(scalar):
            return {"name": name, "type": _REST_NAMES.get(scalar, scalar), "mode": "NULLABLE"}


def bare(fields: list[Resource]) -> list[Resource]:
    """A schema without what people put on it."""
    kept = [{key: value for key, value in one.items() if key not in ("description", "policyTags")} for one in fields]
    return [{**one, "fields": bare(one["fields"])} if "fields" in one else one for one in kept]


def policy_tags(fields: list[Resource]) -> list[str]:
    """All policy tags of a schema, nested ones too."""
    own = [name for one in fields for name in (one.get("policyTags") or {}).get("names", ())]
    return own + [name for one in fields for name in policy_tags(one.get("fields", []))]
