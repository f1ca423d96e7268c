"""A dataset as its page shows it: a table with cells of nearly every kind, and one of 300 columns in 900 versions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from support.columns import columns

from onefold.changes.page.cells import Picture
from onefold.changes.page.dataset import (
    DatasetPage,
    PageChange,
    PageCheck,
    PageReader,
    PageTable,
    PageVersion,
    PageView,
)
from onefold.changes.page.held import HeldChange
from onefold.changes.page.hidden import hidden_columns
from onefold.schema.column_policy import Action, PolicyRule, TablePolicies
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.schema.versions import Version, active_versions, fold

NOW = datetime(2026, 11, 27, 3, 0, tzinfo=UTC)
FIRST = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
SECRET_TYPE = "NUMERIC"
"""The type of the column that a policy hides; no other column has it."""
HOSTILE = "</script><img src=x onerror=alert(1)>"


CUSTOMER = (
    Version("0f3ac81d2", columns(id="INT64", full_name="STRING"), FIRST),
    Version("5b6ffe5fb", columns(id="INT64", full_name="STRING", born="DATE", ssn=SECRET_TYPE), FIRST + timedelta(days=60)),
    Version("77aa01c3e", columns(id="INT64", Full_Name="STRING", born="TIMESTAMP", ssn=SECRET_TYPE, score="STRING"),
            FIRST + timedelta(days=150)),
    Version("c0ffee123", columns(id="STRING", born="TIMESTAMP", ssn=SECRET_TYPE, score="INT64", email="STRING"),
            FIRST + timedelta(days=250)),
    Version("e91d0c77b", columns(id="STRING", born="TIMESTAMP", ssn=SECRET_TYPE, score="INT64", email="STRING",
                                 nickname="STRING"), FIRST + timedelta(days=310)),
)  # fmt: skip
RULES = TableRules(types=(("score", parse_type("INT64")),), retired=frozenset({"0f3ac81d2"}), version_column="_version")
POLICIES = TablePolicies((PolicyRule("*", "*", Action.CLEAR), PolicyRule("customer", "ssn", Action.MASK)))


def customer() -> PageTable:
    """A table with cells of all kinds but `unknown`."""
    shown = fold(active_versions(CUSTOMER, RULES), RULES)
    view = tuple(column for column in shown if column.name != "nickname")
    hidden = hidden_columns(view, CUSTOMER, POLICIES)
    held = (HeldChange("nickname", is_waiting=True, id="9d2c41f0a7b35e86"),)
    versions = tuple(
        PageVersion(one.id, f"acme.shop.customer_v_{one.id}", one.created, 1000 * place + 7, 80_000 * place + 560,
                    one.id in RULES.retired)
        for place, one in enumerate(CUSTOMER)
    )  # fmt: skip
    return PageTable(
        "customer",
        "captured",
        versions,
        Picture(CUSTOMER, view, RULES, hidden, held).columns(),
        views=(
            PageView("unified", "acme.shop.customer_unified", "up to date"),
            PageView("current", "acme.shop.customer_current", "out of date", "it lacks the version e91d0c77b"),
        ),
        changes=CHANGES,
        readers=(
            PageReader("email", "view", "acme.reports.newsletter", 1),
            PageReader("id", "scheduled query", "nightly export", 30, is_certain=False),
        ),
        check=PageCheck(NOW - timedelta(hours=20), "fixed", 3),
        landed_at=NOW - timedelta(hours=3),
        merged_at=NOW - timedelta(days=1),
        lag_seconds=42.0,
        rows=10_035,
        problems=("current view: it lacks the version e91d0c77b",),
    )


CHANGES = (
    PageChange(
        "9d2c41f0a7b35e86", CUSTOMER[4].created or NOW, "capture", "c0ffee123", "e91d0c77b", "waiting", "INFO",
        ("added nickname STRING",), ("customer_unified: hidden nickname",),
        "ALTER TABLE customer ADD COLUMN nickname VARCHAR(40) DEFAULT ?", CUSTOMER[4].created, "shop_eu",
    ),
    PageChange(
        "41aa90be7d00c2f1", CUSTOMER[3].created or NOW, "capture", "77aa01c3e", "c0ffee123", "accepted", "CRITICAL",
        ("retyped id INT64 -> STRING", "removed Full_Name", "added email STRING"),
        ("customer_unified: cast id INT64 -> STRING",),
        "ALTER TABLE customer MODIFY id VARCHAR(36), DROP COLUMN Full_Name, ADD email VARCHAR(320)", CUSTOMER[3].created,
        decided_at=NOW,
    ),
)  # fmt: skip


def wide(column_count: int = 300, version_count: int = 900) -> PageTable:
    """A table of many columns in many versions: each version gains, loses or changes a column."""
    width = column_count - 1
    versions = []
    for number in range(version_count):
        types = {
            f"metric_{place:03}": "STRING" if number > place and place % 7 == 0 else "INT64"
            for place in range(width)
            if number >= place // 2 and (place % 11 or number < 700)
        }
        created = FIRST + timedelta(hours=8 * number)
        versions.append(Version(f"{number:09x}", columns(id="INT64", **types), created))
    view = fold(versions, TableRules())
    shown = tuple(PageVersion(one.id, f"acme.shop.metrics_v_{one.id}", one.created, 12) for one in versions)
    return PageTable("metrics", "events", shown, Picture(versions, view).columns(), rows=12 * version_count)


def shop(*more: PageTable, written_at: datetime = NOW) -> DatasetPage:
    """A dataset of three tables, one of them with a name that is markup."""
    versions = (Version("1", columns(id="INT64"), FIRST),)
    hostile = PageTable(
        HOSTILE, "direct", (PageVersion("1", "acme.shop.x", FIRST),), Picture(versions, versions[0].columns).columns()
    )
    return DatasetPage("acme", "shop", written_at, (customer(), *more, hostile), ("not known: sizes: no right",))
