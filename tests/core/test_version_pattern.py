"""A version pattern is accepted where Python and RE2 read it alike, and is refused with every reason."""

from __future__ import annotations

import re

import pytest
from support.zetasql_judge import Judge

from onefold.core.names import quote_text
from onefold.core.regular_expressions import regex_problems
from onefold.core.version_pattern import DEFAULT_PATTERN, pattern_problems, without_anchors

GOOD = (
    DEFAULT_PATTERN,
    f"^{DEFAULT_PATTERN}$",
    "(?P<base>.+)_(?P<version>[0-9]+|1r[0-9a-f]+)",
    "v(?P<version>[0-9]+)__(?P<base>[a-z_]+)-t",
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
        ("(?P<base>.+)_(?P<version>[a-z)", ["is no regular expression: unterminated"]),
        ("(?P<base>.+)_(?P<version>[z-a])", ["is no regular expression"]),
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
    problems = "\n".join(pattern_problems(pattern))
    assert [word for word in words if word not in problems] == [], problems


def test_all_problems_of_a_pattern_are_listed_at_once() -> None:
    assert len(pattern_problems("x*(?P<base>a++)(?P<version>\\b(?=1))(?P<day>1)")) == 5


@pytest.mark.parametrize("text", ["a", "tmp_.*", "[a-z]+", r"\w+_\d{4}"])
def test_a_good_regular_expression_has_no_problem(text: str) -> None:
    assert regex_problems(text) == []


def test_re2_reads_every_accepted_pattern_as_python_does(judge: Judge) -> None:
    texts = ["a_v_1", "com_acme_1", "1r0f", "ad", "x-1", "", "é_v_1", "a" * 70]
    for pattern in GOOD:
        for text in texts:
            sql = f"SELECT REGEXP_CONTAINS({quote_text(text)}, {quote_text(f'^(?:{without_anchors(pattern)})$')})"
            expected = bool(re.compile(without_anchors(pattern), re.ASCII).fullmatch(text))
            assert judge.rows(sql) == [(expected,)], (pattern, text)
