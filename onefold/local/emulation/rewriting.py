"""BigQuery's SQL with casts and JSON functions replaced by those of `functions`, before `bqemulator` translates it."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

_Type = exp.DataType.Type
# A BIGNUMERIC that is cast to one of these is read as its text first.
_FROM_TEXT = frozenset({_Type.BIGINT, _Type.DOUBLE, _Type.DECIMAL, _Type.BOOLEAN})
_FUNCTIONS = {
    _Type.TEXT: ("onefold_text", "onefold_safe_text"),
    _Type.BINARY: ("onefold_bytes", "onefold_bytes"),
    _Type.BIGDECIMAL: ("onefold_bignumeric", "onefold_safe_bignumeric"),
}
_CORRECTED = (exp.Cast, exp.ParseBignumeric, exp.JSONFormat, exp.String)
_UTC = exp.Literal.string("UTC")


def rewrite(sql: str) -> str:
    """The statement with its expressions corrected; as it is where it cannot be parsed, which the translation reports."""
    try:
        tree = sqlglot.parse_one(sql, read="bigquery")
    except sqlglot.errors.ParseError:
        return sql
    root = exp.Tuple(expressions=[tree])
    # The innermost first: what is put in place of an expression takes its parts over.
    found = [node for node in reversed(list(tree.walk())) if isinstance(node, _CORRECTED)]
    for node in found:
        node.replace(_corrected(node))
    return root.expressions[0].sql(dialect="bigquery") if found else sql


def _corrected(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Cast) and not node.args.get("format"):
        return _cast(node)
    if isinstance(node, exp.ParseBignumeric):
        return exp.func("onefold_bignumeric", node.this)
    if isinstance(node, exp.JSONFormat):
        return _json(node)
    if isinstance(node, exp.String):
        return exp.func("onefold_string", node.this, node.args.get("zone") or _UTC)
    return node


def _cast(node: exp.Cast) -> exp.Expression:
    target = node.to.this
    if target in _FUNCTIONS and not node.to.expressions:
        function = _FUNCTIONS[target][isinstance(node, exp.TryCast)]
        return exp.func(function, node.this)
    plain = isinstance(node.this, exp.Literal | exp.Null | exp.Neg) or _is_call_of(node.this, "onefold_plain")
    if target in _FROM_TEXT and not plain:
        return type(node)(this=exp.func("onefold_plain", node.this), to=node.to, **_safe(node))
    return node


def _safe(node: exp.Cast) -> dict[str, bool]:
    return {"safe": True} if isinstance(node, exp.TryCast) else {}


def _json(node: exp.JSONFormat) -> exp.Expression:
    if not node.args.get("to_json"):
        return exp.func("onefold_json_string", node.this)
    option = node.args.get("options")
    wide = isinstance(option, exp.Kwarg) and option.expression == exp.true()
    return exp.func("onefold_json", node.this, exp.true() if wide else exp.false())


def _is_call_of(node: exp.Expression, name: str) -> bool:
    return isinstance(node, exp.Anonymous) and node.name == name
