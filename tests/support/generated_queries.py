"""Queries that are made from columns which they are known to read: the oracle of `onefold.changes.readers`.

A query is put together from its sources, and so are the columns that it reads: nothing here parses SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

Read = tuple[str, str, str]
"""Dataset, table and column."""

TABLES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("shop", "order_current"): ("id", "Amount", "note", "at"),
    ("shop", "customer_current"): ("id", "name", "at"),
    ("crm", "Lead"): ("id", "score", "order"),
}
PROJECT = "my-project"


@dataclass(frozen=True)
class Made:
    """A query, or what stands in FROM.

    Attributes:
        sql: the text.
        outputs: for each column that it gives, all columns of tables that the column is made of.
        named: all columns of tables that the text names, wherever.
        always: those that it needs whichever of its outputs are used.
    """

    sql: str
    outputs: Mapping[str, frozenset[Read]]
    named: frozenset[Read]
    always: frozenset[Read] = frozenset()

    def needed(self, chosen: Sequence[str]) -> frozenset[Read]:
        return self.always.union(*(self.outputs[name] for name in chosen))


def spelled(draw: st.DrawFn, name: str) -> str:
    """Return a column in any case; a reserved word in backticks."""
    text = draw(st.sampled_from([name, name.upper(), name.lower()]))
    return f"`{text}`" if name == "order" or draw(st.booleans()) else text


def table(draw: st.DrawFn) -> Made:
    (dataset, name), columns = draw(st.sampled_from(sorted(TABLES.items())))
    forms = [f"{dataset}.{name}", f"`{dataset}`.{name}", f"`{PROJECT}.{dataset}.{name}`", f"`{PROJECT}`.{dataset}.`{name}`"]
    outputs = {column.lower(): frozenset({(dataset, name, column)}) for column in columns}
    return Made(draw(st.sampled_from(forms)), outputs, frozenset())


def source(draw: st.DrawFn, depth: int) -> Made:
    if depth == 0 or draw(st.booleans()):
        return table(draw)
    inner = query(draw, depth - 1)
    return Made(f"({inner.sql})", inner.outputs, inner.named, inner.always)


class _Naming:
    """The columns that a query uses of its sources."""

    def __init__(self, sources: Sequence[Made]) -> None:
        self.sources = sources
        self.named: set[Read] = set().union(*(one.named for one in sources))

    def use(self, draw: st.DrawFn) -> tuple[str, str, frozenset[Read]]:
        """Return a column as an expression, its name, and what it is made of."""
        number = draw(st.integers(0, len(self.sources) - 1))
        name = draw(st.sampled_from(sorted(self.sources[number].outputs)))
        is_single = sum(name in one.outputs for one in self.sources) == 1
        prefix = "" if is_single and draw(st.booleans()) else f"s{number}."
        return f"{prefix}{spelled(draw, name)}", name, self.touch(number, name)

    def touch(self, number: int, name: str) -> frozenset[Read]:
        one = self.sources[number]
        if not one.sql.startswith("("):
            self.named |= one.outputs[name]
        return one.outputs[name]


FORMS = ("{}", "TO_JSON_STRING({})", "CAST({} AS STRING)", "COALESCE(NULL, {})", "(SELECT {})", "STRUCT({} AS x)")


def query(draw: st.DrawFn, depth: int = 2) -> Made:
    sources = [source(draw, depth) for _ in range(draw(st.integers(1, 2)))]
    naming = _Naming(sources)
    outputs, items = _items(draw, naming)
    from_ = " CROSS JOIN ".join(f"{one.sql} AS s{number}" for number, one in enumerate(sources))
    always = frozenset().union(*(one.always for one in sources))
    rest = ""
    if draw(st.booleans()):
        text, _, used = naming.use(draw)
        rest, always = f" WHERE {text} IS NOT NULL", always | used
    if draw(st.booleans()):
        text, _, used = naming.use(draw)
        inner = table(draw)
        name = draw(st.sampled_from(sorted(inner.outputs)))
        naming.named |= inner.outputs[name]
        exists = f"EXISTS (SELECT 1 FROM {inner.sql} AS e WHERE e.{spelled(draw, name)} = {_outer(text, naming, draw)})"
        rest += f"{' AND' if rest else ' WHERE'} {exists}"
        always = always | used | inner.outputs[name]
    return Made(f"SELECT {items} FROM {from_}{rest}", outputs, frozenset(naming.named), always)


def _outer(text: str, naming: _Naming, draw: st.DrawFn) -> str:
    """Return a column of the query around as a subquery may name it: with its alias, for else it could be another one."""
    if "." in text:
        return text
    name = text.strip("`").lower()
    (number,) = (number for number, one in enumerate(naming.sources) if name in one.outputs)
    return f"s{number}.{spelled(draw, name)}"


def _items(draw: st.DrawFn, naming: _Naming) -> tuple[dict[str, frozenset[Read]], str]:
    if len(naming.sources) == 1 and draw(st.booleans()):
        return _star(draw, naming)
    outputs, items = {}, []
    for number in range(draw(st.integers(1, 4))):
        text, _, used = naming.use(draw)
        outputs[f"c{number}"] = used
        items.append(f"{draw(st.sampled_from(FORMS)).format(text)} AS c{number}")
    return outputs, ", ".join(items)


def _star(draw: st.DrawFn, naming: _Naming) -> tuple[dict[str, frozenset[Read]], str]:
    """Return all columns of the only source, perhaps but one; the one that is left out is read all the same by its name."""
    names = list(naming.sources[0].outputs)
    left_out = draw(st.sampled_from([None, *names])) if len(names) > 1 else None
    outputs = {name: naming.touch(0, name) for name in names if name != left_out}
    star = draw(st.sampled_from(["*", "s0.*"]))
    return outputs, star if left_out is None else f"{star} EXCEPT (`{left_out}`)"


@st.composite
def queries(draw: st.DrawFn) -> Made:
    return query(draw)


@st.composite
def scripts(draw: st.DrawFn) -> tuple[str, frozenset[Read]]:
    """Statements around queries, and all columns that they read."""
    made = query(draw)
    form = draw(st.sampled_from([
        "{}", "({}) UNION ALL SELECT * FROM x.y", "WITH q AS ({}) SELECT * FROM q", "CREATE OR REPLACE TABLE x.y AS {}",
        "INSERT INTO x.y {}", "CREATE VIEW x.v AS {}", "SELECT 1; {};",
        "MERGE x.y AS t USING ({}) AS s ON FALSE WHEN NOT MATCHED THEN INSERT ROW",
    ]))  # fmt: skip
    return form.format(made.sql), made.named
