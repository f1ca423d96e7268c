"""Tables that the registry did not make and that its rows go to: a setting of the registry, written by `schema adopt`.

All adopted tables are in one object of the registry, beside its schemas.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from onefold.core.errors import InvalidInput, InvalidType, OnefoldError, SchemaConflict
from onefold.core.names import fold_case
from onefold.core.text import reason_of, shown_list
from onefold.events.registry.column_mapping import MappedColumn, TableColumn, map_columns, shared_columns
from onefold.events.registry.columns import ENVELOPE
from onefold.events.registry.lookup import check_answer
from onefold.events.registry.schema_key import ModelKey, SchemaVer
from onefold.ports.event_tables import MANIFEST_TABLE
from onefold.ports.kept_entities import UNKNOWN_ENTITIES
from onefold.ports.objects import NEW, ObjectFinder, ObjectWriter
from onefold.schema.redshift_catalog import known_type
from onefold.schema.redshift_fit import held_type
from onefold.schema.types import parse_landed_type
from onefold.settings.registry import WAREHOUSES, Warehouse

ADOPTED_PATH = "settings/adopted_tables.json"
"""Where a registry has its adopted tables, below its address."""
Misfits = Literal["bad_row", "recovery_table"]
"""Where the data of an event goes if a column of an adopted table does not hold a value."""
MISFITS: tuple[Misfits, ...] = get_args(Misfits)
Missing = Literal["add", "leave_out"]
"""What becomes of a column that an adopted table lacks: the loader adds it at the end, or its values are left out."""
MISSING: tuple[Missing, ...] = get_args(Missing)
OF_EVENTS = "events"
"""What stands for the model of the table of the events."""
_OWN_TABLES = frozenset({MANIFEST_TABLE, UNKNOWN_ENTITIES})
_FORM = 1


@dataclass(frozen=True)
class AdoptedTable:
    """A table that the rows of a model, or the events themselves, go to.

    Attributes:
        model: the model; None for the events.
        warehouse: where the table is.
        table: its name, with or without the schema or dataset that it was read from.
        columns: all of its columns, in their order.
        names: the column of the table for columns of the registry; others go to a column of their own name.
        misfits: where data goes that a column does not hold.
        missing: what becomes of columns that the table lacks, of the events: others are always added.
    """

    model: ModelKey | None
    warehouse: Warehouse
    table: str
    columns: tuple[TableColumn, ...]
    names: Mapping[str, str]
    misfits: Misfits = "bad_row"
    missing: Missing = "add"

    @property
    def name(self) -> str:
        """The name of the table in its schema or dataset."""
        return self.table.rpartition(".")[2]

    @property
    def state(self) -> tuple[tuple[str, str], ...]:
        """Name and type of all columns."""
        return tuple((column.name, column.type) for column in self.columns)

    @property
    def required(self) -> frozenset[str]:
        """The columns that are NOT NULL."""
        return frozenset(column.name for column in self.columns if not column.nullable)

    def columns_for(
        self, wanted: Sequence[tuple[str, str]], later: Mapping[str, SchemaVer] | None = None
    ) -> tuple[tuple[str, str], ...]:
        """Return name and type of the columns that rows have, in the order of the registry's columns.

        Args:
            wanted: name and type of each column of the registry, those of the envelope first.
            later: the columns that the first version does not have, and the version that brought each.

        Raises:
            SchemaConflict: a column cannot hold any value of its schema, would hold the values of two, or is NOT NULL and
                versions before the one that brought it have none: they would not get its default. The error lists all of
                these columns.
        """
        mapped, in_redshift = self.mapped(wanted), self.warehouse == "redshift"
        problems = [f"lacks {one.name}" for one in mapped if one.name in ENVELOPE and not one.column]
        problems += [
            f"its column {one.column.name} is {one.column.type} and cannot hold {one.type}"
            for one in mapped
            if one.column and in_redshift and held_type(one.column.type, one.type) == "none"
        ]
        problems += [
            f"its column {column} would hold {shown_list(names)}, each of which needs a column of its own by the mapping"
            for column, names in shared_columns(mapped).items()
        ]
        problems += [
            f"its column {one.column.name} is NOT NULL, and versions before {later[one.name]} have no value for it"
            for one in mapped
            if one.column and not one.column.nullable and later and one.name in later
        ]
        if problems:
            raise SchemaConflict([f"{self.name} was adopted, and {one}: correct it and adopt it again" for one in problems])
        return tuple((one.target[0], one.target[1] if in_redshift else one.type) for one in mapped)

    def mapped(self, wanted: Sequence[tuple[str, str]]) -> tuple[MappedColumn, ...]:
        """Return where the values of columns of the registry go.

        Args:
            wanted: name and type of each column.
        """
        return map_columns(wanted, self.columns, self.names)


AdoptedTables = Mapping[tuple[Warehouse, ModelKey | None], AdoptedTable]
"""The adopted tables by warehouse and model; that of the events has no model."""


def read_adopted(address: str, objects: ObjectFinder) -> AdoptedTables:
    """Return the adopted tables of a registry; none where it has no such setting.

    Args:
        address: the address of the registry.
        objects: the objects below the address.

    Raises:
        InvalidInput: the setting is not valid; the error lists all problems.
        OnefoldError: the store does not answer, or refuses.
    """
    return _read(address, objects)[0]


def record_adopted(address: str, objects: ObjectWriter, table: AdoptedTable) -> None:
    """Add an adopted table to the settings of a registry, in place of an earlier one of its model and warehouse.

    Args:
        address: the address of the registry.
        objects: the objects below the address.
        table: the adopted table.

    Raises:
        InvalidInput: the rows of the model cannot go to the table, or a column would get the values of another property
            than so far.
        ObjectChanged: somebody else has written the setting since it was read.
        OnefoldError: the store does not answer, or refuses.
    """
    known, generation = _read(address, objects)
    tables = {**known, (table.warehouse, table.model): table}
    before = known.get((table.warehouse, table.model))
    if problems := [*_conflicts(list(tables.values())), *(_moved(before, table) if before else ())]:
        raise InvalidInput([f"{table.table} was not recorded: {problem}" for problem in problems])
    objects.write(_place(address), adopted_text(list(tables.values())).encode(), generation)


def adopted_text(tables: Sequence[AdoptedTable]) -> str:
    """Return adopted tables as their object holds them."""
    named = [(one.model.path if one.model else OF_EVENTS, one) for one in tables]
    ordered = sorted(named, key=lambda pair: (pair[1].warehouse, pair[0]))
    rows = [{**asdict(one), "model": model} for model, one in ordered]
    return json.dumps({"form": _FORM, "tables": rows}, ensure_ascii=False, indent=1) + "\n"


def parse_adopted(data: str | bytes, place: str) -> tuple[AdoptedTable, ...]:
    """Return the adopted tables that an object holds.

    Args:
        data: the content of the object.
        place: its address, for errors.

    Raises:
        InvalidInput: the content is not such a list; the error lists all problems.
    """
    advice = "write it anew by `onefold schema adopt --record`, or restore an earlier version"
    try:
        document = json.loads(data, object_pairs_hook=_once)
        rows = document["tables"] if document["form"] == _FORM else None
    except (ValueError, RecursionError, TypeError, KeyError):
        rows = None
    if not isinstance(rows, list):
        raise InvalidInput(f"{place}: expected an object with form {_FORM} and tables: {advice}")
    tables: list[AdoptedTable] = []
    problems: list[str] = []
    for number, row in enumerate(rows):
        try:
            tables.append(_table(row))
        except InvalidInput as error:
            problems += [f"{place}: tables[{number}] is not an adopted table ({one}): {advice}" for one in error.problems]
        except (TypeError, KeyError, AttributeError, ValueError, OnefoldError) as error:
            problems.append(f"{place}: tables[{number}] is not an adopted table ({reason_of(error)}): {advice}")
    problems += [f"{place}: {problem}: {advice}" for problem in _conflicts(tables)]
    if problems:
        raise InvalidInput(problems)
    return tuple(tables)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _conflicts(tables: Sequence[AdoptedTable]) -> Iterator[str]:
    """Yield why rows cannot go to adopted tables, or would go to those of others."""
    for (warehouse, model), count in Counter((one.warehouse, one.model) for one in tables).items():
        if count > 1:
            yield f"{_told(model)} is adopted twice in {warehouse}"
    models: dict[tuple[Warehouse, str], list[ModelKey | None]] = {}
    for one in tables:
        models.setdefault((one.warehouse, fold_case(one.name)), []).append(one.model)
        taken = [f"{key}: {name}" for key, name in one.names.items() if one.model and _hides_envelope(key, name)]
        if taken:
            yield f"{one.name}: {shown_list(taken)}: each row has this column, name another one in the mapping"
    for (_, name), of_table in models.items():
        yield from _conflicts_of_name(name, set(of_table))


def _moved(before: AdoptedTable, after: AdoptedTable) -> Iterator[str]:
    """Yield the columns that held one property so far, and would hold another one while the first has none."""
    taken = {column: name for name, column in after.names.items() if before.name == after.name}
    for name, column in before.names.items():
        if name not in after.names and column in taken:
            advice = f"name it for {name} in the mapping, and another one, which you add, for {taken[column]}"
            yield f"its column {column} holds {name}, and would get {taken[column]}: {advice}"


def _conflicts_of_name(name: str, models: set[ModelKey | None]) -> Iterator[str]:
    if len(models) > 1:
        yield f"{name} is adopted for {shown_list(sorted(map(_told, models)))}: each needs a table of its own"
    if name in _OWN_TABLES or (name == OF_EVENTS and models != {None}):
        yield f"{name} is a table of the loader, which no model can have"


def _told(model: ModelKey | None) -> str:
    return model.path if model else OF_EVENTS


def _hides_envelope(key: str, name: str) -> bool:
    return fold_case(name) in ENVELOPE and fold_case(key) != fold_case(name)


def _table(row: Mapping[str, Any]) -> AdoptedTable:
    """Return the adopted table of a row.

    Raises:
        InvalidInput: values are not what they have to be; the error lists all problems.
        TypeError, KeyError, AttributeError, ValueError, OnefoldError: the row has another form.
    """
    columns = tuple(TableColumn(**column) for column in row["columns"])
    model = None if row["model"] == OF_EVENTS else ModelKey.parse(row["model"])
    table = AdoptedTable(**{**row, "model": model, "columns": columns, "names": dict(row["names"])})
    if problems := [*_value_problems(table), *_type_problems(table)]:
        raise InvalidInput(problems)
    return table


def _value_problems(table: AdoptedTable) -> Iterator[str]:
    is_known = table.warehouse in WAREHOUSES and table.misfits in MISFITS and table.missing in MISSING
    if not is_known or not table.columns:
        yield f"{table.warehouse}, {table.misfits}, {table.missing}, {len(table.columns)} columns"
    texts = [table.table, *table.names, *table.names.values(), *(one.name for one in table.columns)]
    if not all(isinstance(text, str) and text for text in texts):
        yield "a name is no text"
    elif gone := sorted(set(map(fold_case, table.names.values())) - {fold_case(one.name) for one in table.columns}):
        yield f"the table has no column {shown_list(gone)}"
    if not all(isinstance(flag, bool) for one in table.columns for flag in (one.nullable, one.has_default)):
        yield "nullable or has_default is neither true nor false"


def _type_problems(table: AdoptedTable) -> Iterator[str]:
    """Yield the columns whose types are none of the warehouse: rows would be written for a table that cannot be."""
    parse: Callable[[str], object] = known_type if table.warehouse == "redshift" else parse_landed_type
    for column in table.columns:
        try:
            parse(column.type if isinstance(column.type, str) else "")
        except InvalidType as error:
            yield f"column {column.name}: {error}"


def _read(address: str, objects: ObjectFinder) -> tuple[AdoptedTables, int]:
    place = _place(address)
    found = objects.find(place)
    if found is None:
        return {}, NEW
    check_answer(place, found.data)
    tables = parse_adopted(found.data, place)
    return {(one.warehouse, one.model): one for one in tables}, found.generation


def _place(address: str) -> str:
    return f"{address.rstrip('/')}/{ADOPTED_PATH}"
