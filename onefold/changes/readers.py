"""The columns that a query reads, from its text and the columns of the tables that it names.

sqlglot parses the text and resolves its names. Where it cannot be told whether a column is read, the column is read `maybe`:
too much is said, and never too little. Of a table that the text names, and no query has, all columns are read `maybe`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.pushdown_projections import pushdown_projections
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from onefold.changes.catalog import Catalog, Named
from onefold.changes.query_forms import drop_unused, group_by_selected, queries_within, statements_of, with_distinct_apart
from onefold.changes.query_mentions import mentions, places_of_columns, places_of_tables
from onefold.changes.query_tables import QueryTables, grouping_pivots, name_tables, queries_of, written_by
from onefold.ports.query_texts import TableKey

DIALECT = "bigquery"
_WORD = re.compile(r"\w[\w-]*")
_ALONE = re.compile(r"(?:\b(?:FROM|JOIN|TABLE|USING|INTO)\b|,)\s*`?([\w-]+)`?(?![.\w-])", re.IGNORECASE)
# It logs texts that it does not understand, with their literals.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass(frozen=True, order=True)
class ColumnRead:
    """A column that a query reads.

    Attributes:
        dataset: the dataset of the table or view.
        table: its name.
        column: the column, as the table spells it.
        certain: False where the query reads it perhaps.
    """

    dataset: str
    table: str
    column: str
    certain: bool = True


@dataclass(frozen=True)
class QueryReads:
    """What a text reads.

    Attributes:
        columns: each column once; certain where any use of it is.
        tables: the tables and views that the text names, and those behind views.
        parsed: False where the text could not be understood: every column of its tables is read, perhaps.
    """

    columns: frozenset[ColumnRead] = frozenset()
    tables: frozenset[TableKey] = frozenset()
    parsed: bool = True


@dataclass
class _Found:
    """Collects what a text reads: whether for certain, by column. Of a statement that is not a query nothing is certain.

    The places are those of the names of tables that are accounted for.
    """

    catalog: Catalog
    is_certain: bool = True
    columns: dict[tuple[TableKey, str], bool] = field(default_factory=dict)
    tables: set[TableKey] = field(default_factory=set)
    places: set[int] = field(default_factory=set)

    def add(self, table: TableKey, column: str, *, certain: bool) -> None:
        if spelled := self.catalog.spelled(table, column):
            certain = certain and self.is_certain
            self.columns[table, spelled] = certain or self.columns.get((table, spelled), False)

    def has(self, named: Named, column: str) -> bool:
        """Return whether a table that a name stands for has a column."""
        return any(self.catalog.spelled(table, column) for table in named.tables)

    def add_named(self, named: Named, columns: Iterable[str], *, certain: bool = True) -> None:
        for column in columns:
            for table in named.tables:
                self.add(table, column, certain=certain and named.certain)

    def add_all(self, tables: Iterable[TableKey], *, certain: bool = False) -> None:
        for table in tables:
            for column in self.catalog.columns.get(table, ()):
                self.add(table, column, certain=certain)

    def add_mentioned(self, text: str) -> None:
        """Add the tables whose names are among the words of a text that could not be understood.

        Without its dataset a name counts where that of a table belongs.
        """
        words, alone = set(_WORD.findall(text)), set(_ALONE.findall(text))
        mentioned = [table for table in self.catalog.columns if set(table) <= words or table[1] in alone]
        self.tables.update(mentioned)
        self.add_all(mentioned)

    def result(self, *, parsed: bool) -> QueryReads:
        columns = frozenset(ColumnRead(*table, column, certain) for (table, column), certain in self.columns.items())
        return QueryReads(columns, frozenset(self.tables), parsed)


def columns_read(text: str, catalog: Catalog, referenced: Collection[TableKey] = ()) -> QueryReads:
    """Return the columns that a query, or a script, reads: of the tables that it names, and of those behind views.

    Args:
        text: the text in GoogleSQL.
        catalog: the tables that it may name.
        referenced: the tables that BigQuery says the job has referenced, where there is a job.

    Examples:
        >>> shop = Catalog("p", {("shop", "t"): ("id", "Name", "at")})
        >>> [one.column for one in sorted(columns_read("SELECT NAME FROM shop.t WHERE id > 7", shop).columns)]
        ['Name', 'id']
    """
    found = _Found(catalog)
    parsed = _read_text(found, text, referenced, pruned=False)
    _add_behind_views(found)
    # A routine reads tables that no text names, and so does a text that could not be understood.
    if not parsed or not any(table in catalog.views or _may_be_view(table, referenced) for table in found.tables):
        found.add_all(set(referenced) - found.tables)
        found.tables.update(table for table in referenced if table in catalog.columns)
    return found.result(parsed=parsed)


def _may_be_view(table: TableKey, referenced: Collection[TableKey]) -> bool:
    """Return whether a table that a text names is a view: BigQuery lists what is behind a view in its place."""
    return table not in referenced


def _read_text(found: _Found, text: str, referenced: Collection[TableKey], *, pruned: bool) -> bool:
    """Collect what a text reads. Returns False where some of it could not be understood."""
    try:
        text = with_distinct_apart(text)
        statements = statements_of(text)
    except (SqlglotError, RecursionError):
        found.add_mentioned(text)
        return False
    of_columns = frozenset().union(*map(places_of_columns, statements))
    understood = [_read_statement(found, one, text, referenced, pruned=pruned) for one in statements]
    return all([*understood, not _add_lost(found, text, of_columns)])


def _add_lost(found: _Found, text: str, of_columns: Collection[int]) -> bool:
    """Collect all columns of the tables whose names no statement has accounted for. Returns whether there are any.

    Where there are, a name of another table may be understood wrongly, too: then each word may be a column of it.
    """
    lost = [
        table
        for place, named in mentions(text, found.catalog).items()
        if place not in found.places and not (place in of_columns and found.tables.issuperset(named.tables))
        for table in named.tables
    ]
    if lost:
        found.tables.update(lost)
        found.add_all(lost)
        found.add_named(Named(tuple(found.tables), certain=False), set(_WORD.findall(text)))
    return bool(lost)


def _read_statement(
    found: _Found, statement: exp.Expr, text: str, referenced: Collection[TableKey], *, pruned: bool
) -> bool:
    found.places |= places_of_tables(written_by(statement))
    queries, is_whole = queries_of(statement)
    if isinstance(statement, exp.Command):
        # A statement that is made of texts may be made of any text before it.
        found.add_mentioned(text if statement.name.upper() == "EXECUTE" else statement.sql(DIALECT))
    found.is_certain = is_whole
    for outer in queries:
        found.places |= places_of_tables(drop_unused(outer))
        for query in queries_within(outer):
            is_whole &= _read_named(found, query, name_tables(query, found.catalog, referenced), pruned=pruned)
    found.is_certain = True
    return is_whole


def _read_named(found: _Found, query: exp.Expr, named: QueryTables, *, pruned: bool) -> bool:
    found.tables.update(named.tables)
    found.places |= named.places
    try:
        _read_query(found, query, named, pruned=pruned)
    except (SqlglotError, RecursionError):
        found.add_all(named.tables)
        return False
    return True


def _read_query(found: _Found, query: exp.Expr, named: QueryTables, *, pruned: bool) -> None:
    schema = MappingSchema(named.schema(found.catalog), dialect=DIALECT)
    by_alias = {id(column) for column in query.find_all(exp.Column) if column.table}
    qualified = qualify(
        query, dialect=DIALECT, schema=schema, validate_qualify_columns=False, quote_identifiers=False, identify=False,
    )  # fmt: skip
    all_sources = (source for scope in traverse_scope(qualified) for source in scope.sources.values())
    reached = {source.name for source in all_sources if isinstance(source, exp.Table)}
    for name in named.by_name.keys() - reached:
        found.add_all(named.by_name[name].tables)
    if pruned:
        group_by_selected(qualified)
        qualified = _pruned(qualified, schema)
    doubtful: set[int] = set()
    for scope in traverse_scope(qualified):
        sources = {name: named.of(source) for name, source in scope.sources.items() if isinstance(source, exp.Table)}
        if any(not one.tables for one in sources.values()):
            # A table of the subquery that nothing is known of may have a column of this name.
            doubtful.update(id(column) for column in scope.external_columns if id(column) not in by_alias)
        _read_scope(found, scope, sources, named, doubtful)


def _pruned(query: exp.Expr, schema: MappingSchema) -> exp.Expr:
    """Return a query without the columns of subqueries that nothing uses: also what only a column that is gone had used."""
    while True:
        before = query.sql(DIALECT)
        query = pushdown_projections(query, schema=schema, dialect=DIALECT)
        if query.sql(DIALECT) == before:
            return query


def _read_scope(
    found: _Found, scope: Scope, sources: Mapping[str, Named], named: QueryTables, doubtful: Collection[int]
) -> None:
    for column in scope.columns:
        source = sources.get(column.table)
        if source is not None and (found.has(source, column.name) or not (source.tables or scope.is_subquery)):
            found.add_named(source, [column.name], certain=id(column) not in doubtful)
        else:
            for one in _perhaps(found, scope, column, named):
                found.add_named(one, [part.name for part in column.parts], certain=False)
    for node in scope.find_all(exp.TableColumn, exp.Star):
        _read_whole(found, node, sources)
    for one in (
        named.of(table) for table in scope.sources.values() if isinstance(table, exp.Table) and grouping_pivots(table)
    ):
        found.add_all(one.tables, certain=one.certain)


def _perhaps(found: _Found, scope: Scope, column: exp.Column, named: QueryTables) -> Collection[Named]:
    """Return the tables to which a column may belong that is of no known table of its query.

    It is of a subquery, which is read by itself; of a table of a query around it; or, where it is a field of a column, its
    source has a name that is there twice, or the text is older than its tables, of any table.
    """
    around: Scope | None = scope
    while around is not None and column.table not in around.sources:
        around = around.parent
    source = around.sources[column.table] if around else None
    if isinstance(source, exp.Table) and found.has(named.of(source), column.name):
        return [named.of(source)]
    is_whole = isinstance(source, Scope) and (
        not isinstance(source.expression, exp.Query) or {column.name, "*"} & {*source.expression.named_selects}
    )
    return [] if is_whole else named.by_name.values()


def _read_whole(found: _Found, node: exp.Expr, sources: Mapping[str, Named]) -> None:
    """Collect the columns of a row that is read as a whole, as `TO_JSON_STRING(t)`. COUNT(*) reads no column."""
    if isinstance(node, exp.TableColumn):
        chosen = [sources[node.name]] if node.name in sources else []
    else:
        chosen = [] if isinstance(node.parent, exp.Count) else list(sources.values())
    for one in chosen:
        found.add_all(one.tables, certain=one.certain and isinstance(node, exp.TableColumn))


def _add_behind_views(found: _Found) -> None:
    """Collect what is behind the views that the text names: only what their chosen columns, filters and joins need."""
    done: set[TableKey] = set()
    while todo := sorted(found.tables & found.catalog.views.keys() - done):
        for view in todo:
            done.add(view)
            used = {column for table, column in found.columns if table == view}
            behind = _behind(found.catalog, view, tuple(sorted(used)))
            found.tables |= behind.tables
            for one in behind.columns:
                found.add((one.dataset, one.table), one.column, certain=one.certain)


def _behind(catalog: Catalog, view: TableKey, columns: Sequence[str]) -> QueryReads:
    """Return what some columns of a view read. What a view reads for a column that nobody uses does not count."""
    chosen = ", ".join(f"`{column}`" for column in columns) or "1"
    found = _Found(catalog)
    parsed = _read_text(found, f"SELECT {chosen} FROM (\n{catalog.views[view]}\n)", (), pruned=True)
    return found.result(parsed=parsed)
