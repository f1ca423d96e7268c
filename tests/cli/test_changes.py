"""`onefold changes`: the ledger of changes, in the embedded BigQuery."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.ledgers import StoredLedger

from onefold.changes.entry import Effect, Entry
from onefold.changes.table import row_of
from onefold.schema.diff import SchemaChange, Severity

NOW = datetime.now(UTC)
ZIP = SchemaChange("added", "zip", Severity.INFO, new="STRING")
NEW = Effect("local.shop.customer_unified", "new column", "zip", "STRING")
LOSSY = Effect("local.shop.customer_unified", "lossy cast", "id", "STRING -> INT64: a value may be lost")
STATEMENT = "ALTER TABLE customer\n  ADD zip text DEFAULT ?"


def entry(number: int, **fields: object) -> Entry:
    made = Entry(
        f"{number:032x}", NOW, "capture", "shop", "customer", (ZIP,), (NEW,), tenant=f"shop_{number}", version_before="a",
        version_after="b", statement=STATEMENT, change="c" * 32,
    )  # fmt: skip
    return replace(made, **fields)  # type: ignore[arg-type]


@pytest.fixture
def stored(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> StoredLedger:
    found = StoredLedger(dataset)
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", found.name)
    return found


def append(stored: StoredLedger, *entries: Entry) -> None:
    stored.ledger.append([row_of(one) for one in entries])


def test_a_migration_of_300_tenants_is_one_change_and_300_entries_of_json(run: Run, stored: StoredLedger) -> None:
    append(stored, *map(entry, range(300)))
    listed = run("changes", "shop.customer")
    assert (listed.code, listed.err) == (0, "")
    first, operations, view, statement = listed.out.splitlines()
    assert first.endswith(f"INFO shop.customer (capture: 300 tenants)  {'c' * 32}")
    assert operations.strip() == "added zip STRING"
    assert view.strip() == "local.shop.customer_unified: new column zip STRING"
    assert statement.strip() == "ALTER TABLE customer ADD zip text DEFAULT ?"
    printed = run("changes", "shop.customer", "--json")
    assert sorted(one["tenant"] for one in printed.results) == sorted(f"shop_{number}" for number in range(300))


def test_tables_and_times_that_are_not_asked_for_are_left_out(run: Run, stored: StoredLedger) -> None:
    old = entry(1, table="order", recorded_at=NOW - timedelta(days=9), changed_at=NOW - timedelta(days=9))
    append(stored, old, entry(2), entry(3, dataset="crm"))
    listed = {
        words: [(one["dataset"], one["table"]) for one in run("changes", *words, "--json").results]
        for words in [(), ("shop.*",), ("list", "crm.customer"), ("--since", "7d"), ("--since", "2000-01-01", "shop.order")]
    }
    assert listed == {
        (): [("shop", "order"), ("shop", "customer"), ("crm", "customer")],
        ("shop.*",): [("shop", "order"), ("shop", "customer")],
        ("list", "crm.customer"): [("crm", "customer")],
        ("--since", "7d"): [("shop", "customer"), ("crm", "customer")],
        ("--since", "2000-01-01", "shop.order"): [("shop", "order")],
    }


OF_A_NEWER_RELEASE: list[tuple[dict[str, Any], str]] = [
    ({"operations": [{"kind": "added", "path": "n", "severity": "NOTICE"}]}, "the unknown severity 'NOTICE'"),
    ({"effects": [{"view": "orders", "kind": "renamed", "path": "n"}]}, "the unknown kind of an effect 'renamed'"),
    ({"effects": [{"kind": "new column", "path": "n"}]}, "no view"),
    ({"settings": [{"after": "x"}]}, "no setting"),
    ({"decision": "deferred"}, "the unknown decision 'deferred'"),
    ({"origin": None}, "no origin"),
    ({"recorded_at": None}, "no recorded_at"),
]


def test_rows_of_a_newer_release_are_shown_as_far_as_they_are_known_and_are_warnings(
    run: Run, stored: StoredLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{**row_of(entry(number)), **fields} for number, (fields, _) in enumerate(OF_A_NEWER_RELEASE, 10)]
    stored.ledger.append([row_of(entry(1)), *rows])
    listed = run("changes", "--json")
    assert (listed.code, len(listed.results)) == (0, 8)
    for number, (_, text) in enumerate(OF_A_NEWER_RELEASE, 10):
        assert f"1 row of the ledger ({entry(number).id} of shop.customer) has {text}: " in listed.out
    outcome = {one["id"]: (one["decision"], one["severity"]) for one in listed.results}
    assert outcome[entry(14).id] == ("waiting", "WARNING")
    assert outcome[entry(11).id] == ("shown", "CRITICAL")
    assert "has no setting: " in run("changes").err

    Path("onefold.yaml").write_text('owners: {"*": {webhook: "env:HOOK", form: json}}')
    monkeypatch.setenv("HOOK", "https://hooks.example/secret")
    assert run("changes", "create").code == 0
    notified = run("changes", "notify", "--dry-run")
    assert (notified.code, "would be notified" in notified.out) == (0, True)
    assert "has the unknown kind of an effect 'renamed': " in notified.err


def test_the_worst_effect_and_a_decision_are_shown(run: Run, stored: StoredLedger) -> None:
    append(stored, entry(1, effects=(NEW, LOSSY), decision="waiting"))
    printed = run("changes").out
    assert " CRITICAL shop.customer (capture: shop_1)" in printed
    assert "lossy cast id STRING -> INT64: a value may be lost" in printed
    assert "decision: waiting" in printed


def test_a_ledger_without_a_change_says_so(run: Run, stored: StoredLedger) -> None:
    assert stored.count() == 0
    assert "No changes are recorded." in run("changes").err
    assert run("changes", "--json").results == []


def test_without_a_ledger_the_command_says_what_to_set(
    run: Run, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = run("changes")
    assert (refused.code, "ONEFOLD_CHANGES_DATASET" in refused.err) == (1, True)
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", dataset.name)
    refused = run("changes")
    assert (refused.code, "onefold changes create" in refused.err) == (1, True)


@pytest.mark.parametrize(
    "since",
    ["yesterday", "7 days", "2026-02-30", "", " ", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "99999d9"],
)
def test_a_time_of_another_form_is_refused(run: Run, since: str) -> None:
    refused = run("changes", "--since", since)
    assert (refused.code, f"--since {since!r}" in refused.err, "expected 7d, 12h" in refused.err) == (1, True, True)


def test_the_ledger_is_created_once(run: Run, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", dataset.name)
    assert run("changes", "create", "--dry-run", "--json").result["dry_run"] is True
    assert run("changes").code == 1
    for _ in range(2):
        assert run("changes", "create").code == 0
    assert run("changes").code == 0


def test_the_queries_of_the_guide_are_answered_by_the_ledger(run: Run, stored: StoredLedger) -> None:
    append(stored, entry(1, effects=(NEW, LOSSY)))
    assert run("changes", "create").code == 0
    page = Path(__file__).parents[2] / "docs" / "how-to" / "see-what-changed.md"
    effects, decisions = re.findall(r"```sql\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    place = f"{stored.warehouse.project}.{stored.name}"
    (row,) = stored.warehouse.fetch(effects.replace("my-project.onefold_changes", place))
    assert (row["dataset"], row["table"], row["kind"], row["path"]) == ("shop", "customer", "lossy cast", "id")
    assert stored.warehouse.fetch(decisions.replace("my-project.onefold_changes", place)) == []


def test_of_a_column_that_a_policy_hides_only_the_name_is_listed_and_sent(
    run: Run, stored: StoredLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", "https://hooks.example.com/1")
    Path("onefold.yaml").write_text('policies: {customer: {zip: mask}}\nowners: {"*": {webhook: "env:HOOK", form: json}}')
    assert run("changes", "create").code == 0
    append(stored, entry(1))
    for words in ((), ("--json",), ("notify", "--dry-run"), ("notify", "--dry-run", "--json")):
        shown = run("changes", *words)
        assert (shown.code, "zip" in shown.out, "STRING" in shown.out, "text DEFAULT" in shown.out) == (
            0,
            True,
            False,
            False,
        )
