"""What a check of a whole dataset finds besides stale views: views without a version, and settings of unknown tables."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from onefold.core.errors import NotFound
from onefold.core.names import TableId, fold_hidden
from onefold.core.versioned_names import VersionedNames
from onefold.ports.warehouse import StoredView, Warehouse
from onefold.refresh.labels import TABLE_LABEL, owner_digest
from onefold.refresh.tables_read import noted_versions, tables_read
from onefold.schema.patterns import matches
from onefold.settings.environment import Settings


def bases_of(tables: Collection[str], names: VersionedNames) -> tuple[str, ...]:
    """Return the base names of the versioned tables among the tables of a dataset, each once.

    Examples:
        >>> bases_of(["customer_v_abc", "customer_v_def", "orders"], VersionedNames())
        ('customer',)
    """
    return tuple(dict.fromkeys(split[0] for table in tables if (split := names.split(table))))


@dataclass(frozen=True)
class ViewNames:
    """How the views of one kind are found.

    Attributes:
        template: the template of their names.
        view_of: returns the view of a table.
        owner: returns the value of the label of a table's view.
        own_tables: returns the names of Onefold's tables that a view may read besides the versions of its table.
        of_plain_tables: whether a table without versions has such a view, too.
    """

    template: str
    view_of: Callable[[TableId], TableId]
    owner: Callable[[TableId], str]
    own_tables: Callable[[TableId], Collection[str]] = lambda _: ()
    of_plain_tables: bool = False


def left_over_tables(warehouse: Warehouse, dataset: str, settings: Settings, tables: Collection[str]) -> tuple[TableId, ...]:
    """Return the base names whose last versioned table was dropped, and whose unified view is still there.

    Only views with Onefold's label of that table are found, and no view that reads a table of the dataset: then the settings
    have another `version_pattern` than those with which the view was written, and nothing was dropped. Where
    `ONEFOLD_VIEW_DATASET` holds `{table}`, the dataset of the view of an unknown table is unknown, so none is found.

    Args:
        warehouse: where the views are. One call lists the views, and each view without versions takes another one.
        dataset: the dataset of the versioned tables.
        settings: those of the installation.
        tables: the names of all tables of the dataset.
    """
    unified = ViewNames(settings.view_name, settings.view_of, lambda base: owner_digest(str(base)))
    return left_over_of_kind(warehouse, dataset, settings, tables, unified)


def left_over_of_kind(
    warehouse: Warehouse, dataset: str, settings: Settings, tables: Collection[str], kind: ViewNames
) -> tuple[TableId, ...]:
    """Return the base names whose last versioned table was dropped, and whose view of a kind is still there.

    Args:
        warehouse: as for `left_over_tables`.
        dataset: as for `left_over_tables`.
        settings: as for `left_over_tables`.
        tables: as for `left_over_tables`.
        kind: how the views are found.
    """
    if "{table}" in settings.view_dataset:
        return ()
    any_table = TableId(warehouse.project, dataset, "table")
    try:
        views = warehouse.list_views(kind.view_of(any_table).dataset or "")
    except NotFound:  # a dataset of views that was never created has no view to remove
        return ()
    bases, pattern = bases_of(tables, settings.names_in(dataset)), _view_pattern(kind.template, dataset)
    named = (match["table"] for view in sorted(views) if (match := pattern.fullmatch(view)))
    united = settings.names_in(dataset).united
    present = {*bases, *united, *(tables if kind.of_plain_tables else ())}
    candidates = [any_table.sibling(table) for table in named if table not in present]
    return tuple(
        table for table in candidates if _is_left_over(warehouse.get_view(kind.view_of(table)), table, tables, kind)
    )


def belongs_to(stored: StoredView | None, base: TableId) -> bool:
    """Return whether a view carries Onefold's label of a table."""
    return stored is not None and stored.is_view and stored.labels.get(TABLE_LABEL) == owner_digest(str(base))


def _is_left_over(stored: StoredView | None, base: TableId, tables: Collection[str], kind: ViewNames) -> bool:
    if stored is None or not stored.is_view or stored.labels.get(TABLE_LABEL) != kind.owner(base):
        return False
    versions = noted_versions(stored.query)
    reads_one = any(base.table in table and version in table for table in tables for version in versions)
    return not reads_one and tables_read(stored.query).difference(kind.own_tables(base)).isdisjoint(tables)


def unknown_tables(
    settings: Settings, dataset: str, tables: Collection[str], is_asked: Callable[[str], bool] = bool
) -> Iterator[str]:
    """Yield a warning for each table of onefold.yaml that the dataset does not have: probably a typing mistake.

    A change table without versions may have settings, too, so the names of all tables are known names.

    Args:
        settings: those of the installation.
        dataset: the dataset that is checked.
        tables: the names of all tables of the dataset.
        is_asked: returns whether the check is about a name; by default it is about all.
    """
    names = settings.names_in(dataset)
    known = {*tables, *bases_of(tables, names), *names.united}
    for name in settings.tables:
        its_dataset, _, table = name.rpartition(".")
        if its_dataset in ("", dataset) and table not in known and is_asked(table):
            yield f"tables.{name} of onefold.yaml: {_lacking(dataset, table, known, spelled=bool(its_dataset))}"


def unknown_patterns(settings: Settings, dataset: str, tables: Collection[str]) -> Iterator[str]:
    """Yield a warning for each owner and contract of onefold.yaml whose pattern names no table of the dataset.

    Patterns are compared with base names, so a pattern such as `order_v_*`, which names versions, names no table.

    A pattern that names several datasets of ONEFOLD_DATASETS may be about another one. One that names none of them is
    reported with the first of them alone, and so once in a check of all.

    Args:
        settings: those of the installation.
        dataset: the dataset that is checked.
        tables: the names of all tables of the dataset; where it has none, nothing is wrong with a pattern.
    """
    names = settings.names_in(dataset)
    known = {*(name for name in tables if not names.split(name)), *bases_of(tables, names), *names.united}
    every = sorted(settings.datasets or ())
    for at, pattern in _patterns(settings):
        of_dataset, _, table = pattern.rpartition(".")
        named = [one for one in every if matches(of_dataset, fold_hidden(one))]
        if of_dataset == fold_hidden(dataset) or named == [dataset] or (of_dataset == "*" and len(every) < 2):
            if known and not any(matches(pattern, fold_hidden(f"{dataset}.{name}")) for name in known):
                yield f"{at} of onefold.yaml: {_lacking(dataset, table, known, spelled=of_dataset != '*')}"
        elif every[:1] == [dataset] and not named and not _is_elsewhere(settings, of_dataset):
            advice = "correct the name, add the dataset there, or remove the entry"
            yield f"{at} of onefold.yaml: ONEFOLD_DATASETS has no dataset {of_dataset}: {advice}"


def _is_elsewhere(settings: Settings, of_dataset: str) -> bool:
    """Return whether a pattern may name what is no dataset of ONEFOLD_DATASETS.

    It may be a dataset of onefold.yaml, as that of united tables, or a vendor of events, as `com.acme`.
    """
    return "." in of_dataset or any(matches(of_dataset, fold_hidden(name)) for name in settings.dataset_names)


def _patterns(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the patterns of tables of owners and contracts, each once, with its place in onefold.yaml."""
    yield from ((f"owners.{one.pattern}", one.full_pattern) for one in settings.owners.all)
    rules = [rule for rule in settings.contracts.rules if "/" not in rule.pattern]
    yield from dict.fromkeys((f"contracts.{rule.pattern}", rule.full_pattern) for rule in rules)


def _lacking(dataset: str, table: str, known: Collection[str], *, spelled: bool) -> str:
    """Return that a dataset has no table of a name or pattern, and what to do.

    Args:
        dataset: the dataset.
        table: the name or pattern.
        known: the names of its tables.
        spelled: whether onefold.yaml names the dataset, too.
    """
    near = difflib.get_close_matches(table.replace("*", ""), known, n=1)
    advice = f"did you mean {near[0]}? Correct the name" if near else "correct the name, or remove the entry"
    other = "" if spelled else f", or write DATASET.{table} for a table of another dataset"
    return f"dataset {dataset} has no table {table}: {advice}{other}"


def _view_pattern(template: str, dataset: str) -> re.Pattern[str]:
    """Return a pattern that finds the base name in the name of its view.

    Examples:
        >>> _view_pattern("{dataset}_{table}_unified", "shop").fullmatch("shop_customer_unified")["table"]
        'customer'
    """
    before, *between = (re.escape(part) for part in template.replace("{dataset}", dataset).split("{table}"))
    return re.compile(f"{before}(?P<table>.+){'(?P=table)'.join(between)}")
