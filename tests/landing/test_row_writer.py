"""Rules of columns, applied to structures and rows of the source: what lands, and which rules cannot be applied."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from onefold.capture.checkpoint import Checkpoint
from onefold.capture.checkpoint_json import from_json, to_json
from onefold.capture.records import Origin, change_records, snapshot_records
from onefold.core.errors import InvalidInput, TableRefused
from onefold.core.hash_key import HashKey
from onefold.landing.row_writer import AppliedRules, LandingRules, rule_problems, unused_columns
from onefold.landing.table import ADDED, versioned_table
from onefold.mysql.binlog.events import LogPosition, RowsChanged
from onefold.mysql.catalog import TableName
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.settings.captures import ColumnRules

KEY = HashKey(b"thirty-two bytes of a secret key")
TEXT = SourceType("varchar", 120)
CUSTOMER = Structure(
    "customer",
    (
        SourceColumn("id", SourceType("int")),
        SourceColumn("Email", TEXT, "utf8mb4"),
        SourceColumn("born", SourceType("date")),
        SourceColumn("pin", SourceType("bigint")),
        SourceColumn("note", TEXT, "utf8mb4"),
    ),
    ("id",),
)
RULES = ColumnRules("customer", drop=("pin",), mask=("born",), hash=("email",))


def landing_rules(*rules: ColumnRules) -> LandingRules:
    return LandingRules(rules, KEY)


def versions(*rules: ColumnRules, structure: Structure = CUSTOMER) -> str:
    return versioned_table(landing_rules(*rules).landing("shop", structure).structure).version


def origin(*rules: ColumnRules, structure: Structure = CUSTOMER) -> Origin:
    landing = landing_rules(*rules).landing("shop", structure)
    return Origin("shop-db", "shop", versioned_table(landing.structure), landing)


def changed(before: tuple[Any, ...], after: tuple[Any, ...], structure: Structure = CUSTOMER) -> RowsChanged:
    return RowsChanged(LogPosition(1, "b.1", 4), 1_700_000_000, "shop", structure, before, after)


ADA = (1, "ada@example.com", "1815-12-10", 42, "n")
LANDED = {"id": 1, "Email": KEY.hash(b"ada@example.com"), "born": None, "note": "n"}


def test_columns_are_dropped_masked_and_hashed_in_the_versioned_table() -> None:
    table = origin(RULES).table
    types = [(column.name, str(column.type)) for column in table.columns[: -len(ADDED)]]
    assert types == [("id", "INT64"), ("Email", "STRING"), ("born", "DATE"), ("note", "STRING")]
    assert (table.source_names, set(table.hashed)) == (("id", "Email", "born", "note"), {"Email"})


def test_rows_of_the_log_and_of_copies_land_alike() -> None:
    (inserted,) = map(json.loads, change_records(origin(RULES), changed((), (ADA,))))
    (deleted,) = map(json.loads, change_records(origin(RULES), changed((ADA,), ())))
    (copied,) = map(json.loads, snapshot_records(origin(RULES), (ADA,), LogPosition(1, "b.1", 4), 7))
    assert [one["data"] for one in (inserted, deleted, copied)] == [LANDED] * 3


def test_null_stays_null() -> None:
    (record,) = map(json.loads, change_records(origin(RULES), changed((), ((1, None, None, None, None),))))
    assert record["data"] == {"id": 1, "Email": None, "born": None, "note": None}


def test_hashed_key_is_a_key_and_its_update_deletes_the_former_one() -> None:
    structure = replace(CUSTOMER, primary_key=("Email",))
    rows = (ADA,), ((1, "grace@example.com", None, 0, "n"),)
    records = list(map(json.loads, change_records(origin(RULES, structure=structure), changed(*rows, structure))))
    assert [(one["metadata"]["change_type"], one["data"]["Email"]) for one in records] == [
        ("UPDATE-DELETE", KEY.hash(b"ada@example.com")),
        ("UPDATE-INSERT", KEY.hash(b"grace@example.com")),
    ]
    assert records[0]["metadata"]["primary_key"] == ["Email"]


def test_each_action_gives_another_version_and_none_the_former_one() -> None:
    found = [
        versions(),
        versions(ColumnRules("customer", drop=("note",))),
        versions(ColumnRules("customer", mask=("note",))),
        versions(ColumnRules("customer", hash=("note",))),
    ]
    assert len(set(found)) == 4
    assert found[0] == versioned_table(CUSTOMER).version == versions(ColumnRules("order", drop=("note",)))


def test_version_of_a_hashed_column_does_not_depend_on_its_type() -> None:
    wider = [replace(one, type=SourceType("bigint", unsigned=True)) if one.name == "id" else one for one in CUSTOMER.columns]
    rule = ColumnRules("customer", hash=("id",))
    assert versions(rule) == versions(rule, structure=replace(CUSTOMER, columns=tuple(wider)))
    assert versions() != versions(structure=replace(CUSTOMER, columns=tuple(wider)))


def test_all_matching_patterns_count_and_the_strictest_action_decides() -> None:
    rules = [
        ColumnRules("*", hash=("*mail*",)),
        ColumnRules("shop.customer", mask=("EMAIL",)),
        ColumnRules("crm.customer", drop=("email",)),
    ]
    landing = landing_rules(*rules).landing
    assert [landing(name, CUSTOMER).row(ADA) for name in ("other", "shop", "crm")] == [
        (1, LANDED["Email"], *ADA[2:]),
        (1, None, *ADA[2:]),
        (1, *ADA[2:]),
    ]


def test_tables_without_rules_land_as_they_are() -> None:
    landing = landing_rules(RULES).landing("shop", replace(CUSTOMER, table="order"))
    assert (landing.structure.columns, landing.row(ADA)) == (CUSTOMER.columns, ADA)


JSON = replace(CUSTOMER, columns=(*CUSTOMER.columns, SourceColumn("data", SourceType("json"))))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (ColumnRules("customer", drop=("ID",)), "`drop` names id, a column of the key"),
        (ColumnRules("customer", mask=("id",)), "`mask` names id, a column of the key"),
        (ColumnRules("customer", hash=("data",)), "`hash` names data, whose values have no single text as json"),
        (ColumnRules("customer", hash=("*",)), "`hash` names data"),
    ],
)
def test_rule_that_cannot_be_applied_refuses_the_table(rule: ColumnRules, text: str) -> None:
    with pytest.raises(TableRefused) as refused:
        landing_rules(rule).landing("shop", JSON)
    assert (text in refused.value.reason, "onefold.yaml" in refused.value.remedy) == (True, True)


def test_all_problems_of_all_tables_are_reported() -> None:
    tables = [(TableName(database, "customer"), replace(JSON, primary_key=())) for database in ("a", "b")]
    found = list(rule_problems(landing_rules(ColumnRules("a.*", drop=("*",)), ColumnRules("b.*", hash=("data",))), tables))
    assert [one.partition(": `")[0] for one in found] == ["a.customer", "b.customer"]
    assert "names every column" in found[0]


def test_hash_needs_a_key() -> None:
    with pytest.raises(InvalidInput, match="needs a key"):
        LandingRules((RULES,))
    LandingRules((ColumnRules("*", mask=("a",)),))


def test_names_that_no_table_has_are_found() -> None:
    tables = [(TableName("shop", "customer"), CUSTOMER)]
    rules = (ColumnRules("customer", drop=("pinn", "x*"), hash=("EMAIL",)), ColumnRules("order", mask=("note",)))
    assert unused_columns(rules, tables) == ["customer.pinn", "order.note"]


def test_checkpoint_keeps_the_rules_and_not_the_key() -> None:
    rules = landing_rules(RULES).applied
    kept = Checkpoint("shop-db", "shop", rules=rules)
    text = to_json(kept).decode()
    assert from_json(text.encode()) == kept
    assert not [part for part in (KEY.secret.decode(), KEY.secret.hex(), *KEY.pads) if part in text]
    assert (kept.format, Checkpoint("shop-db", "shop").format) == (4, 1), "older code would publish the columns as they are"


def test_rules_differ_where_rows_land_differently() -> None:
    applied = landing_rules(RULES).applied
    rewritten = (ColumnRules("shop.cust*", drop=("Pin",), mask=("born",), hash=("email",)), ColumnRules("x", drop=("y",)))
    assert not applied.differ(AppliedRules(rewritten, applied.key), "shop", CUSTOMER)
    assert applied.differ(AppliedRules(rewritten, applied.key), "crm", CUSTOMER)
    assert applied.differ(AppliedRules(applied.rules, HashKey(b"2" * 32).fingerprint), "shop", CUSTOMER)
    masks = AppliedRules((ColumnRules("customer", mask=("born",)),), "a")
    assert not masks.differ(replace(masks, key="b"), "shop", CUSTOMER), "nothing is hashed"
