"""The items of a view's SELECT over one version: a column in the type of the view, and what stands for an absent one."""

from __future__ import annotations

from onefold.core.names import fold_case, quote, quote_text
from onefold.schema.casts import convert, typed_null
from onefold.schema.columns import Column
from onefold.schema.fit import fit
from onefold.schema.table_rules import TableRules
from onefold.schema.target_types import landed_type


def shown_item(column: Column, target: Column, rules: TableRules) -> str:
    """Return the item for a column of a version, whose table has the alias `v`, in the type of the view.

    The column is named after the alias, because a column may be named like its table.

    Args:
        column: as it landed in the version.
        target: as the view shows it.
        rules: the rules of the table.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> price = Column("Price", parse_type("INT64"))
        >>> shown_item(price, Column("price", parse_type("NUMERIC")), TableRules())
        'CAST(v.`Price` AS NUMERIC) AS `price`'
        >>> shown_item(price, price, TableRules())
        'v.`Price`'
    """
    name = f"v.{quote(column.name)}"
    landed, zone = landed_type(column, rules), rules.time_zone
    is_held = fold_case(target.name) in dict(rules.held)
    expression = fit(name, landed, target.type, zone) if is_held else convert(name, landed, target.type, zone, pinned=True)
    is_plain = expression == name and column.name == target.name
    return expression if is_plain else f"{expression} AS {quote(target.name)}"


def null_item(target: Column) -> str:
    """Return the item for a column that a version does not have.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> null_item(Column("born", parse_type("DATE")))
        'CAST(NULL AS DATE) AS `born`'
    """
    return f"{typed_null(target.type)} AS {quote(target.name)}"


def version_item(version: str, column: str) -> str:
    """Return the item for the column that holds the version of each row, or the dataset of a united table.

    Args:
        version: the identifier of the version.
        column: the name of the column.

    Examples:
        >>> version_item("5b6ffe5fb", "_version")
        "'5b6ffe5fb' AS `_version`"
    """
    return f"{quote_text(version)} AS {quote(column)}"
