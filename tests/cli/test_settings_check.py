"""`onefold settings check`: the checked form of onefold.yaml, which a deployment reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.cli import Run

from onefold.settings.captures import ColumnRules
from onefold.settings.environment import load_settings

YAML, FORM = Path("onefold.yaml"), Path("onefold.checked.json")
RULES = "captures: {shop: {tables: {customer: {drop:[password]}}}}\n"
SOURCES = """
sources:
  ads:
    {host: db, user: u, password: "env:P", tls: {mode: off}, databases: [a], tables: {"*": {mode: full, drop: [x]}, b: }}
tables: {customer: {retire: ["007"], types: {"größe": STRING}}, "b.c": }
policies: {customer: {mail: hash}}
time_zone: Europe/Berlin
"""


@pytest.mark.parametrize("text", [RULES, SOURCES, "{}", "datasets:\n"], ids=["rules", "sources", "none", "no-datasets"])
def test_a_deployment_reads_from_the_checked_form_what_the_library_reads_from_the_file(run: Run, text: str) -> None:
    YAML.write_text(text)
    written = run("settings", "check", "--write")
    assert (written.code, "wrote onefold.checked.json" in written.err) == (0, True), written.err
    of_yaml = load_settings({})
    YAML.unlink()
    of_form = load_settings({})
    assert of_form == of_yaml
    assert [list(source.tables) for source in of_form.sources.values()] == [
        list(source.tables) for source in of_yaml.sources.values()
    ]


def test_the_state_of_the_checked_form_is_json_too(run: Run) -> None:
    def states(*words: str) -> tuple[int, str]:
        done = run("settings", "check", *words, "--json")
        return done.code, done.result["state"]

    assert states() == (0, "no file")
    YAML.write_text(RULES)
    assert [states(), states("--write"), states()] == [(2, "not current"), (0, "written"), (0, "current")]
    YAML.write_text("extra: 1")
    wrong = run("settings", "check", "--json")
    assert (wrong.code, wrong.results, "extra: not a setting" in wrong.json["errors"][0]) == (1, [], True)


def test_rules_that_other_readers_of_yaml_cannot_read_are_in_the_checked_form(run: Run) -> None:
    YAML.write_text(RULES)
    assert run("settings", "check", "--write").code == 0
    YAML.unlink()
    assert load_settings({}).captures["shop"].rules == (ColumnRules("customer", drop=("password",)),)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("captures: {shop: {table: {t: {drop: [a]}}}}", "captures.shop.table: not a setting (did you mean tables?)"),
        ("capture: {shop: {tables: {t: {drop: [a]}}}}", "capture: not a setting (did you mean captures?)"),
        (
            "captures: {shop: {tables: {t: {drops: [a]}}}}",
            "shop.tables.t.drops: not a setting (did you mean drop?)",
        ),
        ("captures: {shop: {tables: {*: {drop: [a]}}}}", "onefold.yaml:1: cannot be read: while scanning an alias"),
        ("[]", "expected a mapping, got a list"),
        ("tables: {t: {retire: [2026-01-01]}}", "expected a text, got what YAML reads as a date: put it in quotes"),
    ],
    ids=range(6),
)
def test_a_file_with_a_problem_has_no_checked_form(run: Run, text: str, problem: str) -> None:
    YAML.write_text(text)
    done = run("settings", "check", "--write")
    assert (done.code, problem in done.err) == (1, True), done.err
    assert not FORM.exists()


@pytest.mark.parametrize("text", ["", "# all of it is a comment\n", "{}"])
def test_an_empty_file_has_no_settings_which_is_said(run: Run, text: str) -> None:
    YAML.write_text(text)
    done = run("settings", "check", "--write")
    assert (done.code, "onefold.yaml is empty: every setting has its default" in done.err) == (0, True), done.err
    assert load_settings({}, FORM).tables == {}


def test_a_link_to_nothing_and_an_empty_name_say_what_to_do(run: Run) -> None:
    YAML.symlink_to("nowhere.yaml")
    linked = run("settings", "check")
    assert (linked.code, "it is a link to nowhere.yaml, which does not exist: correct the link" in linked.err) == (1, True)
    for words in (("--config", "", "settings", "check"), ("settings", "check", "--config", "")):
        unnamed = run(*words)
        assert (unnamed.code, "an empty text names no file: name one" in unnamed.err) == (1, True), unnamed.err


def test_a_problem_leaves_the_former_checked_form_which_is_that_of_another_file(run: Run) -> None:
    YAML.write_text(RULES)
    assert run("settings", "check", "--write").code == 0
    former = FORM.read_bytes()
    YAML.write_text(RULES.replace("tables", "table"))
    assert run("settings", "check", "--write").code == 1
    assert FORM.read_bytes() == former


def test_a_check_writes_nothing_and_says_how_to(run: Run) -> None:
    YAML.write_text(RULES)
    done = run("settings", "check")
    assert (done.code, "run `onefold settings check --write`, and commit the file" in done.err) == (2, True)
    assert not FORM.exists()


@pytest.mark.parametrize("changed", ["yaml", "form"])
def test_a_checked_form_of_another_content_is_not_current(run: Run, changed: str) -> None:
    YAML.write_text(RULES)
    assert run("settings", "check", "--write").code == 0
    assert run("settings", "check").code == 0
    file = YAML if changed == "yaml" else FORM
    file.write_text(file.read_text().replace("password", "pin"))
    assert run("settings", "check").code == 2
    assert run("settings", "check", "--write").code == 0
    assert run("settings", "check").code == 0


def test_without_a_file_there_is_nothing_to_check(run: Run) -> None:
    assert run("settings", "check", "--write").code == 0
    assert list(Path().iterdir()) == []


def test_a_checked_form_without_its_file_is_an_error_and_is_not_removed(run: Run) -> None:
    FORM.write_text("{}")
    done = run("settings", "check", "--write")
    assert (done.code, "onefold.checked.json is there, and onefold.yaml is not" in done.err) == (
        1,
        True,
    )
    assert FORM.exists()


def test_a_file_that_is_there_and_cannot_be_read_is_not_an_absent_one(run: Run) -> None:
    os.symlink("nowhere", YAML)
    for arguments in (("settings", "check"), ("sources", "check")):
        done = run(*arguments)
        assert (done.code, "onefold.yaml: cannot be read" in done.err) == (1, True), done.err


def test_a_named_file_has_its_checked_form_beside_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("folder").mkdir()
    other = Path("folder", "shop.yaml")
    other.write_text(RULES)
    assert run("--config", other, "settings", "check", "--write").code == 0
    assert Path("folder", "shop.checked.json").is_file()
    monkeypatch.setenv("ONEFOLD_CONFIG", str(other))
    assert run("settings", "check").code == 0
    monkeypatch.setenv("ONEFOLD_CONFIG", "nowhere.yaml")
    assert "nowhere.yaml: cannot be read" in run("settings", "check").err


def test_a_checked_form_is_not_made_from_a_checked_form(run: Run) -> None:
    FORM.write_text("{}")
    assert "is a checked form: name the file from which it is made" in run("--config", FORM, "settings", "check").err


SOURCES = "sources: {shop-db: {host: h, user: u, password: 'env:P', databases: [a]}}\n"


def test_rules_of_capture_for_a_source_that_is_misspelled_are_an_error(run: Run) -> None:
    Path("onefold.yaml").write_text(SOURCES + "captures: {shop_db: {tables: {'*': {drop: [password]}}}}\n")
    done = run("settings", "check", "--write")
    assert (done.code, Path("onefold.checked.json").exists()) == (1, False)
    assert "captures.shop_db: not an entry of `sources` (did you mean shop-db?): correct the name" in done.err
    assert "give the source that is meant here an entry without rules, `{}`" in done.err


@pytest.mark.parametrize("captures", ["shop-db: {}, shop_db: {}", "billing: {}"], ids=["both are there", "none is near"])
def test_a_source_that_is_only_captured_may_have_any_other_name(run: Run, captures: str) -> None:
    Path("onefold.yaml").write_text(f"{SOURCES}captures: {{{captures}}}\n")
    assert run("settings", "check", "--write").code == 0
