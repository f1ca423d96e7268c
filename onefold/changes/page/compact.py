"""The data of a page as compact JSON: short names, and runs of equal cells instead of cells.

The scripts of the page read these names, `data.js` with a line for each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from onefold.changes.page.cells import PageColumn
from onefold.changes.page.dataset import DatasetPage, PageTable


def page_json(page: DatasetPage) -> str:
    """Return the data of a page as JSON that may stand in an element `script` of HTML.

    `<` is escaped: `</script>` would end the element, and `<!--` begin a comment in it (HTML standard, "Restrictions for
    contents of script elements", https://html.spec.whatwg.org/multipage/scripting.html, 2026-11).
    """
    return script_json(_page(page))


def script_json(value: Any) -> str:
    r"""Return a value as JSON that may stand in an element `script` of HTML.

    Examples:
        >>> script_json(["</script>"])
        '["\\u003c/script>"]'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _page(page: DatasetPage) -> dict[str, Any]:
    return {
        "project": page.project,
        "dataset": page.dataset,
        "written": time_text(page.written_at),
        "tables": [_table(one) for one in page.tables],
        "warnings": list(page.warnings),
    }


def _table(table: PageTable) -> dict[str, Any]:
    check = table.check
    found = {
        "name": table.name,
        "kind": table.kind,
        "rows": table.rows,
        "landed": time_text(table.landed_at),
        "merged": time_text(table.merged_at),
        "lag": table.lag_seconds,
        "check": [time_text(check.at), check.outcome, check.repaired] if check else None,
        "problems": list(table.problems),
        "views": [[one.kind, one.name, one.state, one.reason] for one in table.views],
        "versions": [
            [one.id, one.table, time_text(one.created), one.rows, one.size, int(one.is_retired)] for one in table.versions
        ],
        "columns": [_column(one) for one in table.columns],
        "changes": [
            [one.id, time_text(one.at), time_text(one.changed_at), one.origin, one.tenant, one.before, one.after,
             one.decision, one.severity, list(one.operations), list(one.effects), one.statement, time_text(one.decided_at)]
            for one in table.changes
        ],
        "readers": [[one.column, one.kind, one.name, one.count, int(one.is_certain)] for one in table.readers],
    }  # fmt: skip
    return {name: value for name, value in found.items() if value not in (None, [])}


def _column(column: PageColumn) -> list[Any]:
    forms = [[form.kind, form.type, form.rule, form.sql] for form in column.forms]
    return [column.name, column.type, forms, list(runs(column.cells))]


def runs(cells: Iterable[int]) -> Iterator[int]:
    """Yield each form followed by the number of versions in a row that have it.

    Examples:
        >>> list(runs([0, 0, 0, 1, 0]))
        [0, 3, 1, 1, 0, 1]
    """
    for form, group in groupby(cells):
        yield form
        yield sum(1 for _ in group)


def time_text(time: datetime | None) -> str | None:
    """Return a time as JSON has it, in UTC to the second."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if time else None
