"""Which tool wrote a table: the tools that Onefold knows, those that others have added, and the first that recognises it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import entry_points

from onefold.core.errors import Rejected
from onefold.core.text import reason_of
from onefold.existing.table import ExistingTable, Recognised
from onefold.existing.tool import Tool
from onefold.existing.tools import airbyte, dataflow, datastream, debezium, dlt, fivetran, onefold, peerdb, plain, stitch

GROUP = "onefold.tools"
"""The group of entry points of other distributions; each names a `Tool`."""
_KNOWN = (
    onefold.TOOL, datastream.TOOL, dataflow.TOOL, airbyte.TOOL, fivetran.TOOL, dlt.TOOL, debezium.TOOL, peerdb.TOOL,
    stitch.TOOL,
)  # fmt: skip


@cache
def tools() -> tuple[Tool, ...]:
    """Return all tools but `plain`; those of entry points first, so that they can refine a known one.

    Raises:
        Rejected: an entry point cannot be loaded, or is no `Tool`.
    """
    return (*_added(), *_KNOWN)


def recognise(table: ExistingTable, among: Sequence[Tool] | None = None) -> Recognised:
    """Return what a table is.

    Args:
        table: the table.
        among: the tools to ask, in order; by default all.
    """
    for tool in tools() if among is None else among:
        if found := tool.recognise(table):
            return found
    return plain.recognise(table)


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
