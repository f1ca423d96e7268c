"""Versioned tables are recognized by the pattern of their dataset, and the skipped tables have a reason."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.zetasql_judge import Judge

from onefold.core.names import quote_text, versioned_name
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames

REGISTRY = VersionedNames("(?P<base>.+)_(?P<version>[0-9]+|1r[0-9a-f]+)")
THREE_NUMBERS = VersionedNames("(?P<base>.+)_(?P<version>[0-9]+[_-][0-9]+[_-][0-9]+)")
BEFORE = VersionedNames("v(?P<version>[0-9]+)__(?P<base>[a-z_]+)-t")


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ("customer_v_5b6ffe5fb", ("customer", "5b6ffe5fb")),
        ("customer_v_abc", ("customer", "abc")),
        ("customer_v_1", ("customer", "1")),
        ("customer_v_" + "a" * 64, ("customer", "a" * 64)),
        ("customer_vip_v_1a2b", ("customer_vip", "1a2b")),
        ("customer_v_v_1a2b", ("customer_v", "1a2b")),
        ("a_v_b_v_c", ("a_v_b", "c")),
        ("żółw_v_1", ("żółw", "1")),
        ("a-b_v_1", ("a-b", "1")),
        ("customer_v_backup", None),
        ("customer_v_old", None),
        ("customer_v_2024_copy", None),
        ("customer_v_backup_old", None),
        ("customer_v_ABC", None),
        ("customer_v_" + "a" * 65, None),
        ("customer_v_", None),
        ("customer_v", None),
        ("_v_abc", None),
        ("customer", None),
        ("customer_base", None),
        ("customer_merges", None),
        ("customer_unified", None),
        ("customer_unified_leaf_0123456789ab", None),
        ("customer_V_abc", None),
        ("customer_v_abc\n", None),
        ("customer_v_żółw", None),
        ("customer_v_abc-old", None),
        ("customer_v_abc$20200101", None),
        ("shop.customer_v_abc", None),
        ("customer`_v_abc", None),
        ("a b_v_abc", None),
        ("", None),
    ],
)
def test_a_version_is_recognized_by_default(table: str, parts: tuple[str, str] | None) -> None:
    assert DEFAULT_NAMES.split(table) == parts
    if parts:
        assert DEFAULT_NAMES.name(*parts) == versioned_name(*parts) == table
        assert DEFAULT_NAMES.problems(*parts) == []


@pytest.mark.parametrize(
    ("names", "table", "parts"),
    [
        (REGISTRY, "com_acme_ad_click_1", ("com_acme_ad_click", "1")),
        (REGISTRY, "com_acme_ad_click_1r0ff", ("com_acme_ad_click", "1r0ff")),
        (REGISTRY, "com_acme_ad_click_1_2", ("com_acme_ad_click_1", "2")),
        (REGISTRY, "com_acme_ad_click_unified", None),
        (REGISTRY, "1", None),
        (BEFORE, "v12__ad_click-t", ("ad_click", "12")),
        (BEFORE, "v12__ad_click", None),
        (THREE_NUMBERS, "ad_click_1_0_12", ("ad_click", "1_0_12")),
        (THREE_NUMBERS, "ad_click_1-0-12", ("ad_click", "1-0-12")),
        (THREE_NUMBERS, "ad_click_1-0", None),
    ],
)
def test_a_version_is_recognized_by_a_pattern_of_its_own(
    names: VersionedNames, table: str, parts: tuple[str, str] | None
) -> None:
    assert names.split(table) == parts
    if parts:
        assert names.name(*parts) == table
        assert names.version_of(parts[0], table) == parts[1]
        assert names.version_of(parts[0] + "x", table) is None


@pytest.mark.parametrize(
    ("base", "version"),
    [("customer", "backup"), ("customer", "ABC"), ("customer", "a" * 65), ("a`b", "abc"), ("a", "_")],
)
def test_a_message_that_names_no_version_is_refused(base: str, version: str) -> None:
    [problem] = DEFAULT_NAMES.problems(base, version)
    assert problem.endswith(
        "expected a table named as BASE_v_VERSION, where VERSION has 1 to 64 of the digits 0 to 9 and a to f, as in "
        "customer_v_0123abcdef"
    )


def test_a_message_whose_table_is_a_version_of_another_base_is_refused() -> None:
    names = VersionedNames("(?P<base>.+?)_(?P<version>[0-9a-z]+)")
    assert names.split("a_1_2") == ("a_1", "2")
    assert VersionedNames("(?P<base>[a-z]+)(?P<version>[a-z0-9]+)").problems("ab", "cd")


# In SQL


@pytest.mark.parametrize("names", [DEFAULT_NAMES, REGISTRY, BEFORE])
@pytest.mark.parametrize("base", ["customer", "a-b", "ad_click", "customer_v", "x_v_y"])
def test_the_pattern_of_a_base_name_matches_its_versions_in_python_and_in_sql(
    judge: Judge, names: VersionedNames, base: str
) -> None:
    pattern = names.versions_pattern(base)
    tables = [names.name(base, version) for version in ("1", "12", "99")]
    others = [
        "customer_vip_v_1a2b", "customer_v_backup_old", f"x{base}_v_abc", f"{base}_v_", f"{base}_v_1\n", f"{base}Xv_1", base,
    ]  # fmt: skip
    for table in [*tables, *others]:
        sql = f"SELECT REGEXP_CONTAINS({quote_text(table)}, {quote_text(pattern)})"
        assert judge.rows(sql) == [(bool(re.fullmatch(pattern, table)),)]
    assert all(re.fullmatch(pattern, table) for table in tables)
    assert not any(names.version_of(base, table) for table in others)


# include and exclude


def test_a_table_that_is_excluded_or_not_included_is_skipped_with_the_reason() -> None:
    names = VersionedNames(include=("customer.*", "order"), exclude=("customer_tmp", "order_v_bad"))
    assert names.split("customer_v_abc") == ("customer", "abc")
    assert names.split("order_v_abc") == ("order", "abc")
    assert names.split("order_v_bad") is None
    assert names.split("customer_tmp_v_abc") is None
    assert names.split("orders_v_abc") is None
    listed = [
        "customer_v_abc", "customer_v_backup", "customer_tmp_v_abc", "orders_v_abc", "order_v_bad", "plain", "order_base",
    ]  # fmt: skip
    rule = "BASE_v_VERSION, where VERSION has 1 to 64 of the digits 0 to 9 and a to f, as in customer_v_0123abcdef"
    assert [(one.table, one.base, one.reason) for one in names.skipped(listed)] == [
        ("customer_v_backup", "customer", f"backup is no version by version_pattern: expected a table named as {rule}"),
        ("customer_tmp_v_abc", "customer_tmp", "`exclude` has customer_tmp"),
        ("orders_v_abc", "orders", "no pattern of `include` matches orders"),
        ("order_v_bad", "order", "`exclude` has order_v_bad"),
    ]


def test_with_a_separator_of_underscores_only_tables_of_a_known_base_name_are_skipped() -> None:
    listed = ["ad_click_1", "ad_click_copy", "atomic_events"]
    assert [one.table for one in REGISTRY.skipped(listed)] == ["ad_click_copy"]


@pytest.mark.parametrize("pattern", ["(?P<base>.+)_(?P<version>[0-9]+)", "(?P<base>.+)_v_(?P<version>[0-9]+)"])
def test_a_copy_of_a_version_is_skipped_under_its_own_base_name(pattern: str) -> None:
    names = VersionedNames(pattern)
    first, second = names.name("ad_click", "1"), names.name("ad_click_1", "1")
    copy = names.name("ad_click", "1") + "_backup"
    of_first = [(one.table, one.base) for one in names.skipped([first, copy, "other_backup", "ad_click_"])]
    assert of_first == [(copy, "ad_click")]
    expected = "ad_click_1" if "_v_" not in pattern else "ad_click"
    assert [one.base for one in names.skipped([first, second, copy])] == [expected]


def test_a_copy_is_recognized_by_the_text_after_the_version_too() -> None:
    assert [(one.table, one.base) for one in BEFORE.skipped(["v1__ad-t", "v1_old__ad-t", "v1_old__ad"])] == [
        ("v1_old__ad-t", "ad")
    ]


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.sampled_from([DEFAULT_NAMES, REGISTRY, BEFORE]))
def test_a_hostile_name_is_never_a_version(text: str, names: VersionedNames) -> None:
    for table in (text, f"{text}_v_abc", f"a_v_{text}", f"{text}_1", f"v1__{text}-t"):
        found = names.split(table)
        if found:
            assert re.fullmatch(r"[\w-]+", table)
            assert names.name(*found) == table
