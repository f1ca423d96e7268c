"""The schemas and the events of the demo of events: clicks on ads of a shop."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from onefold.events.registry.json_schema import JsonSchema, parse_schema

VENDOR, CLICK, PAGE = "com.acme", "ad_click", "page"
BASE = "com_acme_ad_click"
CLICKS: Mapping[str, Any] = {
    "ad": {"type": "string", "maxLength": 20},
    "clicks": {"type": "integer"},
    "tags": {"type": "array", "items": {"type": "string"}},
}
CAMPAIGN: Mapping[str, Any] = {"campaign": {"type": "string"}}
AS_TEXT: Mapping[str, Any] = {"clicks": {"type": "string"}}
_ENVELOPE = "iglu:com.snowplowanalytics.snowplow"


def schema(name: str, version: str, properties: Mapping[str, Any], required: Sequence[str] = ()) -> JsonSchema:
    """Return a schema that allows these properties and no others.

    Args:
        name: its name.
        version: its version.
        properties: its properties.
        required: the names of those that are required.
    """
    own = {"vendor": VENDOR, "name": name, "format": "jsonschema", "version": version}
    content = {"self": own, "type": "object", "properties": dict(properties), "additionalProperties": False}
    return parse_schema({**content, "required": list(required)} if required else content)


def click(version: str, properties: Mapping[str, Any]) -> JsonSchema:
    """Return a version of the schema of clicks."""
    return schema(CLICK, version, properties, ["ad"])


def page(version: str = "1-0-0") -> JsonSchema:
    """Return the schema of the page on which something happens."""
    return schema(PAGE, version, {"path": {"type": "string"}})


def event(number: int, version: str, data: Mapping[str, Any], path: str | None = None) -> str:
    """Return an enriched event with a click as one line of JSON.

    Args:
        number: the number of the event, from which its id and its time follow.
        version: the version of the schema of the click.
        data: the click.
        path: the page of the event; None for none.
    """
    found: dict[str, Any] = {
        "app_id": "shop",
        "event_id": f"00000000-0000-4000-8000-{number:012}",
        "collector_tstamp": f"2026-11-23T08:{number:02}:00Z",
        "unstruct_event": _described("unstruct_event", _entity(CLICK, version, data)),
    }
    if path is not None:
        found["contexts"] = _described("contexts", [_entity(PAGE, "1-0-0", {"path": path})])
    return json.dumps(found)


def _entity(name: str, version: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema": f"iglu:{VENDOR}/{name}/jsonschema/{version}", "data": dict(data)}


def _described(name: str, data: Any) -> dict[str, Any]:
    return {"schema": f"{_ENVELOPE}/{name}/jsonschema/1-0-0", "data": data}
