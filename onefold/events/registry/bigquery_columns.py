"""The table of a model in BigQuery: nested columns, at each level in the order of addition. No column ever moves."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from onefold.events.registry.bigquery_table import (
    BigQueryColumn,
    BigQueryMisfit,
    BigQueryRecovery,
    BigQueryTable,
    MixedItems,
    PropertySource,
)
from onefold.events.registry.columns import ENVELOPE
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.leaves import is_nested, null_below, same_json
from onefold.events.registry.schema_key import SchemaVer, snake
from onefold.events.registry.subschemas import Json
from onefold.schema.columns import Column
from onefold.schema.json_types import allows_null, json_types
from onefold.schema.redshift import recovery_table, redshift_type
from onefold.schema.types import STRING, Array, Field, Scalar, Struct, Type

# BigQuery, "Specify nested and repeated columns": 15 levels; "Schema restrictions": names and their prefixes. 2026-11.
_MAX_LEVELS = 15
_MAX_NAME = 300
_RESERVED = re.compile(r"(?i)[0-9]|_table_|_file_|_partition|_row_timestamp|__root__|_colidentifier|_change_")


@dataclass(frozen=True)
class _Node:
    """A column or field: its name, its type or the fields below it, and whether it is an array of these.

    `json` says whether the items of an array are JSON texts. It never changes, so that a value has one spelling in a column.
    """

    name: str
    nullable: bool
    since: SchemaVer
    scalar: Scalar | None = None
    fields: _Level = field(default_factory=dict)
    repeated: bool = False
    json: bool = False

    @property
    def type(self) -> Type:
        """The type with its nested fields."""
        inner = self.scalar or Struct(tuple(Field(node.name, node.type) for node in self.fields.values()))
        return Array(inner) if self.repeated else inner


# The second part tells the column of a property from the one that holds what is no object, where an object came first.
_Key = tuple[str, bool]
_Level = dict[_Key, _Node]


def bigquery_table(versions: Sequence[JsonSchema]) -> BigQueryTable:
    """Return the table of a model in BigQuery.

    Args:
        versions: the versions of one model, at least one, in the order of their addition.
    """
    key = versions[0].key.model_key
    level: _Level = {}
    last: JsonSchema | None = None
    recovered: list[BigQueryRecovery] = []
    mixed: list[MixedItems] = []
    for schema in versions:
        fold = _Fold(schema.key.version, first=last is None)
        after = fold.table(level, last.json if last else None, schema.json)
        if fold.misfits:
            recovered.append(_recovery(schema, tuple(fold.misfits)))
        else:
            level, last = after, schema
            mixed += fold.mixed
    version = last.key.version if last else versions[0].key.version
    return BigQueryTable(key, _columns(level), version, tuple(recovered), tuple(mixed))


def _columns(level: _Level) -> tuple[BigQueryColumn, ...]:
    sources = _sources(level)
    return tuple(
        BigQueryColumn(Column(node.name, node.type), node.nullable, node.since, source)
        for node, source in zip(level.values(), sources, strict=True)
    )


def _sources(level: _Level) -> tuple[PropertySource, ...]:
    return tuple(PropertySource(*key, _sources(node.fields), node.json) for key, node in level.items())


def _recovery(schema: JsonSchema, misfits: tuple[BigQueryMisfit, ...]) -> BigQueryRecovery:
    columns, version = bigquery_table([schema]).columns, schema.key.version
    types = [(one.column.name, str(one.column.type)) for one in columns]
    name = recovery_table(schema.key.model_key.table, version.revision, version.addition, types)
    return BigQueryRecovery(name, version, columns, misfits)


@dataclass
class _Fold:
    """One version, folded into the columns so far; what does not fit is in `misfits`, and the result is then not used."""

    version: SchemaVer
    first: bool
    misfits: list[BigQueryMisfit] = field(default_factory=list)
    mixed: list[MixedItems] = field(default_factory=list)

    def table(self, known: _Level, old: Json | None, new: Json) -> _Level:
        return self._level(known, old if old and is_nested(old) else {}, new if is_nested(new) else {}, (), (False, False))

    def _level(self, known: _Level, old: Json, new: Json, path: tuple[str, ...], optional: tuple[bool, bool]) -> _Level:
        """Return the fields of a level with those of a new version.

        Args:
            known: the fields so far.
            old: the object of the version before, or an empty one.
            new: the object of the new version.
            path: the names of the properties that lead here.
            optional: whether the object may be missing, before and now.
        """
        level, properties = dict(known), new.get("properties", {})
        added: list[tuple[bool, str, str]] = []
        for change in _changes(old, new, optional):
            if (change.name, False) in level:
                self._extend(level, change, (*path, change.name))
            else:
                added.append((change.nullable, _field_name(change.name), change.name))
        for nullable, _, name in sorted(added):
            column = _unique_name(name, level, path)
            level[name, False] = self._new(column, properties[name], nullable, (*path, name))
        for name in old.get("properties", {}).keys() - properties.keys():
            for key in ((name, False), (name, True)):
                if key in level:
                    level[key] = replace(level[key], nullable=True)
        return level

    def _new(self, name: str, schema: Json, nullable: bool, path: tuple[str, ...]) -> _Node:
        """Return the node of a property that nothing was known of."""
        repeated = _is_array(schema)
        inner = _items(schema) if repeated else schema
        node = _Node(name, nullable or not self.first, self.version, repeated=repeated)
        if _is_struct(inner, path):
            return replace(node, fields=self._level({}, {}, inner, path, (True, nullable or repeated)))
        scalar = _scalar(inner)
        return replace(node, scalar=scalar, json=repeated and scalar == STRING and not are_texts(inner))

    def _extend(self, level: _Level, change: _Change, path: tuple[str, ...]) -> None:
        """Change the column of a property in its level, so that it holds the values of a new version, too."""
        node, schema = level[change.name, False], change.new
        merged = replace(node, nullable=node.nullable or change.nullable)
        if node.scalar is None and not node.repeated:
            level[change.name, False] = self._nested(merged, change, schema, path)
            if not is_nested(schema) or json_types(schema) - {"object"}:
                self._keep_apart(level, change, path)
        elif node.scalar is None and _is_array(schema) and _is_struct(_items(schema), path):
            level[change.name, False] = self._nested(merged, change, _items(schema), path)
        else:
            new = self._new(node.name, schema, change.nullable, path)
            level[change.name, False] = merged
            self._check(node, new, schema, path)

    def _nested(self, node: _Node, change: _Change, new: Json, path: tuple[str, ...]) -> _Node:
        """Return a STRUCT, or an array of them, with the fields of a new version."""
        if not is_nested(new):
            return replace(node, nullable=True)
        old = (_items(change.old) if node.repeated else change.old) if change.old is not None else {}
        optional = (change.was_nullable or node.repeated, change.nullable or node.repeated)
        return replace(node, fields=self._level(node.fields, old if is_nested(old) else {}, new, path, optional))

    def _keep_apart(self, level: _Level, change: _Change, path: tuple[str, ...]) -> None:
        """Give a column of its own to what is no object: the nested columns stay for what is one."""
        level[change.name, False] = replace(level[change.name, False], nullable=True)
        new = self._new("", change.new, nullable=True, path=path)
        own = level.get((change.name, True))
        if own is None:
            level[change.name, True] = replace(new, name=_unique_name(change.name, level, path[:-1]))
        else:
            self._check(own, new, change.new, path)

    def _check(self, node: _Node, new: _Node, schema: Json, path: tuple[str, ...]) -> None:
        """Note what a column that is no STRUCT does not hold of a new version."""
        if not _fits(node, new, schema):
            self.misfits.append(BigQueryMisfit(path, node.type, new.type))
        elif node.repeated and node.scalar == STRING and new.json and not node.json:
            self.mixed.append(MixedItems(path, allows_null(_items_schema(schema))))


@dataclass(frozen=True)
class _Change:
    """A property that differs from that of the version before, where `old` is None if there was none."""

    name: str
    old: Json | None
    was_nullable: bool
    new: Json
    nullable: bool


def _changes(old: Json, new: Json, optional: tuple[bool, bool]) -> Iterator[_Change]:
    """Yield the properties that differ between two objects; `optional` says whether these may be missing."""
    known, required_before = old.get("properties", {}), frozenset(old.get("required", ()))
    required = frozenset(new.get("required", ()))
    null_before, null_now = optional[0] or null_below(old), optional[1] or null_below(new)
    for name, schema in new.get("properties", {}).items():
        former = known.get(name)
        was_optional, is_optional = null_before or name not in required_before, null_now or name not in required
        if former is None or was_optional != is_optional or not same_json(former, schema):
            was_nullable = was_optional or former is None or allows_null(former)
            yield _Change(name, former, was_nullable, schema, is_optional or allows_null(schema))


def _is_struct(schema: Json, path: tuple[str, ...]) -> bool:
    """Return whether a value is a STRUCT: other objects, unions, and what is nested too deep are text."""
    return is_nested(schema) and not json_types(schema) - {"object"} and len(path) <= _MAX_LEVELS


def _is_array(schema: Json) -> bool:
    return "$ref" not in schema and json_types(schema) == {"array"}


def _items(schema: Json) -> Json:
    """Return the schema of the items of an array; an empty one, which takes anything, where only text holds all items.

    These are arrays of arrays, with null or of several types: an array of BigQuery has neither arrays nor NULL in it.
    """
    items = _items_schema(schema)
    return {} if _is_array(items) or allows_null(items) else items


def _items_schema(schema: Json) -> Json:
    """Return the schema of all items of an array; an empty one where there is none, or one for each place."""
    items = schema.get("items")
    return items if isinstance(items, Mapping) else {}


def are_texts(schema: Json) -> bool:
    """Return whether all values of a schema are texts."""
    types, values = json_types(schema), schema.get("enum", ())
    only = types == {"string"} or (not types and bool(values) and all(isinstance(one, str) for one in values))
    return only and not allows_null(schema)


def _scalar(schema: Json) -> Scalar:
    types = frozenset[str]() if "$ref" in schema else json_types(schema)
    if types == {"string"}:
        return Scalar({"date-time": "TIMESTAMP", "date": "DATE"}.get(schema.get("format", ""), "STRING"))
    if types == {"number"}:
        return Scalar("NUMERIC" if schema.get("multipleOf") == 0.01 else "FLOAT64")
    named = {frozenset({"integer"}): "INT64", frozenset({"integer", "number"}): "FLOAT64", frozenset({"boolean"}): "BOOL"}
    return Scalar(named.get(types, "STRING"))


def _fits(node: _Node, new: _Node, schema: Json) -> bool:
    """Return whether a column that is no STRUCT holds the values of a new version. Text holds any value as JSON."""
    if node.scalar == STRING and not node.repeated:
        return True
    if node.repeated != new.repeated or node.scalar is None:
        return False
    return _holds(node.scalar, new.scalar, _items(schema) if node.repeated else schema)


def _holds(existing: Scalar, new: Scalar | None, schema: Json) -> bool:
    """Return whether a type holds every value of a schema whose own type is another."""
    if existing in (new, STRING):
        return True
    if existing.name == "FLOAT64" and new == Scalar("INT64"):
        return redshift_type(schema).name in ("SMALLINT", "INT")
    if existing.name == "INT64" and new == Scalar("FLOAT64"):
        return redshift_type(schema).name == "INT"
    return existing.name == "NUMERIC" and new == Scalar("INT64")


def _field_name(name: str) -> str:
    """Return the name of a field: snake case, with an underscore for what BigQuery does not allow in names."""
    plain = re.sub(r"\W", "_", snake(name))
    return f"_{plain}" if _RESERVED.match(plain) else plain


def _unique_name(name: str, level: _Level, path: tuple[str, ...]) -> str:
    """Return the name of a new field below a path, or one with a digest where that name is taken or too long."""
    taken = {node.name for node in level.values()} | set(() if path else ENVELOPE)
    plain = unique = _field_name(name)
    digest = hashlib.sha256(name.encode()).hexdigest()
    length = 8
    while unique in taken or len(unique) > _MAX_NAME:
        unique = f"{plain[: _MAX_NAME - length - 1]}_{digest[:length]}"
        length += 1
    return unique
