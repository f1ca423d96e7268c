"""Problems of onefold.yaml have the line, the key, and what is expected; the traps of YAML are explained."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.settings_problems import located_problems_of, problems_of

from onefold.core.errors import InvalidSettings
from onefold.settings.yaml_file import read_tables_file

KEY = "expected a text as key, got"


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "tables: {customer: {retire: [123456]}}",
            "tables.customer.retire[0]: expected a version, got 123456: put it in quotes",
        ),
        (
            "tables: {customer: {retire: [0123]}}",
            "tables.customer.retire[0]: expected a version, got 0123, which YAML reads as 83: put it in quotes",
        ),
        (
            "tables: {customer: {retire: [0x1f]}}",
            "tables.customer.retire[0]: expected a version, got 0x1f, which YAML reads as 31: put it in quotes",
        ),
        (
            "tables: {customer: {retire: [no]}}",
            "tables.customer.retire[0]: expected a version, got no, which YAML reads as false: put it in quotes",
        ),
        (
            "tables: {customer: {retire: [~]}}",
            "tables.customer.retire[0]: expected a version, got ~, which YAML reads as nothing",
        ),
        ("tables: {on: {}}", f"tables.on: {KEY} on, which YAML reads as true: put it in quotes"),
        ("tables: {2024: {}}", f"tables.2024: {KEY} 2024: put it in quotes"),
        (
            "tables: {customer: {types: {no: STRING}}}",
            f"tables.customer.types.no: {KEY} no, which YAML reads as false: put it in quotes",
        ),
    ],
)
def test_a_value_that_yaml_does_not_read_as_text_has_to_be_quoted(text: str, problem: str) -> None:
    assert problems_of(text) == [problem]


def test_a_key_that_is_given_twice_is_refused_together_with_all_other_problems() -> None:
    text = "tables:\n  customer: {retire: [a]}\n  customer: {types: 5}\ntime_zone: Mars\ntime_zone: UTC\nconversions: odd\n"
    assert located_problems_of(text) == [
        "3: the key 'customer' is given twice",
        "3: tables.customer.types: expected a mapping, got 5",
        "4: time_zone: 'Mars' is unknown; write a tz database name, as Europe/Berlin, or '+01:00' in quotes",
        "5: the key 'time_zone' is given twice",
        "6: conversions: expected lossless or classic, got 'odd'",
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"{[a]: b}",
        b"? {a: b}",
        b"retire: [2020-13-45]",
        b"\xff\xfe\xfa",
        b"a: [",
        b"a: b: c",
        b"!!python/object:os.system {}",
        b"[" * 3_000,
        b"a: &a [*a]",
    ],
)
def test_a_file_that_is_not_yaml_is_refused(content: bytes) -> None:
    (problem,) = problems_of(content)
    assert problem.startswith("cannot be read: ")


def test_a_problem_has_the_line_of_its_key_and_problems_are_in_the_order_of_the_file() -> None:
    text = """
        # A comment.
        tables:
          customer:
            keys:
              - id
              - 7
          order: {time_zone: Mars}
        conversion: classic
    """
    assert [problem[: problem.index(" ", 4)] for problem in located_problems_of(text)] == [
        "7: tables.customer.keys[1]:", "8: tables.order.time_zone:", "9: conversion:",
    ]  # fmt: skip


def test_what_cannot_be_read_is_not_quoted_since_it_may_be_a_password() -> None:
    for text in ("password: *hunter2", "password: !hunter2 x", "password: [hunter2"):
        assert "hunter2" not in located_problems_of(text)[0]


def test_values_that_json_does_not_have_are_refused() -> None:
    assert problems_of('exclude: [2026-01-01, .inf, "\\ud800", 7]') == [
        "exclude[0]: expected a text, got what YAML reads as a date: put it in quotes",
        "exclude[1]: expected a text, got what YAML reads as a number: put it in quotes",
        "exclude[2]: expected a text in Unicode, got half of a surrogate pair",
        "exclude[3]: expected a regular expression, got 7: put it in quotes",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tables: {'2024': {types: 5}}", "tables.2024.types: expected a mapping, got 5"),
        ("tables: {'007': {types: 5}}", "tables.007.types: expected a mapping, got 5"),
        ("tables: {'': {types: 5}}", "tables..types: expected a mapping, got 5"),
        ("tables: {'': {types: 5}, a: {}}", "tables..types: expected a mapping, got 5"),
        ("tables: {'': {}, a: {types: 5}}", "tables.a.types: expected a mapping, got 5"),
        ("tables: {'7': {types: 5}, '07': {types: []}}", "tables.07.types: expected a mapping, got a list"),
        ("tables: {'+7': {types: 5}}", "tables.+7.types: expected a mapping, got 5"),
        ("policies: {'1': x}", "policies.1: expected columns with actions, as in `email: hash`, got a text"),
        ("captures: {shop: {tables: {'0': [a]}}}", "captures.shop.tables.0: expected lists of columns"),
        ("overlap_minutes: 1.0e+3", "overlap_minutes: expected a whole number or a text, got 1000.0: leave the point out"),
        ('policies: {b: {"\\ud800": hash}}', "policies.b: expected a key in Unicode, got half of a surrogate pair"),
        ("policies: {c: {<<: {email: hash, email: clear}}}", "the key 'email' is given twice"),
        ("policies: {c: {<<: [{a: hash}, {a: hash, a: clear}]}}", "the key 'a' is given twice"),
        (f"policies: {'{a: ' * 300}x{'}' * 300}", "cannot be checked: it is nested too deep"),
        (f"policies: {'{a: ' * 5_000}x{'}' * 5_000}", "cannot be read: it is nested too deep"),
    ],
)  # fmt: skip
def test_a_wrong_value_at_any_key_is_a_problem_of_its_own(text: str, problem: str) -> None:
    assert any(one.startswith(problem) for one in problems_of(text)), problems_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "sources: {a: {host: d, user: u, databases: [m], password:hunter2}}",
        "sources: {a: {host: 'u:hunter2@d', user: u, databases: [m], password: env:A}}",
        "sources: {a: {host: d, user: u, databases: [m], password: !!int hunter2}}",
        "sources: {a: {host: d, user: u, databases: [m], password: !hunter2 x}}",
        "captures: {shop: {hash_key:hunter2}}",
    ],
)
def test_what_may_be_a_password_is_never_shown(text: str) -> None:
    assert problems_of(text)
    assert "hunter2" not in str(problems_of(text))


def test_the_signs_of_a_text_that_ends_too_early_are_shown() -> None:
    (problem,) = problems_of("policies: {customer: {email: hash")
    assert "expected ',' or '}', but got '<stream end>'" in problem


@pytest.mark.parametrize("module", ["yaml", "jsonschema_rs"])
def test_a_job_without_a_reader_of_yaml_is_told_to_read_the_checked_form(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "onefold.settings.strict_yaml", raising=False)
    (problem,) = problems_of("time_zone: UTC")
    assert "run `onefold settings check --write`, and give it onefold.checked.json" in problem


def test_a_file_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidSettings, match=r"^nowhere\.yaml: cannot be read: "):
        read_tables_file(Path("nowhere.yaml"))
