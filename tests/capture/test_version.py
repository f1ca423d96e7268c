"""The version of a structure: as docs/reference/source-types.md specifies it, and no other."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest

from onefold.landing.table import canonical_text, version_of
from onefold.mysql.table import SourceColumn, SourceType, Structure

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "source-types.md").read_text()
CUSTOMER = Structure(
    "customer",
    (
        SourceColumn("id", SourceType("bigint", unsigned=True)),
        SourceColumn("name", SourceType("varchar", 120), "utf8mb4"),
        SourceColumn("price", SourceType("decimal", 10, 2)),
        SourceColumn("at", SourceType("datetime", 0)),
    ),
    ("id",),
)
GREETING = Structure(
    "größe", (SourceColumn("日", SourceType("enum", 1), "utf8mb4", ("a", "b")), SourceColumn("t", SourceType("text")))
)
EMPTY = Structure("t", ())


@pytest.mark.parametrize("structure", [CUSTOMER, GREETING, EMPTY])
def test_the_vectors_of_the_docs_hold(structure: Structure) -> None:
    vectors = dict(re.findall(r"^\| `(.+)` \| `([0-9a-f]{9})` \|$", PAGE, re.MULTILINE))
    assert len(vectors) == 3
    assert vectors[canonical_text(structure)] == version_of(structure)


def test_the_version_is_the_beginning_of_a_sha_256() -> None:
    text = "8:customer2:id15:bigint unsigned4:name12:varchar(120)5:price13:decimal(10,2)2:at11:datetime(0)"
    assert canonical_text(CUSTOMER) == text
    assert version_of(CUSTOMER) == hashlib.sha256(text.encode()).hexdigest()[:9]


def test_lengths_are_bytes() -> None:
    assert canonical_text(GREETING) == "7:größe3:日7:enum(1)1:t4:text"


def with_column(index: int, column: SourceColumn) -> Structure:
    columns = list(CUSTOMER.columns)
    columns[index] = column
    return replace(CUSTOMER, columns=tuple(columns))


@pytest.mark.parametrize(
    "other",
    [
        replace(CUSTOMER, table="Customer"),
        replace(CUSTOMER, columns=CUSTOMER.columns[:-1]),
        replace(CUSTOMER, columns=CUSTOMER.columns[::-1]),
        with_column(0, SourceColumn("id", SourceType("bigint"))),
        with_column(0, SourceColumn("ID", SourceType("bigint", unsigned=True))),
        with_column(1, SourceColumn("name", SourceType("varchar", 121), "utf8mb4")),
        with_column(2, SourceColumn("price", SourceType("decimal", 10, 3))),
    ],
)
def test_another_name_type_size_or_order_is_another_version(other: Structure) -> None:
    assert version_of(other) != version_of(CUSTOMER)


@pytest.mark.parametrize(
    "other",
    [
        replace(CUSTOMER, primary_key=()),
        with_column(1, SourceColumn("name", SourceType("varchar", 120), "latin1")),
        with_column(1, SourceColumn("name", SourceType("varchar", 120), "utf8mb4", ("no", "matter"))),
    ],
)
def test_the_version_does_not_depend_on_key_charset_and_enum_values(other: Structure) -> None:
    assert version_of(other) == version_of(CUSTOMER)


def test_names_cannot_be_shifted_into_each_other() -> None:
    one = Structure("t", (SourceColumn("a", SourceType("int")), SourceColumn("b", SourceType("int"))))
    two = Structure("t", (SourceColumn("a3:int1:b", SourceType("int")),))
    assert version_of(one) != version_of(two)
