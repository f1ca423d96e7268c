"""No reader is lost: each column whose name is in a text, and whose table the text names, is read, for certain or perhaps.

No two tables have a column of the same name, so that this can be told by the words of a text.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onefold.changes.catalog import Catalog
from onefold.changes.readers import columns_read

TABLES = {
    ("shop", "customer"): ("email", "country"), ("shop", "shop"): ("owner", "city"), ("shop", "orders"): ("amount", "lines"),
    ("crm", "people"): ("phone", "born"), ("crm", "shop"): ("rent", "size"),
}  # fmt: skip
CATALOG = Catalog("p", TABLES)
ALIASES = ["", "shop", "crm", "customer", "people", "c"]
STATEMENTS = [
    "{0}", "CREATE TABLE x.y AS {0}", "INSERT INTO x.y {0}",
    "MERGE x.y AS t USING ({0}) AS s ON FALSE WHEN NOT MATCHED THEN INSERT ROW",
    "MERGE x.y AS t USING x.z AS s ON t.b = s.a WHEN MATCHED THEN UPDATE SET b = ({0})",
    "MERGE x.y AS t USING x.z AS s ON s.a IN ({0}) WHEN NOT MATCHED AND EXISTS ({0}) THEN INSERT (a) VALUES (({0}))",
    "CREATE PROCEDURE x.p() BEGIN {0}; INSERT INTO x.y {0}; END", "BEGIN {0}; EXCEPTION WHEN ERROR THEN {0}; END",
    "IF EXISTS ({0}) THEN {0}; ELSE SELECT 1; END IF", "FOR one IN ({0}) DO {0}; END FOR",
    "WHILE EXISTS ({0}) DO {0}; END WHILE",
    "DECLARE n DEFAULT ({0}); SELECT n", "SET n = ({0})", "CREATE FUNCTION x.f() AS (({0}))", "CALL x.p(({0}))",
    "CREATE TABLE FUNCTION x.f() AS {0}", "UPDATE x.y SET a = ({0}) WHERE TRUE", "DELETE FROM x.y WHERE a IN ({0})",
    "CREATE ROW ACCESS POLICY r ON x.y GRANT TO ('a') FILTER USING (a IN ({0}))", "ASSERT EXISTS ({0})",
    "EXECUTE IMMEDIATE '''{0}'''", "DECLARE q STRING DEFAULT '''{0}'''; EXECUTE IMMEDIATE q", "EXPLAIN {0}",
    "SELECT * FROM GRAPH_TABLE(x.g MATCH (n) RETURN n.a), ({0})", "SELECT ARRAY({0}), STRUCT(({0}) AS a)",
    "WITH shop AS ({0}), crm AS (SELECT * FROM shop) SELECT * FROM crm", "({0}) UNION ALL (SELECT owner FROM shop.shop)",
    "({0}) EXCEPT DISTINCT (SELECT rent FROM crm.shop AS shop)",
    "SELECT 1 FROM x.y AS shop, ({0}) AS z, UNNEST(shop.a) AS crm",
    "SELECT * FROM ML.PREDICT(MODEL x.m, ({0}))", "SELECT 1 FROM x.y QUALIFY ROW_NUMBER() OVER (ORDER BY ({0})) = 1",
    "FROM ({0}) |> AS shop |> WHERE TRUE |> AGGREGATE COUNT(*)", "FROM x.y |> EXTEND ({0}) AS z |> SELECT z",
    "SELECT * FROM x.f(({0}))", "EXPORT DATA OPTIONS (uri = 'gs://x/*') AS {0}", "CREATE VIEW x.v AS {0}",
]  # fmt: skip


def query(draw: st.DrawFn, depth: int = 2, around: tuple[str, ...] = ()) -> tuple[str, list[str]]:
    """Return a query of one to three tables or subqueries, under names that are those of datasets, tables and CTEs.

    It is valid: each column is one of a single source, or one of those `around` the query. With it come its own columns.
    """
    sources: dict[str, list[str]] = {}
    texts = []
    for alias in draw(st.lists(st.sampled_from(ALIASES), min_size=1, max_size=3, unique=True)):
        (dataset, table), names = draw(st.sampled_from(sorted(TABLES.items())))
        text, columns = (
            draw(st.sampled_from([f"{dataset}.{table}", f"`p.{dataset}`.{table}", f"p.{dataset}.{table}"])),
            [*names],
        )
        if depth and alias and draw(st.booleans()):
            inner, columns = query(draw, depth - 1)
            text = f"({inner})"
        if (alias or table) not in sources:
            sources[alias or table] = columns
            texts.append(f"{text}{' AS ' if alias else ''}{alias}")
    seen = [column for columns in sources.values() for column in columns]
    own = [f"{name}.{column}" for name, columns in sources.items() for column in columns]
    own += [column for column in seen if seen.count(column) == 1] or ["1"]
    outer = [one for one in around if one.split(".")[0] not in {*sources, *seen}]
    rest = ""
    if depth and draw(st.booleans()):
        rest = f" WHERE {draw(st.sampled_from(own + outer))} IN ({query(draw, depth - 1, (*own, *outer))[0]})"
    piped = draw(st.sampled_from([None, "", " |> AS shop", " |> DISTINCT"]))
    if piped == " |> AS shop":
        own = [f"{prefix}{column}" for column in seen if seen.count(column) == 1 for prefix in ("", "shop.")] or ["1"]
    chosen = draw(st.lists(st.sampled_from(own + outer), min_size=1, unique_by=lambda one: one.split(".")[-1]))
    columns = [one.split(".")[-1] for one in chosen if one != "1"]
    if piped is not None:
        return f"FROM {' CROSS JOIN '.join(texts)}{rest and ' |>'}{rest}{piped} |> SELECT {', '.join(chosen)}", columns
    group = draw(st.sampled_from(["", " GROUP BY ALL"]))
    return f"SELECT {', '.join(chosen)} FROM {' CROSS JOIN '.join(texts)}{rest}{group}", columns


@st.composite
def texts(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(STATEMENTS)).format(query(draw)[0])


def lost(text: str) -> set[str]:
    """Return the columns that a text names and that are not found."""
    words = re.findall(r"\w+", text)
    named = {table for table in TABLES if re.search(rf"\b{table[0]}`?\.`?{table[1]}\b", text)}
    expected = {f"{d}.{t}.{name}" for d, t in named for name in TABLES[d, t] if name in words}
    return expected - {f"{one.dataset}.{one.table}.{one.column}" for one in columns_read(text, CATALOG).columns}


@example("SELECT size FROM (SELECT rent FROM crm.shop) AS crm")  # Of no source: the text is older than its tables.
@example("SELECT phone FROM crm.people AS shop WHERE phone IN (SELECT born FROM (SELECT phone FROM crm.people) AS shop)")
@given(texts())
def test_each_column_that_a_text_names_is_found(text: str) -> None:
    assert not lost(text), text


@pytest.mark.parametrize(
    ("view", "chosen", "needed"),
    [
        ("SELECT country, email, COUNT(*) AS n FROM shop.customer GROUP BY ALL", "n", "country email"),
        ("SELECT country, UPPER(email) AS e, COUNT(*) AS n FROM shop.customer GROUP BY ALL", "country", "country email"),
        ("SELECT country, COUNT(*) AS n FROM (SELECT country, email FROM shop.customer GROUP BY ALL) GROUP BY country",
         "n", "country email"),
        ("SELECT country, MAX(email) AS e FROM shop.customer GROUP BY ALL", "country", "country"),
    ],
)  # fmt: skip
def test_a_view_that_groups_by_all_reads_what_it_groups_by(view: str, chosen: str, needed: str) -> None:
    catalog = Catalog("p", {**TABLES, ("x", "v"): ("country", "n")}, {("x", "v"): view})
    found = columns_read(f"SELECT {chosen} FROM x.v", catalog).columns
    assert {one.column for one in found if one.table == "customer" and one.certain} == {*needed.split()}


def test_a_name_is_that_of_the_table_where_no_source_of_this_name_is_before_it() -> None:
    for text in (
        "SELECT email FROM shop.customer WHERE country IN (SELECT owner FROM shop.shop)",
        "SELECT c.email, shop.owner FROM shop.customer AS c JOIN shop.shop ON c.country = shop.owner",
        "SELECT owner FROM shop.shop UNION ALL SELECT CONCAT(email, country) FROM shop.customer",
        "SELECT owner FROM shop.shop AS z, (WITH shop AS (SELECT 1) SELECT email, country FROM shop.customer, shop)",
    ):
        found = columns_read(text, CATALOG)
        assert {one.column for one in found.columns if one.certain} == {"email", "country", "owner"}, text
        assert (found.parsed, len(found.columns)) == (True, 3), text


def test_a_path_into_a_column_may_be_the_table_of_this_name() -> None:
    catalog = Catalog("p", {("x", "t"): ("customer", "other"), **TABLES})
    found = columns_read("SELECT customer.name FROM x.t AS shop, shop.customer", catalog).columns
    assert {(one.column, one.certain) for one in found} == {("customer", True), ("email", False), ("country", False)}


def test_what_only_the_words_of_a_text_tell_is_read_perhaps() -> None:
    found = columns_read("CREATE PROCEDURE x.p() BEGIN SELECT email FROM shop.customer; SELECT 1; END", CATALOG)
    assert {(one.column, one.certain) for one in found.columns} == {("email", False), ("country", False)}
    assert not found.parsed
    found = columns_read("BEGIN SELECT email FROM customer; END", CATALOG)
    assert {(one.column, one.certain) for one in found.columns} == {("email", False), ("country", False)}
