"""The tables of a dataset, for work on all of them: which there are, and which have rows that no merge has read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, get_args

from onefold.changelog.metadata import METADATA
from onefold.core.errors import NotFound
from onefold.core.names import TableId
from onefold.core.versioned_names import VersionedNames
from onefold.merge.merge_state import MergeState
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.versions import table_of
from onefold.settings.environment import Settings

Outcome = Literal["merged", "up_to_date", "waiting", "skipped", "failed"]
"""The result of a merge of one table among many. `waiting`: few rows have landed, and it is merged later. `skipped`: nothing
can be merged yet, which is no error."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


def outcome_counts(outcomes: Iterable[Outcome]) -> str:
    """Return how many tables have each outcome, in words for people; tables that wait only where there are some.

    Examples:
        >>> outcome_counts(["merged", "skipped", "merged"])
        '2 merged, 0 up to date, 1 skipped, 0 failed'
    """
    found = Counter(outcomes)
    shown = (outcome for outcome in OUTCOMES if found[outcome] or outcome != "waiting")
    return ", ".join(f"{found[outcome]:,} {outcome.replace('_', ' ')}" for outcome in shown)


@dataclass(frozen=True)
class Candidate:
    """A table that can be merged, and its change tables by version; a change table without versions has the version ""."""

    table: TableId
    changes: Mapping[str, TableId]


def find_candidates(
    warehouse: BaseWarehouse, dataset: str, settings: Settings, match: str | None = None
) -> tuple[Candidate, ...]:
    """Return the tables of a dataset that have versions, and its plain change tables, by name.

    Args:
        warehouse: lists the tables of the dataset.
        dataset: the dataset.
        settings: those of the installation, with the naming of versioned tables, and the plain change tables of the dataset.
        match: a pattern of base names, with `*`, `?` and `[...]` as in a shell; None for all.

    Raises:
        NotFound: the dataset has neither a versioned table nor a plain change table, or none that matches.
    """
    labels = warehouse.list_labels(dataset)
    tables, names = set(labels), settings.names_in(dataset).resolved(labels)
    versions: dict[str, dict[str, str]] = {}
    for name in sorted(tables):
        split = (name, "") if settings.plain_table(TableId(None, dataset, name)) else names.split(name)
        if split and (match is None or fnmatchcase(split[0], match)):
            versions.setdefault(split[0], {})[split[1]] = name
    united = [name for name in names.united if match is None or fnmatchcase(name, match)]
    if not versions and not united:
        raise NotFound(no_candidates(f"{warehouse.project}.{dataset}", names, match))
    found = []
    for base in sorted(versions):
        table = TableId(warehouse.project, dataset, base)
        # A change table of the very name comes before versions, as in every merge.
        changes = {"": base} if base in tables else versions[base]
        found.append(Candidate(table, {version: table.sibling(name) for version, name in changes.items()}))
    found += [_united_candidate(warehouse, TableId(warehouse.project, dataset, name), names) for name in united]
    return tuple(found)


def _united_candidate(warehouse: BaseWarehouse, table: TableId, names: VersionedNames) -> Candidate:
    found = warehouse.read_versions(table, names)
    return Candidate(table, {version.id: table_of(table, version, names) for version in found})


def no_candidates(dataset: str, names: VersionedNames, match: str | None = None) -> str:
    """Return the error about a dataset without a table that could be worked on.

    Args:
        dataset: its full name.
        names: the naming of versioned tables there.
        match: the pattern of the names that were asked for; None for all.
    """
    which = f"whose base name matches {match!r}" if match is not None else names.described
    return (
        f"dataset {dataset} has no versioned tables {which}, and no table with {METADATA}.change_type: correct its name, or "
        "declare the `keys` of its tables in onefold.yaml"
    )


def is_newer(warehouse: BaseWarehouse, version: str, changes: TableId, state: MergeState) -> bool:
    """Return whether rows of a version may have landed since it was last merged, or whether it never was.

    Rows are never overlooked: where it is unknown when a change table was written, the table counts as written.

    Args:
        warehouse: where the tables are.
        version: the version.
        changes: its change table.
        state: what the log of merges says.
    """
    merged = state.start_of(version)
    if merged is None:
        return warehouse.has_table(changes)  # a clone is listed as a table, and never merged
    written = warehouse.written_at(changes)
    return written is None or written > merged
