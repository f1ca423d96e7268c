"""A schema history in the form of the real ones, of what these lack: every type of the source, and keys of every kind.

BIGNUMERIC is left out, of which the emulator makes no table.
"""

from __future__ import annotations

from support.schema_histories import Column, Version

_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
NUMBERS = (
    *(f"{name}{sign}" for name in _INTEGERS for sign in ("", " unsigned")), "tinyint(1)", "int(3) unsigned zerofill",
    "year(4)", "bit(1)", "bit(9)", "bit(63)", "bit(64)", "decimal(10,2)", "decimal(5,0) unsigned", "decimal(9,9)",
    "decimal(38,9)", "decimal(65,0)", "float", "float unsigned", "double", "double unsigned",
)  # fmt: skip
TIMES = (
    "date", *(f"{name}{digits}" for name in ("datetime", "timestamp", "time") for digits in ("", "(1)", "(3)", "(6)"))
)  # fmt: skip
TEXTS = (
    "char(20)", "varchar(30)", "varchar(300)", "tinytext", "text", "mediumtext", "longtext", "json",
    "enum('a','b''c','é,d','')",
    "set('x','é','z')", f"enum({','.join(f'{chr(39)}v{number}{chr(39)}' for number in range(300))})",
    f"set({','.join(f'{chr(39)}s{number}{chr(39)}' for number in range(64))})",
)  # fmt: skip
BYTES = ("binary(4)", "varbinary(30)", "varbinary(300)", "tinyblob", "blob", "mediumblob", "longblob")
SHAPES = (
    "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection",
)  # fmt: skip


def column(name: str, type_: str, nullable: bool = True, key: bool = False) -> Column:
    return {"name": name, "mysql_type": type_, "nullable": nullable and not key, "primary_key": key}


def version(*columns: Column) -> Version:
    return {"columns": list(columns)}


def key(*types: str) -> list[Column]:
    return [column(f"k{number}", type_, key=True) for number, type_ in enumerate(types)]


def values(types: tuple[str, ...], nullable: bool = True) -> list[Column]:
    return [column(f"c{number}", type_, nullable) for number, type_ in enumerate(types)]


def of_types(types: tuple[str, ...]) -> list[Version]:
    """With NULLs; then without, in the other order; then some columns are gone, and one is new, whose name has an umlaut."""
    firm = values(types, nullable=False)
    return [
        version(*key("int"), *values(types)),
        version(*key("bigint unsigned"), *reversed(firm)),
        version(*key("bigint unsigned"), *firm[::2], column("größe", types[-1])),
    ]


MIXED = ("varchar(30)", "varbinary(30)", "enum('a','é')", "decimal(10,2)", "datetime(6)", "point", "text", "blob", "time(3)")
INVENTED: dict[str, list[Version]] = {
    "numbers": of_types(NUMBERS),
    "times": of_types(TIMES),
    "texts": of_types(TEXTS),
    "bytes": of_types(BYTES),
    "shapes": of_types(SHAPES),
    "keyless": [version(*values(MIXED)), version(*values(MIXED), column("more", "int(10) unsigned"))],
    "key_of_texts": [version(*key("varchar(20)", "char(20)"), *values(MIXED))],
    "key_of_bytes": [version(*key("varbinary(8)", "binary(8)"), *values(MIXED))],
    "key_of_times": [version(*key("date", "datetime(6)"), *values(MIXED))],
    "key_of_numbers": [version(*key("bigint unsigned", "decimal(20,4)", "tinyint unsigned"), *values(MIXED))],
    "key_that_grows": [
        version(*key("int"), *values(MIXED)),
        version(*key("int", "varchar(20)"), *values(MIXED)),
        version(*key("varchar(20)", "varchar(20)"), *values(MIXED)),
    ],
}
