"""Views under a contract: the unified view of versions over a view that is there, in any form, without a warehouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from support.told_warehouse import ToldWarehouse
from support.views import BASE, VIEW, forced

from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.refresh.built_view import BuiltView, Form
from onefold.schema.contract_rules import ContractRule, Contracts, Verdict, Verdicts
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version
from onefold.settings.environment import Settings
from onefold.views.unified_kind import UnifiedKind

PLAIN = TableRules()


def contracts(
    new: str = "show", types: str = "widen", dropped: str = "keep", verdicts: Mapping[tuple[str, str], Verdict] | None = None
) -> Contracts:
    """The same contract for every table."""
    values = {"new_columns": new, "types": types, "dropped": dropped}
    return Contracts(tuple(ContractRule("*", key, value) for key, value in values.items()), Verdicts(verdicts or {}))


def unified_kind(by: Contracts, rules: TableRules = PLAIN) -> UnifiedKind:
    """The unified view of the table of `support.views`."""
    return UnifiedKind(cast(BaseWarehouse, ToldWarehouse()), BASE, Settings(rules=rules, contracts=by))


def stored(view: BuiltView) -> StoredView:
    """A view as it is after it was written."""
    return StoredView(VIEW, is_view=True, query=view.query, columns=view.columns)


def build_held(
    before: Sequence[Version], after: Sequence[Version], by: Contracts, form: Form = "spelled", rules: TableRules = PLAIN
) -> BuiltView:
    """The view over all versions after it was written over the first of them."""
    with forced(form):
        kind = unified_kind(by, rules)
        return kind.build(after, after, stored(kind.build(before, before, None)))
