"""Parsing of SQL in the server: once for each text, where `bqemulator` parses one statement about eighteen times."""

from __future__ import annotations

import functools
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.parser import Parser

_KEPT = 256
_parse_one = sqlglot.parse_one
_implicit_unnests_to_explicit = Parser._implicit_unnests_to_explicit


def install() -> None:
    """Let every module of the server parse by the functions below: all of them call `sqlglot.parse_one` by this name."""
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
