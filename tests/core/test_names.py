"""Invalid names never reach SQL, and quoted names are read unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.zetasql_judge import Judge

from onefold.core.errors import InvalidName
from onefold.core.names import TableId, check_names, fold_case, problems_of_name, quote, quote_text

HOSTILE = (
    "", "'", '"', "`", ".", "/", "..", "\\", ";", "\n", "a\n", "\na", "a b", "a`b", "a'b", "a.b", "../a", "a\x00", "a\u2028",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["project", "dataset", "table", "version"])
@pytest.mark.parametrize("name", [*HOSTILE, "x" * 1_025, None, 7, b"abc", ["abc"], {"a": 1}, True])
def test_a_hostile_name_is_refused(kind: str, name: object) -> None:
    [problem] = problems_of_name(kind, name)
    assert problem.startswith(f"{kind} ")
    assert "is not a valid name: use " in problem
    assert len(problem) < 200
    assert "\n" not in problem


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
        # With marks: Devanagari vowel signs, Thai vowels, Hebrew points, an accent as a character of its own, Tamil.
        *(("table", name) for name in ("हिन्दी_ग्राहक", "ลูกค้า", "שָׁלוֹם", "cafe\u0301", "வாடிக்கையாளர்")),
        ("table", "é" * 512),
        ("version", "5b6ffe5fb"),
        ("version", "ABC"),
        ("version", "1_0-2"),
    ],
)
def test_a_good_name_has_no_problem(kind: str, name: str) -> None:
    assert problems_of_name(kind, name) == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        # BigQuery's limit is in bytes; a symbol, half of a surrogate pair and a character without a shape are no letters.
        *(("table", name) for name in ("é" * 513, "a😀", "\ud800", "a\u200b", "a$")),
        ("project", "My-Project"),
        ("dataset", "a-b"),
        ("version", "a.b"),
        ("version", "v1 2"),
        ("version", "é"),
        ("version", "cafe\u0301"),
    ],
)
def test_a_name_of_another_kind_is_refused(kind: str, name: str) -> None:
    assert problems_of_name(kind, name)


def test_all_invalid_names_are_reported_at_once() -> None:
    with pytest.raises(InvalidName) as caught:
        check_names([("dataset", "a.b"), ("table", "good"), ("version", "`")])
    assert len(caught.value.problems) == 2
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
def test_the_analyzer_reads_a_quoted_name_unchanged(judge: Judge, name: str) -> None:
    assert judge.columns(f"SELECT 1 AS {quote(name)}") == [(name, "INT64")]


@settings(deadline=None, max_examples=100)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_the_evaluator_reads_a_quoted_text_unchanged(judge: Judge, text: str) -> None:
    assert judge.rows(f"SELECT {quote_text(text)}") == [(text,)]


@pytest.mark.parametrize(
    ("first", "second", "same"), [("Id", "iD", True), ("é", "É", False), ("ß", "ss", False), ("żółW", "żółw", True)]
)
def test_only_the_case_of_ascii_letters_is_ignored_as_the_analyzer_does(
    judge: Judge, first: str, second: str, same: bool
) -> None:
    assert (fold_case(first) == fold_case(second)) == same
    united = judge.columns(
        f"SELECT * FROM (SELECT 1 AS {quote(first)} FULL OUTER UNION ALL BY NAME SELECT 2 AS {quote(second)})"
    )
    assert len(united) == (1 if same else 2)
