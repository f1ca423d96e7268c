"""Parsing of SQL in the server: once for each text, where `bqemulator` parses one statement about eighteen times.

Parsing and copying syntax trees are nearly all that the server does, so both are made quick here.
"""

from __future__ import annotations

import functools
import gc
from copy import deepcopy
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.parser import Parser

_KEPT = 256
_parse_one = sqlglot.parse_one
_implicit_unnests_to_explicit = Parser._implicit_unnests_to_explicit


def install() -> None:
    """Let every module of the server parse by the functions below: all of them call `sqlglot.parse_one` by this name.

    A tree is thousands of objects at once, for which Python's thresholds start a collection every few milliseconds.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    exp.Expression.__deepcopy__ = copied  # type: ignore[method-assign, assignment]
    sqlglot.parse_one = parse_one  # type: ignore[assignment]
    Parser._implicit_unnests_to_explicit = implicit_unnests_to_explicit  # type: ignore[method-assign, assignment]


def parse_one(sql: str, read: str | None = None, **options: Any) -> exp.Expr:
    """Return the syntax tree of a statement, which the caller may change.

    Raises:
        ParseError: the text is not SQL.
    """
    return _parse_one(sql, read=read, **options) if options else _parsed(sql, read).copy()


@functools.lru_cache(_KEPT)
def _parsed(sql: str, read: str | None) -> exp.Expr:
    return _parse_one(sql, read=read)


def implicit_unnests_to_explicit(self: Parser, query: exp.Expr) -> exp.Expr:
    """Make `FROM t, t.items` an UNNEST; without a second table there is none, and the copy of all below FROM is saved."""
    return _implicit_unnests_to_explicit(self, query) if query.args.get("joins") else query


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
    new._type = deepcopy(old._type)
    new._meta = old._meta and dict(old._meta)
    new._hash = old._hash
    return new
