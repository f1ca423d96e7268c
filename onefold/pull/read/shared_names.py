"""Tables of a source that would be one table in BigQuery, where `_` stands for characters that a name cannot have."""

from __future__ import annotations

from collections.abc import Collection

from onefold.core.errors import TableRefused
from onefold.core.names import table_name
from onefold.landing.table import holder_of_name
from onefold.mysql.catalog import TableName
from onefold.settings.sources import Source


def check_name(source: Source, name: TableName, seen: Collection[str], owner: str | None = None) -> None:
    """Check that no other table that is pulled has the name of a table in BigQuery: their rows would mix.

    Args:
        source: the source, whose settings say which tables are pulled.
        name: the table.
        seen: the tables of its database.
        owner: the table that was pulled under this name before; None for none.

    Raises:
        TableRefused: names both tables.
    """
    if (holder := holder_of_base(source, name, seen, owner)) is not None:
        raise TableRefused(*shared_name(name, holder))


def check_case(source: Source, name: TableName, seen: Collection[str]) -> None:
    """Check that no pattern misses a table by case alone: it would be pulled by a later pattern, or not at all.

    Args:
        source: the source.
        name: the table.
        seen: the tables of its database.

    Raises:
        TableRefused: names the pattern.
    """
    if (pattern := source.other_case(name.database, name.table, seen)) is not None:
        raise TableRefused(
            f"{name}: sources.{source.cluster} has the pattern {pattern!r}, which matches it in another case alone",
            "write the pattern in the case of the source, since names are compared with case; or remove it",
        )


def holder_of_base(source: Source, name: TableName, seen: Collection[str], owner: str | None = None) -> str | None:
    """Return the other table that has the name in BigQuery, if there is one; the arguments are those of `check_name`."""
    base = table_name(name.table)
    pulled = {one for one in seen if table_name(one) == base and source.load_of(name.database, one)}
    return holder_of_name(name.table, {base: owner} if owner else {}, pulled)


def shared_name(name: TableName, holder: str) -> tuple[str, str]:
    """Return the reason why a table is not pulled, and what to do about it."""
    reason = f"{name}: the tables {name.table!r} and {holder!r} would both be {table_name(name.table)} in BigQuery"
    return f"{reason}, and {holder!r} is", "rename it, or name it under `exclude`"
