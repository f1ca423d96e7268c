"""What people decided about changes: a table to which they append, and which the functions may only read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from onefold.core.errors import AccessDenied, NotFound, Rejected
from onefold.core.names import TableId, fold_case, quote, quote_text
from onefold.core.text import shown_list
from onefold.ports.rows import Row
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.columns import Column
from onefold.schema.contract_rules import DecisionKey, Verdict, Verdicts
from onefold.schema.types import parse_type

DECISIONS_TABLE = "schema_change_decisions"
"""The table of decisions, in the dataset of the ledger."""
DECISION_COLUMNS: tuple[tuple[Column, str], ...] = (
    (Column("decided_at", parse_type("TIMESTAMP")), "when it was decided; of several decisions the last one counts"),
    (
        Column("change", parse_type("STRING")),
        "the change, as schema_changes names it, or an identifier of what a version brought, whatever came before it",
    ),
    (
        Column("path", parse_type("STRING")),
        "a column or field; empty for the whole change and all of its columns",
    ),
    (Column("verdict", parse_type("STRING")), "accept or reject"),
)
"""The columns of the table and what they mean."""
_VERDICTS: Mapping[str, Verdict] = {"accept": "accept", "reject": "reject"}
_VALUES = {"TIMESTAMP": datetime, "STRING": str}
"""What the client returns for a value of a type."""
_ADVICE = (
    f"expected the columns {', '.join(f'{column.name} {column.type}' for column, _ in DECISION_COLUMNS)}: correct the "
    "table, or rename it and make it anew by the variable changes_dataset of infra/ or by `onefold changes create`"
)


def decisions_table(project: str, dataset: str) -> TableId:
    """Return the name of the table of decisions."""
    return TableId(project, dataset, DECISIONS_TABLE)


def create_decisions(warehouse: BaseWarehouse, dataset: str) -> None:
    """Create the table of decisions in a dataset that exists; a table that exists stays as it is.

    Raises:
        NotFound: the dataset does not exist.
    """
    warehouse.create_table(decisions_table(warehouse.project, dataset), [column for column, _ in DECISION_COLUMNS])


def decide(warehouse: BaseWarehouse, dataset: str, about: Sequence[DecisionKey], verdict: Verdict) -> None:
    """Append a decision. It may be repeated: the same decision twice is one.

    Args:
        warehouse: where the table is.
        dataset: its dataset.
        about: what it is about: identifiers of changes with the columns and fields.
        verdict: the decision.

    Raises:
        Rejected: there is no such table, or it has other columns.
        AccessDenied: the account may not append to it.
        OnefoldError: the warehouse refuses.
    """
    if not about:
        return
    table = decisions_table(warehouse.project, dataset)
    rows = ", ".join(
        f"(CURRENT_TIMESTAMP(), {quote_text(change)}, {quote_text(path)}, {quote_text(verdict)})" for change, path in about
    )
    try:
        with _errors_about(table, "bigquery.tables.updateData"):
            warehouse.execute(f"INSERT INTO {table.quoted} ({_names()})\nVALUES {rows}")
    except NotFound as error:
        raise Rejected(
            f"there is no table {table}: create it by the variable changes_dataset of infra/, or by `onefold changes create`"
        ) from error


def read_verdicts(warehouse: BaseWarehouse, dataset: str) -> Verdicts:
    """Return what was decided; nothing where nobody has made the table.

    Raises:
        OnefoldError: as `read_decisions`.
    """
    return verdicts_of(read_decisions(warehouse, dataset))


def read_decisions(warehouse: BaseWarehouse, dataset: str) -> list[Row]:
    """Return the rows of all decisions, the earliest first, for `verdicts_of`; none where nobody has made the table.

    Of two decisions of one moment, the rejection is the later one.

    Raises:
        Rejected: the table has other columns, or they have other types.
        AccessDenied: the account may not read it.
        OnefoldError: the table cannot be read.
    """
    table = decisions_table(warehouse.project, dataset)
    try:
        with _errors_about(table, "bigquery.tables.getData"):
            rows = warehouse.fetch(f"SELECT {_names()}\nFROM {table.quoted}\nORDER BY `decided_at`, `path`, `verdict`")
    except NotFound:
        return []
    wrong = [column.name for column, _ in DECISION_COLUMNS if not all(_is_value(row, column) for row in rows)]
    if wrong:
        raise Rejected(f"{table}: the type of {shown_list(wrong)} is another one: {_ADVICE}")
    return rows


def verdicts_of(rows: Iterable[Mapping[str, Any]]) -> Verdicts:
    """Return the decisions that rows hold, the earliest first. What is no decision shows nothing.

    Examples:
        >>> rows = [{"change": "c", "path": "Zip", "verdict": "reject"}, {"change": "c", "path": "", "verdict": "accept"}]
        >>> verdicts_of(rows).about("c", "zip"), verdicts_of(rows[:1]).about("c", "zip")
        ('accept', 'reject')
    """
    found: dict[DecisionKey, tuple[Verdict, datetime | None]] = {}
    for row in rows:
        known = known_decision(row)
        if known is None:
            continue
        (change, path), verdict = known
        if not path:
            found = {key: one for key, one in found.items() if key[0] != change}
        found[change, path] = (verdict, row.get("decided_at"))
    times = {key: time for key, (_, time) in found.items() if time}
    return Verdicts({key: verdict for key, (verdict, _) in found.items()}, times)


def known_decision(row: Mapping[str, Any]) -> tuple[DecisionKey, Verdict] | None:
    """Return what a row is about, and the decision; None for a row that is no decision."""
    change, verdict = row["change"], _VERDICTS.get(row["verdict"])
    return ((change, fold_case(row["path"] or "")), verdict) if change and verdict else None


def _names() -> str:
    return ", ".join(quote(column.name) for column, _ in DECISION_COLUMNS)


def _is_value(row: Mapping[str, Any], column: Column) -> bool:
    return row[column.name] is None or isinstance(row[column.name], _VALUES[str(column.type)])


@contextmanager
def _errors_about(table: TableId, right: str) -> Iterator[None]:
    """Name the table in errors of statements about it, whose own texts name the project or a column alone.

    Args:
        table: the table.
        right: the permission that the statement needs.

    Raises:
        Rejected: BigQuery refuses the statement.
        AccessDenied: the right is missing.
    """
    try:
        yield
    except AccessDenied as error:
        raise AccessDenied(f"{table}: {error}: grant the account {right} on it, if it lacks that") from error
    except Rejected as error:
        raise Rejected(f"{table}: {error}: {_ADVICE}") from error
