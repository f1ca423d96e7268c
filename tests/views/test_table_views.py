"""The order in which the views of a table get their turn, and what an error of one of them means for the others."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from support.fake_bigquery import FakeBigQuery

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import KeyUnknown, NoCurrentView, NotFound, OnefoldError, Rejected, SettingsChanged, TryAgain
from onefold.core.names import TableId
from onefold.refresh.kind import ViewKind
from onefold.refresh.plan import ViewPlan
from onefold.schema.column_policy import ColumnPolicies
from onefold.settings.environment import Settings
from onefold.views.clean_kind import CleanKind
from onefold.views.table_views import TableViews, ViewResult
from onefold.views.unified_kind import UnifiedKind

BASE = TableId("my-project", "shop", "customer")
SETTINGS = Settings(project="my-project", policies=ColumnPolicies())


def results(errors: Mapping[str, OnefoldError], former: bool = False) -> list[ViewResult]:
    """What becomes of the views, each of which succeeds unless it has an error here."""

    def work(kind: ViewKind, _: str | None) -> ViewPlan:
        name = "unified" if isinstance(kind, UnifiedKind) else "clean" if isinstance(kind, CleanKind) else "current"
        if name in errors:
            raise errors[name]
        return ViewPlan(BASE, "none", None, None, None, ())

    warehouse = BigQueryWarehouse(FakeBigQuery().client())
    return list(TableViews(warehouse, SETTINGS, work).bring_up_to_date(BASE, former=former))


def shown(found: list[ViewResult]) -> list[tuple[str, str]]:
    return [(one.kind, type(one.error).__name__ if one.error else one.skipped or "done") for one in found]


GONE = NotFound("no versioned table to unify")


@pytest.mark.parametrize(
    ("errors", "former", "expected"),
    [
        ({}, False, [("unified", "done"), ("current", "done"), ("clean", "done")]),
        ({"unified": Rejected("x")}, False, [("unified", "Rejected"), ("current", "done"), ("clean", "done")]),
        ({"current": TryAgain("x")}, False, [("unified", "done"), ("current", "TryAgain"), ("clean", "done")]),
        ({"current": KeyUnknown("no key")}, False, [("unified", "done"), ("current", "no key"), ("clean", "done")]),
        ({"clean": NoCurrentView("none")}, False, [("unified", "done"), ("current", "done"), ("clean", "none")]),
        ({"unified": SettingsChanged("x")}, False, [("unified", "SettingsChanged")]),
        ({"unified": GONE}, False, [("unified", "NotFound"), ("clean", "done")]),
        ({"unified": GONE, "clean": GONE}, False, [("unified", "NotFound")]),
        ({"unified": GONE, "clean": Rejected("x")}, False, [("unified", "NotFound"), ("clean", "Rejected")]),
        ({"unified": GONE}, True, [("unified", "NotFound"), ("current", "done"), ("clean", "done")]),
        ({"unified": GONE, "clean": GONE}, True, [("unified", "NotFound"), ("current", "done")]),
        ({"clean": GONE}, False, [("unified", "done"), ("current", "done"), ("clean", "NotFound")]),
    ],
)
def test_each_view_has_its_turn(errors: Mapping[str, OnefoldError], former: bool, expected: list[tuple[str, str]]) -> None:
    assert shown(results(errors, former)) == expected
