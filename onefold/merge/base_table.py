"""The base table as SQL: of each key the row with the greatest position, deletions included (a tombstone is a row).

Everything that comes into a base comes by one MERGE with one guard: the position of what comes is above that of what is
there. So it may come twice, late, in another order or from two merges at once: the base ends the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from textwrap import indent

from onefold.changelog.metadata import key_problems, source_columns
from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId, fold_case, quote
from onefold.merge.merge_log import floor_sql
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Scalar, Type

POSITION, DELETED = "_position", "_deleted"

# BigQuery, "Clustered tables": at most four columns, of these types.
_CLUSTERED = 4
_CAN_CLUSTER = frozenset({"STRING", "INT64", "DATE", "DATETIME", "TIMESTAMP", "NUMERIC", "BIGNUMERIC", "BOOL"})

# What stands for NULL in a comparison of keys, beside a comparison of whether they are NULL.
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
    """What the base table of `table` is to be: the source's columns in their unified types, and which are the key."""

    table: TableId
    columns: tuple[Column, ...]
    keys: tuple[str, ...]

    @property
    def id(self) -> TableId:
        return base_table(self.table)

    @property
    def log(self) -> TableId:
        return log_of(self.table)

    @property
    def stored(self) -> tuple[Column, ...]:
        """All columns of the table."""
        return (*self.columns, Column(POSITION, Scalar("STRING")), Column(DELETED, Scalar("BOOL")))

    @property
    def key_columns(self) -> tuple[Column, ...]:
        known = {fold_case(column.name): column for column in self.columns}
        return tuple(known[fold_case(key)] for key in self.keys)

    @property
    def clustering(self) -> tuple[str, ...]:
        fit = [column.name for column in self.key_columns if str(column.type) in _CAN_CLUSTER]
        return tuple(fit[:_CLUSTERED])

    def is_key(self, column: Column) -> bool:
        return fold_case(column.name) in {fold_case(key) for key in self.keys}


def base_of(table: TableId, columns: Sequence[Column], keys: Sequence[str]) -> BaseTable:
    """The base of a table of this unified schema (metadata included), its keys spelled as the columns are.

    Raises:
        SchemaConflict: all that keeps it from having a base.
    """
    known = {fold_case(column.name): column.name for column in source_columns(columns)}
    taken = [name for name in (POSITION, DELETED) if name in known]
    problems = [
        f"{table}: the column {name} has a name that the base table needs; rename it at the source" for name in taken
    ]
    problems += key_problems(str(table), columns, keys)
    if problems:
        raise SchemaConflict(problems)
    spelled = tuple(dict.fromkeys(known[fold_case(key)] for key in keys))
    return BaseTable(table, tuple(source_columns(columns)), spelled)


def base_table(table: TableId) -> TableId:
    return table.sibling(f"{table.table}_base")


def log_of(table: TableId) -> TableId:
    return table.sibling(f"{table.table}_merges")


def merge_statement(base: BaseTable, rows: str, spare: Collection[str] = ()) -> str:
    """One MERGE of rows into the base.

    Args:
        rows: a query of rows in all columns of the base (`base.stored`) and their types, in any order and number: changes as
            they landed, winners among them that somebody staged, rows of a snapshot.
        spare: columns of the base table that the unified schema no longer has: a row that is written over loses them.
    """
    others = [column.name for column in base.stored if not base.is_key(column)]
    updates = [*(f"{quote(name)} = c.{quote(name)}" for name in others), *(f"{quote(name)} = NULL" for name in spare)]
    names = [quote(column.name) for column in base.stored]
    # What is set is looked for among the aliases first: of a column named like this one, all of the row would be.
    row = free_name("b", [*base.stored, *(Column(name, STRING) for name in spare)])
    return (
        f"MERGE INTO {base.id.quoted} AS {row}\n"
        f"USING (\n{indent(_guarded_winners(base, rows), '  ')}\n) AS c\n"
        f"ON {same_key(base, row, 'c')}\n"
        f"WHEN MATCHED AND {is_newer('c', row)} THEN UPDATE SET\n  {(',' + chr(10) + '  ').join(updates)}\n"
        f"WHEN NOT MATCHED BY TARGET AND c.{quote(_above_floor(base))} THEN INSERT ({', '.join(names)})\n"
        f"VALUES ({', '.join(f'c.{name}' for name in names)})"
    )


def is_newer(change: str, row: str) -> str:
    """Whether a change wins over the base's row of its key; one without a position is older than any."""
    return f"({row}.{POSITION} IS NULL OR {change}.{POSITION} > {row}.{POSITION})"


def same_key(base: BaseTable, one: str, other: str) -> str:
    """Equality of keys in which NULL equals NULL. A plain equality of both sides' expressions: an outer join needs that."""
    return " AND ".join(_same(quote(column.name), column.type, one, other) for column in base.key_columns)


def winners(base: BaseTable, rows: str, extra: str = "") -> str:
    """Of each key among the rows the one with the greatest position. Of a tombstone no more is kept than its key.

    Args:
        extra: further items of the SELECT, over the row `w`.
    """
    rank = free_name("_rank", base.columns)
    items = [_kept(base, column) for column in base.columns]
    items += [f"w.{POSITION}", f"w.{DELETED}", *([extra] if extra else [])]
    return f"SELECT\n  {(',' + chr(10) + '  ').join(items)}\n{ranked(base.keys, rows, rank)}\nWHERE w.{rank} = 1"


def ranked(keys: Iterable[str], rows: str, rank: str, last: str = "", known: str = "") -> str:
    """The rows with their rank among those of their key, the greatest position first.

    Args:
        last: what decides between equal positions.
        known: an item about all rows of a key, with `{key}` for their window.
    """
    by_key = f"PARTITION BY {', '.join(f'r.{quote(key)}' for key in keys)}"
    about = f", {known.format(key=by_key)}" if known else ""
    return (
        "FROM (\n"
        f"  SELECT r.*, ROW_NUMBER() OVER ({by_key} ORDER BY r.{POSITION} DESC{last}) AS {rank}{about}\n"
        f"  FROM (\n{indent(rows, '    ')}\n  ) AS r\n"
        ") AS w"
    )


def repeated_keys_query(base: BaseTable, rows: str) -> str:
    """How many keys come more than once."""
    by_key = ", ".join(f"r.{quote(key)}" for key in base.keys)
    return f"SELECT COUNT(*) AS found FROM (\n  SELECT 1 FROM (\n{rows}\n  ) AS r GROUP BY {by_key} HAVING COUNT(*) > 1\n)"


def free_name(name: str, columns: Iterable[Column]) -> str:
    """The name, longer by as many underscores as it takes to be no column's."""
    taken = {fold_case(column.name) for column in columns}
    while name in taken:
        name += "_"
    return name


def _guarded_winners(base: BaseTable, rows: str) -> str:
    """The winners, and whether they are above the floor. MERGE allows no subquery in its conditions, so it stands here."""
    floor = f"w.{POSITION} > IFNULL({floor_sql(base.log)}, '')"
    return winners(base, rows, f"{floor} AS {quote(_above_floor(base))}")


def _above_floor(base: BaseTable) -> str:
    return free_name("_above_floor", base.columns)


def _kept(base: BaseTable, column: Column) -> str:
    name = quote(column.name)
    return f"w.{name}" if base.is_key(column) else f"IF(w.{DELETED}, NULL, w.{name}) AS {name}"


def _same(name: str, type_: Type, one: str, other: str) -> str:
    zero = _ZEROS[str(type_)]
    return (
        f"({one}.{name} IS NULL) = ({other}.{name} IS NULL) "
        f"AND IFNULL({one}.{name}, {zero}) = IFNULL({other}.{name}, {zero})"
    )
