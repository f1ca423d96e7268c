"""Schemas, events and plans for tests of the shredder."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime
from typing import Any

from support.shred_events import parsed, registry_of
from support.shred_oracle import csv_cells

from onefold.core.shred_options import FileFormat, InputForm
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.shred.event_fields import EVENT_FIELDS
from onefold.events.shred.plan import ShredPlan, plan_shred
from onefold.events.shred.shredder import Shredded, Shredder

START = datetime(2026, 11, 23, 8, tzinfo=UTC)
ID = "c6ef3124-b53a-4b13-a233-0088f79dcbcb"
TEXT, INTEGER = {"type": "string"}, {"type": "integer"}
CLICK = parsed({"type": "object", "properties": {"id": INTEGER, "label": TEXT}, "required": ["id"]})
LATER = parsed({"type": "object", "properties": {"id": INTEGER, "label": TEXT, "extra": TEXT}}, "1-0-1")
PAGE = parsed({"type": "object", "properties": {"url": TEXT}}, name="page")


def plan(*schemas: JsonSchema, format_: FileFormat = "csv", form: InputForm = "self-describing") -> ShredPlan:
    made: ShredPlan = pickle.loads(pickle.dumps(plan_shred(registry_of(*schemas), format_, form, START)))
    return made


def entity(schema: JsonSchema, **data: Any) -> dict[str, Any]:
    return {"schema": schema.key.uri, "data": data}


def shred(made: ShredPlan, record: Any) -> Shredded:
    return Shredder(made).shred(record if isinstance(record, str) else json.dumps(record))


def cells(made: ShredPlan, found: Shredded, number: int = 0) -> dict[str, Any]:
    place, row = found.rows[number]
    values = csv_cells(row) if isinstance(row, str) else row
    return dict(zip([name for name, _ in made.tables[place].columns], values, strict=True))


def enriched(form: InputForm, **fields: Any) -> str:
    """Return an enriched event; values of JSON are texts in the tab separated form."""
    fields = {"event_id": ID, "collector_tstamp": "2026-11-23 08:00:00.123"} | fields
    if form == "enriched-json":
        return json.dumps(fields)
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
    return "\t".join(texts.get(name, "") for name, _ in EVENT_FIELDS)


def contexts(*entities: Any) -> dict[str, Any]:
    return {"schema": "iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-1", "data": list(entities)}


def unstruct(inner: Any) -> dict[str, Any]:
    return {"schema": "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0", "data": inner}
