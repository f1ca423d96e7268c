"""What a page does not show of columns that a policy hides."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.columns import columns

from onefold.changes.entry import Effect, Entry, SettingChange
from onefold.changes.page.dataset import HIDDEN_TEXT
from onefold.changes.page.from_ledger import page_changes
from onefold.changes.page.hidden import UNDECIDED, HiddenColumns, hidden_columns
from onefold.changes.page.hidden_entries import shown_operations, shown_statement
from onefold.landing.table import column_name
from onefold.schema.column_policy import Action, PolicyRule, TablePolicies
from onefold.schema.columns import Column
from onefold.schema.diff import compare
from onefold.schema.versions import Version


def policies(**actions: Action) -> TablePolicies:
    return TablePolicies(tuple(PolicyRule("*", column.replace("__", "."), action) for column, action in actions.items()))


T0 = datetime(2026, 11, 1, tzinfo=UTC)
CUSTOMER = Version("a", columns(id="INT64", ssn="NUMERIC", note="STRING"))


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (Action.MASK, "A policy masks this column in the clean view: only its name is shown here."),
        (Action.DROP, "A policy drops this column in the clean view: only its name is shown here."),
        (Action.HASH, "A policy hashes this column in the clean view: only its name is shown here."),
        (Action.CLEAR, None),
    ],
)
def test_a_column_is_hidden_where_the_clean_view_does_not_show_it_as_it_is(action: Action, reason: str | None) -> None:
    found = hidden_columns(CUSTOMER.columns, [CUSTOMER], policies(id=Action.CLEAR, ssn=action, note=Action.CLEAR))
    assert (found.reason("SSN"), found.reason("id")) == (reason, None)


def test_a_column_that_nobody_decided_about_is_hidden_and_without_policies_nothing_is() -> None:
    found = hidden_columns(CUSTOMER.columns, [CUSTOMER], policies(id=Action.CLEAR, ssn=Action.CLEAR))
    assert (found.reason("note"), found.reason("id")) == (UNDECIDED, None)
    assert not hidden_columns(CUSTOMER.columns, [CUSTOMER], None).hides("note")


def test_a_column_that_only_a_retired_version_has_is_hidden_as_well() -> None:
    old = Version("old", columns(pin="STRING"))
    found = hidden_columns(CUSTOMER.columns, [old, CUSTOMER], policies(id=Action.CLEAR, ssn=Action.CLEAR, note=Action.CLEAR))
    assert found.hides("pin")


def test_a_field_is_hidden_at_any_depth_and_its_neighbours_are_not() -> None:
    type_ = "ARRAY<STRUCT<city STRING, door STRUCT<code NUMERIC, floor INT64>>>"
    one = Version("a", columns(homes=type_))
    rules = policies(homes__city=Action.CLEAR, homes__door__floor=Action.CLEAR, homes__door__code=Action.MASK)
    found = hidden_columns(one.columns, [one], rules)
    assert found.type_text("homes", one.columns[0].type) == (
        "ARRAY<STRUCT<city STRING, door STRUCT<code hidden, floor INT64>>>"
    )


@pytest.mark.parametrize(
    "statement",
    ["ALTER TABLE c MODIFY ssn NUMERIC(9)", "ALTER TABLE c ADD `SSN` NUMERIC(9)", "ALTER TABLE c CHANGE x Ssn NUMERIC(9)"],
)
def test_a_statement_that_names_a_hidden_column_is_not_shown(statement: str) -> None:
    assert shown_statement(statement, HiddenColumns({"ssn": "a policy"})) == HIDDEN_TEXT


def test_a_statement_about_other_columns_is_shown_even_if_a_name_holds_the_hidden_one() -> None:
    statement = "ALTER TABLE c ADD ssn_note TEXT"
    assert shown_statement(statement, HiddenColumns({"ssn": "a policy"})) == statement


def test_a_hidden_name_that_is_not_one_word_hides_each_statement_with_its_letters() -> None:
    assert shown_statement("ALTER TABLE c ADD `tax no` INT", HiddenColumns({"tax no": "a policy"})) == HIDDEN_TEXT


def test_changes_of_hidden_columns_and_fields_have_no_types() -> None:
    before = columns(id="INT64", ssn="INT64", home="STRUCT<zip INT64>")
    after = columns(id="STRING", ssn="NUMERIC", home="STRUCT<zip NUMERIC>")
    hidden = HiddenColumns({"ssn": "a policy"}, frozenset({"home.zip"}))
    assert [str(one) for one in shown_operations(compare(before, after), hidden)] == [
        "retyped id INT64 -> STRING", "retyped ssn", "retyped home.zip",
    ]  # fmt: skip


@given(st.sets(st.sampled_from(["id", "ssn", "note"])))
def test_what_is_hidden_is_exactly_what_is_not_cleared(cleared: set[str]) -> None:
    found = hidden_columns(CUSTOMER.columns, [CUSTOMER], policies(**dict.fromkeys(sorted(cleared), Action.CLEAR)))
    assert {column.name for column in CUSTOMER.columns if not found.hides(column.name)} == cleared


def test_an_entry_of_the_ledger_is_shown_without_anything_about_hidden_columns_but_their_names() -> None:
    before, after = columns(id="INT64", ssn="INT64"), columns(id="STRING", ssn="NUMERIC")
    effects = (
        Effect("customer_unified", "cast", "id", "INT64 -> STRING"),
        Effect("customer_unified", "cast", "ssn", "INT64 -> NUMERIC"),
        Effect("customer_current", "nothing", ""),
    )
    settings = (SettingChange("types.ssn", None, "NUMERIC"), SettingChange("time_zone", None, "Europe/Berlin"))
    first = Entry("1", T0, "capture", "shop", "customer", compare(before, after), effects, settings=settings, change="c1",
                  statement="ALTER TABLE customer MODIFY ssn DECIMAL(20)")  # fmt: skip
    later = Entry("2", T0 + timedelta(days=1), "pull", "shop", "customer", (), changed_at=T0 - timedelta(days=1))
    changes = page_changes([first, later], HiddenColumns({"ssn": "a policy"}))
    assert [one.id for one in changes] == ["c1", "2"]
    assert changes[0].operations == (
        "retyped id INT64 -> STRING", "retyped ssn", f"types.ssn {HIDDEN_TEXT}", "time_zone: default -> Europe/Berlin",
    )  # fmt: skip
    assert changes[0].effects == ("customer_unified: cast id INT64 -> STRING", "customer_unified: cast ssn")
    assert (changes[0].statement, changes[0].severity) == (HIDDEN_TEXT, "WARNING")


def entry_of(before: tuple[Column, ...], after: tuple[Column, ...], *effects: Effect, statement: str = "") -> Entry:
    return Entry("1", T0, "capture", "shop", "customer", compare(before, after), effects, statement=statement)


ALL_BUT_SSN = policies(id=Action.CLEAR, note=Action.CLEAR)


@pytest.mark.parametrize(
    "rules", [ALL_BUT_SSN, TablePolicies((*policies(pin=Action.MASK).rules, PolicyRule("*", "*", Action.CLEAR)))]
)
def test_of_a_hidden_column_that_no_version_has_any_more_only_the_name_is_shown(rules: TablePolicies) -> None:
    now = Version("b", columns(id="INT64"))
    entry = entry_of(
        columns(id="INT64", pin="NUMERIC"), now.columns, Effect("customer_unified", "removed", "pin", "NUMERIC"),
        statement="ALTER TABLE customer DROP pin",
    )  # fmt: skip
    setting = SettingChange("types.pin", None, "NUMERIC")
    (change,) = page_changes([replace(entry, settings=(setting,))], hidden_columns(now.columns, [now], rules))
    assert change.operations == ("removed pin", f"types.pin {HIDDEN_TEXT}")
    assert (change.effects, change.statement) == (("customer_unified: removed pin",), HIDDEN_TEXT)


def test_a_column_that_no_version_has_any_more_is_shown_where_a_policy_clears_it() -> None:
    entry = entry_of(columns(id="INT64", note="STRING"), columns(id="INT64"), statement="ALTER TABLE customer DROP note")
    only = Version("b", columns(id="INT64"))
    (change,) = page_changes([entry], hidden_columns(only.columns, [only], ALL_BUT_SSN))
    assert (change.operations, change.statement) == (("removed note STRING",), entry.statement)


@pytest.mark.parametrize(
    "detail",
    ["STRUCT<city STRING, zip NUMERIC>", "INT64 -> ARRAY<STRUCT<city STRING, zip NUMERIC>>: lost", "STRUCT<city STRING, zi"],
)
def test_a_type_with_a_hidden_field_that_no_version_has_any_more_is_not_shown(detail: str) -> None:
    now = Version("b", columns(home="STRUCT<city STRING>"))
    hidden = hidden_columns(now.columns, [now], policies(home__city=Action.CLEAR))
    assert hidden.hides_types("home", detail)
    assert not hidden.hides_types("home", "STRUCT<city STRING> -> STRUCT<City INT64>")


@pytest.mark.parametrize("rule", ["e-mail", "e_mail", "E_Mail"])
@pytest.mark.parametrize("statement", ["ALTER TABLE c MODIFY `E-mail` CHAR(9)", "ALTER TABLE c CHANGE `e-mail` x CHAR(9)"])
def test_a_policy_may_name_a_column_as_the_source_or_as_it_lands(rule: str, statement: str) -> None:
    version = Version("a", columns(id="INT64", e_mail="STRING"))
    rules = TablePolicies((PolicyRule("*", "*", Action.CLEAR), PolicyRule("*", rule, Action.MASK)))
    hidden = hidden_columns(version.columns, [version], rules, column_name)
    assert hidden.hides("e_mail")
    assert not hidden.hides("id")
    assert shown_statement(statement, hidden) == HIDDEN_TEXT


@pytest.mark.parametrize(
    ("statement", "is_shown"),
    [
        ("ALTER TABLE `shop 1`.customer ADD COLUMN note VARCHAR(40) CHARACTER SET utf8mb4 COLLATE x_bin AFTER id", True),
        ("ALTER TABLE customer MODIFY id BIGINT NOT NULL, ADD note DATE DEFAULT ?;\nALTER TABLE customer DROP note", True),
        ("ALTER TABLE customer ADD note text, ALGORITHM=INPLACE", True),
        ("ALTER TABLE customer ADD pin CHAR(9)", False),
        ("ALTER TABLE customer ADD (note INT, pin CHAR(9))", False),
        ("ALTER TABLE customer ADD date DATE", False),
        ("ALTER TABLE customer ADD note INT;\nALTER TABLE customer ADD `key` INT", False),
        ("ALTER TABLE customer CHANGE id note text COMMENT ?, ALGORITHM=INPLACE", True),
        ("ALTER TABLE customer CHANGE note date VARCHAR(10)", False),
        ("ALTER TABLE customer CHANGE COLUMN IF EXISTS customer.note comment VARCHAR(10)", False),
        ("ALTER TABLE customer change `note` text text", False),
        ("ALTER TABLE customer ALTER date SET DEFAULT ?", False),
        ("ALTER TABLE customer ADD note INT AS (id + date)", False),
        ("ALTER TABLE customer ADD CHECK (id = date)", False),
    ],
)  # fmt: skip
def test_a_statement_with_a_name_that_no_policy_clears_is_not_shown(statement: str, is_shown: bool) -> None:
    hidden = hidden_columns(CUSTOMER.columns[::2], [Version("a", CUSTOMER.columns[::2])], ALL_BUT_SSN, column_name)
    assert (shown_statement(statement, hidden) == statement) is is_shown


def test_300_columns_in_900_versions_are_decided_in_one_pass() -> None:
    wide = columns(**{f"c{number}": "INT64" for number in range(300)})
    found = hidden_columns(wide, [Version(str(number), wide) for number in range(900)], policies(c7=Action.CLEAR))
    assert [column.name for column in wide if not found.hides(column.name)] == ["c7"]
