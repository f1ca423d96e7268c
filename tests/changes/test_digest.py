"""The digest of an owner: which changes are in it, in which order, and its two forms."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from onefold.changes.digest import Digest, digests
from onefold.changes.entry import Effect, Entry, SettingChange
from onefold.changes.reader_counts import NOBODY, ColumnReaders, KnownReaders
from onefold.schema.diff import SchemaChange, Severity
from onefold.settings.owners import Owner, Owners

AT = datetime(2026, 11, 27, 8, tzinfo=UTC)
UNIFIED = "my-project.shop.orders_unified"
RETYPED = SchemaChange("retyped", "id", Severity.CRITICAL, "INT64", "STRING")
ADDED = SchemaChange("added", "zip", Severity.INFO, new="STRING")
LOSSY = Effect(UNIFIED, "lossy cast", "id", "STRING -> INT64: a value may be lost")
NEW = Effect(UNIFIED, "new column", "zip", "STRING")
READERS = KnownReaders(
    AT,
    (
        ColumnReaders("shop", "orders_unified", "id", "view", 1, 1),
        ColumnReaders("shop", "orders_unified", "id", "person", 2, 1),
        ColumnReaders("shop", "orders_unified", "price", "person", 9, 9),
    ),
)
ALL = Owner("*", "env:HOOK", "slack")


def entry(number: int = 1, **fields: Any) -> Entry:
    made = Entry(
        f"{number:032x}", AT, "capture", "shop", "orders", (RETYPED,), (LOSSY,), tenant=f"shop_{number}",
        version_before="a", version_after="b", statement="ALTER TABLE orders MODIFY id text DEFAULT ?", change="c" * 32,
    )  # fmt: skip
    return replace(made, **fields)


def added(number: int, **fields: Any) -> Entry:
    """Another change for each number."""
    own = {"change": f"{number:032x}", "version_after": f"v{number}", "operations": (ADDED,), "effects": (NEW,)}
    return entry(number, **{**own, **fields})


def digest(*entries: Entry, owner: Owner = ALL) -> Digest:
    (found,) = digests(entries, frozenset(), Owners((owner,)))
    return found


def texts(message: dict[str, Any]) -> list[str]:
    return [block["text"]["text"] for block in message["blocks"]]


def test_a_migration_of_300_tenants_is_one_line_with_their_number() -> None:
    found = digest(*map(entry, range(300)))
    assert found.lines(NOBODY) == [
        f"CRITICAL shop.orders (capture: 300 tenants) {'c' * 32}: retyped id INT64 -> STRING; "
        f"{UNIFIED}: lossy cast id STRING -> INT64: a value may be lost"
    ]
    assert found.title == "1 change of *: 1 CRITICAL"
    assert sorted(found.ids) == sorted(entry(number).id for number in range(300))


def test_so_is_one_of_300_datasets_with_a_tenant_each() -> None:
    found = digest(*(entry(number, dataset=f"tenant_{number}") for number in range(300)))
    (line,) = found.lines(NOBODY)
    assert line.startswith("CRITICAL orders in 300 datasets (capture: 300 tenants)")
    (change,) = digest(*found.changes[0].entries, owner=replace(ALL, form="json")).message(NOBODY)["changes"]
    assert (change["table_count"], len(change["tables"]), change["tenant_count"]) == (300, 200, 300)


def test_an_entry_of_which_one_owner_was_notified_is_left_out_for_it_alone() -> None:
    owners = Owners((replace(ALL, pattern="orders*"), replace(ALL, pattern="*orders"), replace(ALL, pattern="customer")))
    notified = {(entry(1).id, "orders*"), (entry(2).id, "*orders"), (entry(3).id, "customer")}
    found = digests([entry(1), added(2)], notified, owners)
    assert [one.ids for one in found] == [(entry(2).id,), (entry(1).id,), ()]


def test_changes_below_the_severity_of_the_owner_are_left_out() -> None:
    setting = entry(3, operations=(), effects=(), settings=(SettingChange("types.id", None, "STRING"),), origin="settings")

    def shown(least: Severity) -> list[str]:
        return [one.severity for one in digest(entry(1), added(2), setting, owner=replace(ALL, severity=least)).changes]

    assert {least: shown(least) for least in Severity} == {
        Severity.INFO: ["CRITICAL", "WARNING", "INFO"],
        Severity.WARNING: ["CRITICAL", "WARNING"],
        Severity.CRITICAL: ["CRITICAL"],
    }


def test_the_worst_tenant_decides_and_all_tenants_are_in_the_digest() -> None:
    found = digest(entry(1), entry(2, effects=(NEW,)), owner=replace(ALL, severity=Severity.CRITICAL))
    assert found.ids == (entry(1).id, entry(2).id)


def test_the_most_severe_change_is_first_and_then_the_earliest() -> None:
    late = added(1, recorded_at=AT + timedelta(hours=1))
    assert [change.first.id for change in digest(late, added(2), entry(3)).changes] == [
        entry(3).id, entry(2).id, entry(1).id,
    ]  # fmt: skip


def test_the_readers_of_the_columns_are_named_by_kind() -> None:
    (line,) = digest(entry()).lines(READERS)
    assert line.endswith("; read: shop.orders_unified.id by 1 view, 2 persons (1 of them maybe)")


def test_the_form_of_slack_has_a_block_for_each_change_and_reads_no_mention() -> None:
    message = digest(entry(table="<!channel>"), owner=replace(ALL, pattern="<!channel>")).message(NOBODY)
    assert message["text"] == "1 change of &lt;!channel&gt;: 1 CRITICAL"
    assert {(block["type"], block["text"]["type"]) for block in message["blocks"]} == {("section", "plain_text")}
    assert texts(message)[0] == "1 change of <!channel>: 1 CRITICAL"
    assert texts(message)[1].startswith("CRITICAL shop.<!channel> (capture: shop_1) ")


def test_a_message_of_slack_stays_within_its_limits() -> None:
    wide = tuple(replace(LOSSY, path=f"column_{number}", detail="x" * 300) for number in range(2_000))
    message = digest(*(added(number, effects=wide if number < 30 else (LOSSY,)) for number in range(3_000))).message(READERS)
    assert texts(message)[-1] == "and 2,980 more: `onefold changes` lists all"
    assert len(message["blocks"]) <= 50
    assert all(len(text) <= 3_000 for text in texts(message))
    assert sum(map(len, texts(message))) < 13_000
    assert texts(message)[0] == "3,000 changes of *: 3,000 CRITICAL"


def test_the_form_of_json_has_the_same_as_values() -> None:
    owner = replace(ALL, form="json")
    found = digest(entry(1), entry(2), owner=owner)
    assert found.message(READERS) == {
        "digest": found.id,
        "owner": "*",
        "severity": "CRITICAL",
        "text": "1 change of *: 1 CRITICAL",
        "changes": [
            {
                "id": "c" * 32, "severity": "CRITICAL", "origin": "capture", "tables": ["shop.orders"], "table_count": 1,
                "tenant_count": 2, "recorded_at": "2026-11-27T08:00:00+00:00", "version_before": "a", "version_after": "b",
                "decision": "shown", "settings": [],
                "operations": [{"kind": "retyped", "path": "id", "severity": "CRITICAL", "old": "INT64", "new": "STRING"}],
                "effects": [{"view": UNIFIED, "kind": "lossy cast", "path": "id", "detail": LOSSY.detail}],
                "readers": [
                    {
                        "dataset": "shop", "table": "orders_unified", "column": "id", "kind": kind, "readers": readers,
                        "certain": 1,
                    }
                    for kind, readers in (("view", 1), ("person", 2))
                ],
                "operation_count": 1, "setting_count": 0, "effect_count": 1, "reader_count": 2,
            }
        ],
        "left_out": 0,
        "more": "",
    }  # fmt: skip
    many = digest(*map(added, range(250)), owner=owner).message(NOBODY)
    assert (len(many["changes"]), many["left_out"]) == (200, 50)
    assert many["more"] == "and 50 more: `onefold changes` lists all"


def test_a_message_of_json_stays_within_what_channels_take_and_has_all_counts() -> None:
    effects = tuple(replace(LOSSY, path=f"column_{number}", detail="é" * 10_000) for number in range(250))
    operations = tuple(replace(RETYPED, path=f"column_{number}") for number in range(250))
    changes = (added(number, effects=effects, operations=operations) for number in range(100))
    message = digest(*changes, owner=replace(ALL, form="json")).message(READERS)
    assert len(json.dumps(message)) < 1_010_000
    first = message["changes"][0]
    assert (len(first["operations"]), first["operation_count"], first["effect_count"]) == (50, 250, 250)
    shown = len(message["changes"])
    assert (shown > 0, message["left_out"], message["more"]) == (
        True, 100 - shown, f"and {100 - shown} more: `onefold changes` lists all",
    )  # fmt: skip


def test_the_id_of_a_digest_is_that_of_its_entries_in_any_order_and_of_its_owner() -> None:
    first = digest(entry(1), entry(2)).id
    assert len(first) == 32
    assert digest(entry(2), entry(1)).id == first
    assert len({first, digest(entry(1)).id, digest(entry(1), entry(2), owner=Owner("orders", "env:HOOK", "json")).id}) == 3


def test_no_statement_is_in_a_message() -> None:
    for form in ("slack", "json"):
        owner = Owner("*", "env:HOOK", form)
        assert "ALTER" not in json.dumps(digest(entry(), owner=owner).message(READERS))


def test_an_email_has_as_many_changes_as_an_alert_takes_and_says_how_many_there_are_more() -> None:
    owner = Owner("*", "", "json", email="data@example.com")
    few = digest(entry(1), entry(2), owner=owner)
    assert few.message(READERS) == {
        "digest": few.id, "owner": "*", "severity": "CRITICAL", "text": few.title, "shown": few.lines(READERS)[0],
    }  # fmt: skip
    many = digest(*map(added, range(250)), owner=owner).message(NOBODY)
    *lines, last = many["shown"].splitlines()
    assert last == f"and {250 - len(lines)} more: `onefold changes` lists all"
    assert 0 < len(lines) < 20
    assert len(many["shown"]) < 1_000
