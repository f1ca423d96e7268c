"""The key `unite` of onefold.yaml: tables with one name in many datasets, one for each tenant, that are read as one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onefold.core.names import TableId, problems_of_name
from onefold.core.problems import Path, Problem
from onefold.core.united_names import DEFAULT_COLUMN, DEFAULT_INTO, UnitedNames, UnitedTable
from onefold.core.versioned_names import VersionedNames
from onefold.schema.table_rules import TableRules
from onefold.settings.yaml_rules import reserved_problems

if TYPE_CHECKING:
    from onefold.settings.environment import Settings

_OWN = ("*__views_clean", "*__views_full", "*__keys")
"""The datasets that Onefold writes, besides those that settings name."""
_NO_TOOL = "no tool writes a united table: name the tool of the table in each dataset, and take this out"
_NOT_UNITED = {
    "version_column": "no column for versions here: `dataset_column` of `unite` holds the dataset of each row: take it out",
    "tool": _NO_TOOL,
    "rows": _NO_TOOL,
}
"""The rules that a united table cannot have, and what to do."""


def unite_problems(content: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of the value of the key that the schema cannot tell.

    Args:
        content: the whole file, because an entry must not clash with other keys.
    """
    seen: set[str] = set()
    for at, entry in _entries(content.get("unite")):
        into, table = entry.get("into", DEFAULT_INTO), entry.get("table", "")
        for kind, key, name in (("dataset", "into", into), ("table", "table", table)):
            yield from (Problem(text, (*at, key)) for text in problems_of_name(kind, name) if key in entry)
        column = entry.get("dataset_column", DEFAULT_COLUMN)
        yield from reserved_problems(column, (*at, "dataset_column"))
        if into in (content.get("datasets") or {}):
            yield Problem(
                f"`datasets` has rules for the versioned tables of {into}: expected a dataset of its own", (*at, "into")
            )
        name = f"{into}.{table}"
        if table and name in seen:
            yield Problem(f"{name} is written by an entry before, too: name another dataset with `into`", at)
        seen.add(name)
        own = (content.get("tables") or {}).get(name) or {}
        yield from (Problem(advice, ("tables", name, key)) for key, advice in _NOT_UNITED.items() if key in own)


def read_unite(value: Any) -> tuple[UnitedTable, ...]:
    """Return the entries of a checked value: a mapping, or a list of mappings."""
    return tuple(UnitedTable(**entry) for _, entry in _entries(value))


def united_names(tables: Collection[UnitedTable], settings: Settings) -> dict[str, VersionedNames]:
    """Return the naming of the datasets of united tables, by dataset.

    Args:
        tables: the entries of `unite`.
        settings: those of the installation, which name the datasets that Onefold writes.
    """
    templates = (settings.plain_dataset, settings.view_dataset)
    written = (template.format(dataset="*", table="*") for template in templates)
    # A template may be the dataset of the tables itself.
    excluded = (*_OWN, *sorted({one.into for one in tables}), *(one for one in written if one.strip("*")))
    by_dataset: dict[str, dict[str, UnitedTable]] = {}
    for one in tables:
        by_dataset.setdefault(one.into, {})[one.table] = replace(one, excluded=excluded)
    return {dataset: UnitedNames(tables=found) for dataset, found in by_dataset.items()}


def united_rules(rules: TableRules, united: UnitedTable | None) -> TableRules:
    """Return the rules of a table; the dataset takes the place of the version in a united one, and is part of its key.

    Args:
        rules: the rules that onefold.yaml has for the table.
        united: its entry of `unite`; None for any other table.
    """
    if united is None:
        return rules
    # The tool of a rule for tables of that name in any dataset is that of each tenant's table.
    rules = replace(rules, version_column=united.dataset_column, of_united=True, tool=None, rows=None)
    return replace(rules, keys=rules.whole_key(rules.keys))


def united_over(settings: Settings, table: TableId) -> tuple[TableId, ...]:
    """Return the united tables that read a table.

    Args:
        settings: those of the installation.
        table: the table.
    """
    named = ((into, names.united.get(table.table)) for into, names in settings.dataset_names.items())
    return tuple(TableId(table.project, into, table.table) for into, one in named if one and one.reads(table.dataset or ""))


def _entries(value: Any) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    if isinstance(value, Mapping):
        yield ("unite",), value
    for number, entry in enumerate(value if isinstance(value, list) else ()):
        if isinstance(entry, Mapping):  # what the schema has refused is left out
            yield ("unite", number), entry
