"""Rewriting of BigQuery SQL before `bqemulator` translates it: casts and JSON functions become those of `functions`."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

_Type = exp.DataType.Type
# Casts to these types stay casts. A function checks a text, or makes one of a BIGNUMERIC, before the cast.
_CHECKED_TYPES = {
    _Type.BIGINT: "INT64",
    _Type.DOUBLE: "FLOAT64",
    _Type.BOOLEAN: "BOOL",
    _Type.DATE: "DATE",
    _Type.TIME: "TIME",
    _Type.DATETIME: "DATETIME",
    _Type.TIMESTAMP: "DATETIME",
    _Type.TIMESTAMPTZ: "TIMESTAMP",
}
_FUNCTIONS = {
    _Type.TEXT: ("onefold_text", "onefold_safe_text"),
    _Type.BINARY: ("onefold_bytes", "onefold_bytes"),
    _Type.BIGDECIMAL: ("onefold_bignumeric", "onefold_safe_bignumeric"),
}
_CORRECTED = (exp.Cast, exp.ParseBignumeric, exp.JSONFormat, exp.JSONExtractScalar, exp.String)
_UTC = exp.Literal.string("UTC")


def rewrite(sql: str) -> str:
    """Return the statement with corrected expressions and with quoted names of new columns.

    DuckDB reserves words, such as `at`, that a column of BigQuery may have. A statement that cannot be parsed is returned
    unchanged: the translation of the server reports the syntax error.
    """
    try:
        tree = sqlglot.parse_one(sql, read="bigquery")
    except sqlglot.errors.ParseError:
        return sql
    root = exp.Tuple(expressions=[tree])
    # Replace the innermost expressions first: a replacement contains the parts of the expression.
    found = [node for node in reversed(list(tree.walk())) if isinstance(node, _CORRECTED)]
    for node in found:
        node.replace(_corrected(node))
    defined = [column.this for column in tree.find_all(exp.ColumnDef)]
    for name in defined:
        name.set("quoted", True)
    return root.expressions[0].sql(dialect="bigquery", copy=False) if found or defined else sql


def _corrected(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Cast) and not node.args.get("format"):
        return _cast(node)
    if isinstance(node, exp.ParseBignumeric):
        return _call("onefold_bignumeric", node.this)
    if isinstance(node, exp.JSONFormat):
        return _json(node)
    if isinstance(node, exp.JSONExtractScalar) and len(node.expression.expressions) == 1:  # no path but the root
        return _call("onefold_json_value", node.this)
    if isinstance(node, exp.String):
        return _call("onefold_string", node.this, node.args.get("zone") or _UTC)
    return node


def _cast(node: exp.Cast) -> exp.Expression:
    target = node.to.this
    if target in _FUNCTIONS and not node.to.expressions:
        function = _FUNCTIONS[target][isinstance(node, exp.TryCast)]
        return _call(function, node.this)
    safe = "safe_" if isinstance(node, exp.TryCast) else ""
    if isinstance(node.this, exp.Literal | exp.Null | exp.Neg):
        return node
    if target in _CHECKED_TYPES:
        read = _call(f"onefold_{safe}read", node.this, exp.Literal.string(_CHECKED_TYPES[target]))
    elif target == _Type.DECIMAL:
        read = _call(f"onefold_{safe}number", node.this)
    else:
        return node
    return type(node)(**{**node.args, "this": read})


def _json(node: exp.JSONFormat) -> exp.Expression:
    if not node.args.get("to_json"):
        return _call("onefold_json_string", node.this)
    option = node.args.get("options")
    wide = isinstance(option, exp.Kwarg) and option.expression == exp.true()
    return _call("onefold_json", node.this, exp.true() if wide else exp.false())


def rebase_offsets(tree: exp.Expression, names: set[str]) -> bool:
    """Make offsets count from 0 as in BigQuery, instead of from 1 as in DuckDB.

    A column that is qualified by a table is not an offset: an offset has no table, and a field may have its name.

    Args:
        tree: is changed in place.
        names: the names that `WITH OFFSET` defines.

    Returns:
        Whether there were offsets.
    """
    offsets = [column for column in tree.find_all(exp.Column) if column.name in names and not column.table]
    for column in offsets:
        column.replace(exp.paren(exp.Sub(this=column.copy(), expression=exp.Literal.number(1))))
    return bool(offsets)


def _call(function: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=function, expressions=list(arguments))
