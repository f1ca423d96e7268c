"""Lists and messages have the names of hidden columns, and nothing else about them, without a table that is read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.clean_shop import policies
from support.fake_tenants import UNITE, configured

from onefold.changes.digest import digests
from onefold.changes.entry import Effect, Entry, SettingChange
from onefold.changes.groups import grouped
from onefold.changes.page.dataset import HIDDEN_TEXT
from onefold.changes.reader_counts import NOBODY
from onefold.schema.diff import SchemaChange, Severity
from onefold.settings.environment import Settings
from onefold.settings.owners import Owner, Owners
from onefold.views.hidden_entries import names_of_hidden

NOW = datetime(2026, 11, 27, tzinfo=UTC)
OPERATIONS = (
    SchemaChange("added", "zip", Severity.INFO, new="STRING"),
    SchemaChange("retyped", "ssn", Severity.CRITICAL, "INT64", "BYTES"),
)
UNIFIED = "p.shop.customer_unified"
EFFECTS = (
    Effect(UNIFIED, "new column", "zip", "STRING"), Effect(UNIFIED, "cast", "ssn", "INT64 -> BYTES"),
    Effect("p.shop__views_clean.customer", "hidden", "ssn", "mask"),
)  # fmt: skip
ENTRY = Entry(
    "1", NOW, "capture", "shop", "customer", OPERATIONS, EFFECTS, statement="ALTER TABLE customer MODIFY ssn VARBINARY(9)",
    settings=(SettingChange("types.ssn", None, "BYTES"), SettingChange("types.zip", None, "STRING")), version_after="b",
)  # fmt: skip
HIDING = Settings(policies=policies(zip="clear", ssn="mask"))
CHANNELS = [Owner("*", "env:X", "slack"), Owner("*", "env:X", "json"), Owner("*", "", "json", topic="projects/p/topics/t"),
            Owner("*", "", "json", email="a@example.com")]  # fmt: skip


def shown(settings: Settings, **fields: Any) -> Entry:
    (found,) = names_of_hidden([Entry(**{**vars(ENTRY), **fields})], settings, "p")
    return found


def test_a_hidden_column_has_its_name_alone() -> None:
    found = shown(HIDING)
    assert [str(one) for one in found.operations] == ["added zip STRING", "retyped ssn"]
    assert [(one.kind, one.path, one.detail) for one in found.effects] == [
        ("new column", "zip", "STRING"), ("cast", "ssn", ""), ("hidden", "ssn", "mask"),
    ]  # fmt: skip
    assert found.statement == HIDDEN_TEXT
    assert [one.after for one in found.settings] == [HIDDEN_TEXT, "STRING"]
    assert (found.severity, found.id) == (ENTRY.severity, ENTRY.id)


@pytest.mark.parametrize("owner", CHANNELS, ids=["slack", "json", "topic", "email"])
def test_no_message_tells_the_type_of_a_hidden_column(owner: Owner) -> None:
    (digest,) = digests([shown(HIDING)], frozenset(), Owners((owner,)))
    text = str(digest.message(NOBODY))
    assert "ssn" in text
    assert "zip STRING" in text or "'path': 'zip'" in text
    assert not any(word in text for word in ("BYTES", "INT64", "VARBINARY"))


def test_a_list_does_not_tell_it_either() -> None:
    (group,) = grouped([shown(HIDING)])
    assert not any(word in " ".join(group.lines()) for word in ("BYTES", "INT64", "VARBINARY"))


def test_without_a_policy_and_a_clean_view_everything_is_shown() -> None:
    assert shown(Settings(), effects=EFFECTS[:2]) == Entry(**{**vars(ENTRY), "effects": EFFECTS[:2]})
    assert (
        shown(Settings(policies=policies())).operations[0].new is None
    )  # a clean view, whose columns nobody has decided about


def test_a_field_and_a_column_that_lands_under_another_name_are_hidden() -> None:
    address = SchemaChange("added", "home", Severity.INFO, new="STRUCT<zip STRING, door INT64>")
    tax = SchemaChange("added", "tax_no", Severity.INFO, new="INT64")
    by = Settings(policies=policies(home__zip="clear", home__door="drop", **{"tax-no": "hash"}))
    assert [one.new for one in shown(by, operations=(address, tax)).operations] == [None, None]


def test_the_policies_of_the_tables_of_tenants_hide_columns_of_the_united_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    by = configured(f"{UNITE}policies: {{tenant_a.orders: {{ssn: mask, zip: clear}}, tenant_b.orders: {{ssn: clear}}}}")
    entries = [Entry(**{**vars(ENTRY), "dataset": "united", "table": "orders", "version_after": one})
               for one in ("tenant_a", "tenant_b")]  # fmt: skip
    for found in names_of_hidden(entries, by, "p"):
        assert [str(one) for one in found.operations] == ["added zip", "retyped ssn"]
    only_a = names_of_hidden(entries[:1], by, "p")
    assert [str(one) for one in only_a[0].operations] == ["added zip STRING", "retyped ssn"]
