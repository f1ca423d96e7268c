"""Which tables are versions: the pattern of a dataset, what is wrong with one, and what is left out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.zetasql_judge import Judge

from onefold.core.names import quote_text, versioned_name
from onefold.core.versioned_names import (
    DEFAULT_NAMES,
    DEFAULT_PATTERN,
    VersionedNames,
    pattern_problems,
    regex_problems,
    without_anchors,
)

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
    assert "expected a table named as (?P<base>.+)_v_" in problem


def test_a_message_whose_table_is_a_version_of_another_base_is_refused() -> None:
    names = VersionedNames("(?P<base>.+?)_(?P<version>[0-9a-z]+)")
    assert names.split("a_1_2") == ("a_1", "2")
    assert VersionedNames("(?P<base>[a-z]+)(?P<version>[a-z0-9]+)").problems("ab", "cd")


# In SQL


@pytest.mark.parametrize("names", [DEFAULT_NAMES, REGISTRY, BEFORE])
@pytest.mark.parametrize("base", ["customer", "a-b", "ad_click", "customer_v", "x_v_y"])
def test_the_pattern_of_a_base_name_catches_its_versions_in_python_and_in_sql(
    judge: Judge, names: VersionedNames, base: str
) -> None:
    pattern = names.versions_pattern(base)
    tables = [names.name(base, version) for version in ("1", "12", "99")]
    others = [
        "customer_vip_v_1a2b", "customer_v_backup_old", f"x{base}_v_abc", f"{base}_v_", f"{base}_v_1\n", f"{base}Xv_1", base,
    ]  # fmt: skip
    for table in [*tables, *others]:
        asked = f"SELECT REGEXP_CONTAINS({quote_text(table)}, {quote_text(pattern)})"
        assert judge.rows(asked) == [(bool(re.fullmatch(pattern, table)),)]
    assert all(re.fullmatch(pattern, table) for table in tables)
    assert not any(names.version_of(base, table) for table in others)


def test_re2_reads_every_accepted_pattern_as_python_does(judge: Judge) -> None:
    texts = ["a_v_1", "com_acme_1", "1r0f", "ad", "x-1", "", "é_v_1", "a" * 70]
    for pattern in GOOD:
        for text in texts:
            asked = f"SELECT REGEXP_CONTAINS({quote_text(text)}, {quote_text(f'^(?:{without_anchors(pattern)})$')})"
            expected = bool(re.compile(without_anchors(pattern), re.ASCII).fullmatch(text))
            assert judge.rows(asked) == [(expected,)], (pattern, text)


# What is wrong with a pattern

GOOD = (
    DEFAULT_PATTERN,
    f"^{DEFAULT_PATTERN}$",
    REGISTRY.pattern,
    BEFORE.pattern,
    r"(?P<base>[\w-]+?)_(?P<version>\d{1,9})",
    r"(?P<base>(?:com|org)_[^0-9)(]+)-(?P<version>(1|2)r[0-9]*)",
    r"(?P<base>[]a(]+)_(?P<version>[a-f\]]+)",
    r"(?P<base>(?:ab_)+[a+|]+(?:_[a-z]+|x*)?)_(?P<version>(?:[0-9*]\+){2}1)",
)


@pytest.mark.parametrize("pattern", GOOD)
def test_a_good_pattern_has_no_problem(pattern: str) -> None:
    assert pattern_problems(without_anchors(pattern)) == []


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("customer", ["(?P<base>...) is missing", "(?P<version>...) is missing"]),
        ("(?P<base>.+)_v_", ["(?P<version>...) is missing"]),
        ("(?P<base>.+)_(?P<version>.+)_(?P<version>.+)", ["version is there twice"]),
        ("(?P<base>.+)_(?P<version>.+)_(?P<day>.+)", ["the group day is unknown"]),
        ("(?P<base>.+).(?P<version>.+)", ["'.' is outside the groups"]),
        ("(?P<base>.+)(_v)?(?P<version>.+)", ["'(_v)?' is outside the groups"]),
        ("(?P<base>.+)`_(?P<version>.+)", ["'`_' is outside the groups"]),
        ("(?P<base>.+)_(?P<version>(?=1).+)", ["no look-around"]),
        ("(?P<base>.+)_(?P<version>(?<!1).+)", ["no look-around"]),
        ("(?P<base>.+)_(?P<version>(a)\\1)", ["\\1 is not allowed"]),
        ("(?P<base>.+)_(?P<version>(?P=base))", ["no look-around, flags, names or references"]),
        ("(?i)(?P<base>.+)_(?P<version>.+)", ["'(?i)' is outside the groups"]),
        ("(?P<base>.+)_(?P<version>(?i:a))", ["no look-around, flags"]),
        ("(?P<base>.+)_(?P<version>(?>a))", ["no look-around, flags"]),
        ("(?P<base>.+)_(?P<version>a++)", ["++ is a repetition that RE2 does not have"]),
        ("(?P<base>.+)_(?P<version>a{2}+)", ["{2}+ is a repetition that RE2 does not have"]),
        ("(?P<base>.+)_(?P<version>a{,5})", ["{,5} is a repetition that RE2 does not have"]),
        ("(?P<base>.+)_(?P<version>a{1001})", ["{1001} repeats too often"]),
        ("(?P<base>.+)_(?P<version>(?:a{100}){100})", ["nested repetitions"]),
        ("(?P<base>.+)_(?P<version>\\bab)", ["\\b is not allowed"]),
        ("(?P<base>.+)_(?P<version>ab\\Z)", ["\\Z is not allowed"]),
        ("(?P<base>.+)_(?P<version>^ab)", ["^ is not allowed within a group"]),
        ("(?P<base>.+)_(?P<version>[[:alpha:]]+)", ["is a class that Python and RE2 may read differently"]),
        ("(?P<base>.+)_(?P<version>[a-z)", ["is no regular expression", "is missing"]),
        ("(?P<base>.+)_(?P<version>" + "a" * 301 + ")", ["301 characters are too many"]),
        (r"(?P<base>(?:\w+)+)_(?P<version>1)", ["a repeated group holds"]),
        (r"(?P<base>(?:(\w+)_)*)_(?P<version>1)", ["a repeated group holds"]),
        (r"(?P<base>(?:\w?){40})_(?P<version>1)", ["a repeated group holds"]),
        (r"(?P<base>(a|a)*)_(?P<version>1)", ["a repeated group holds"]),
        (r"(?P<base>((\w|a))+)_(?P<version>1)", ["a repeated group holds"]),
        (r"(?P<base>(\w{1,9})+)_(?P<version>1)", ["a repeated group holds"]),
        ("(?P<base>.*)(?P<version>[0-9]*)", ["matches an empty name"]),
    ],
)
def test_a_wrong_pattern_is_refused_with_the_reason(pattern: str, words: list[str]) -> None:
    told = "\n".join(pattern_problems(pattern))
    assert [word for word in words if word not in told] == [] or words[0] in told, told


def test_all_that_is_wrong_is_told_at_once() -> None:
    assert len(pattern_problems("x*(?P<base>a++)(?P<version>\\b(?=1))(?P<day>1)")) == 5


# include and exclude


def test_what_is_excluded_or_not_included_is_no_version_and_says_why() -> None:
    names = VersionedNames(include=("customer.*", "order"), exclude=("customer_tmp", "order_v_bad"))
    assert names.split("customer_v_abc") == ("customer", "abc")
    assert names.split("order_v_abc") == ("order", "abc")
    assert names.split("order_v_bad") is None
    assert names.split("customer_tmp_v_abc") is None
    assert names.split("orders_v_abc") is None
    listed = [
        "customer_v_abc", "customer_v_backup", "customer_tmp_v_abc", "orders_v_abc", "order_v_bad", "plain", "order_base",
    ]  # fmt: skip
    assert [(left.table, left.base, left.reason) for left in names.skipped(listed)] == [
        ("customer_v_backup", "customer", f"backup is no version by version_pattern {DEFAULT_PATTERN}"),
        ("customer_tmp_v_abc", "customer_tmp", "`exclude` has customer_tmp"),
        ("orders_v_abc", "orders", "no pattern of `include` matches orders"),
        ("order_v_bad", "order", "`exclude` has order_v_bad"),
    ]


def test_without_a_telling_separator_only_tables_of_a_known_base_name_look_like_versions() -> None:
    listed = ["ad_click_1", "ad_click_copy", "atomic_events"]
    assert [left.table for left in REGISTRY.skipped(listed)] == ["ad_click_copy"]


@pytest.mark.parametrize("pattern", ["(?P<base>.+)_(?P<version>[0-9]+)", "(?P<base>.+)_v_(?P<version>[0-9]+)"])
def test_a_copy_of_a_version_is_left_out_of_its_own_base_name(pattern: str) -> None:
    names = VersionedNames(pattern)
    first, second = names.name("ad_click", "1"), names.name("ad_click_1", "1")
    copy = names.name("ad_click", "1") + "_backup"
    of_first = [(left.table, left.base) for left in names.skipped([first, copy, "other_backup", "ad_click_"])]
    assert of_first == [(copy, "ad_click")]
    expected = "ad_click_1" if "_v_" not in pattern else "ad_click"
    assert [left.base for left in names.skipped([first, second, copy])] == [expected]


def test_a_copy_is_known_by_what_follows_the_version_too() -> None:
    assert [(left.table, left.base) for left in BEFORE.skipped(["v1__ad-t", "v1_old__ad-t", "v1_old__ad"])] == [
        ("v1_old__ad-t", "ad")
    ]


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.sampled_from([DEFAULT_NAMES, REGISTRY, BEFORE]))
def test_no_hostile_name_gets_through(text: str, names: VersionedNames) -> None:
    for table in (text, f"{text}_v_abc", f"a_v_{text}", f"{text}_1", f"v1__{text}-t"):
        found = names.split(table)
        if found:
            assert re.fullmatch(r"[\w-]+", table)
            assert names.name(*found) == table


@pytest.mark.parametrize("text", ["a", "tmp_.*", "[a-z]+", r"\w+_\d{4}"])
def test_a_good_expression_has_no_problem(text: str) -> None:
    assert regex_problems(text) == []
