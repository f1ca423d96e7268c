"""The policies about a table: of a united one, those of the tables that it is united of, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from onefold.core.names import TableId, fold_hidden
from onefold.existing.tools.dlt import VARIANT
from onefold.merge.stored_base import read_base, read_log
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.column_policy import ColumnPolicies, TablePolicies, UnitedPolicies, VariantPolicies
from onefold.schema.columns import Column
from onefold.schema.types import Scalar
from onefold.schema.versions import Version, table_of
from onefold.settings.environment import Settings

_UNKNOWN = Scalar("STRING")


def is_of_tool(settings: Settings, base: TableId) -> bool:
    """Return whether another tool writes the table in a form of its own."""
    plain = settings.plain_table(base)
    return plain is not None and plain.mode == "tool"


def table_policies(settings: Settings, base: TableId, found: Sequence[Version]) -> TablePolicies:
    """Return the policies about a table.

    Args:
        settings: those of the installation; without policies every column waits.
        base: the base name of the versioned tables, or a united table.
        found: all versions; of a united table, the tables that it is united of, and the `gone_tenants`.
    """
    policies, rules = settings.policies or ColumnPolicies(), settings.rules_for(base)
    own = policies.of_table(base)
    if not rules.of_united:
        variants = tuple(_variants(found, is_of_tool(settings, base)))
        return VariantPolicies(own.rules, variants) if variants else own
    # Most tenants have the same policies, which are compared once.
    columns: dict[TablePolicies, set[str]] = {}
    for version in found:
        of_tenant = policies.of_table(table_of(base, version, rules.names))
        columns.setdefault(of_tenant, set()).update(fold_hidden(column.name) for column in version.columns)
    return UnitedPolicies(own.rules, tuple((one, frozenset(names)) for one, names in columns.items()))


def gone_tenants(
    warehouse: BaseWarehouse, settings: Settings, base: TableId, found: Sequence[Version], columns: Iterable[str]
) -> tuple[Version, ...]:
    """Return the tables that a united table has lost and of which its base still has rows, as versions without types.

    What a tenant has hidden stays hidden while its rows are there. Which columns its table had is not known any more, so it
    counts as having each.

    Args:
        warehouse: where the base is.
        settings: those of the installation.
        base: the table; one that is not united has lost none.
        found: the tables that there are.
        columns: the columns of the view over the base.
    """
    rules = settings.rules_for(base)
    if not rules.of_united:
        return ()
    place = rules.base_place(base)
    stored = read_base(warehouse, place)
    merged = read_log(warehouse, place, stored).merged if stored else frozenset()
    had = tuple(Column(name, _UNKNOWN) for name in columns if fold_hidden(name) != fold_hidden(rules.version_column or ""))
    return tuple(
        Version(gone, had, table=base.table, dataset=gone) for gone in sorted(merged - {version.id for version in found})
    )


def _variants(found: Sequence[Version], is_of_tool: bool) -> Iterator[tuple[str, str]]:
    """Yield columns with the names of their variants: columns of values that did not fit them.

    The version of a variant has its name. Where onefold.yaml names a wrong tool, or none, the current view of before may
    still show a variant in its column, so that the form of the name is enough.
    """
    for version in found:
        for column in version.columns:
            if is_of_tool and version.id:
                yield column.name, version.id
            if match := VARIANT.fullmatch(column.name):
                yield match["column"], column.name
