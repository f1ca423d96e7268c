"""Lineage in the analyzer's resolved tree: from which source values each output column, filter and sort is computed.

A node that this module does not know is an error, so no value flows past it. A source value is a path of names: the column,
then fields; the elements of an array have the path of the array. Each is reached in one of three ways:

- `hash`: through HMAC-SHA256 with both pads from the table of the key, and in no other form
- `presence`: only whether a struct is NULL, or how many elements an array has and in which order they stand
- `plain`: in any other way
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from support.zetasql_judge import Columns, Judge

Way = Literal["plain", "hash", "presence"]
Reached = frozenset[tuple[tuple[str, ...], Way]]
NOTHING: Reached = frozenset()


@dataclass
class Lineage:
    """The source values that a query reads."""

    outputs: dict[str, Reached] = field(default_factory=dict)
    """By output column."""
    control: set[tuple[tuple[str, ...], Way]] = field(default_factory=set)
    """By filters, joins, groups and sorts."""


def lineage(judge: Judge, sql: str, tables: dict[str, Columns], source: str, key: str) -> Lineage:
    """Return the lineage of a query with regard to the columns of `source`; `key` is the table of the pads."""
    statement = judge.resolve(sql, tables).resolved_query_stmt_node
    walk = _Walk(source, key)
    walk.scan(statement.query)
    outputs = {one.name: walk.column(one.column) for one in statement.output_column_list}
    return Lineage(outputs, walk.control)


class _Walk:
    def __init__(self, source: str, key: str) -> None:
        self._source, self._key = source, key
        self._columns: dict[int, Reached] = {}
        self._pads: dict[int, str] = {}
        self.control: set[tuple[tuple[str, ...], Way]] = set()

    def column(self, column: Any) -> Reached:
        return self._columns[column.column_id]

    def scan(self, message: Any) -> None:
        kind, node = _inner(message)
        getattr(self, f"_{kind}")(node)

    def expression(self, message: Any) -> Reached:
        kind, node = _inner(message)
        found: Reached = getattr(self, f"_{kind}")(node)
        return found

    def _resolved_table_scan_node(self, node: Any) -> None:
        assert node.table.name in (self._source, self._key)
        for column in node.parent.column_list:
            is_source = node.table.name == self._source
            self._columns[column.column_id] = frozenset({((column.name,), "plain")}) if is_source else NOTHING
            if not is_source:
                self._pads[column.column_id] = column.name

    def _resolved_project_scan_node(self, node: Any) -> None:
        self.scan(node.input_scan)
        self._compute(node.expr_list)

    def _resolved_join_scan_node(self, node: Any) -> None:
        self.scan(node.left_scan)
        self.scan(node.right_scan)
        if node.HasField("join_expr"):
            self.control |= self.expression(node.join_expr)

    def _resolved_filter_scan_node(self, node: Any) -> None:
        self.scan(node.input_scan)
        self.control |= self.expression(node.filter_expr)

    def _resolved_order_by_scan_node(self, node: Any) -> None:
        self.scan(node.parent.input_scan if hasattr(node.parent, "input_scan") else node.input_scan)
        for item in node.order_by_item_list:
            self.control |= self.column(item.column_ref.column)

    def _resolved_array_scan_node(self, node: Any) -> None:
        if node.HasField("input_scan"):
            self.scan(node.input_scan)
        arrays = [self.expression(one) for one in node.array_expr_list]
        for column, array in zip(node.element_column_list, arrays, strict=True):
            self._columns[column.column_id] = array
        if node.HasField("array_offset_column"):
            self._columns[node.array_offset_column.column.column_id] = _presence(frozenset().union(*arrays))
        if node.HasField("join_expr"):
            self.control |= self.expression(node.join_expr)

    def _resolved_single_row_scan_node(self, node: Any) -> None:
        """Nothing is read."""

    _resolved_aggregate_scan_base_node = scan

    def _resolved_aggregate_scan_node(self, node: Any) -> None:
        base = node.parent
        self.scan(base.input_scan)
        self._compute(base.group_by_list)
        for one in base.group_by_list:
            self.control |= self.column(_computed(one).column)
        self._compute(base.aggregate_list)

    def _compute(self, computed: Any) -> None:
        for one in map(_computed, computed):
            self._columns[one.column.column_id] = self.expression(one.expr)
            if pad := self._pad_of(one.expr):
                self._pads[one.column.column_id] = pad

    def _pad_of(self, message: Any) -> str | None:
        """Return the pad that an expression is: a column of the key, its MIN, or IF(..., pad, ERROR(...))."""
        kind, node = _inner(message)
        if kind == "resolved_column_ref_node":
            return self._pads.get(node.column.column_id)
        name, arguments = _call(message)
        if name in ("min", "if"):
            return self._pad_of(arguments[1 if name == "if" else 0])
        return None

    def _resolved_literal_node(self, _: Any) -> Reached:
        return NOTHING

    def _resolved_column_ref_node(self, node: Any) -> Reached:
        return self._columns[node.column.column_id]

    def _resolved_cast_node(self, node: Any) -> Reached:
        return self.expression(node.expr)

    def _resolved_make_struct_node(self, node: Any) -> Reached:
        return self._all(node.field_list)

    def _all(self, expressions: Any) -> Reached:
        return NOTHING.union(*map(self.expression, expressions))

    def _resolved_get_struct_field_node(self, node: Any) -> Reached:
        found, struct = self.expression(node.expr), _type_of(node.expr).struct_type
        name = struct.field[node.field_idx].field_name
        return frozenset(((*path, name), way) for path, way in found)

    def _resolved_subquery_expr_node(self, node: Any) -> Reached:
        self.scan(node.subquery)
        (column,) = _columns_of(node.subquery)
        return self.column(column)

    _resolved_function_call_base_node = _resolved_non_scalar_function_call_base_node = expression

    def _resolved_function_call_node(self, node: Any) -> Reached:
        name, arguments = _called(node)
        hashed = self._hashed(name, arguments)
        if hashed is not None:
            return frozenset((path, "hash") for path, way in self.expression(hashed))
        found = self._all(arguments)
        is_struct_test = name == "$is_null" and _type_of(arguments[0]).HasField("struct_type")
        return _presence(found) if is_struct_test else found

    def _resolved_aggregate_function_call_node(self, node: Any) -> Reached:
        return self._all(_called(node.parent)[1])

    def _hashed(self, name: str, arguments: Any) -> Any | None:
        """Return the text of TO_HEX(SHA256(FROM_HEX(CONCAT(opad, TO_HEX(SHA256(FROM_HEX(CONCAT(ipad, text))))))))."""
        inner = self._padded(name, arguments, "opad")
        return None if inner is None else self._padded(*_call(inner), "ipad")

    def _padded(self, name: str, arguments: Any, pad: str) -> Any | None:
        for expected in ("to_hex", "sha256", "from_hex"):
            if name != expected or len(arguments) != 1:
                return None
            name, arguments = _call(arguments[0])
        if name != "concat" or len(arguments) != 2 or self._pad_of(arguments[0]) != pad:
            return None
        return arguments[1]


def _presence(found: Reached) -> Reached:
    return frozenset((path, "presence" if way == "plain" else way) for path, way in found)


def _inner(message: Any) -> tuple[str, Any]:
    """The node that is set, of a message that holds one of many."""
    (found,) = [kind for kind, _ in message.ListFields() if kind.message_type and kind.name.endswith("_node")]
    return found.name, getattr(message, found.name)


def _computed(message: Any) -> Any:
    while hasattr(message, "ListFields") and not hasattr(message, "expr"):
        message = _inner(message)[1]
    return message


def _call(message: Any) -> tuple[str, Any]:
    while True:
        kind, node = _inner(message)
        if kind == "resolved_aggregate_function_call_node":
            return _called(node.parent)
        if kind == "resolved_function_call_node":
            return _called(node)
        if not kind.endswith("call_base_node"):
            return "", []
        message = node


def _called(node: Any) -> tuple[str, Any]:
    base = node.parent if not hasattr(node, "argument_list") else node
    while not hasattr(base, "argument_list"):
        base = base.parent
    return base.function.name.removeprefix("ZetaSQL:"), base.argument_list


def _type_of(message: Any) -> Any:
    _, node = _inner(message)
    while not hasattr(node, "type"):
        node = node.parent if hasattr(node, "parent") else _inner(node)[1]
    return node.type


def _columns_of(message: Any) -> Any:
    _, node = _inner(message)
    while not hasattr(node, "column_list"):
        node = node.parent
    return node.column_list
