"""The base table as SQL: for each key the row with the greatest position. A deletion is such a row, too: a tombstone.

Every row comes into a base by one MERGE with one guard: the position of the new row is above the position of the row that is
there. So rows may come twice, late, in another order or from two merges at once, and the base ends the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from textwrap import indent
from types import MappingProxyType

from onefold.changelog.base_columns import DELETED as DELETED
from onefold.changelog.base_columns import PACKED as PACKED
from onefold.changelog.base_columns import POSITION as POSITION
from onefold.changelog.base_columns import base_table as base_table
from onefold.changelog.key_columns import key_problems
from onefold.changelog.metadata import DATABASE_NAME, SOURCE_NAME, source_columns
from onefold.changelog.packed_position import packed_sql, unpacked_sql
from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId, fold_case, quote
from onefold.merge.key_ranges import KeyRanges, ValueRange, within
from onefold.merge.merge_log import floor_sql
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING, Scalar

# Google Cloud, BigQuery, "Introduction to clustered tables" (https://cloud.google.com/bigquery/docs/clustered-tables): at
# most four columns, of these types.
_CLUSTERED = 4
_CAN_CLUSTER = frozenset({"STRING", "INT64", "DATE", "DATETIME", "TIMESTAMP", "NUMERIC", "BIGNUMERIC", "BOOL"})

# A value of each type of key, which replaces NULL in a comparison. Whether both keys are NULL is compared separately.
_ZEROS = {
    "STRING": "''",
    "BYTES": "b''",
    "BOOL": "FALSE",
    "INT64": "0",
    "NUMERIC": "NUMERIC '0'",
    "BIGNUMERIC": "BIGNUMERIC '0'",
    "DATE": "DATE '1970-01-01'",
    "DATETIME": "DATETIME '1970-01-01 00:00:00'",
    "TIMESTAMP": "TIMESTAMP '1970-01-01 00:00:00+00'",
    "TIME": "TIME '00:00:00'",
    "INTERVAL": "MAKE_INTERVAL()",
}


@dataclass(frozen=True)
class BaseTable:
    """A base table as it has to be.

    table: the table whose latest rows it holds.
    columns: the source's columns in their unified types.
    keys: the names of the columns that are the key, spelled as in `columns`.
    dataset: the dataset of the base and its log; None where they are in that of the table.
    packed: whether positions are stored as bytes. Bases of earlier releases have them as text until they are rebuilt.
    """

    table: TableId
    columns: tuple[Column, ...]
    keys: tuple[str, ...]
    dataset: str | None = None
    packed: bool = False

    @property
    def place(self) -> TableId:
        """The name of the table in the dataset of its base."""
        return TableId(self.table.project, self.dataset or self.table.dataset, self.table.table)

    @property
    def id(self) -> TableId:
        """The name of the base table."""
        return base_table(self.place)

    @property
    def log(self) -> TableId:
        """The name of the log of its merges."""
        return log_of(self.place)

    @property
    def stored(self) -> tuple[Column, ...]:
        """All columns of the base table: those of the source, the position, and whether the row is a tombstone."""
        position = Column(PACKED, Scalar("BYTES")) if self.packed else Column(POSITION, Scalar("STRING"))
        return (*self.columns, position, Column(DELETED, Scalar("BOOL")))

    @property
    def merged(self) -> tuple[Column, ...]:
        """The columns of rows that are merged into the base table: as `stored`, with the position as text."""
        return (*self.columns, Column(POSITION, Scalar("STRING")), Column(DELETED, Scalar("BOOL")))

    @property
    def position(self) -> str:
        """The name of the column by which rows of the base table are compared."""
        return PACKED if self.packed else POSITION

    def position_sql(self, row: str) -> str:
        """Return the text of the position of a row of the base table, by the row's alias, as an expression of SQL."""
        return unpacked_sql(f"{row}.{PACKED}") if self.packed else f"{row}.{POSITION}"

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The columns that are the key."""
        return Schema(self.columns).only(self.keys)

    @property
    def clustering(self) -> tuple[str, ...]:
        """The columns by which the base table is clustered: those of the key, as far as their types allow it.

        Of a captured table, the database comes first, as in its versioned tables: readers filter by it, and only a filter on
        the first columns prunes. The source is left out: there are few sources, and BigQuery takes at most four columns.
        """
        fit = self._can_cluster
        if {SOURCE_NAME, DATABASE_NAME} <= {*fit}:
            fit = (DATABASE_NAME, *(name for name in fit if name not in (SOURCE_NAME, DATABASE_NAME)))
        return fit[:_CLUSTERED]

    @property
    def _can_cluster(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.key_columns if str(column.type) in _CAN_CLUSTER)

    def is_key(self, name: str) -> bool:
        """Return whether the column of this name, in any spelling, is part of the key."""
        return fold_case(name) in map(fold_case, self.keys)


def base_of(table: TableId, columns: Sequence[Column], keys: Sequence[str], dataset: str | None = None) -> BaseTable:
    """Return the base of a table, with its keys spelled as the columns are.

    Args:
        table: the table whose latest rows the base holds.
        columns: the unified schema of its versions, metadata included.
        keys: the columns that are the key, in any spelling.
        dataset: as in `BaseTable`.

    Raises:
        SchemaConflict: everything that keeps the table from having a base.

    Examples:
        >>> from onefold.changelog.metadata import CAPTURE_FIELDS, METADATA, metadata_type
        >>> columns = [Column("Id", STRING), Column(METADATA, metadata_type(CAPTURE_FIELDS))]
        >>> base = base_of(TableId("p", "d", "customer"), columns, ["ID"])
        >>> str(base.id), base.keys, Schema(base.stored).names
        ('p.d.customer_base', ('Id',), ('Id', '_position', '_deleted'))
    """
    source = source_columns(columns)
    problems = [
        f"{table}: the column {name} has a name that the base table needs; rename it at the source"
        for name in (POSITION, PACKED, DELETED)
        if source.has(name)
    ]
    problems += key_problems(str(table), columns, keys)
    if problems:
        raise SchemaConflict(problems)
    spelled = tuple(dict.fromkeys(source.only(keys).names))
    return BaseTable(table, source, spelled, dataset)


def log_of(table: TableId) -> TableId:
    """Return the name of the log of a table's merges."""
    return table.sibling(f"{table.table}_merges")


def merge_statement(
    base: BaseTable, rows: str, dropped: Collection[str] = (), ranges: KeyRanges = MappingProxyType({})
) -> str:
    """Return the MERGE of rows into the base.

    Args:
        base: the base table.
        rows: a query of rows in all columns of `base.merged` and their types, in any order and number per key: changes as
            they landed, winners that a batch staged, or rows of a snapshot.
        dropped: columns of the base table that the unified schema no longer has; they become NULL in each row that is
            updated.
        ranges: columns of the key in which the rows have no NULL, and the bounds of their values. Rows outside of them are
            left out. By these columns BigQuery leaves out blocks of the base.
    """
    others = [column.name for column in base.stored if not base.is_key(column.name)]
    updates = [*(f"{quote(name)} = c.{quote(name)}" for name in others), *(f"{quote(name)} = NULL" for name in dropped)]
    names = [quote(column.name) for column in base.stored]
    # In `SET name = ...` BigQuery looks for the name among the aliases first: a column named like the alias of the target
    # would be taken for the whole row. So the alias is no column's name.
    row = free_name("b", [*base.stored, *(Column(name, STRING) for name in dropped)])
    return (
        f"MERGE INTO {base.id.quoted} AS {row}\n"
        f"USING (\n{indent(_guarded_winners(base, rows) + within(ranges, 'w'), '  ')}\n) AS c\n"
        f"ON {same_key(base, row, 'c', ranges)}\n"
        f"WHEN MATCHED AND {is_newer('c', row, base.position)} THEN UPDATE SET\n  {(',' + chr(10) + '  ').join(updates)}\n"
        f"WHEN NOT MATCHED BY TARGET AND c.{quote(_above_floor(base))} THEN INSERT ({', '.join(names)})\n"
        f"VALUES ({', '.join(f'c.{name}' for name in names)})"
    )


def is_newer(change: str, row: str, position: str = POSITION) -> str:
    """Return a condition: a change wins over the base's row of its key. A row without a position is older than any change.

    Examples:
        >>> is_newer("c", "b")
        '(b._position IS NULL OR c._position > b._position)'
    """
    return f"({row}.{position} IS NULL OR {change}.{position} > {row}.{position})"


def same_key(base: BaseTable, one: str, other: str, ranges: KeyRanges = MappingProxyType({})) -> str:
    """Return a condition under which the keys of two rows are equal, where NULL equals NULL.

    Each part compares one expression over one row with one over the other: BigQuery runs an outer join only on such
    equalities.

    Args:
        base: the base table, for its keys.
        one: the alias of a row.
        other: the alias of another row.
        ranges: columns of the key within which the key of the other row is known to be.
    """
    return " AND ".join(_same(column, one, other, ranges.get(column.name)) for column in base.key_columns)


def winners(base: BaseTable, rows: str, extra: str = "") -> str:
    """Return a query of the row with the greatest position for each key. Of a tombstone, only the key's values are kept.

    Args:
        base: the base table, for its columns and keys.
        rows: a query of rows in the columns of `base.merged`.
        extra: a further item of the SELECT, over the row `w`.
    """
    rank = free_name("_rank", base.columns)
    items = [_kept(base, column) for column in base.columns]
    position = f"{packed_sql(f'w.{POSITION}')} AS {PACKED}" if base.packed else f"w.{POSITION}"
    items += [position, f"w.{DELETED}", *([extra] if extra else [])]
    return f"SELECT\n  {(',' + chr(10) + '  ').join(items)}\n{ranked(base.keys, rows, rank)}\nWHERE w.{rank} = 1"


def ranked(keys: Iterable[str], rows: str, rank: str, last: str = "", known: str = "") -> str:
    """Return a FROM clause of rows, as `w`, with their rank among those of their key: the greatest position has rank 1.

    Args:
        keys: the columns of the key.
        rows: a query of rows with a position.
        rank: the name of the column with the rank.
        last: further ORDER BY items, which decide between equal positions.
        known: a further item of the SELECT about all rows of a key, with `{key}` for their window.
    """
    by_key = f"PARTITION BY {', '.join(f'r.{quote(key)}' for key in keys)}"
    about = f", {known.format(key=by_key)}" if known else ""
    return (
        "FROM (\n"
        f"  SELECT r.*, ROW_NUMBER() OVER ({by_key} ORDER BY r.{POSITION} DESC{last}) AS {rank}{about}\n"
        f"  FROM (\n{indent(rows, '    ')}\n  ) AS r\n"
        ") AS w"
    )


def free_name(name: str, columns: Iterable[Column]) -> str:
    """Return the name, with as many underscores after it as it takes to be no column's name.

    Examples:
        >>> free_name("_rank", [Column("_RANK", STRING), Column("id", STRING)])
        '_rank_'
    """
    taken = Schema(columns)
    while taken.has(name):
        name += "_"
    return name


def _guarded_winners(base: BaseTable, rows: str) -> str:
    """Return a query of the winners that tells whether each is above the floor.

    The floor is a subquery, which BigQuery does not allow in the conditions of a MERGE.
    """
    floor = f"w.{POSITION} > IFNULL({floor_sql(base.log)}, '')"
    return winners(base, rows, f"{floor} AS {quote(_above_floor(base))}")


def _above_floor(base: BaseTable) -> str:
    return free_name("_above_floor", base.columns)


def _kept(base: BaseTable, column: Column) -> str:
    name = quote(column.name)
    return f"w.{name}" if base.is_key(column.name) else f"IF(w.{DELETED}, NULL, w.{name}) AS {name}"


def _same(column: Column, one: str, other: str, known: ValueRange | None) -> str:
    name, zero = quote(column.name), _ZEROS[str(column.type)]
    if known:
        return f"{one}.{name} = {other}.{name}" + (f" AND {known.holds(f'{one}.{name}')}" if known.bounds else "")
    return (
        f"({one}.{name} IS NULL) = ({other}.{name} IS NULL) "
        f"AND IFNULL({one}.{name}, {zero}) = IFNULL({other}.{name}, {zero})"
    )
