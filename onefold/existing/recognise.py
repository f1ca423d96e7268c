"""Which tool wrote a table: the tools that Onefold knows, those that others have added, and the first that recognises it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points

from onefold.core.errors import Rejected, SchemaConflict
from onefold.core.names import fold_case
from onefold.core.text import reason_of
from onefold.existing.table import ExistingTable, Recognised, by_value
from onefold.existing.tool import Notes, Tool
from onefold.existing.tools import (
    airbyte,
    dataflow,
    datastream,
    debezium,
    dlt,
    fivetran,
    onefold,
    peerdb,
    plain,
    snowplow,
    stitch,
)
from onefold.settings.unknown_keys import near_name

GROUP = "onefold.tools"
"""The group of entry points of other distributions; each names a `Tool`."""
_KNOWN = (
    onefold.TOOL, datastream.TOOL, dataflow.TOOL, airbyte.TOOL, fivetran.TOOL, dlt.TOOL, debezium.TOOL, peerdb.TOOL,
    stitch.TOOL, snowplow.TOOL,
)  # fmt: skip


@cache
def tools() -> tuple[Tool, ...]:
    """Return all tools but `plain`; those of entry points first, so that they can refine a known one.

    Raises:
        Rejected: an entry point cannot be loaded, or is no `Tool`.
    """
    return (*_added(), *_KNOWN)


def recognise(table: ExistingTable, among: Sequence[Tool] | None = None) -> Recognised:
    """Return what a table is; what onefold.yaml declares of its rows and their order wins.

    Args:
        table: the table.
        among: the tools to ask, in order; by default all.
    """
    for tool in tools() if among is None else among:
        if found := tool.recognise(table):
            return _as_declared(table, found)
    return plain.recognise(table)


def recognise_as(name: str, table: ExistingTable, place: object) -> Recognised:
    """Return what a table is, of which onefold.yaml says that a tool writes it.

    Args:
        name: the tool, as `discover` says it, in any spelling.
        table: the table.
        place: its full name, for errors.

    Raises:
        SchemaConflict: no tool has this name, or the table does not look as if that tool had written it for people.
    """
    tool = _named(name)
    if tool is None:
        near = near_name(name, [one.name for one in tools()])
        raise SchemaConflict(f"{place}: no tool is named {name}{near}: correct `tool` in onefold.yaml")
    found = tool.recognise(table)
    if found is None or found.rows == "own":
        problem = f"{tool.name} keeps it for itself ({found.why})" if found else f"its columns are not those of {tool.name}"
        raise SchemaConflict(f"{place}: {problem}: run `onefold discover`, and correct `tool` in onefold.yaml")
    return _as_declared(table, found)


def noted_by(name: str) -> Notes | None:
    """Return where a tool notes what its tables are; None where it does so nowhere, or no tool has this name."""
    tool = _named(name)
    return tool.notes if tool else None


def _named(name: str) -> Tool | None:
    return {fold_case(tool.name): tool for tool in tools()}.get(fold_case(name))


def _as_declared(table: ExistingTable, found: Recognised) -> Recognised:
    """Return what a table is, with what onefold.yaml declares; rows that are current already have no order."""
    if found.rows != "own" and table.declared_rows:
        order = by_value(*table.present(*table.order_by)) or found.order
        why = f"onefold.yaml declares it, and {found.why}"
        found = replace(found, rows=table.declared_rows, order=order, confidence="certain", why=why)
    return found if found.rows == "history" else replace(found, order=())


def _added() -> Iterator[Tool]:
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            found = point.load()
        except Exception as error:
            raise Rejected(
                f"the entry point {point.name} of {GROUP} cannot be loaded ({reason_of(error)}): "
                f"correct or remove {point.value}"
            ) from error
        if not isinstance(found, Tool):
            raise Rejected(f"the entry point {point.name} of {GROUP} is no Tool: name a value of that class")
        yield found
