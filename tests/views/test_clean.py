"""The text of clean views: golden files, and rows in Google's evaluator."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.seeding import examples
from support.strategies import EXTREMES, text_literal
from support.zetasql_judge import Judge
from zetasql.core.exceptions import ServerError

from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId
from onefold.schema.column_policy import Action, PolicyRule, TablePolicies
from onefold.schema.columns import Column
from onefold.schema.treatment import treat
from onefold.schema.types import parse_type
from onefold.views.clean import clean_columns, clean_query, waiting_columns

GOLDEN = Path(__file__).parents[1] / "golden" / "clean"
SOURCE = TableId("p", "shop", "customer_current")
KEY = TableId("p", "shop__keys", "hash_key")
KEY_COLUMNS = [("ipad", "STRING"), ("opad", "STRING"), ("created", "TIMESTAMP")]
SECRET = b"a key of thirty-two random bytes"
CUSTOMER = [
    ("id", "INT64"),
    ("Email", "STRING"),
    ("born", "DATE"),
    ("address", "STRUCT<zip STRING, `order` STRUCT<street BYTES, since TIMESTAMP>, extra INT64>"),
    ("tags", "ARRAY<STRING>"),
    ("items", "ARRAY<STRUCT<price NUMERIC, k STRING, mails ARRAY<STRING>>>"),
    ("notes", "JSON"),
    ("card", "STRING"),
]
POLICIES = {
    "id": "clear",
    "email": "hash",
    "address.zip": "clear",
    "address.order.street": "hash",
    "address.order.since": "drop",
    "tags": "hash",
    "items.price": "clear",
    "items.k": "drop",
    "items.mails": "hash",
    "card": "drop",
}


def query_of(columns: list[tuple[str, str]], rules: dict[str, str]) -> str:
    policies = TablePolicies(tuple(PolicyRule("*", path, Action[action.upper()]) for path, action in rules.items()))
    types = [(name, parse_type(type_)) for name, type_ in columns]
    treatments = [treat(Column(name, type_), [type_], policies) for name, type_ in types]
    query = clean_query(SOURCE, treatments, KEY)
    shown = [(column.name, str(column.type)) for column in clean_columns(treatments)]
    _SHOWN[query] = shown
    return query


_SHOWN: dict[str, list[tuple[str, str]]] = {}


def key_rows(*keys: bytes) -> str:
    """The stored rows of keys, by RFC 2104: K XOR ipad, K XOR opad."""
    pads = [[bytes(byte ^ pad for byte in key.ljust(64, b"\0")).hex() for pad in (0x36, 0x5C)] for key in keys]
    return "\nUNION ALL ".join(
        f"SELECT '{i}' AS ipad, '{o}' AS opad, TIMESTAMP '2026-01-01 00:00:00+00' AS created" for i, o in pads
    )


def rows(judge: Judge, query: str, columns: list[tuple[str, str]], source: str, keys: str) -> list[tuple[object, ...]]:
    tables = {str(SOURCE): columns, str(KEY): KEY_COLUMNS}
    return judge.rows(query, tables, {str(SOURCE): source, str(KEY): keys})


def hashed(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    return hmac.new(SECRET, data, hashlib.sha256).hexdigest()


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("policies", POLICIES),
        ("undecided", {}),
        ("clear", {"*": "clear"}),
        ("hash", {"*": "hash"}),
    ],
)
def test_golden(name: str, rules: dict[str, str], judge: Judge) -> None:
    query = query_of(CUSTOMER, rules)
    assert (GOLDEN / f"{name}.sql").read_text(encoding="utf-8") == query + "\n"
    assert judge.columns(query, {str(SOURCE): CUSTOMER, str(KEY): KEY_COLUMNS}) == _SHOWN[query]


def test_text_names_the_columns_that_wait() -> None:
    assert waiting_columns(query_of(CUSTOMER, POLICIES)) == ("born", "address.extra", "notes")
    assert waiting_columns(query_of(CUSTOMER, {"*": "hash"})) == ()
    assert waiting_columns("SELECT 1\n-- waiting for a decision: [1]") == ()
    assert waiting_columns("-- waiting for a decision: edited\nSELECT 1") == ()


def test_rows_of_nested_columns(judge: Judge) -> None:
    source = (
        "SELECT 7 AS id, 'ż@example.org' AS Email, DATE '1990-01-01' AS born, STRUCT('10115' AS zip, "
        "STRUCT(b'\\xff\\x00' AS street, TIMESTAMP '2026-01-01 00:00:00+00' AS since) AS `order`, 5 AS extra) AS address, "
        "['b', 'a'] AS tags, "
        "[STRUCT(NUMERIC '1.5' AS price, 'x' AS k, ['m', 'n'] AS mails)] AS items, JSON '{}' AS notes, '4111' AS card"
    )
    query = query_of(CUSTOMER, {**POLICIES, "items.price": "hash"})
    (row,) = rows(judge, query, CUSTOMER, source, key_rows(SECRET))
    assert row == (
        7,
        hashed("ż@example.org"),
        None,
        ("10115", (hashed(b"\xff\x00"),), None),
        [hashed("b"), hashed("a")],
        [(hashed("1.5"), [hashed("m"), hashed("n")])],
        None,
    )


def test_null_stays_null(judge: Judge) -> None:
    nulls = ", ".join(f"CAST(NULL AS {type_}) AS `{name}`" for name, type_ in CUSTOMER)
    (row,) = rows(judge, query_of(CUSTOMER, {"*": "hash"}), CUSTOMER, f"SELECT {nulls}", key_rows(SECRET))
    assert [value for value in row if value != []] == [None] * 6


@pytest.mark.parametrize("type_", sorted(set(EXTREMES)))
def test_hash_of_each_type_is_that_of_its_text(type_: str, judge: Judge) -> None:
    values = EXTREMES[type_]
    columns = [("x", type_)]
    texts = columns if type_ == "BYTES" else [("x", "STRING")]
    source = "\nUNION ALL ".join(f"SELECT CAST({value} AS {type_}) AS x" for value in values)
    query = query_of(columns, {"x": "hash"})
    found = [row[0] for row in rows(judge, query, columns, source, key_rows(SECRET))]
    from onefold.schema.casts import convert

    as_text = "x" if texts is columns else convert("x", parse_type(type_), parse_type("STRING"))
    expected = [hashed(text) for (text,) in judge.rows(f"SELECT {as_text} FROM ({source})")]
    assert found == expected


@settings(max_examples=examples(20))
@given(text=st.text(st.characters(exclude_categories=["Cs"])), key=st.binary(min_size=1, max_size=64))
def test_hash_is_hmac_sha256(text: str, key: bytes, judge: Judge) -> None:
    columns = [("x", "STRING")]
    found = rows(judge, query_of(columns, {"x": "hash"}), columns, f"SELECT {text_literal(text)} AS x", key_rows(key))
    assert found == [(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(),)]


def test_equal_numbers_of_other_types_have_equal_hashes(judge: Judge) -> None:
    columns = [("a", "INT64"), ("b", "NUMERIC"), ("c", "STRING")]
    query = query_of(columns, {"*": "hash"})
    (row,) = rows(judge, query, columns, "SELECT 12 AS a, NUMERIC '12' AS b, '12' AS c", key_rows(SECRET))
    assert set(row) == {hashed("12")}


@pytest.mark.parametrize(
    "keys",
    [
        "SELECT * FROM (" + key_rows(SECRET) + ") WHERE FALSE",
        key_rows(SECRET, b"another"),
        "SELECT CAST(NULL AS STRING) AS ipad, CAST(NULL AS STRING) AS opad, CURRENT_TIMESTAMP() AS created",
        "SELECT '' AS ipad, '' AS opad, CURRENT_TIMESTAMP() AS created",
        key_rows(SECRET).replace("opad", "x", 1).replace("SELECT '", "SELECT '' AS opad, '", 1).replace(" AS x", " AS y"),
    ],
    ids=["none", "two", "null", "empty", "half"],
)
def test_wrong_key_is_an_error(keys: str, judge: Judge) -> None:
    columns = [("x", "STRING")]
    reordered = f"SELECT ipad, opad, created FROM ({keys})"
    with pytest.raises(ServerError, match=r"hash_key: expected one row with a key: run `onefold policies key`"):
        rows(judge, query_of(columns, {"x": "hash"}), columns, "SELECT 'a' AS x", reordered)


def test_view_without_a_hash_reads_no_key() -> None:
    assert "keys" not in query_of(CUSTOMER, {"*": "clear"})


def test_view_needs_a_column() -> None:
    with pytest.raises(SchemaConflict, match="the policies drop every column"):
        query_of(CUSTOMER, {"*": "drop"})


def test_alias_of_the_key_is_no_name_of_a_column_or_field(judge: Judge) -> None:
    columns = [("k", "STRING"), ("v", "STRING"), ("a", "ARRAY<STRUCT<k_ STRING, K__ STRING, e1 STRING, o1 INT64>>")]
    query = query_of(columns, {"*": "hash"})
    source = "SELECT 'k' AS k, 'v' AS v, [STRUCT('1' AS k_, '2' AS K__, '3' AS e1, 4 AS o1)] AS a"
    expected = (hashed("k"), hashed("v"), [(hashed("1"), hashed("2"), hashed("3"), hashed("4"))])
    assert rows(judge, query, columns, source, key_rows(SECRET)) == [expected]
