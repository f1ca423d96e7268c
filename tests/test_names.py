"""Names: which tables are versions of which, what never meets SQL, and how a name is quoted."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import Judge

from onefold.errors import InvalidName
from onefold.names import (
    TableId,
    check_names,
    faults_of_name,
    fold_case,
    quote,
    quote_text,
    split_versioned_name,
    versioned_name,
    versions_pattern,
)

HOSTILE = (
    "", "'", '"', "`", ".", "/", "..", "\\", ";", "\n", "a\n", "\na", "a b", "a`b", "a'b", "a.b", "../a", "a\x00", "a\u2028",
)  # fmt: skip


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ("customer_v_5b6ffe5fb", ("customer", "5b6ffe5fb")),
        ("customer_v_abc", ("customer", "abc")),
        ("customer_v_1", ("customer", "1")),
        ("customer_vip_v_1a2b", ("customer_vip", "1a2b")),
        ("customer_v_v_1a2b", ("customer_v", "1a2b")),
        ("a_v_b_v_c", ("a_v_b", "c")),
        ("żółw_v_1", ("żółw", "1")),
        ("a-b_v_1", ("a-b", "1")),
        ("customer_v_backup_old", None),
        ("customer_v_", None),
        ("customer_v", None),
        ("_v_abc", None),
        ("customer", None),
        ("customer_unified", None),
        ("customer_unified_leaf_0123456789ab", None),
        ("onefold_leaf_0123456789ab_customer_unified", None),
        ("onefold_tmp_customer_v_abc_read_0123456789abcdef_1", None),
        ("customer_V_abc", None),
        ("customer_v_abc\n", None),
        ("customer_v_żółw", None),
        ("customer_v_abc-old", None),
        ("customer_v_abc$20200101", None),
        ("shop.customer_v_abc", None),
        ("", None),
    ],
)
def test_a_versioned_name_is_told_apart(table: str, parts: tuple[str, str] | None) -> None:
    assert split_versioned_name(table) == parts
    if parts:
        assert versioned_name(*parts) == table


@pytest.mark.parametrize(
    "table", ["customer_vip_v_1a2b", "customer_v_backup_old", "xcustomer_v_abc", "customerXv_abc", "customer"]
)
def test_the_pattern_of_customer_catches_no_other(table: str) -> None:
    assert not re.fullmatch(versions_pattern("customer"), table)


@pytest.mark.parametrize("base", ["customer", "a-b", "żółw", "customer_v", "x_v_y"])
def test_the_pattern_catches_the_versions_of_its_table(base: str) -> None:
    assert re.fullmatch(versions_pattern(base), versioned_name(base, "1a2B"))
    assert not re.fullmatch(versions_pattern(base), f"{base}_v_1a2B\n")
    assert not re.fullmatch(versions_pattern(base), f"{base}_v_")


@pytest.mark.parametrize("kind", ["project", "dataset", "table", "version"])
@pytest.mark.parametrize("name", [*HOSTILE, "x" * 1_025, None, 7, b"abc", ["abc"], {"a": 1}, True])
def test_a_hostile_name_is_refused(kind: str, name: object) -> None:
    [fault] = faults_of_name(kind, name)
    assert fault.startswith(f"{kind} ")
    assert "is not a valid name: use " in fault
    assert len(fault) < 200
    assert "\n" not in fault


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("project", "my-project-123"),
        ("project", "example.com:my-project"),
        ("dataset", "shop_2020"),
        ("dataset", "d" * 1_024),
        ("table", "customer"),
        ("table", "Żółw-1"),
        ("table", "t" * 1_024),
        ("version", "5b6ffe5fb"),
        ("version", "ABC"),
    ],
)
def test_a_good_name_has_no_fault(kind: str, name: str) -> None:
    assert faults_of_name(kind, name) == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [("project", "My-Project"), ("dataset", "a-b"), ("version", "a_b"), ("version", "v1-2"), ("version", "é")],
)
def test_a_name_of_another_kind_is_refused(kind: str, name: str) -> None:
    assert faults_of_name(kind, name)


def test_all_faulty_names_are_told_at_once() -> None:
    with pytest.raises(InvalidName) as caught:
        check_names([("dataset", "a.b"), ("table", "good"), ("version", "`")])
    assert len(caught.value.faults) == 2
    check_names([("dataset", "good")])


@pytest.mark.parametrize(
    ("id_", "text"),
    [
        (TableId("p", "d", "t"), "p.d.t"),
        (TableId(None, "d", "t"), "d.t"),
        (TableId(None, None, "t"), "t"),
    ],
)
def test_a_table_is_quoted_as_one_path(id_: TableId, text: str) -> None:
    assert str(id_) == text
    assert id_.quoted == f"`{text}`"
    assert id_.sibling("u").table == "u"


@pytest.mark.parametrize("name", ["select", "a b", "a`b", "a\\b", "żółw", "a'b", 'a"b', "1", "a.b", "n" * 300])
def test_a_quoted_name_is_read_as_it_is(judge: Judge, name: str) -> None:
    assert judge.columns(f"SELECT 1 AS {quote(name)}") == [(name, "INT64")]


@settings(deadline=None, max_examples=100)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_a_quoted_text_is_read_as_it_is(judge: Judge, text: str) -> None:
    assert judge.rows(f"SELECT {quote_text(text)}") == [(text,)]


@pytest.mark.parametrize(
    ("first", "second", "same"), [("Id", "iD", True), ("é", "É", False), ("ß", "ss", False), ("żółW", "żółw", True)]
)
def test_the_case_of_ascii_letters_alone_is_ignored_as_the_analyzer_does(
    judge: Judge, first: str, second: str, same: bool
) -> None:
    assert (fold_case(first) == fold_case(second)) == same
    united = judge.columns(
        f"SELECT * FROM (SELECT 1 AS {quote(first)} FULL OUTER UNION ALL BY NAME SELECT 2 AS {quote(second)})"
    )
    assert len(united) == (1 if same else 2)
