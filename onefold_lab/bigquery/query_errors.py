"""Errors of DuckDB in the words that BigQuery has for them, and the errors of statements that cannot be parsed.

The texts on the right are those of BigQuery and of its analyzer (GoogleSQL, "analyzer/testdata",
https://github.com/google/zetasql/tree/master/zetasql/analyzer/testdata, 2025-11).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches

from sqlglot.errors import ParseError, SqlglotError

from onefold_lab.bigquery.duck_types import read_type
from onefold_lab.query_places import position

_UNKNOWN = "Query execution failed"
_KIND = re.compile(r"^(?:\w+ )+Error: ")
_ECHO = re.compile(r"\s*(?:\n\n)?LINE \d+:.*", re.DOTALL)
_CANDIDATES = re.compile(r'Candidate (?:bindings|tables): "(?:\w+"?\."?)*(?P<near>\w+)"')
_OPERATOR = re.compile(r"\W+")
_COMMENT = re.compile(r"(?:--|#)[^\n]*|/\*.*?\*/", re.DOTALL)
_NEAR = "; Did you mean {}?"


def _unrecognized(found: re.Match[str], text: str) -> str:
    near = _CANDIDATES.search(text)
    return f"Unrecognized name: {found[1]}{_NEAR.format(near['near']) if near else ''}"


def _signature(found: re.Match[str], text: str) -> str:  # noqa: ARG001 as the other texts
    kind = "operator" if _OPERATOR.fullmatch(found[1]) else "function"
    name = found[1] if kind == "operator" else found[1].upper()
    return f"No matching signature for {kind} {name} for argument types: {_types(found[2])}"


def _types(names: str) -> str:
    """Return types of DuckDB, as `BIGINT, VARCHAR`, with BigQuery's names; one that it does not have stays."""
    return ", ".join(map(_type, re.split(r", (?![^(]*\))", names)))


def _type(name: str) -> str:
    literal = name.removesuffix("_LITERAL")
    try:
        return str(read_type({"INTEGER": "BIGINT", "STRING": "VARCHAR"}.get(literal, literal)))
    except ValueError:
        return literal


_TEXTS: tuple[tuple[str, str | Callable[[re.Match[str], str], str]], ...] = (
    (r'Referenced (?:column|table) "([^"]+)" not found', _unrecognized),
    (r"No function matches the given name and argument types '(.+?)\((.*?)\)'\.", _signature),
    (r'call "(\W+)\(([^"]*)\)"', _signature),
    (r"(?:Scalar|Aggregate|Table) Function with name (\w+) does not exist", r"Function not found: \1"),
    (r'column "([^"]+)" must appear in the GROUP BY', r"SELECT list expression references column \1 which is neither "
     "grouped nor aggregated"),
    (r"SELECT clause without selection list", "Syntax error: SELECT list must not be empty"),
    (r"Could not convert string '(.*?)' to ([A-Z]+\d*)", lambda found, _: f"Bad {_type(found[2])} value: {found[1]}"),
    (r"Division by zero", "division by zero"),
    (r"Overflow in \w+ of INT64 \((.*)\)", r"int64 overflow: \1"),
    (r'Could not parse string "(.*?)" according to format specifier', r'Failed to parse input string "\1"'),
    (r"""Cannot extract field '(.*?)' from expression "(.*?)\"""", r"Cannot access field \1 on a value that is not a "
     r"STRUCT: \2"),
    (r"(\w+) clause cannot contain aggregates", r"Aggregate function not allowed in \1 clause"),
    (r"Set operations can only apply", "Queries in a set operation have mismatched column count"),
    (r'date field value out of range: "(.*?)"', r"Invalid date: '\1'"),
)  # fmt: skip


def query_text(raw: str, usual: str = _UNKNOWN) -> str:
    r"""Return an error of DuckDB as BigQuery words it; one that nobody knows without its kind and the translated statement.

    Args:
        raw: the error of DuckDB.
        usual: the text of the server for it.

    Returns:
        The text; an empty one where that of the server is right.

    Examples:
        >>> query_text('Binder Error: Referenced column "nam" not found in FROM clause!\nCandidate bindings: "name"')
        'Unrecognized name: nam; Did you mean name?'
        >>> query_text("Invalid Input Error: there is no such customer")
        'there is no such customer'
    """
    for pattern, words in _TEXTS:
        if found := re.search(pattern, raw):
            return found.expand(words) if isinstance(words, str) else words(found, raw)
    return _KIND.sub("", _ECHO.sub("", raw)).split("\n")[0] if usual.startswith(_UNKNOWN) else ""


def missing_dataset(raw: str) -> str:
    """Return BigQuery's text for a dataset that does not exist; an empty text for another error.

    Examples:
        >>> missing_dataset('Catalog Error: Table with name t does not exist because schema "local__shpo" does not exist.')
        'Not found: Dataset local:shpo was not found in location US'
    """
    found = re.search(r'schema "(?P<project>[^"]+?)__(?P<dataset>[^"]+)" does not exist', raw)
    return f"Not found: Dataset {found['project']}:{found['dataset']} was not found in location US" if found else ""


_WORDS = ("SELECT", "WITH", "FROM")


def syntax_error(sql: str, error: SqlglotError) -> str:
    """Return the text for a query that cannot be parsed; an empty text where the statement may be none.

    Args:
        sql: the statement.
        error: the error of the parser.

    Examples:
        >>> syntax_error("SELEC 1", ParseError("", []))
        'Syntax error: Unexpected identifier "SELEC" at [1:1]; Did you mean SELECT?'
    """
    first = re.search(r"[^\s(]\w*", _COMMENT.sub(lambda found: " " * len(found[0]), sql))
    if first and first[0].upper() not in _WORDS:
        near = get_close_matches(first[0].upper(), _WORDS, 1)
        unexpected = f'Syntax error: Unexpected identifier "{first[0]}" at [{position(sql, first.start())}]'
        return f"{unexpected}{_NEAR.format(near[0])}" if near else ""
    if isinstance(error, ParseError) and error.errors:
        found = error.errors[0]
        word, place = found["highlight"], f"{found['line']}:{int(found['col']) - len(found['highlight']) + 1}"
        return f'Syntax error: Unexpected end of statement or unexpected "{word}" at [{place}]'
    quote = re.search(r"['\"`]", sql)
    return f"Syntax error: Unclosed string literal or identifier at [{position(sql, quote.start() if quote else 0)}]"
