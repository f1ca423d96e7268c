"""The query that digests the rows of a view, run by Google's own evaluator: its sums are of SHA-256 over given texts."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from support.check_tables import checked
from support.zetasql_judge import Judge

from onefold.check.digest import digest_queries
from onefold.check.request import CheckedTable
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.pull.read.plan import KeyRange
from onefold.pull.read.pulled_table import pulled_table
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.types import STRING, Scalar

TYPES = {
    "id": SourceType("int"), "text": SourceType("varchar", 60), "exact": SourceType("decimal", 38, 30),
    "price": SourceType("decimal", 9, 2), "real": SourceType("double"), "raw": SourceType("varbinary", 9),
    "day": SourceType("date"), "clock": SourceType("datetime", 6), "at": SourceType("timestamp", 6),
}  # fmt: skip
ROW = {
    "id": ("-7", "-7"), "text": ("'Zo\u00eb \U0001f600 '", "6:Zo\u00eb \U0001f600 "),
    "exact": ("BIGNUMERIC '1.123456789012345678901234567890'", "1.12345678901234567890123456789"),
    "price": ("NUMERIC '-100.50'", "-100.5"), "real": ("0.1", "0.1"), "raw": ("b'\\x00\\xff'", "00ff"),
    "day": ("DATE '0001-01-01'", "-62135596800000000"),
    "clock": ("DATETIME '9999-12-31 23:59:59.999999'", "253402300799999999"),
    "at": ("TIMESTAMP '1969-12-31 23:59:59.000001+00'", "-999999"),
}  # fmt: skip
"""By column: a literal of BigQuery, and the text that both sides write for it."""
REALS = {
    "0.0": "0", "-0.0": "0", "100.0": "100", "0.1234567890123456": "0.1234567890123456", "-1234567.125": "-1234567.125",
    "0.30000000000000004": "0.30000000000000004", "0.00001234": "0.00001234", "1e-12": "0.000000000001",
    "123456789012345.67": "123456789012345.67", "999999999999999.9": "999999999999999.9", "1e20": "100000000000000000000",
    "2.2250738585072011e16": "22250738585072012", "1.5e33": "1500000000000000000000000000000000",
}  # fmt: skip
"""Floats, and their fewest digits that read back, without an exponent."""


@pytest.fixture
def table() -> CheckedTable:
    return checked(TYPES)


def digested(judge: Judge, table: CheckedTable, rows: list[dict[str, str]]) -> tuple[int, ...]:
    """Run the view's query over rows of literals: the number of rows with a digest, and the four sums."""
    queries = digest_queries(table, KeyRange())
    assert queries
    types = [(one.shown.name, str(one.shown.type)) for one in table.columns]
    tenant = [("source_name", "STRING"), ("database_name", "STRING")]
    content = " UNION ALL ".join(
        f"SELECT {', '.join(f'CAST({row[name]} AS {type_}) AS `{name}`' for name, type_ in types)}, "
        "'s' AS source_name, 'd' AS database_name"
        for row in rows
    )
    ((every, compared, known, *sums_, keys),) = judge.rows(
        queries.view, {str(table.view): [*types, *tenant]}, {str(table.view): content}
    )
    assert (every, compared, keys) == (len(rows), len(rows), len({row["id"] for row in rows}))
    return known, *(found or 0 for found in sums_)


def sums(*rows: list[str | None]) -> tuple[int, ...]:
    texts = (",".join("N" if one is None else one for one in row) for row in rows)
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    return len(rows), *(sum(int(one[at : at + 8], 16) for one in digests) for at in (0, 8, 16, 24))


def test_each_type_is_written_as_the_text_that_the_source_writes(judge: Judge, table: CheckedTable) -> None:
    row = {name: literal for name, (literal, _) in ROW.items()}
    nulls = {**dict.fromkeys(ROW, "NULL"), "id": "2"}
    expected = sums([text for _, text in ROW.values()], ["2", *[None] * (len(ROW) - 1)])
    assert digested(judge, table, [row, nulls]) == expected


@pytest.mark.parametrize(("literal", "text"), REALS.items())
def test_a_float_is_written_by_its_fewest_digits_and_without_an_exponent(
    judge: Judge, table: CheckedTable, literal: str, text: str
) -> None:
    row = {**dict.fromkeys(ROW, "NULL"), "id": "1", "real": literal}
    expected = [text if name == "real" else "1" if name == "id" else None for name in ROW]
    assert digested(judge, table, [row]) == sums(expected)


@pytest.mark.parametrize("literal", ["CAST('nan' AS FLOAT64)", "CAST('inf' AS FLOAT64)", "1e300", "5e-324"])
def test_a_float_that_the_source_cannot_write_has_no_digest(judge: Judge, table: CheckedTable, literal: str) -> None:
    assert digested(judge, table, [{**dict.fromkeys(ROW, "NULL"), "id": "1", "real": literal}])[0] == 0


def test_a_column_that_the_view_converts_and_a_type_without_a_common_text_have_no_query(table: CheckedTable) -> None:
    wider = Schema(Column(one.name, STRING if one.name == "price" else one.type) for one in table.shown)
    assert digest_queries(replace(table, shown=wider), KeyRange()) is None
    assert digest_queries(replace(table, rules=TableRules(units=(("id", "unix_millis"),))), KeyRange()) is None
    document = Structure("t", (*table.structure.columns, SourceColumn("doc", SourceType("json"))), ("id",))
    shown = Schema((*table.shown, Column("doc", Scalar("JSON"))))
    assert digest_queries(replace(table, structure=document, target=pulled_table(document), shown=shown), KeyRange()) is None
