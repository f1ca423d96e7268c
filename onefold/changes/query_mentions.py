"""The net under the reading of queries: each place of a text that names a known table.

A parser, and what is built on it, may lose a part of a text without an error. So each name of a table in the text is found
in its words, too, and one that no query of the text has accounted for is read, perhaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import sqlglot
from sqlglot import TokenType, exp

from onefold.changes.catalog import Catalog, Named

_WORD = re.compile(r"\w+")
_PLACE = "end"
"""What sqlglot calls the place of the last letter of a word, in the word and in the identifier that it becomes."""


def mentions(text: str, catalog: Catalog) -> Mapping[int, Named]:
    """Return the known tables that a text names with their dataset, each by the place of the last letter of the name.

    Raises:
        TokenError: the text has no end, as that of a literal.

    Examples:
        >>> shop = Catalog("my-p", {("shop", "t"): ("id",)})
        >>> sorted(mentions("SELECT t.id FROM shop.t, `my-p.shop.t`, q.shop.t", shop))
        [22, 37]
    """
    found = ((place, _find(catalog, names)) for names, place in _paths(text))
    return {place: named for place, named in found if named.tables}


def places_of(expression: exp.Expr) -> frozenset[int]:
    """Return the places of the identifiers in an expression."""
    return frozenset(one.meta[_PLACE] for one in expression.find_all(exp.Identifier) if _PLACE in one.meta)


def places_of_tables(tables: Iterable[exp.Table]) -> frozenset[int]:
    """Return the places of the names of tables, those of their aliases left out."""
    return frozenset().union(*(places_of(part) for table in tables for part in table.parts))


def places_of_columns(expression: exp.Expr) -> frozenset[int]:
    """Return the places of the columns in an expression, as of `shop.t` in `shop.t.id`."""
    return frozenset().union(*(places_of(one) for one in expression.find_all(exp.Column, exp.Dot)))


def _paths(text: str) -> Iterator[tuple[list[str], int]]:
    """Yield all beginnings of the dotted paths in a text that have two names or more, with the place where they end."""
    path: list[str] = []
    is_joined = False
    for token in sqlglot.tokenize(text, read="bigquery"):
        if token.token_type is TokenType.DOT:
            is_joined = bool(path)
            continue
        path = path if is_joined else []
        is_joined = False
        if token.token_type is TokenType.IDENTIFIER or (token.token_type not in _LITERALS and _WORD.fullmatch(token.text)):
            for name in token.text.split("."):
                path = [*path, name]
                if len(path) > 1:
                    yield path, token.end
        else:
            path = []


_LITERALS = (TokenType.STRING, TokenType.RAW_STRING, TokenType.BYTE_STRING, TokenType.HEREDOC_STRING, TokenType.NUMBER)


def _find(catalog: Catalog, names: list[str]) -> Named:
    """Return the tables that the last two names of a path stand for. What is before them is the end of the project."""
    *before, dataset, name = names
    is_of_project = not before or catalog.project.endswith(before[-1])
    return catalog.find("", dataset, name) if is_of_project else Named()
