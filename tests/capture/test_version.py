"""The version of a structure: as docs/reference/source-types.md specifies it, and no other."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest

from onefold.landing.table import MaskedType, versioned_table
from onefold.landing.version import canonical_text, joined, version_of_structure
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.pull.read.pulled_table import pulled_table

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


def vectors(heading: str) -> dict[str, str]:
    section = PAGE.partition(f"### {heading}\n")[2].partition("\n#")[0]
    return dict(re.findall(r"^\| `(.+)` \| `([0-9a-f]{9})` \|$", section, re.MULTILINE))


@pytest.mark.parametrize("structure", [CUSTOMER, GREETING, EMPTY])
def test_the_vectors_of_the_docs_hold_for_pulled_tables(structure: Structure) -> None:
    found = vectors("Pulled tables")
    assert len(found) == 3
    assert found[canonical_text(structure)] == version_of_structure(structure) == pulled_table(structure).version


@pytest.mark.parametrize(
    ("structure", "columns"),
    [
        (CUSTOMER, ("customer", "at", "DATETIME", "id", "NUMERIC", "name", "STRING", "price", "NUMERIC")),
        (GREETING, ("größe", "t", "STRING", "日", "STRING")),
        (EMPTY, ("t",)),
    ],
)
def test_the_vectors_of_the_docs_hold_for_captured_tables(structure: Structure, columns: tuple[str, ...]) -> None:
    text = joined(*columns)
    found = vectors("Captured tables")
    assert len(found) == 3
    assert found[text] == version_of(structure) == hashlib.sha256(text.encode()).hexdigest()[:9]


def test_the_version_of_a_pulled_table_is_the_beginning_of_a_sha_256() -> None:
    text = "8:customer2:id15:bigint unsigned4:name12:varchar(120)5:price13:decimal(10,2)2:at11:datetime(0)"
    assert canonical_text(CUSTOMER) == text
    assert version_of_structure(CUSTOMER) == hashlib.sha256(text.encode()).hexdigest()[:9]


def test_lengths_are_bytes() -> None:
    assert canonical_text(GREETING) == "7:größe3:日7:enum(1)1:t4:text"


def version_of(structure: Structure) -> str:
    return versioned_table(structure).version


def with_column(index: int, column: SourceColumn) -> Structure:
    columns = list(CUSTOMER.columns)
    columns[index] = column
    return replace(CUSTOMER, columns=tuple(columns))


OTHER_COLUMNS = [
    replace(CUSTOMER, table="Customer"),
    replace(CUSTOMER, columns=CUSTOMER.columns[:-1]),
    with_column(0, SourceColumn("id", SourceType("bigint"))),
    replace(with_column(0, SourceColumn("ID", SourceType("bigint", unsigned=True))), primary_key=("ID",)),
    with_column(1, SourceColumn("name", SourceType("varbinary", 120))),
    with_column(1, SourceColumn("name", SourceType("hash"))),
    with_column(1, SourceColumn("name", MaskedType("varchar", 120))),
    with_column(2, SourceColumn("price", SourceType("decimal", 30, 10))),
]
SAME_COLUMNS = [
    replace(CUSTOMER, columns=CUSTOMER.columns[::-1]),
    with_column(1, SourceColumn("name", SourceType("varchar", 1020), "utf8mb4")),
    with_column(1, SourceColumn("name", SourceType("mediumtext"), "utf8mb4")),
    with_column(2, SourceColumn("price", SourceType("decimal", 12, 3))),
    with_column(3, SourceColumn("at", SourceType("datetime", 6))),
]
NO_PART = [
    replace(CUSTOMER, primary_key=()),
    with_column(1, SourceColumn("name", SourceType("varchar", 120), "latin1")),
    with_column(1, SourceColumn("name", SourceType("varchar", 120), "utf8mb4", ("no", "matter"))),
]


@pytest.mark.parametrize("other", OTHER_COLUMNS)
def test_another_name_or_type_in_bigquery_is_another_version(other: Structure) -> None:
    assert version_of(other) != version_of(CUSTOMER)
    assert version_of_structure(other) != version_of_structure(CUSTOMER)


@pytest.mark.parametrize("other", SAME_COLUMNS)
def test_what_bigquery_cannot_tell_apart_is_one_version_of_captured_tables_and_two_of_pulled_ones(
    other: Structure,
) -> None:
    assert version_of(other) == version_of(CUSTOMER)
    assert pulled_table(other).version != pulled_table(CUSTOMER).version


@pytest.mark.parametrize("other", NO_PART)
def test_the_version_does_not_depend_on_key_charset_and_enum_values(other: Structure) -> None:
    assert version_of(other) == version_of(CUSTOMER)
    assert version_of_structure(other) == version_of_structure(CUSTOMER)


def test_names_cannot_be_shifted_into_each_other() -> None:
    one = Structure("t", (SourceColumn("a", SourceType("int")), SourceColumn("b", SourceType("int"))))
    two = Structure("t", (SourceColumn("a3:int1:b", SourceType("int")),))
    assert version_of_structure(one) != version_of_structure(two)
    assert version_of(one) != version_of(two)


@pytest.mark.parametrize(
    ("existing", "expected"),
    [
        (set(), CUSTOMER_VERSION := "5fd103c30"),
        ({"a0992485b"}, "a0992485b"),
        ({"a0992485b", CUSTOMER_VERSION}, CUSTOMER_VERSION),
        ({"000000000"}, CUSTOMER_VERSION),
    ],
)
def test_a_structure_keeps_the_version_of_an_earlier_release_until_one_of_this_release_exists(
    existing: set[str], expected: str
) -> None:
    assert versioned_table(CUSTOMER).among(existing).version == expected
    assert not pulled_table(CUSTOMER).among({"", "5fd103c30"}).former
