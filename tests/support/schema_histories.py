"""Real schema histories, where they lie beside the repository: the tables that together have every kind of change."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
Column = dict[str, Any]
"""{"name", "type", "mysql_type", "nullable", "primary_key"}."""
Version = dict[str, Any]
"""{"version", "columns"}."""
Table = dict[str, Any]
"""{"table", "versions"}."""


def tables_of_projects() -> dict[str, list[Table]]:
    """Return all tables by project; nothing where there is no such folder."""
    read = (json.loads(path.read_text()) for path in sorted(FOLDER.glob("*_history.json")))
    return {history["project"]: history["tables"] for history in read}


def demo_table() -> Table:
    """The demo's history in the form of the real ones."""
    history = json.loads(resources.files("onefold_lab.demo").joinpath("history.json").read_text())
    versions = [
        {"version": one["version"], "columns": [{"name": name, "type": type_} for name, type_ in one["columns"].items()]}
        for one in history["versions"]
    ]
    return {"table": history["table"], "versions": versions}


def chosen(tables: Iterable[Table]) -> list[Table]:
    """Return the tables without those of which others have every kind of column, key and change; large ones go first."""
    kept = {table["table"]: table for table in tables}
    found = {name: kinds(table["versions"]) for name, table in kept.items()}
    for name in sorted(kept, key=lambda name: _size(kept[name]), reverse=True):
        if found[name] <= set().union(*(found[other] for other in kept if other != name)):
            del kept[name]
    return list(kept.values())


def _size(table: Table) -> tuple[int, int]:
    return len(table["versions"]), sum(len(version["columns"]) for version in table["versions"])


def kinds(versions: Sequence[Version]) -> set[tuple[Any, ...]]:
    """Return what a table has: the types of columns and keys, and the changes between two versions."""
    found = {kind for version in versions for kind in _of_version(version["columns"])}
    for before, after in itertools.pairwise(versions):
        found.update(_of_change(before["columns"], after["columns"]))
    return found


def _of_version(columns: Sequence[Column]) -> Iterator[tuple[Any, ...]]:
    yield ("key", *(column["type"] for column in columns if column["primary_key"]))
    for column in columns:
        yield ("column", column["type"].partition("(")[0], _declared(column), column["nullable"])


def _of_change(before: Sequence[Column], after: Sequence[Column]) -> Iterator[tuple[Any, ...]]:
    old, new = ({column["name"].lower(): column for column in columns} for columns in (before, after))
    yield from (("dropped", old[name]["type"]) for name in old.keys() - new.keys())
    yield from (("added", new[name]["type"]) for name in new.keys() - old.keys())
    for name in old.keys() & new.keys():
        one, other = old[name], new[name]
        if one != other:
            nullable, named = one["nullable"] != other["nullable"], one["name"] != other["name"]
            yield ("altered", _declared(one), _declared(other), nullable, named)
    if [name for name in old if name in new] != [name for name in new if name in old]:
        yield ("moved",)
    if _key(before) != _key(after):
        yield ("another key",)


def _declared(column: Column) -> str:
    declared: str = column["mysql_type"].partition("(")[0]
    return declared


def _key(columns: Sequence[Column]) -> list[str]:
    return [column["name"].lower() for column in columns if column["primary_key"]]
