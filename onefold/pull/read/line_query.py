"""The SELECT whose rows are lines of JSON already: the server writes each value as it lands, and Python copies bytes.

A row is one text of several parts: the fields of its object, each with a comma behind it; the fields of the type JSON, each
with a comma before it; and what `onefold.pull.read.queries` adds to the columns, empty for NULL. It is NULL where it is
longer than the server's max_allowed_packet, or where a value has no text.
"""

from __future__ import annotations

from onefold.mysql.connection import quoted
from onefold.mysql.snapshot.renderings import Form, is_cut, landed, rendering_of
from onefold.mysql.table import SourceColumn
from onefold.pull.read.plan import KeyRange, TablePlan
from onefold.pull.read.queries import added_columns, condition_of, select

LOST, BETWEEN = "\x01", "\x02"
"""Characters that no text of JSON has: the first encloses the number of a column whose value is lost, in the place of its
field; the second is between parts."""
_TEXT = "JSON_QUOTE(CONVERT({} USING utf8mb4)) COLLATE utf8mb4_bin"
_QUOTED = "'\"', {}, '\"'"
_BASE64 = "REPLACE(TO_BASE64({}), '\\n', '')"
_FORMS: dict[Form, str] = {
    "number": "{}", "json": "{}", "quoted": _QUOTED, "date": _QUOTED, "text": _TEXT, "bytes": _QUOTED.format(_BASE64),
}  # fmt: skip
IS_DAY = "YEAR({0}) > 0 AND MONTH({0}) > 0 AND DAY({0}) BETWEEN 1 AND DAY(LAST_DAY({0}))"
"""Whether BigQuery has a day: MySQL keeps 0000-00-00, 2020-00-10 and 2020-02-30, too."""


def line_query(plan: TablePlan, part: KeyRange) -> str | None:
    """Return the query of a key range; None for a table with geometries, or with text that the server may cut.

    Only Python gives these exactly.

    Args:
        plan: of the pull.
        part: the key range.
    """
    columns = plan.structure.columns
    if any(rendering_of(column).form == "geometry" or is_cut(column) for column in columns):
        return None
    pairs = list(zip(columns, plan.target.source_names, strict=True))
    plain = [
        _field(column, number, f'"{name}":', ",")
        for number, (column, name) in enumerate(pairs)
        if name not in plan.json_columns
    ]
    json = [
        _field(column, number, f',"{name}":', "") for number, (column, name) in enumerate(pairs) if name in plan.json_columns
    ]
    parts = [f"CONCAT('', {', '.join(fields)})" if fields else "''" for fields in (plain, json)]
    parts += [f"IFNULL({value}, '')" for value in added_columns(plan, part)]
    row = f", '{BETWEEN}', ".join(parts)
    return select(plan, [f"CONCAT({row})"], condition_of(plan, part))


def _field(column: SourceColumn, number: int, before: str, after: str) -> str:
    name, form = quoted(column.name), rendering_of(column).form
    value = f"CONCAT('{before}', {_FORMS[form].format(landed(column))}, '{after}')"
    # A value that is there and has no text makes the line NULL, so that it is not taken for a value that is not there.
    if form == "date":
        value = f"IF({IS_DAY.format(name)}, {value}, '{LOST}{number}{LOST}')"
    return f"IF({name} IS NULL, '', {value})"
