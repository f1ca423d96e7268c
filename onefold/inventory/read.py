"""Use case: what there is of the tables that a person asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from onefold.core.errors import NotFound
from onefold.core.names import LEAF_PREFIX, is_pattern
from onefold.core.versioned_names import VersionedNames
from onefold.inventory.contents import Contents, read_contents
from onefold.inventory.one_table import TableHistory, read_history
from onefold.inventory.summary import TableSummary, summaries
from onefold.refresh.labels import TABLE_LABEL
from onefold.settings.environment import Settings
from onefold.settings.unknown_keys import near_name


@dataclass(frozen=True)
class Inventory:
    """What was found.

    Attributes:
        tables: the tables that patterns match, each once.
        histories: the tables that were named, with all about them.
        warnings: what could not be read, and why.
    """

    tables: tuple[TableSummary, ...]
    histories: tuple[TableHistory, ...]
    warnings: tuple[str, ...]

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the entries of `--json`."""
        return [*(history.as_dict() for history in self.histories), *(table.as_dict() for table in self.tables)]


def read_inventory(warehouse: Any, asked: Mapping[str, Sequence[str]], settings: Settings) -> Inventory:
    """Read what is asked for: a fixed number of queries for each dataset, and a few more for each table that is named.

    Args:
        warehouse: a `ListingWarehouse`, and for tables that are named a `BaseWarehouse`.
        asked: names of tables, or patterns with `*`, `?` and `[...]`, by dataset.
        settings: those of the installation.

    Raises:
        NotFound: a dataset does not exist, or has no table of a name or a pattern.
    """
    tables: dict[str, TableSummary] = {}
    histories: list[TableHistory] = []
    warnings: list[str] = []
    for dataset, patterns in asked.items():
        contents = read_contents(warehouse, dataset, settings)
        settings = settings.with_plain(dataset, contents.plain)
        warnings += contents.warnings
        known = list(summaries(warehouse, dataset, contents, settings))
        if "*" in patterns:
            warnings += left_over_views(contents, known, settings)
        for pattern in patterns:
            chosen = [one for one in known if fnmatchcase(one.table.table, pattern)]
            if not chosen and pattern != "*":
                names = settings.with_listed(dataset, contents.labels).names_in(dataset)
                raise NotFound(
                    f"dataset {warehouse.project}.{dataset}: {_not_found(dataset, pattern, known, contents, names)}"
                )
            if is_pattern(pattern):
                tables |= {str(one.table): one for one in chosen}
            else:
                listed = settings.with_listed(dataset, contents.labels)
                histories.append(read_history(warehouse, chosen[0], listed, contents.sizes or {}))
    return Inventory(tuple(tables.values()), tuple(histories), tuple(warnings))


def left_over_views(contents: Contents, known: Sequence[TableSummary], settings: Settings) -> Iterator[str]:
    """Yield a warning for each view that Onefold wrote for a table that is not there any more.

    Where the views of several datasets lie in one, none is found.

    Args:
        contents: what was read of a dataset.
        known: all of its tables.
        settings: those of the installation.
    """
    if "{dataset}" not in settings.view_dataset:
        return
    used = {view.id for table in known for view in table.views}
    for id_, view in contents.views.items():
        if id_ not in used and TABLE_LABEL in view.labels and not view.name.startswith(LEAF_PREFIX):
            yield f"{id_} is left over: its table has no version any more; `onefold refresh --prune` removes it"


def _not_found(dataset: str, pattern: str, known: Sequence[TableSummary], contents: Contents, names: VersionedNames) -> str:
    """Return why no table is shown: there is none, or what is there is a view, a version, or one of Onefold's own."""
    all_ = f"`onefold tables '{dataset}.*'` shows all"
    if stored := contents.tables.get(pattern):
        if stored.is_view:
            return f"{pattern} is a view, and no table: {all_}, with their views"
        if split := names.split(pattern):
            return (
                f"{pattern} is the version {split[1]} of the table {split[0]}: write `onefold tables {dataset}.{split[0]}`"
            )
        return f"{pattern} is a table that Onefold keeps for itself: {all_} others"
    if is_pattern(pattern):
        return f"no table matches {pattern}: {all_}"
    return f"there is no table {pattern}{near_name(pattern, [one.table.table for one in known])}: {all_}"
