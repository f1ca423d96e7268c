"""Versions of a dataset are found by the labels of its tables, and the skipped tables have a reason."""

from __future__ import annotations

import pytest

from onefold.core.errors import NotFound
from onefold.core.event_labels import LABEL_BASE, LABEL_VERSION, label_value
from onefold.core.version_labels import LabelledNames, labelled_version

RECOVERY = "com_acme_ad_click_1_0_2_recovered_0f0b3ce0"
LISTED = {
    "com_acme_ad_click_1": {LABEL_BASE: "com_acme_ad_click", LABEL_VERSION: "1", "team": "web"},
    RECOVERY: {LABEL_BASE: "com_acme_ad_click", LABEL_VERSION: "1r0f0b3ce0"},
    "com_acme_page_2": {LABEL_BASE: "com_acme_page", LABEL_VERSION: "2"},
    "com_acme_ad_click_3": {},
    "half": {LABEL_BASE: "com_acme_half"},
    "events": {},
}


def test_the_labels_of_a_table_say_whose_version_it_is() -> None:
    names = LabelledNames().resolved(LISTED)
    assert {table: names.split(table) for table in LISTED} == {
        "com_acme_ad_click_1": ("com_acme_ad_click", "1"),
        RECOVERY: ("com_acme_ad_click", "1r0f0b3ce0"),
        "com_acme_page_2": ("com_acme_page", "2"),
        "com_acme_ad_click_3": None,
        "half": None,
        "events": None,
    }
    assert names.tables_of("com_acme_ad_click") == ("com_acme_ad_click_1", RECOVERY)
    assert names.name("com_acme_ad_click", "1r0f0b3ce0") == RECOVERY


@pytest.mark.parametrize(
    "labels",
    [
        {LABEL_BASE: "a"},
        {LABEL_VERSION: "1"},
        {LABEL_BASE: "", LABEL_VERSION: "1"},
        {LABEL_BASE: "a", LABEL_VERSION: ""},
        {LABEL_BASE: "a`b", LABEL_VERSION: "1"},
        {LABEL_BASE: "a", LABEL_VERSION: "1'"},
    ],
)
def test_labels_that_are_no_valid_names_make_no_version(labels: dict[str, str]) -> None:
    assert labelled_version(labels) is None


def test_skipped_tables_have_a_reason() -> None:
    names = LabelledNames(exclude=(".*_page",)).resolved(LISTED)
    assert [(one.table, one.base, one.reason) for one in names.skipped(LISTED)] == [
        ("com_acme_page_2", "com_acme_page", "`exclude` has .*_page"),
        ("half", "half", f"it has the label {LABEL_BASE}, and no valid label {LABEL_VERSION}"),
    ]


def test_before_the_dataset_is_listed_no_table_is_known_and_every_version_may_exist() -> None:
    names = LabelledNames()
    assert names.split("com_acme_ad_click_1") is None
    assert names.problems("com_acme_ad_click", "1") == []
    with pytest.raises(NotFound, match="no table has the labels onefold_base a and onefold_version 1"):
        names.name("a", "1")


def test_the_tables_that_are_known_make_no_other_naming() -> None:
    assert LabelledNames().resolved(LISTED) == LabelledNames()
    assert repr(LabelledNames().resolved(LISTED)) == repr(LabelledNames()), "the digest of a view's settings stays"
    assert LabelledNames(exclude=("a",)).resolved(LISTED) == LabelledNames(exclude=("a",))


def test_a_base_name_that_is_too_long_for_a_label_is_the_name_that_the_label_has() -> None:
    base = "com_acme_" + "x" * 60
    names = LabelledNames().resolved({f"{base}_1": {LABEL_BASE: label_value(base), LABEL_VERSION: "1"}})
    assert names.split(f"{base}_1") == (label_value(base), "1")
