"""The tables that the log has described so far, by the numbers that row events use for them."""

from __future__ import annotations

from dataclasses import dataclass

from onefold.core.errors import InvalidInput
from onefold.mysql.binlog.row_event import MALFORMED, error_reason
from onefold.mysql.binlog.table_map import names_in, parse_table_map
from onefold.mysql.charsets import Dialect
from onefold.mysql.table import Structure, is_sequence
from onefold.mysql.table_filter import TableFilter

# Each transaction describes its tables again. A server that has more tables than it keeps open gives them new numbers each
# time, so without these limits both caches would grow for ever.
_MAX_TABLE_IDS = 10_000
_MAX_DESCRIPTIONS = 10_000


@dataclass(frozen=True)
class UnreadableTable:
    """A table whose description cannot be read."""

    database: str
    table: str
    reason: str


LoggedTable = tuple[str, Structure] | UnreadableTable | None
"""The database and the structure of a table; None for a table that is not captured."""


class LoggedTables:
    """Tables by the number that the server has given them. A table that the filter excludes costs only its name."""

    def __init__(self, dialect: Dialect, table_filter: TableFilter) -> None:
        self._dialect = dialect
        self._filter = table_filter
        self.by_id: dict[int, LoggedTable] = {}
        self._descriptions: dict[bytes, tuple[str, Structure] | None] = {}
        """By the bytes of the description of a captured table, without the number: most descriptions are repetitions."""
        self._structures: dict[Structure, Structure] = {}
        """One object for the same table of all databases."""

    def describe(self, body: bytes) -> None:
        """Note the table that a TABLE_MAP_EVENT describes."""
        description = body[6:]  # behind the number
        if description in self._descriptions:
            self.by_id[int.from_bytes(body[:6], "little")] = self._descriptions[description]
            return
        table_id, database, table = names_in(body)
        self.by_id[table_id] = self._described(body, database, table) if self._filter.match(database, table) else None

    def clear(self) -> None:
        """Forget all numbers: a server that has started again gives new ones."""
        self.by_id.clear()

    def clear_if_full(self) -> None:
        """Forget all numbers where there are too many. Call this between transactions only."""
        if len(self.by_id) > _MAX_TABLE_IDS:
            self.by_id.clear()

    def _described(self, body: bytes, database: str, table: str) -> LoggedTable:
        if len(self._descriptions) >= _MAX_DESCRIPTIONS:
            self._descriptions.clear()
            self._structures.clear()
        try:
            structure = parse_table_map(body, self._dialect).structure
        except (InvalidInput, *MALFORMED) as error:
            return UnreadableTable(database, table, error_reason(f"{database}.{table}", error))
        described = None if is_sequence(structure) else (database, self._structures.setdefault(structure, structure))
        self._descriptions[body[6:]] = described
        return described
