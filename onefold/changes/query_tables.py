"""The queries of a statement, and the tables that their names stand for.

Each name of a table is replaced by a name of its own, with the former one as its alias: so that case, wildcards, quoted
paths and default datasets are resolved in one place, by the catalog.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from onefold.changes.catalog import Catalog, Named
from onefold.changes.query_mentions import places_of, places_of_tables
from onefold.core.names import fold_case
from onefold.ports.query_texts import TableKey

_PREFIX = "onefold_named_"
_WRITES = (exp.Create, exp.Insert, exp.Drop, exp.Alter, exp.TruncateTable, exp.Declare, exp.Transaction)
_PSEUDO = ("_table_suffix", "_partitiontime", "_partitiondate", "_file_name")


@dataclass
class QueryTables:
    """The tables of a query.

    Attributes:
        by_name: what the names stand for that have replaced those of the text.
        places: where in the text the former names are.
    """

    by_name: dict[str, Named] = field(default_factory=dict)
    places: set[int] = field(default_factory=set)

    @property
    def tables(self) -> frozenset[TableKey]:
        """All known tables."""
        return frozenset(table for one in self.by_name.values() for table in one.tables)

    def of(self, table: exp.Table) -> Named:
        """Return what a table of the query stands for."""
        return self.by_name.get(table.name, Named())

    def schema(self, catalog: Catalog) -> dict[str, object]:
        """Return the columns of each known table, for sqlglot: of a wildcard, those of all its tables.

        The types do not matter for what is read.
        """
        return {
            name: dict.fromkeys([*(column for table in one.tables for column in catalog.columns[table]), *_PSEUDO], "JSON")
            for name, one in self.by_name.items()
            if one.tables
        }


def queries_of(statement: exp.Expr) -> tuple[list[exp.Expr], bool]:
    """Return the queries of a statement, and whether these are all that it reads.

    Examples:
        >>> import sqlglot
        >>> queries, is_whole = queries_of(sqlglot.parse_one("CREATE TABLE d.t AS SELECT 1 AS a", read="bigquery"))
        >>> [one.sql() for one in queries], is_whole
        (['SELECT 1 AS a'], True)
    """
    if isinstance(statement, exp.Query):
        return [statement], True
    if isinstance(statement, exp.Merge):
        return _of_merge(statement), True
    inner = statement.args.get("expression")
    if isinstance(statement, exp.Create | exp.Insert) and isinstance(inner, exp.Query):
        return [inner], True
    if isinstance(statement, exp.Create) and (copied := statement.args.get("clone")):
        return [_everything(copied)], True
    if isinstance(statement, exp.Command):
        return [], False
    if isinstance(statement, _WRITES) and not any(statement.find_all(exp.Query)):
        return [], True
    return [_everything(statement)] if any(statement.find_all(exp.Table)) else [], False


def written_by(statement: exp.Expr) -> list[exp.Table]:
    """Return the tables that a statement names and does not read, as the one that it writes.

    Examples:
        >>> import sqlglot
        >>> [one.name for one in written_by(sqlglot.parse_one("INSERT INTO d.t SELECT a FROM d.u", read="bigquery"))]
        ['t']
    """
    if not isinstance(statement, _WRITES):
        return []
    reads = any(statement.find_all(exp.Query)) or statement.args.get("clone")
    return [*(statement.this if reads else statement).find_all(exp.Table)] if statement.this else []


def _of_merge(merge: exp.Merge) -> list[exp.Expr]:
    """Return a merge as the query that reads the same: its source, with its conditions and values."""
    target, source, whens = merge.this, merge.args["using"], merge.args["whens"].expressions
    read = [one.copy() for one in (merge.args["on"], *(value for when in whens for value in _values(when)))]
    query = exp.select(*read).from_(target.copy()).join(source.copy(), join_type="cross")
    whole = any(isinstance(one.args.get("then"), exp.Insert) and not one.args["then"].args.get("expression")
                for one in whens)  # fmt: skip
    return [query.select(exp.Column(this=exp.Star(), table=exp.to_identifier(source.alias_or_name)))] if whole else [query]


def _values(when: exp.Expr) -> Iterator[exp.Expr]:
    """Yield what a clause of a merge reads: its condition, and the values that it writes."""
    if condition := when.args.get("condition"):
        yield condition
    then = when.args.get("then")
    if isinstance(then, exp.Update):
        yield from (one.expression if isinstance(one, exp.EQ) else one for one in then.expressions)
    elif isinstance(then, exp.Insert) and (values := then.args.get("expression")):
        items = values.expressions if isinstance(values, exp.Tuple) else [values]
        yield from (one for one in items if not isinstance(one, exp.Var))


def _everything(statement: exp.Expr) -> exp.Expr:
    """Return a query of every column of the tables that a statement names: what it reads of them cannot be told."""
    tables = {table.sql("bigquery"): table for table in statement.find_all(exp.Table) if table.name}
    query = exp.select("*")
    for number, table in enumerate(tables.values()):
        named = exp.alias_(exp.Table(this=table.this.copy(), db=table.args.get("db"), catalog=table.args.get("catalog")),
                           f"t{number}", table=True)  # fmt: skip
        query = query.join(named, join_type="cross") if number else query.from_(named)
    return query


def name_tables(query: exp.Expr, catalog: Catalog, referenced: Collection[TableKey] = ()) -> QueryTables:
    """Give each table of a query a name of its own, in the query itself, and return what these names stand for.

    Args:
        query: the query, which is changed.
        catalog: the tables that there are.
        referenced: the tables that the job has referenced.
    """
    found = QueryTables()
    tables = [table for table in query.find_all(exp.Table) if isinstance(table.this, exp.Identifier | exp.Dot)]
    ctes = {fold_case(cte.alias) for cte in query.find_all(exp.CTE)}
    sources = [*tables, *query.find_all(exp.Subquery)]
    for table in tables:
        parts = _parts(table)
        if len(parts) == 1 and fold_case(parts[0]) in ctes:
            continue
        project, dataset, name = ("", "", *parts)[-3:] if len(parts) < 3 else (parts[-3], parts[-2], parts[-1])
        named = catalog.find(project, dataset, name, referenced)
        around = {id(one) for one in (table, *_above(table, exp.Subquery))}
        above = [one for one in sources if len(parts) > 1 and id(one) not in around and _is_called(one, parts[0])]
        if named.tables:
            above = [one for one in above if _is_in_reach(one, table)]
        if above:
            _to_path(table, parts, above[0].alias_or_name)
        else:
            _rename(table, parts[-1], named, found)
    _drop_unknown_stars(query, found)
    return found


def _is_called(source: exp.Expr, name: str) -> bool:
    return fold_case(source.alias_or_name) == fold_case(name)


def _is_in_reach(source: exp.Expr, table: exp.Table) -> bool:
    """Return whether the name of a table may begin with that of a source: of a query around it, or before it in FROM."""
    own, of_source = table.find_ancestor(exp.Select), source.find_ancestor(exp.Select)
    if own is not of_source:
        return any(one is of_source for one in _above(table, exp.Select))
    return max(places_of(source), default=-1) < max(places_of_tables([table]), default=0)


def _above(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    above = node.find_ancestor(kind)
    while above is not None:
        yield above
        above = above.find_ancestor(kind)


def grouping_pivots(table: exp.Table) -> list[exp.Expr]:
    """Return each PIVOT of a table: it groups by every column that it does not name. UNPIVOT does not."""
    return [pivot for pivot in table.args.get("pivots") or () if not pivot.args.get("unpivot")]


def _drop_unknown_stars(query: exp.Expr, found: QueryTables) -> None:
    """Replace `t.*` of a table that nothing is known of, at which sqlglot ends in a TypeError.

    It ends so at `x.*` of `t PIVOT(...) AS x`, too. That PIVOT reads every column of its table is told by the table.
    """
    named = [table for table in query.find_all(exp.Table) if table.name in found.by_name]
    known = {table.alias for table in named if found.of(table).tables}
    unknown = {table.alias for table in named} - known
    unknown |= {pivot.alias for table in named for pivot in grouping_pivots(table) if pivot.alias}
    for column in [*query.find_all(exp.Column)]:
        if column.is_star and column.table in unknown:
            column.replace(exp.null())


def _parts(table: exp.Table) -> list[str]:
    """Return the parts of a name: `p.d.t` may be one quoted name, and a project may have dots or hyphens."""
    text = ".".join(part.name for part in table.parts)
    *project, dataset, name = ["", *text.split(".")] if "." not in text else text.split(".")
    return [".".join(project), dataset, name] if project else [one for one in (dataset, name) if one]


def _to_path(table: exp.Table, parts: list[str], above: str) -> None:
    """Replace a path into a column, as `t.items`, by UNNEST of the column."""
    column = exp.column(parts[1], table=above)
    alias = table.args.get("alias")
    name = alias.name if alias is not None else parts[-1]
    table.replace(exp.Unnest(expressions=[column], alias=exp.TableAlias(columns=[exp.to_identifier(name)])))


def _rename(table: exp.Table, name: str, named: Named, found: QueryTables) -> None:
    own = f"{_PREFIX}{len(found.by_name)}"
    found.places |= places_of_tables([table])
    found.by_name[own] = named
    if table.args.get("alias") is None:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(name.rstrip("*") or name, quoted=True)))
    table.set("this", exp.to_identifier(own))
    table.set("db", None)
    table.set("catalog", None)
