"""Forms of a query that its reading needs.

A CTE that nothing uses is taken out, a long chain of operators is made flat, and what a table function is given is a query
of its own. DISTINCT of pipe syntax is kept apart from the columns that are chosen behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import sqlglot
from sqlglot import TokenType, exp

from onefold.core.names import fold_case

_LONG = 50
"""Parts of one chain of operators: sqlglot nests them, one level for each, and needs a minute for thousands of levels."""
_CHAINED = (exp.Connector, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.DPipe)


def with_distinct_apart(text: str) -> str:
    """Return a text with `|> DISTINCT |> SELECT *` behind each DISTINCT of pipe syntax.

    sqlglot applies `|> DISTINCT` to the columns of a SELECT right behind it, and drops that of `|> SELECT DISTINCT`.

    Raises:
        TokenError: the text has no end, as that of a literal.

    Examples:
        >>> with_distinct_apart("FROM d.t |> SELECT DISTINCT f(a), b |> SELECT 'ü |> DISTINCT'")
        "FROM d.t |> SELECT DISTINCT f(a), b |> DISTINCT |> SELECT * |> SELECT 'ü |> DISTINCT'"
    """
    if "|>" not in text:
        return text
    tokens = sqlglot.tokenize(text, read="bigquery")
    for end in reversed(list(_ends_of_distinct([token.token_type for token in tokens]))):
        at = tokens[end].end + 1
        text = f"{text[:at]} |> DISTINCT |> SELECT *{text[at:]}"
    return text


def statements_of(text: str) -> list[exp.Expr]:
    """Return the statements of a text. What `|> AS c` names, which sqlglot keeps as an alias of nothing, is a table.

    Raises:
        SqlglotError: the text cannot be understood.
    """
    statements = [one for one in sqlglot.parse(text, read="bigquery") if one is not None]
    for from_ in (one for statement in statements for one in statement.find_all(exp.From)):
        if isinstance(alias := from_.this, exp.TableAlias):
            from_.set("this", exp.Table(this=alias.this))
    return statements


def _ends_of_distinct(kinds: Sequence[TokenType]) -> Iterator[int]:
    """Yield the place of the last word of each part of pipe syntax that begins with DISTINCT, or SELECT DISTINCT."""
    depth, open_at = 0, list[int]()
    for at, kind in enumerate(kinds):
        if open_at[-1:] == [depth] and kind in (TokenType.PIPE_GT, TokenType.R_PAREN, TokenType.SEMICOLON):
            open_at.pop()
            yield at - 1
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(kind, 0)
        if kind is TokenType.PIPE_GT and _is_distinct(kinds[at + 1 : at + 3]):
            open_at.append(depth)
    if open_at:
        yield len(kinds) - 1


def _is_distinct(first: Sequence[TokenType]) -> bool:
    return first[:1] == [TokenType.DISTINCT] or first == [TokenType.SELECT, TokenType.DISTINCT]


def queries_within(query: exp.Expr) -> Iterator[exp.Expr]:
    """Yield a query, which is changed, and a query of what each table function in it is given.

    Examples:
        >>> import sqlglot
        >>> text = "WITH a AS (SELECT 1 AS n), b AS (SELECT 2 AS n) SELECT * FROM ML.PREDICT(MODEL d.m, TABLE a)"
        >>> [one.sql("bigquery") for one in queries_within(sqlglot.parse_one(text, read="bigquery"))][-1]
        'WITH a AS (SELECT 1 AS n) SELECT * FROM a'
    """
    _flatten(query)
    drop_unused(query)
    functions = [table for table in query.find_all(exp.Table) if isinstance(table.this, exp.Func)]
    queries = [_query_of(one) for function in functions for one in _given_to(function.this)]
    for function in functions:  # what it returns is as unknown as a table of another project
        function.set("this", exp.to_identifier("onefold_function"))
        function.set("db", None)
        function.set("catalog", None)
    yield query
    yield from queries


def _flatten(query: exp.Expr) -> None:
    """Replace each long chain of operators by one function of all its parts, which reads the same columns."""
    for chain in [*query.find_all(*_CHAINED)]:
        if not isinstance(chain.parent, _CHAINED) and len(parts := _parts(chain)) > _LONG:
            chain.replace(exp.Anonymous(this="onefold_chain", expressions=parts))


def _parts(chain: exp.Expr) -> list[exp.Expr]:
    found = chain.walk(prune=lambda node: not isinstance(node, _CHAINED))
    return [one for one in found if not isinstance(one, _CHAINED)]


def group_by_selected(query: exp.Expr) -> None:
    """Replace GROUP BY ALL of a query, and of those within it, by what it groups by, so that no column of it is taken out.

    Examples:
        >>> import sqlglot
        >>> query = sqlglot.parse_one("SELECT a, f(b) AS c, SUM(d) AS d FROM t GROUP BY ALL", read="bigquery")
        >>> group_by_selected(query)
        >>> query.sql("bigquery")
        'SELECT a, f(b) AS c, SUM(d) AS d FROM t GROUP BY a, f(b)'
    """
    for select in query.find_all(exp.Select):
        group = select.args.get("group")
        if group is not None and group.args.get("all"):
            chosen = [one.unalias().copy() for one in select.selects if not _is_aggregated(one, select)]
            select.set("group", exp.Group(expressions=chosen))


def _is_aggregated(item: exp.Expr, select: exp.Select) -> bool:
    return any(one.find_ancestor(exp.Select) is select for one in item.find_all(exp.AggFunc))


def drop_unused(query: exp.Expr) -> list[exp.Table]:
    """Take out the CTEs that nothing uses, and then those that only they had used; return the tables that they name."""
    gone: list[exp.Table] = []
    while unused := [cte for cte, count in _uses(query) if not count]:
        for cte in unused:
            gone += cte.find_all(exp.Table)
            around = cte.parent
            cte.pop()
            if around is not None and not around.expressions:
                around.pop()
    return gone


def _uses(query: exp.Expr) -> list[tuple[exp.CTE, int]]:
    """Return each CTE, and how often its name is that of a table outside of it."""
    total = Counter(_plain_names(query))
    return [(cte, total[name := fold_case(cte.alias)] - Counter(_plain_names(cte))[name]) for cte in query.find_all(exp.CTE)]


def _plain_names(expression: exp.Expr) -> Iterator[str]:
    return (fold_case(table.name) for table in expression.find_all(exp.Table) if not table.db)


def _given_to(function: exp.Expr) -> list[exp.Expr]:
    """Return the tables and queries that a function is given, those within others left out."""
    found = function.walk(prune=lambda node: isinstance(node, exp.Table | exp.Query))
    return [one for one in found if isinstance(one, exp.Table | exp.Query)]


def _query_of(given: exp.Expr) -> exp.Expr:
    """Return a query of all columns of what a table function is given, with the CTEs that it may name."""
    ctes: list[exp.Expr] = []
    around = given.parent
    while around is not None:
        with_ = around.args.get("with_")
        ctes[:0] = [cte.copy() for cte in with_.expressions] if with_ else []
        around = around.parent
    query = given.unnest().copy() if isinstance(given, exp.Query) else exp.select("*").from_(given.copy())
    if ctes:
        own = query.args.get("with_")
        ctes += own.expressions if own else []
        query.set("with_", exp.With(expressions=ctes))
        drop_unused(query)
    return query
