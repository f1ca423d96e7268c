"""Parsing of SQL in the server: once for each text, where `bqemulator` parses one statement about eighteen times.

Parsing and copying syntax trees are nearly all that the server does, so both are made quick here. SQLGlot is installed as
compiled, where classes can have no subclasses in Python, and methods call each other directly.
"""

from __future__ import annotations

import functools
import gc
import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from contextvars import ContextVar
from copy import deepcopy
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects import BigQuery, Dialect
from sqlglot.errors import ParseError
from sqlglot.parsers.bigquery import BigQueryParser

_KEPT = 256
_parse_one = sqlglot.parse_one
_parse_all = BigQuery.parse
_only_read = ContextVar("_only_read", default=False)


def install() -> None:
    """Let every module of the server parse by the functions below: all of them call `sqlglot.parse_one` by this name.

    A tree is thousands of objects at once, for which Python's thresholds start a collection every few milliseconds.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    exp.Expression.__deepcopy__ = copied  # type: ignore[method-assign, assignment]
    sqlglot.parse_one = parse_one  # type: ignore[assignment]
    BigQueryParser.SUPPORTS_IMPLICIT_UNNEST = False
    BigQuery.parse = parse_all
    # A compiled writer of SQL parses some twenty templates for itself, and changes none of them.
    Dialect.generator = reading(Dialect.generator)
    _search_pandas_once()


def _search_pandas_once() -> None:
    """Search for pandas once: DuckDB tries to import it again for each value that one of our functions returns."""
    if importlib.util.find_spec("pandas") is None:
        sys.meta_path.insert(0, _NoPandas())


class _NoPandas(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, _path: object, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def concatenated_text(_rule: object, node: exp.Expr) -> exp.Expr:
    """Return `CAST(a || b AS VARCHAR)`, as the server's rule does, without a copy of all operands at each `||`."""
    return exp.Cast(this=exp.DPipe(**node.args), to=exp.DataType.build("VARCHAR"))


def reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the server that changes no tree: `parse_one` copies none while it runs."""

    @functools.wraps(function)
    def read(*arguments: Any, **options: Any) -> Any:
        token = _only_read.set(True)
        try:
            return function(*arguments, **options)
        finally:
            _only_read.reset(token)

    return read


def only_where(rewriter: Callable[[str], str], kind: type[exp.Expr]) -> Callable[[str], str]:
    """Return a rewriter of the server that is called only for statements with a node of a kind, the one that it rewrites."""
    look = reading(parse_one)

    @functools.wraps(rewriter)
    def rewrite(sql: str) -> str:
        try:
            found = look(sql, read="bigquery").find(kind)
        except ParseError:
            found = None  # the translation of the server reports it
        return rewriter(sql) if found else sql

    return rewrite


def parse_one(sql: str, read: Any = None, **options: Any) -> exp.Expr:
    """Return the syntax tree of a statement, which the caller may change.

    Raises:
        ParseError: the text is not SQL.
    """
    tree: exp.Expr = _parsed(sql, read, **options)
    return tree if _only_read.get() else copied(tree)


@functools.lru_cache(_KEPT)
def _parsed(sql: str, read: Any, **options: Any) -> exp.Expr:
    return _parse_one(sql, read=read, **options)  # type: ignore[no-any-return]


def parse_all(self: BigQuery, sql: str, **options: Any) -> list[exp.Expr | None]:
    """Return the syntax trees of statements, and make each `FROM t, t.items` an UNNEST.

    SQLGlot's parser does that by itself, and copies all below FROM for it. Without a second table there is nothing to do.
    """
    trees: list[exp.Expr | None] = _parse_all(self, sql, **options)
    parser = self.parser()
    for tree in filter(None, trees):
        for query in tree.find_all(exp.Select):
            if query.args.get("joins") and query.args.get("from_"):
                parser._implicit_unnests_to_explicit(query)
    return trees


def copied(self: exp.Expr, _memo: object = None) -> exp.Expr:
    """Return a copy of a tree: what `Expression.__deepcopy__` returns, without a constructor and `set` for each node."""
    root = _node(self, None, None, None)
    waiting = [(self, root)]
    while waiting:
        node, new = waiting.pop()
        for key, value in node.args.items():
            if isinstance(value, exp.Expr):
                new.args[key] = child = _node(value, new, key, value.index)
                waiting.append((value, child))
            elif type(value) is list:
                new.args[key] = parts = [
                    _node(part, new, key, number) if isinstance(part, exp.Expr) else part
                    for number, part in enumerate(value)
                ]
                waiting += ((old, part) for old, part in zip(value, parts, strict=True) if isinstance(old, exp.Expr))
            else:
                new.args[key] = value
    return root


def _node(old: exp.Expr, parent: exp.Expr | None, key: str | None, index: int | None) -> exp.Expr:
    new = old.__class__.__new__(old.__class__)
    new.args, new.parent, new.arg_key, new.index = {}, parent, key, index
    new.comments = old.comments and list(old.comments)
    new._type = None if old._type is None else deepcopy(old._type)
    new._meta = old._meta and dict(old._meta)
    new._hash = old._hash
    return new
