"""What lands of a source table: columns that the rules of onefold.yaml drop, mask or hash do not leave capture as they are.

The rules apply where rows become records and structures become versioned tables. Everything before that, such as the
structures in checkpoints, is the source's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from onefold.core.errors import InvalidInput, TableRefused
from onefold.core.hash_key import HashKey
from onefold.core.text import shown_list
from onefold.landing.table import HASHED, MaskedType, bigquery_type, is_known
from onefold.landing.text import hashed_bytes
from onefold.mysql.binlog.rows import Row
from onefold.mysql.catalog import TableName
from onefold.mysql.ghost_tables import originals
from onefold.mysql.table import SourceColumn, Structure
from onefold.schema.column_policy import Action
from onefold.settings.captures import ColumnRules, action_of

_MOST_KNOWN = 100_000

Convert = Callable[[Any], Any]
Actions = tuple[Action, ...]
FollowedRules = tuple[tuple[TableName, ColumnRules], ...]


@dataclass(frozen=True)
class AppliedRules:
    """The rules under which rows have landed, as a checkpoint keeps them: without the key.

    Attributes:
        rules: of the source's columns.
        key: the fingerprint of the key of hashes; None where nothing is hashed.
        followed: by table, rules that it has because its columns, or the table itself, had names that the rules name.
    """

    rules: tuple[ColumnRules, ...] = ()
    key: str | None = None
    followed: FollowedRules = ()

    def of_table(self, table: TableName) -> tuple[ColumnRules, ...]:
        """Return the rules about a table: a ghost table has those of the table that it stands for, too."""
        names = (table.table, *originals(table.table))
        found = (one for one in self.rules if any(one.concern(table.database, name) for name in names))
        own = (self._followed.get(TableName(table.database, name)) for name in names)
        return (*found, *(one for one in own if one))

    @cached_property
    def _followed(self) -> dict[TableName, ColumnRules]:
        return dict(self.followed)

    def action(self, table: TableName, column: str) -> Action:
        """Return what happens to a column of a table."""
        return max((one.action(column) for one in self.of_table(table)), default=Action.CLEAR)

    def actions(self, database: str, structure: Structure) -> Actions:
        """Return what happens to each column of a table."""
        rules = self.of_table(TableName(database, structure.table))
        return tuple(max((one.action(column.name) for one in rules), default=Action.CLEAR) for column in structure.columns)

    def differ(self, other: AppliedRules, database: str, structure: Structure) -> bool:
        """Return whether rows of a table land differently under other rules."""
        actions = self.actions(database, structure)
        return actions != other.actions(database, structure) or (Action.HASH in actions and self.key != other.key)

    def to_json(self) -> dict[str, Any]:
        """Return the rules for a checkpoint."""
        followed = [{"database": one.database, **asdict(rules), "tables": one.table} for one, rules in self.followed]
        body = {"rules": [asdict(one) for one in self.rules], "key": self.key}
        return {**body, "followed": followed} if followed else body

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> AppliedRules:
        """Return the rules that `to_json` has written."""
        of_tables = body.get("followed", ())
        followed = ((TableName(one["database"], one["tables"]), _rules_from({**one, "tables": ""})) for one in of_tables)
        return cls(tuple(_rules_from(one) for one in body["rules"]), body["key"], tuple(followed))


def _rules_from(body: dict[str, Any]) -> ColumnRules:
    return ColumnRules(body["tables"], *(tuple(body[action]) for action in ("drop", "mask", "hash")))


@dataclass(frozen=True)
class Landing:
    """How the rows of a structure land.

    Attributes:
        structure: the columns that land, with their types.
        columns: the index at the source of each column that lands, and what its value becomes; None where every row lands
            as it is.
    """

    structure: Structure
    columns: tuple[tuple[int, Convert | None], ...] | None = None

    def row(self, row: Row) -> Row:
        """Return what lands of a row of the source."""
        if self.columns is None:
            return row
        return tuple(convert(row[index]) if convert else row[index] for index, convert in self.columns)

    def rows(self, rows: Iterable[Row]) -> Iterable[Row]:
        """Return what lands of several rows."""
        return rows if self.columns is None else map(self.row, rows)


@dataclass(frozen=True)
class LandingRules:
    """The rules of a source with the key of its hashes.

    Attributes:
        rules: of the source's columns.
        key: the key; None where nothing is hashed.
        followed: rules of single tables, as of `AppliedRules`.
    """

    rules: tuple[ColumnRules, ...] = ()
    key: HashKey | None = None
    followed: FollowedRules = ()
    _known: dict[tuple[str, Structure], Landing] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Check that there is a key where columns are hashed.

        Raises:
            InvalidInput: there is none.
        """
        if self.key is None and any(one.hash for one in self.rules):
            raise InvalidInput("`hash` under `captures` in onefold.yaml needs a key: run `onefold policies key DATASET`")

    @cached_property
    def applied(self) -> AppliedRules:
        """The rules as a checkpoint keeps them."""
        return AppliedRules(self.rules, self.key.fingerprint if self.key else None, self.followed)

    def landing(self, database: str, structure: Structure) -> Landing:
        """Return how the rows of a table land.

        Args:
            database: the database of the table.
            structure: the table's structure at the source.

        Raises:
            TableRefused: the rules drop or mask a column of the key, hash JSON, or drop every column.
        """
        if not self.rules and not self.followed:
            return Landing(structure)
        # Two threads ask: neither may rely on an entry that it has found before.
        found = self._known.get((database, structure))
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[(database, structure)] = self._new_landing(database, structure)
        return found

    def _new_landing(self, database: str, structure: Structure) -> Landing:
        actions = self.applied.actions(database, structure)
        if problems := list(_problems(structure, actions)):
            raise TableRefused(
                shown_list(problems, joint="; "), "correct `captures` in onefold.yaml, and start capture again"
            )
        if set(actions) <= {Action.CLEAR}:
            return Landing(structure)
        kept = [(index, action) for index, action in enumerate(actions) if action is not Action.DROP]
        columns = tuple(_landed(structure.columns[index], action) for index, action in kept)
        converts = tuple((index, self._convert(structure.columns[index], action)) for index, action in kept)
        return Landing(replace(structure, columns=columns), converts)

    def _convert(self, column: SourceColumn, action: Action) -> Convert | None:
        if action is Action.CLEAR:
            return None
        data, key = _data_of(column), self.key
        if action is Action.MASK or data is None or key is None:
            return _mask
        return lambda value: None if value is None else key.hash(data(value))


NO_RULES = LandingRules()


def rule_problems(rules: LandingRules, structures: Iterable[tuple[TableName, Structure]]) -> Iterator[str]:
    """Yield why tables cannot be captured under the rules."""
    for table, structure in structures:
        try:
            rules.landing(table.database, structure)
        except TableRefused as error:
            yield f"{table}: {error}"


def unused_columns(rules: Iterable[ColumnRules], structures: Iterable[tuple[TableName, Structure]]) -> list[str]:
    """Return the columns that rules name without a `*`, and that no table has: their names may be misspelled."""
    present = [(name.database, name.table, column.name) for name, structure in structures for column in structure.columns]
    found = []
    for one in rules:
        for column in dict.fromkeys((*one.drop, *one.mask, *one.hash)):
            alone = (ColumnRules(one.tables, drop=(column,)),)
            if "*" not in column and not any(action_of(alone, *named) for named in present):
                found.append(f"{one.tables}.{column}")
    return found


def _problems(structure: Structure, actions: Sequence[Action]) -> Iterator[str]:
    for column, action in zip(structure.columns, actions, strict=True):
        if column.name in structure.primary_key and action in (Action.DROP, Action.MASK):
            yield f"`{action}` names {column.name}, a column of the key, which identifies rows: hash it, or leave it clear"
        elif action is Action.HASH and _data_of(column) is None:
            yield f"`hash` names {column.name}, whose values have no single text as {column.type}: mask or drop it"
    if all(action is Action.DROP for action in actions):
        yield "`drop` names every column: leave the table out with --exclude"


def _data_of(column: SourceColumn) -> Callable[[Any], bytes] | None:
    """Return the function from a landed value to what is hashed; None for a type without one."""
    return hashed_bytes(bigquery_type(column.type)) if is_known(column.type) else None


def _landed(column: SourceColumn, action: Action) -> SourceColumn:
    if action is Action.HASH:
        return SourceColumn(column.name, HASHED)
    if action is Action.MASK:
        kind = column.type
        return replace(column, type=MaskedType(kind.name, kind.size, kind.scale, kind.unsigned))
    return column


def _mask(_: Any) -> None:
    return None
