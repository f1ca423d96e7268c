"""The table `schema_change_notifications`: which owner was notified of which entry of the ledger. Rows are only appended."""

from __future__ import annotations

from collections.abc import Sequence

from onefold.changes.digest import NotifiedEntry
from onefold.core.errors import NotFound
from onefold.core.names import TableId, quote_text
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.columns import Column
from onefold.schema.types import Scalar

NOTIFICATIONS_TABLE = "schema_change_notifications"
"""The name of the table, in the dataset of the ledger."""
NOTIFICATION_COLUMNS = (
    Column("id", Scalar("STRING")),
    Column("owner", Scalar("STRING")),
    Column("sent_at", Scalar("TIMESTAMP")),
)
_MOST_ROWS = 10_000
"""Rows of one statement: BigQuery takes a text of 1 MB, and an identifier has 36 characters with quotes and comma."""


def notifications_table(project: str, dataset: str) -> TableId:
    """Return the name of the table."""
    return TableId(project, dataset, NOTIFICATIONS_TABLE)


def create_notifications(warehouse: BaseWarehouse, dataset: str) -> None:
    """Create the table in a dataset that exists; a table that exists stays as it is.

    Raises:
        NotFound: the dataset does not exist.
    """
    warehouse.create_table(notifications_table(warehouse.project, dataset), NOTIFICATION_COLUMNS)


def read_notified(warehouse: BaseWarehouse, dataset: str) -> frozenset[NotifiedEntry]:
    """Return of which entries owners were notified.

    Raises:
        NotFound: there is no such table: what is sent could not be recorded, and would be sent again and again.
    """
    table = notifications_table(warehouse.project, dataset)
    try:
        rows = warehouse.fetch(f"SELECT DISTINCT `id`, `owner`\nFROM {table.quoted}")
    except NotFound as error:
        raise NotFound(f"there is no table {table}: `onefold changes create` makes it ({error})") from error
    return frozenset((row["id"], row["owner"]) for row in rows)


def append_notified(warehouse: BaseWarehouse, dataset: str, owner: str, ids: Sequence[str]) -> None:
    """Append that an owner was notified of entries. Rows that are appended again change nothing.

    Args:
        warehouse: where the table is.
        dataset: its dataset.
        owner: the pattern of the owner.
        ids: the identifiers of the entries.

    Raises:
        OnefoldError: the warehouse refuses; some of the rows may have been written.
    """
    table = notifications_table(warehouse.project, dataset)
    for start in range(0, len(ids), _MOST_ROWS):
        some = ", ".join(map(quote_text, ids[start : start + _MOST_ROWS]))
        warehouse.execute(
            f"INSERT INTO {table.quoted} (`id`, `owner`, `sent_at`)\n"
            f"SELECT one, {quote_text(owner)}, CURRENT_TIMESTAMP()\nFROM UNNEST([{some}]) AS one"
        )
