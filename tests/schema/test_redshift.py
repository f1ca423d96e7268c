"""Redshift's types: the facts of the specification, each as one line."""

from __future__ import annotations

from typing import Any

import pytest

from onefold.core.errors import LimitExceeded
from onefold.schema.diff import SchemaChange, Severity
from onefold.schema.redshift import RedshiftType, holds, merged_type, recovery_table, redshift_type, varchar
from onefold.schema.redshift_ddl import change_statement, create_table

TYPES: list[tuple[dict[str, Any], str]] = [
    # Enumerations come first.
    ({"enum": ["card", "cash", "voucher"]}, "VARCHAR(7)"),
    ({"type": "string", "enum": ["a", "bcd"], "maxLength": 100}, "VARCHAR(3)"),
    ({"type": ["string", "null"], "enum": ["a", None]}, "VARCHAR(1)"),
    ({"enum": ["a", 12345]}, "VARCHAR(5)"),
    ({"enum": [True, "no"]}, "VARCHAR(4)"),
    ({"enum": ["ä€"]}, "VARCHAR(5)"),  # Redshift counts bytes
    ({"enum": [""]}, "VARCHAR(1)"),
    ({"type": "integer", "enum": [1, 2]}, "BIGINT"),
    ({"type": "boolean", "enum": [True]}, "BOOLEAN"),
    # Unions.
    ({"type": ["integer", "string"]}, "VARCHAR(4096)"),
    ({"type": ["integer", "number"]}, "VARCHAR(4096)"),
    ({"type": ["boolean", "integer"]}, "VARCHAR(10)"),
    ({"type": ["integer", "boolean", "null"]}, "VARCHAR(10)"),
    ({"type": ["object", "array"]}, "VARCHAR(4096)"),
    # Times.
    ({"type": "string", "format": "date-time"}, "TIMESTAMP"),
    ({"type": ["string", "null"], "format": "date-time", "maxLength": 30}, "TIMESTAMP"),
    ({"type": "string", "format": "date"}, "DATE"),
    # Arrays.
    ({"type": "array"}, "VARCHAR(65535)"),
    ({"type": ["array", "null"], "items": {"type": "integer"}}, "VARCHAR(65535)"),
    # Numbers.
    ({"type": "integer"}, "BIGINT"),
    ({"type": "integer", "maximum": 32_767}, "SMALLINT"),
    ({"type": "integer", "maximum": 32_768}, "INT"),
    ({"type": "integer", "maximum": 2_147_483_647}, "INT"),
    ({"type": "integer", "maximum": 2_147_483_648}, "BIGINT"),
    ({"type": "integer", "maximum": -5}, "SMALLINT"),
    ({"type": ["null", "integer"], "maximum": 0}, "SMALLINT"),
    ({"type": "number"}, "DOUBLE PRECISION"),
    ({"type": "number", "multipleOf": 1}, "INT"),
    ({"type": "number", "multipleOf": 1.0}, "INT"),
    ({"type": "number", "multipleOf": 0.01}, "DECIMAL(36,2)"),
    ({"type": "number", "multipleOf": 0.1}, "DOUBLE PRECISION"),
    ({"type": "boolean"}, "BOOLEAN"),
    # Texts.
    ({"type": "string", "minLength": 2, "maxLength": 2}, "CHAR(2)"),
    ({"type": "string", "minLength": 36, "maxLength": 36, "format": "uuid"}, "CHAR(36)"),
    ({"type": "string", "minLength": 5_000, "maxLength": 5_000}, "VARCHAR(5000)"),
    ({"type": "string", "minLength": 0, "maxLength": 0}, "VARCHAR(1)"),
    ({"type": "string", "minLength": 1, "maxLength": 2}, "VARCHAR(2)"),
    ({"type": "string", "format": "uuid"}, "CHAR(36)"),
    ({"type": "string", "format": "uuid", "maxLength": 100}, "CHAR(36)"),
    ({"type": "string", "format": "ipv4"}, "VARCHAR(15)"),
    ({"type": "string", "format": "ipv6"}, "VARCHAR(39)"),
    ({"type": "string", "maxLength": 20}, "VARCHAR(20)"),
    ({"type": "string", "maxLength": 20, "format": "email"}, "VARCHAR(20)"),
    ({"type": "string", "maxLength": 65_535}, "VARCHAR(65535)"),
    ({"type": "string", "maxLength": 65_536}, "VARCHAR(65535)"),
    ({"type": "string", "format": "email"}, "VARCHAR(255)"),
    ({"type": "string", "format": "uri"}, "VARCHAR(4096)"),
    ({"type": "string"}, "VARCHAR(4096)"),
    # The rest.
    ({"type": "object"}, "VARCHAR(4096)"),
    ({"type": "null"}, "VARCHAR(4096)"),
    ({}, "VARCHAR(4096)"),
    ({"$ref": "#/definitions/a", "type": "integer"}, "VARCHAR(4096)"),  # Draft 4 ignores what stands beside $ref
]


@pytest.mark.parametrize(("schema", "expected"), TYPES, ids=lambda value: str(value))
def test_the_type_of_a_column(schema: dict[str, Any], expected: str) -> None:
    assert str(redshift_type(schema)) == expected


HOLDS = [
    ("BIGINT", "INT"), ("BIGINT", "SMALLINT"), ("INT", "SMALLINT"), ("DOUBLE PRECISION", "SMALLINT"),
    ("DOUBLE PRECISION", "INT"), ("VARCHAR(5)", "SMALLINT"), ("VARCHAR(10)", "INT"), ("VARCHAR(19)", "BIGINT"),
    ("VARCHAR(10)", "DATE"), ("VARCHAR(25)", "TIMESTAMP"), ("VARCHAR(5)", "BOOLEAN"), ("VARCHAR(20)", "VARCHAR(10)"),
    ("VARCHAR(20)", "CHAR(20)"), ("CHAR(5)", "CHAR(4)"),
]  # fmt: skip
HOLDS_NOT = [
    ("INT", "BIGINT"), ("SMALLINT", "INT"), ("DOUBLE PRECISION", "BIGINT"), ("VARCHAR(4)", "SMALLINT"),
    ("VARCHAR(9)", "INT"), ("VARCHAR(18)", "BIGINT"), ("VARCHAR(9)", "DATE"), ("VARCHAR(24)", "TIMESTAMP"),
    ("VARCHAR(4)", "BOOLEAN"), ("CHAR(4)", "CHAR(5)"), ("CHAR(20)", "VARCHAR(10)"), ("VARCHAR(4096)", "DOUBLE PRECISION"),
    ("VARCHAR(4096)", "DECIMAL(36,2)"), ("TIMESTAMP", "DATE"), ("DATE", "TIMESTAMP"), ("BOOLEAN", "SMALLINT"),
    ("INT", "DOUBLE PRECISION"), ("DECIMAL(36,2)", "INT"), ("INT", "VARCHAR(5)"),
]  # fmt: skip


def parse(text: str) -> RedshiftType:
    name, _, length = text.removesuffix(")").partition("(")
    return RedshiftType(name, int(length)) if length.isdigit() else RedshiftType(text)


@pytest.mark.parametrize(("existing", "new"), HOLDS)
def test_a_column_keeps_its_type_where_it_holds_the_new_values(existing: str, new: str) -> None:
    assert holds(parse(existing), parse(new))
    assert merged_type(parse(existing), parse(new)) == parse(existing)


@pytest.mark.parametrize(("existing", "new"), HOLDS_NOT)
def test_redshift_changes_no_other_type_in_place(existing: str, new: str) -> None:
    assert not holds(parse(existing), parse(new))
    assert merged_type(parse(existing), parse(new)) is None


@pytest.mark.parametrize("new", ["VARCHAR(21)", "CHAR(21)"])
def test_a_varchar_grows_and_a_char_does_not(new: str) -> None:
    assert merged_type(varchar(20), parse(new)) == varchar(21)
    assert merged_type(parse("CHAR(20)"), parse(new)) is None


def test_every_type_holds_itself() -> None:
    for _, text in TYPES:
        assert merged_type(parse(text), parse(text)) == parse(text)


def test_the_name_of_a_recovery_table_follows_from_its_columns() -> None:
    columns = [("id", "INT"), ("größe", "VARCHAR(4096)")]
    name = recovery_table("com_acme_ad_click_1", 2, 13, columns)
    assert name == "com_acme_ad_click_1_2_13_recovered_02fdb673"  # a hash that never changes
    others = [columns[::-1], columns[:1], [("id", "BIGINT"), columns[1]]]
    assert len({name, *(recovery_table("com_acme_ad_click_1", 2, 13, other) for other in others)}) == 4


ENVELOPE = [
    '"schema_vendor" VARCHAR(128)', '"schema_name" VARCHAR(128)', '"schema_format" VARCHAR(128)',
    '"schema_version" VARCHAR(128)', '"root_id" CHAR(36)', '"root_tstamp" TIMESTAMP', '"ref_root" VARCHAR(255)',
    '"ref_tree" VARCHAR(1500)', '"ref_parent" VARCHAR(255)',
]  # fmt: skip


def test_a_table_begins_with_the_envelope_and_ends_with_its_keys() -> None:
    create, comment = create_table("t_1", [("foo.bar", "INT"), ('a"b', "VARCHAR(3)")], "iglu:com.acme/t'/jsonschema/1-0-0")
    lines = [line.strip().removesuffix(",") for line in create.splitlines()]
    assert [line.partition(" ENCODE")[0] for line in lines[1:10]] == ENVELOPE
    assert all(line.endswith(" NOT NULL") for line in lines[1:10])
    assert lines[10:12] == ['"foo.bar" INT ENCODE ZSTD', '"a""b" VARCHAR(3) ENCODE ZSTD']
    assert lines[12:] == [")", "DISTSTYLE KEY", "DISTKEY (root_id)", "SORTKEY (root_tstamp)"]
    assert comment == "COMMENT ON TABLE \"t_1\" IS 'iglu:com.acme/t''/jsonschema/1-0-0'"
    in_schema = create_table("t_1", [], "", "atomic")
    assert all('"atomic"."t_1"' in statement for statement in in_schema)


def test_what_redshift_would_refuse_is_refused_before() -> None:
    assert create_table("t" * 127, [(f"c{number}", "INT") for number in range(1_591)], "")
    with pytest.raises(LimitExceeded) as error:
        create_table("t" * 128, [(f"c{number}", "INT") for number in range(1_592)], "")
    assert ["1,601 columns" in error.value.problems[0], "127 bytes" in error.value.problems[1]] == [True, True]


def test_a_change_is_one_statement() -> None:
    added = SchemaChange("added", 'a."b', Severity.INFO, new="INT")
    assert change_statement(added, "t_1", "s") == 'ALTER TABLE "s"."t_1" ADD COLUMN "a.""b" INT ENCODE ZSTD'
    wider = SchemaChange("retyped", "c", Severity.WARNING, old="VARCHAR(1)", new="VARCHAR(2)")
    assert change_statement(wider, "t_1") == 'ALTER TABLE "t_1" ALTER COLUMN "c" TYPE VARCHAR(2)'
    assert change_statement(SchemaChange("made nullable", "c", Severity.WARNING), "t_1") is None
