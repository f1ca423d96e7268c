"""The unified view, if BigQuery would take it, and else how many of the versions fit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from onefold.core.errors import LimitExceeded
from onefold.core.names import TableId
from onefold.refresh.built_view import BuiltView
from onefold.refresh.limits import limit_problems
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version
from onefold.views.unified_view import build_view
from onefold.views.windows import ALL_ROWS, Windows


def build_within_limits(
    id_: TableId,
    base: TableId,
    versions: Sequence[Version],
    rules: TableRules,
    reserved: int = 0,
    former: Sequence[Column] = (),
    windows: Windows = ALL_ROWS,
) -> BuiltView:
    """Return the view over the versions, as `build_view` does, if BigQuery would take it.

    Args:
        id_: the name of the view.
        base: the base name of the versioned tables.
        versions: in order, at least one.
        rules: the settings of the table.
        reserved: as for `build_view`.
        former: as for `build_view`.
        windows: as for `build_view`.

    Raises:
        SchemaConflict: the versions cannot be one view.
        LimitExceeded: each limit that the view passes, how many versions fit, and what to do.
    """
    view, problems = _built(id_, base, versions, rules, reserved, former, windows)
    if rules.of_united and (view is None or problems):  # of thousands of tables none can be left out
        raise LimitExceeded(problems)
    if view is None or problems:
        # A suffix of the versions fits if a longer one does, so the longest is found by bisection.
        counts = range(1, len(versions))
        most = bisect_left(
            counts,
            True,
            key=lambda count: bool(_built(id_, base, versions[-count:], rules, reserved, former, windows)[1]),
        )
        raise LimitExceeded([*problems, _advice(base, len(versions), most)])
    return view


def _built(
    id_: TableId,
    base: TableId,
    versions: Sequence[Version],
    rules: TableRules,
    reserved: int,
    former: Sequence[Column],
    windows: Windows,
) -> tuple[BuiltView | None, Sequence[str]]:
    """Return the view, if it can be written at all, and a problem for each limit that it passes."""
    try:
        view = build_view(id_, base, versions, rules, reserved, former, windows)
    except LimitExceeded as error:
        return None, error.problems
    return view, limit_problems(view)


def _advice(base: TableId, count: int, most: int) -> str:
    if not most:
        return f"{base}: not even the newest version fits: set plain target types for its nested columns in onefold.yaml"
    return (
        f"{base}: the newest {most:,} of {count:,} versions fit: set `retire` for the oldest {count - most:,} in "
        "onefold.yaml, or copy their rows into one table of a version of its own"
    )
