"""What a view that is not there must not show, where the other view of the table is there, or the ledger cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from support.contract_views import build_held, contracts, unified_kind
from support.told_warehouse import ToldWarehouse
from support.views import BASE, version

from onefold.changes.decisions import DECISIONS_TABLE
from onefold.changes.ids import new_columns_id
from onefold.core.errors import AccessDenied
from onefold.core.names import TableId
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.refresh.labels import LABEL
from onefold.schema.former import NotShown
from onefold.settings.environment import Settings
from onefold.views.former_view import not_shown

OLD = version("a1", "id INT64", "n INT64")
NEW = version("b2", "id INT64", "n STRING", "zip STRING")
REVIEW = contracts("review", "review")
SETTINGS = Settings(contracts=REVIEW, changes_dataset="onefold_changes")
VIEW, OTHER = SETTINGS.view_of(BASE), SETTINGS.current_view_of(BASE)


class Unread(ToldWarehouse):
    """A warehouse whose ledger may not be read, with some views, and some decisions, which may."""

    def __init__(self, *views: StoredView, decisions: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__()
        self.stored, self.decisions = {one.id: one for one in views}, list(decisions)

    def get_view(self, id_: TableId) -> StoredView | None:
        return self.stored.get(id_)

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        if DECISIONS_TABLE in sql:
            return self.decisions
        raise AccessDenied(f"403 of the ledger: {sql}")


def found(*versions: Any, views: tuple[StoredView, ...] = (), settings: Settings = SETTINGS) -> NotShown:
    return not_shown(cast(BaseWarehouse, Unread(*views)), VIEW, versions[-1].columns, BASE, settings, versions)


def other(query: str, columns: Any) -> StoredView:
    return StoredView(OTHER, is_view=True, query=query, columns=columns, labels={LABEL: "x"})


def test_it_shows_what_the_other_view_of_the_table_shows() -> None:
    held = build_held((OLD,), (OLD, NEW), REVIEW)
    told = found(OLD, NEW, views=(other(held.query, held.columns),))
    assert set(told.paths) == {"zip"}
    assert {path: str(type_) for path, type_ in told.types.items()} == {"n": "INT64"}
    assert not found(OLD, NEW, views=(other("SELECT 1", NEW.columns),))


def test_a_column_that_came_after_the_other_view_was_written_is_not_shown() -> None:
    assert set(found(OLD, NEW, views=(other("SELECT 1", OLD.columns),)).paths) == {"zip"}


def test_where_nothing_tells_it_the_view_is_not_written() -> None:
    with pytest.raises(AccessDenied, match=r"is not there(.|\n)*403 of the ledger(.|\n)*`onefold refresh shop\.customer`"):
        found(OLD, NEW)
    assert not found(OLD)  # of one version nothing was held
    assert not found(OLD, NEW, settings=Settings(contracts=REVIEW))


def test_a_view_of_one_version_lacks_the_columns_that_were_rejected() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        {"decided_at": now, "change": new_columns_id(BASE), "path": path, "verdict": verdict}
        for path, verdict in (("zip", "reject"), ("n", "accept"))
    ]
    warehouse = cast(BaseWarehouse, Unread(decisions=rows))
    assert set(not_shown(warehouse, VIEW, NEW.columns, BASE, SETTINGS, (NEW,)).paths) == {"zip"}


def test_a_view_of_somebody_else_tells_nothing() -> None:
    foreign = StoredView(OTHER, is_view=True, query="SELECT 1", columns=NEW.columns)
    with pytest.raises(AccessDenied, match="403"):
        found(OLD, NEW, views=(foreign,))


def test_a_first_view_without_a_ledger_shows_everything() -> None:
    kind = unified_kind(REVIEW)
    assert kind.build((OLD, NEW), (OLD, NEW), None).columns == kind.build_full((OLD, NEW), (OLD, NEW), None).columns
