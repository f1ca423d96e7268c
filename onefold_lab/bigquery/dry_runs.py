"""Dry runs, which execute nothing: the server runs each statement whose type it does not know, and the first of several."""

from __future__ import annotations

from collections.abc import Callable

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from onefold_lab.bigquery.query_errors import syntax_error


def statement_type(usual: Callable[[str], str], sql: str) -> str:
    """Return the type of a statement as BigQuery names it; an empty text for what cannot be parsed, and is no query.

    The server takes the type of the first of several statements, and knows none for a UNION.

    Args:
        usual: the function of the server.
        sql: the statement, or several.

    Raises:
        InvalidQueryError: it is a query, and cannot be parsed.
    """
    from bqemulator.domain.errors import InvalidQueryError

    try:
        found = sqlglot.parse(sql, read="bigquery")
    except SqlglotError as error:
        if text := syntax_error(sql, error):
            raise InvalidQueryError(text, location="query") from error
        return ""
    statements = [tree for tree in found if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(statements) > 1:
        return "SCRIPT"
    return "SELECT" if statements and isinstance(statements[0], exp.Query) else usual(sql)


class AllButSelect:
    """The types of statements that a dry run does not execute: all that may write, known to the server or not."""

    def __contains__(self, type_: object) -> bool:
        return type_ != "SELECT"
