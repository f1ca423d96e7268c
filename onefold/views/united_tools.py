"""Tables of other tools that nobody named: a current view shows none, because each tool marks deleted rows its own way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId, fold_case
from onefold.core.text import shown_list
from onefold.existing.recognise import recognise
from onefold.existing.table import ExistingTable
from onefold.schema.columns import Schema
from onefold.schema.versions import Version, active_versions, table_of
from onefold.settings.environment import Settings

_SHOWN = 5
_READ_HERE = frozenset(map(fold_case, ("Datastream", "Onefold", "plain")))
"""Who writes tables whose rows are read here: Datastream, Onefold's capture, and services without columns of their own."""


def tool_problems(table: TableId, columns: Schema) -> Iterator[str]:
    """Yield a problem where a table whose keys alone are declared has the columns of a tool."""
    tool = recognise(ExistingTable(table.table, columns)).tool
    if fold_case(tool) not in _READ_HERE:
        yield (
            f"{table} gets no current and no clean view: it has the columns of {tool}, and by its keys alone deleted or old "
            f"rows would be shown. Write `tool` and `rows` of tables.{table.dataset}.{table.table} into onefold.yaml, as "
            f"`onefold discover {table.dataset}` says, or `order_by` where no tool writes the table"
        )


def check_no_tool(base: TableId, found: Sequence[Version], settings: Settings) -> None:
    """Check that no other tool writes a table that is in use: only the views of that table know which of its rows are gone.

    Args:
        base: the united table.
        found: its tables.
        settings: those of the installation, which may declare the tool of a table.

    Raises:
        SchemaConflict: names the tables, and their tools.
    """
    rules, of_tools = settings.rules_for(base), []
    for one in active_versions(found, rules):
        table = table_of(base, one, rules.names)
        tool = settings.rules_for(table).tool or recognise(ExistingTable(table.table, one.schema)).tool
        if fold_case(tool) not in _READ_HERE:
            of_tools.append(f"{table} ({tool})")
    if of_tools:
        key = f"tables.{base.dataset}.{base.table}"
        raise SchemaConflict(
            f"{base} gets no current and no clean view: another tool writes {shown_list(of_tools, _SHOWN)}, so that "
            "deleted or old rows would be shown. Read the views that `onefold refresh` writes for each of these tables, and "
            f"set `current: false` of {key} in onefold.yaml, or leave tables out with its `retire`"
        )
