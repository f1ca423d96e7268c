"""What people decided about changes: a table to which they append, and which the functions may only read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from onefold.core.errors import NotFound, Rejected
from onefold.core.names import TableId, fold_case, quote_text
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.columns import Column
from onefold.schema.contract_rules import Verdict, Verdicts
from onefold.schema.types import parse_type

DECISIONS_TABLE = "schema_change_decisions"
"""The table of decisions, in the dataset of the ledger."""
DECISION_COLUMNS: tuple[tuple[Column, str], ...] = (
    (Column("decided_at", parse_type("TIMESTAMP")), "when it was decided; of several decisions the last one counts"),
    (Column("change", parse_type("STRING")), "the change, as schema_changes names it"),
    (
        Column("path", parse_type("STRING")),
        "a column or field; empty for the whole change and all of its columns",
    ),
    (Column("verdict", parse_type("STRING")), "accept or reject"),
)
"""The columns of the table and what they mean."""
_VERDICTS: Mapping[str, Verdict] = {"accept": "accept", "reject": "reject"}


def decisions_table(project: str, dataset: str) -> TableId:
    """Return the name of the table of decisions."""
    return TableId(project, dataset, DECISIONS_TABLE)


def create_decisions(warehouse: BaseWarehouse, dataset: str) -> None:
    """Create the table of decisions in a dataset that exists; a table that exists stays as it is.

    Raises:
        NotFound: the dataset does not exist.
    """
    warehouse.create_table(decisions_table(warehouse.project, dataset), [column for column, _ in DECISION_COLUMNS])


def decide(warehouse: BaseWarehouse, dataset: str, change: str, paths: Sequence[str], verdict: Verdict) -> None:
    """Append a decision. It may be repeated: the same decision twice is one.

    Args:
        warehouse: where the table is.
        dataset: its dataset.
        change: the identifier of the change.
        paths: the columns and fields that it is about; none for the whole change.
        verdict: the decision.

    Raises:
        Rejected: there is no such table.
        OnefoldError: the warehouse refuses.
    """
    table = decisions_table(warehouse.project, dataset)
    rows = ", ".join(
        f"(CURRENT_TIMESTAMP(), {quote_text(change)}, {quote_text(path)}, {quote_text(verdict)})" for path in paths or ("",)
    )
    names = ", ".join(f"`{column.name}`" for column, _ in DECISION_COLUMNS)
    try:
        warehouse.execute(f"INSERT INTO {table.quoted} ({names})\nVALUES {rows}")
    except NotFound as error:
        raise Rejected(
            f"there is no table {table}: create it by the variable changes_dataset of infra/, or by `onefold changes create`"
        ) from error


def read_verdicts(warehouse: BaseWarehouse, dataset: str) -> Verdicts:
    """Return all decisions; none where nobody has made the table.

    Raises:
        OnefoldError: the table cannot be read.
    """
    table = decisions_table(warehouse.project, dataset)
    try:
        rows = warehouse.fetch(f"SELECT `change`, `path`, `verdict`\nFROM {table.quoted}\nORDER BY decided_at, `path`")
    except NotFound:
        return Verdicts()
    return verdicts_of(rows)


def verdicts_of(rows: Iterable[Mapping[str, Any]]) -> Verdicts:
    """Return the decisions that rows hold, the earliest first. What is no decision shows nothing.

    Examples:
        >>> rows = [{"change": "c", "path": "Zip", "verdict": "reject"}, {"change": "c", "path": "", "verdict": "accept"}]
        >>> verdicts_of(rows).about("c", "zip"), verdicts_of(rows[:1]).about("c", "zip")
        ('accept', 'reject')
    """
    found: dict[tuple[str, str], Verdict] = {}
    for row in rows:
        change, path, verdict = row["change"], fold_case(row["path"] or ""), _VERDICTS.get(row["verdict"])
        if not change or not verdict:
            continue
        if not path:
            found = {key: one for key, one in found.items() if key[0] != change}
        found[change, path] = verdict
    return Verdicts(found)
