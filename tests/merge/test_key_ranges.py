"""The ranges of a key: BigQuery prunes by the comparison that they allow, and it takes the same rows for equal."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import Row, change
from support.merge_shop import CUSTOMER, LONG_AGO, Shop, another_shop
from support.pruned_blocks import blocks_read
from support.strategies import EXTREMES
from support.zetasql_judge import Judge

from onefold.core.names import TableId
from onefold.merge.base_table import BaseTable, merge_statement, same_key
from onefold.merge.key_ranges import KeyRanges, ValueRange, ranges_query, read_ranges
from onefold.merge.merge_log import LOG_COLUMNS
from onefold.schema.columns import Column
from onefold.schema.common_type import PARENTS
from onefold.schema.types import parse_type
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

TABLE = TableId("p", "shop", "customer")
TENANT = tuple(Column(name, parse_type("STRING")) for name in ("source_name", "database_name"))
ID = Column("id", parse_type("INT64"))
NUMBERS = {"INT64": st.integers(-(2**63), 2**63 - 1), "NUMERIC": st.decimals(-(10**28), 10**28, places=9)}
KINDS = [kind for kind in (*PARENTS, "STRING") if kind not in ("FLOAT64", "JSON", "GEOGRAPHY")]


def found(*numbers: Any) -> dict[str, Any]:
    """What the query finds of one column of numbers, NULL among them."""
    known = [number for number in numbers if number is not None]
    return {"nulls_0": len(numbers) - len(known), "least_0": min(known), "greatest_0": max(known)}


def test_a_column_without_nulls_is_compared_itself_and_with_constants() -> None:
    base = BaseTable(TABLE, (*TENANT, ID), ("source_name", "database_name", "id"))
    ranges = {"source_name": ValueRange(("'a'", "'a'")), "database_name": ValueRange(), "id": ValueRange(("0", "1024"))}
    assert same_key(base, "b", "c", ranges) == (
        "b.`source_name` = c.`source_name` AND b.`source_name` BETWEEN 'a' AND 'a' "
        "AND b.`database_name` = c.`database_name` "
        "AND b.`id` = c.`id` AND b.`id` BETWEEN 0 AND 1024"
    )


def test_a_column_with_a_null_is_compared_as_before_and_the_others_are_not() -> None:
    base = BaseTable(TABLE, (TENANT[0], ID), ("source_name", "id"))
    ranges = read_ranges(base.key_columns, {"nulls_0": 1, "nulls_1": 0, "least_1": 1, "greatest_1": 2})
    assert same_key(base, "b", "c", ranges) == (
        "(b.`source_name` IS NULL) = (c.`source_name` IS NULL) "
        "AND IFNULL(b.`source_name`, '') = IFNULL(c.`source_name`, '') "
        "AND b.`id` = c.`id` AND b.`id` BETWEEN 0 AND 1024"
    )


def test_a_merge_takes_only_rows_within_its_ranges() -> None:
    """A row that landed after the ranges were read would be inserted beside the row of its key."""
    base = BaseTable(TABLE, (*TENANT, ID), ("database_name", "id"))
    sql = merge_statement(base, "SELECT 1", ranges={"database_name": ValueRange(), "id": ValueRange(("0", "1024"))})
    assert "  WHERE w._rank = 1\n  AND w.`database_name` IS NOT NULL\n  AND w.`id` BETWEEN 0 AND 1024\n) AS c\nON b." in sql


def test_only_texts_that_name_a_tenant_have_bounds() -> None:
    sql = ranges_query((*TENANT, Column("email", parse_type("STRING"))), "SELECT 1", ("SOURCE_NAME",))
    assert sql.startswith(
        "SELECT COUNTIF(r.`source_name` IS NULL) AS nulls_0, MIN(r.`source_name`) AS least_0, "
        "MAX(r.`source_name`) AS greatest_0, COUNTIF(r.`database_name` IS NULL) AS nulls_1, "
        "COUNTIF(r.`email` IS NULL) AS nulls_2\nFROM"
    )


@given(st.sampled_from([*NUMBERS]), st.data())
def test_bounds_of_numbers_enclose_them_and_are_multiples_that_tell_no_key(kind: str, data: st.DataObject) -> None:
    numbers: list[Any] = data.draw(st.lists(NUMBERS[kind], min_size=1, max_size=3))
    (range_,) = read_ranges([Column("id", parse_type(kind))], found(*numbers)).values()
    if range_.bounds:
        least, greatest = (int(text.removeprefix("NUMERIC ").strip("'")) for text in range_.bounds)
        assert least <= min(numbers) <= max(numbers) <= greatest
        assert least % 1024 == greatest % 1024 == 0


@pytest.mark.parametrize("kind", ["BIGNUMERIC", "DATE", "TIMESTAMP", "BYTES", "BOOL"])
def test_values_of_other_types_are_compared_by_equality_alone(kind: str) -> None:
    keys = [Column("id", parse_type(kind))]
    assert "least_0" not in ranges_query(keys, "SELECT * FROM rows", ())
    assert read_ranges(keys, {"nulls_0": 0}) == {"id": ValueRange()}


@pytest.mark.parametrize(("kind", "end"), [("INT64", 2**63 - 1024), ("NUMERIC", 10**28)])
def test_bounds_go_up_to_the_end_of_the_grid_and_no_further(kind: str, end: int) -> None:
    """The last multiple of the grid: a bound beyond it is near the end of the type."""
    above = end // 1024 * 1024
    (fits,) = read_ranges([Column("id", parse_type(kind))], {"nulls_0": 0, "least_0": 0, "greatest_0": above - 1}).values()
    (beyond,) = read_ranges([Column("id", parse_type(kind))], {"nulls_0": 0, "least_0": 0, "greatest_0": above}).values()
    assert fits.bounds is not None
    assert str(above) in fits.bounds[1]
    assert beyond.bounds is None


def test_numbers_at_the_end_of_their_type_have_no_bounds() -> None:
    for kind, number in (("INT64", 2**63 - 1), ("INT64", -(2**63)), ("NUMERIC", Decimal(10) ** 29 - 1)):
        assert read_ranges([Column("id", parse_type(kind))], found(number)) == {"id": ValueRange()}


def read_of(judge: Judge, base: BaseTable, ranges: KeyRanges) -> int:
    """Blocks of a base of ten databases that a merge reads, each database with ten blocks of 1,024 keys."""
    blocks = [((f"d{d}", 1024 * n), (f"d{d}", 1024 * n + 1023)) for d in range(10) for n in range(10)]
    columns = {base.id: base.stored, base.log: LOG_COLUMNS}
    tables = {str(id_): [(one.name, str(one.type)) for one in found] for id_, found in columns.items()}
    sql = merge_statement(base, f"SELECT * FROM {base.id.quoted}", ranges=ranges)
    return len(blocks_read(judge, sql, tables, base.clustering, blocks))


def test_a_merge_reads_the_blocks_that_may_hold_its_keys_and_without_ranges_all_of_them(judge: Judge) -> None:
    base = BaseTable(TABLE, (TENANT[1], ID), ("database_name", "id"))

    def landed(databases: Sequence[str], ids: Sequence[int], nulls: int = 0) -> KeyRanges:
        ends = {"least_0": min(databases), "greatest_0": max(databases), "least_1": min(ids), "greatest_1": max(ids)}
        return read_ranges(base.key_columns, {"nulls_0": 0, "nulls_1": nulls, **ends})

    assert read_of(judge, base, {}) == 100
    assert read_of(judge, base, landed(["d3"], [9_300, 9_700])) == 1
    assert read_of(judge, base, landed(["d3", "d5"], [9_300, 9_700])) == 3
    assert read_of(judge, base, landed(["d3"], [7, 9_700])) == 10
    assert read_of(judge, base, landed(["d3"], [9_300, 9_700], nulls=1)) == 10
    assert read_of(judge, base, landed(["d0", "d9"], [7, 9_700])) == 100


@pytest.mark.parametrize("kind", KINDS)
def test_rows_have_the_same_key_by_ranges_and_without_them(judge: Judge, kind: str) -> None:
    """Of every type, with and without NULL in the batch, and with NULL in the base."""
    base = BaseTable(TABLE, (Column("k", parse_type(kind)),), ("k",))
    for batch in (EXTREMES[kind], ["NULL", *EXTREMES[kind]], EXTREMES[kind][:1]):
        ranges = ranges_of(judge, base, batch)
        assert matched(judge, base, batch, ranges) == matched(judge, base, batch, {})
        assert bool(ranges) == ("NULL" not in batch)


def rows_of(kind: str, cells: Sequence[str]) -> str:
    return " UNION ALL ".join(f"SELECT {place} AS place, CAST({cell} AS {kind}) AS k" for place, cell in enumerate(cells))


def ranges_of(judge: Judge, base: BaseTable, batch: Sequence[str]) -> KeyRanges:
    """The ranges of the keys, by the query; a test's value of NUMERIC is read back from its text."""
    (column,) = base.key_columns
    kind = str(column.type)
    query = ranges_query(base.key_columns, rows_of(kind, batch), ("k",))
    has_bounds = "least_0" in query
    ends = ", CAST(f.least_0 AS STRING), CAST(f.greatest_0 AS STRING)" if has_bounds else ""
    (row,) = judge.rows(f"SELECT f.nulls_0{ends} FROM (\n{query}\n) AS f")
    read = str if kind == "STRING" else Decimal
    values = [None if text is None else read(text) for text in row[1:]]
    return read_ranges([column], dict(zip(("nulls_0", "least_0", "greatest_0"), (row[0], *values), strict=False)))


def matched(judge: Judge, base: BaseTable, batch: Sequence[str], ranges: KeyRanges) -> list[tuple[int, int]]:
    """The rows of the base and of the batch that have one key: the base has NULL and all values."""
    kind = str(base.key_columns[0].type)
    stored, landed = rows_of(kind, ["NULL", *EXTREMES[kind]]), rows_of(kind, batch)
    held = " AND ".join(one.holds("c.k") for one in ranges.values()) or "TRUE"
    both = (
        f"({stored}) AS b RIGHT JOIN (SELECT * FROM ({landed}) AS c WHERE {held}) AS c ON {same_key(base, 'b', 'c', ranges)}"
    )
    return sorted(judge.rows(f"SELECT IFNULL(b.place, -1), c.place FROM {both}"))


class LandingWarehouse(EmulatedWarehouse):
    """Rows land right after the ranges of a merge were read."""

    def __init__(self, shop: Shop, *rows: Row) -> None:
        super().__init__(shop.warehouse._client)
        self._shop, self._rows = shop, rows

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        found = super().fetch(sql)
        if "least_0" in sql:
            self._shop.land("a", *self._rows)
        return found


@pytest.mark.heavy
def test_a_row_that_lands_after_the_ranges_were_read_is_merged_once_by_the_next_merge(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", *(change("INSERT", "1", id=key, name="old") for key in (1, 9_999, None)), at=LONG_AGO)
    shop.merge()
    shop.land("a", change("INSERT", "2", id=1, name="new"))
    late = [change("INSERT", "2", id=key, name="late") for key in (2, 9_999, None)]
    shop.merge(warehouse=LandingWarehouse(shop, *late))
    assert [(row["id"], row["name"]) for row in shop.people_see()] == [
        (None, "old"),
        (1, "new"),
        (2, "late"),
        (9_999, "old"),
    ]
    shop.merge()
    assert shop.people_see() == shop.expected("id", "name")


@pytest.mark.heavy
def test_a_key_that_is_null_in_the_base_and_in_the_batch_is_one_row(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("a", CUSTOMER)
    for number in ("1", "2"):
        shop.land("a", *(change("INSERT", number, id=key, name=number) for key in (1, None)))
        shop.merge()
    assert shop.people_see() == shop.expected("id", "name")
