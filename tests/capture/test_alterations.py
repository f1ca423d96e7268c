"""Which ALTER has generated columns of existing rows computed again."""

from __future__ import annotations

import pytest

from onefold.capture.alterations import computes_again, may_compute
from onefold.mysql.ddl.effects import all_effects
from onefold.mysql.table import SourceColumn, SourceType, Structure

TABLE = Structure(
    "t",
    (
        SourceColumn("Price", SourceType("decimal", 4, 1)),
        SourceColumn("größe", SourceType("int")),
        SourceColumn("a`b", SourceType("int")),
        SourceColumn("name", SourceType("varchar", 9), "latin1"),
    ),
)


def computes(part: str, *expressions: str) -> bool:
    (effect,) = all_effects(f"ALTER TABLE t {part}", "shop")
    found = computes_again(effect.alterations, TABLE, expressions)
    assert may_compute(effect.alterations) or not found
    return found


@pytest.mark.parametrize(
    ("part", "expression"),
    [
        ("MODIFY price DECIMAL(8, 4)", "concat(`Price`)"),
        ("MODIFY PRICE DECIMAL(8, 4)", "concat(`price`)"),
        ("MODIFY `größe` BIGINT", "`größe` + 1"),
        ("MODIFY `a``b` BIGINT", "`a``b` + 1"),
        ("ADD c INT, MODIFY price DECIMAL(8, 4)", "concat(`Price`)"),
        ("CONVERT TO CHARACTER SET utf8mb4", "octet_length(`name`)"),
    ],
)
def test_an_expression_that_names_an_altered_column(part: str, expression: str) -> None:
    assert computes(part, "1 + 1", expression)


@pytest.mark.parametrize(
    ("part", "expression"),
    [
        ("MODIFY price DECIMAL(8, 4)", "concat(`Price_2`, 'Price')"),
        ("MODIFY price DECIMAL(8, 4)", "octet_length(`name`)"),
        ("CONVERT TO CHARACTER SET utf8mb4", "concat(`Price`)"),
        ("ADD Price2 INT", "concat(`Price2`)"),
        ("DROP COLUMN price", "concat(`Price`)"),
        ("ADD UNIQUE (price)", "concat(`Price`)"),
    ],
)
def test_other_alterations_leave_generated_columns_alone(part: str, expression: str) -> None:
    assert not computes(part, expression)
    assert not computes(part)
