"""The latest row of each key where rows have no change metadata: the text, the order, and what cannot be ordered."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.columns import columns
from support.seeding import examples
from support.strategies import text_literal
from support.zetasql_judge import Judge

from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId
from onefold.merge.change_tables import ChangeTable
from onefold.schema.versions import Version
from onefold.views.direct_rows import check_direct, latest_row_query, no_order, version_problems

GOLDEN = Path(__file__).parents[1] / "golden" / "direct" / "latest_row.sql"
TABLE = TableId("p", "events", "clicks")
COLUMNS = {"id": "STRING", "Page": "STRING", "at": "TIMESTAMP", "_onefold_version": "STRING", "_landed_at": "TIMESTAMP"}
LANDED = "2026-05-03 00:00:00 UTC"
VERSIONS = ["9", "10", "20260503", "20260504", "2026_5_30", "2026_12_1", "1_0_10", "2_0_0", "010", "11", "ä"]
"""Their runs of digits are numbers, of any width."""

keys = st.sampled_from([None, "", "a", "ä"])
times = st.sampled_from([None, dt.date.min, dt.date(1969, 12, 31), dt.date(2026, 5, 3), dt.date.max])
pages = st.none() | st.text(max_size=3)
rows = st.lists(st.tuples(keys, pages, times, st.sampled_from(VERSIONS)), max_size=7)


def query(order_by: tuple[str, ...] = ("at",)) -> str:
    version = "_onefold_version"
    return latest_row_query(TABLE, columns(**COLUMNS), ["id"], order_by, version, [version])


def literal(row: tuple[Any, ...]) -> str:
    key, page, at, version = row
    time = "CAST(NULL AS TIMESTAMP)" if at is None else f"TIMESTAMP '{at:%Y-%m-%d} 00:00:00 UTC'".replace("'1-", "'0001-")
    texts = [("CAST(NULL AS STRING)" if text is None else text_literal(text)) for text in (key, page)]
    names = ("id", "Page", "at", "_onefold_version", "_landed_at")
    values = (*texts, time, text_literal(version), f"TIMESTAMP '{LANDED}'")
    return "SELECT " + ", ".join(f"{value} AS `{name}`" for value, name in zip(values, names, strict=True))


def shown(judge: Judge, found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    fields = ", ".join(f"`{name}` {type_}" for name, type_ in COLUMNS.items())
    empty = f"SELECT * FROM UNNEST(ARRAY<STRUCT<{fields}>>[])"
    content = "\nUNION ALL\n".join(map(literal, found)) or empty
    tables = {"p.events.clicks": list(COLUMNS.items())}
    return sorted(judge.rows(query(), tables, {"p.events.clicks": content}), key=str)


def natural(version: str) -> list[Any]:
    """Text and numbers by turns."""
    return [int(piece) if place % 2 else piece for place, piece in enumerate(re.split("([0-9]+)", version))]


def rank(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The documented order: the time, NULL lowest, then the version."""
    _, _, at, version = row
    return (at is not None, at or dt.date.min, natural(version))


@pytest.mark.parametrize(("earlier", "later"), [("2026_5_30", "2026_12_1"), ("1_0_10", "2_0_0"), ("010", "11"), ("9", "10")])
def test_of_versions_that_are_several_numbers_the_later_one_counts(judge: Judge, earlier: str, later: str) -> None:
    assert [*version_problems(TABLE, [earlier, later], [])] == []
    found = [("a", version, None, version) for version in (later, earlier)]
    assert [row[1] for row in shown(judge, found)] == [later]


def test_the_text_equals_its_golden_file() -> None:
    assert query() + "\n" == GOLDEN.read_text()


def test_people_read_the_columns_of_the_service_alone(judge: Judge) -> None:
    tables = {"p.events.clicks": list(COLUMNS.items())}
    assert judge.columns(query(), tables) == [("id", "STRING"), ("Page", "STRING"), ("at", "TIMESTAMP")]


@settings(max_examples=examples(25), deadline=None)
@given(rows, st.randoms())
def test_each_key_has_one_row_of_the_greatest_order_whatever_the_order_of_arrival(
    judge: Judge, found: Any, random: Any
) -> None:
    latest: dict[Any, list[tuple[Any, ...]]] = {}
    for row in found:
        best = latest.setdefault(row[0], [row])
        if rank(row) > rank(best[0]):
            latest[row[0]] = [row]
        elif rank(row) == rank(best[0]):
            best.append(row)
    result = shown(judge, found)
    assert sorted(str(row[0]) for row in result) == sorted(map(str, latest))
    for key, page, *_ in result:
        assert page in [row[1] for row in latest[key]]
    random.shuffle(found)
    assert shown(judge, found) == result


@pytest.mark.parametrize(
    ("type_", "problem"),
    [
        ("ARRAY<INT64>", "`order_by` names at, and ARRAY<INT64> has no order"),
        ("STRUCT<a INT64>", "has no order"),
        ("GEOGRAPHY", "has no order"),
        ("JSON", "has no order"),
    ],
)
def test_columns_without_an_order_are_refused(type_: str, problem: str) -> None:
    with pytest.raises(SchemaConflict, match=problem):
        check_direct(TABLE, columns(id="INT64", at=type_), [], ["id"], ["at"])


@pytest.mark.parametrize(
    "type_",
    [
        "INT64",
        "FLOAT64",
        "NUMERIC",
        "BIGNUMERIC",
        "BOOL",
        "STRING",
        "BYTES",
        "DATE",
        "TIME",
        "DATETIME",
        "TIMESTAMP",
        "INTERVAL",
    ],
)
def test_every_other_type_orders_rows(type_: str, judge: Judge) -> None:
    landed = {"id": "INT64", "at": type_}
    check_direct(TABLE, columns(**landed), [], ["id"], ["AT"])
    text = latest_row_query(TABLE, columns(**landed), ["id"], ["AT"], None, [])
    assert judge.columns(text, {"p.events.clicks": list(landed.items())}) == list(landed.items())


def test_all_problems_are_in_one_error_which_names_the_version() -> None:
    one = ChangeTable(TABLE.sibling("clicks_20260503"), Version("20260503", columns(page="STRING")))
    with pytest.raises(SchemaConflict) as raised:
        check_direct(TABLE, columns(id="JSON", page="STRING"), [one], ["id"], ["page", "ts", "id"])
    assert raised.value.problems == (
        "p.events.clicks: the key id is JSON, which has no equality to group rows by",
        "p.events.clicks has no column ts for `order_by`; it has id, page: correct `order_by` in onefold.yaml",
        "p.events.clicks: `order_by` names id, and JSON has no order: name another column in onefold.yaml",
        "p.events.clicks_20260503 has no column id for the key; `retire` the version in onefold.yaml, or name other keys",
    )


FIVETRAN = {"id": "INT64", "_fivetran_synced": "TIMESTAMP", "_fivetran_deleted": "BOOL"}


@pytest.mark.parametrize("id_", ["", "20260503"])
@pytest.mark.parametrize("order_by", [[], ["id"]])
def test_a_table_with_the_columns_of_a_tool_is_not_shown_by_its_keys_alone(id_: str, order_by: list[str]) -> None:
    """Versions, or an order that onefold.yaml declares, say that services write the rows."""
    changes = [ChangeTable(TABLE, Version(id_, columns(**FIVETRAN)))]
    if id_ or order_by:
        check_direct(TABLE, columns(**FIVETRAN), changes, ["id"], order_by)
        return
    with pytest.raises(SchemaConflict) as raised:
        check_direct(TABLE, columns(**FIVETRAN), changes, ["id"], order_by)
    assert raised.value.problems == (
        "p.events.clicks gets no current and no clean view: it has the columns of Fivetran, and by its keys alone deleted "
        "or old rows would be shown. Write `tool` and `rows` of tables.events.clicks into onefold.yaml, as `onefold "
        "discover events` says, or `order_by` where no tool writes the table",
    )


def test_rows_without_an_order_are_warned_of() -> None:
    assert no_order(TABLE, ["at"]) == ()
    assert no_order(TABLE, []) == (
        "p.events.clicks: no `order_by` in onefold.yaml says which row of a key is the latest: where a key has several "
        "rows, the view shows any one of them, always the same",
    )
