"""The sink of the audit log exports entries that the function parses, and no others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from support.in_memory import audit_entry
from support.log_filters import matches
from support.planned import environment
from support.terraform import Outcome, Plan

from onefold.core.event_labels import LABEL_BASE, LABEL_VERSION
from onefold.core.names import TableId
from onefold.core.version_labels import LabelledNames
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.messages.table_created import DatasetHint, OtherTable, TableHint, parse_event
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.schema.versions import Version
from onefold.settings.environment import load_settings
from onefold.views.unified_view import build_view


def sink_pattern(plan: Plan) -> re.Pattern[str]:
    (sink,) = plan.of("google_logging_project_sink").values()
    return re.compile(re.findall(r'protoPayload\.resourceName=~"([^"]+)"', sink["filter"])[0].replace("\\\\", "\\"))


TABLES = (
    "customer_v_5b6ffe5fb", "customer_vip_v_1a2b", "größe_v_1", "a-b_v_Z9", "customer_v_a_v_b",
    "customer", "customer_v_", "customer_v_backup_old", "_v_abc", "customer_unified", "customer_current", "customer_base",
    "customer_merges",
)  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_the_sink_exports_only_versioned_tables(options_plan: Plan, table: str) -> None:
    exported = sink_pattern(options_plan).search(f"projects/my-project/datasets/shop/tables/{table}")
    assert bool(exported) == bool(DEFAULT_NAMES.split(table))


@pytest.mark.parametrize(
    "table", ["ad_click_1", "ad_click_1r0f", "customer_v_abc", "ad_click_copy", "ad_click_unified", "1"]
)
def test_the_sink_uses_the_version_pattern_of_each_dataset(options_plan: Plan, table: str) -> None:
    names = VersionedNames(r"(?P<base>[a-z\d_]+)_(?P<version>[0-9]+|1r[0-9a-f]+)")
    exported = sink_pattern(options_plan).search(f"projects/my-project/datasets/crm/tables/{table}")
    assert bool(exported) == bool(names.split(table))


def test_the_sink_exports_entries_that_the_function_parses_and_no_writes_of_rows(options_plan: Plan) -> None:
    (sink,) = options_plan.of("google_logging_project_sink").values()
    (kinds,) = re.findall(r" AND \((protoPayload\.metadata\.[^)]+)\) AND ", sink["filter"])
    assert set(kinds.split(" OR ")) == {
        "protoPayload.metadata.tableCreation:*",
        "protoPayload.metadata.tableDeletion:*",
        "protoPayload.metadata.tableChange.table.schemaJson:*",
        "protoPayload.metadata.tableChange.table.schemaJsonTruncated=true",
    }
    for kind in set(re.findall(r"metadata\.(table\w+)", kinds)):
        assert isinstance(parse_event(audit_entry("customer_v_abc", kind)), TableHint)


@pytest.mark.usefixtures("small_texts")
def test_the_sink_exports_no_view_that_a_refresh_writes(options_plan: Plan) -> None:
    settings = load_settings(environment(options_plan, "refresh_view"))
    base = TableId("my-project", "shop", "customer")
    versions = tuple(Version(f"a{number}", (Column("id", parse_type("STRING")),)) for number in range(20))
    view = build_view(settings.view_of(base), base, versions, settings.rules_for(base))
    assert view.leaves
    for id_ in (view.id, *(leaf.id for leaf in view.leaves)):
        assert not sink_pattern(options_plan).search(f"projects/{id_.project}/datasets/{id_.dataset}/tables/{id_.table}")


@pytest.mark.parametrize("dataset", ["other", "shop2", "my_shop"])
def test_the_sink_exports_no_other_dataset(options_plan: Plan, dataset: str) -> None:
    assert not sink_pattern(options_plan).search(f"projects/my-project/datasets/{dataset}/tables/customer_v_abc")


VERSION = {LABEL_BASE: "com_acme_ad_click", LABEL_VERSION: "1r0f0b3ce0"}


@pytest.mark.parametrize(
    ("dataset", "table", "kind", "labels", "exported"),
    [
        ("crm", "com_acme_ad_click_1_0_2_recovered_0f0b3ce0", "tableCreation", VERSION, True),
        ("crm", "com_acme_ad_click_1_0_2_recovered_0f0b3ce0", "tableChange", VERSION, True),
        ("crm", "com_acme_ad_click_1", "tableCreation", {"team": "web"}, False),
        ("crm", "com_acme_ad_click_unified", "tableCreation", {"onefold_table": "0123"}, False),
        ("crm", "events", "tableChange", None, False),
        ("crm", "com_acme_ad_click_1", "tableDeletion", None, True),
        ("shop", "com_acme_ad_click_1", "tableCreation", VERSION, False),
        ("shop", "customer_v_abc", "tableCreation", None, True),
        ("other", "com_acme_ad_click_1", "tableCreation", VERSION, False),
    ],
)
def test_the_sink_exports_tables_with_labels_where_versions_are_found_by_labels(
    tested: Callable[[str], Outcome],
    dataset: str,
    table: str,
    kind: str,
    labels: dict[str, str] | None,
    exported: bool,
) -> None:
    plan = tested("grants.tftest.hcl").plans["versions_by_labels"]
    (sink,) = plan.of("google_logging_project_sink").values()
    entry = audit_entry(table, kind, dataset=dataset, labels=labels)
    content = json.loads(entry)
    if kind == "tableChange":
        content["protoPayload"]["metadata"][kind]["table"]["schemaJson"] = "{}"
    assert matches(sink["filter"], content) == exported
    parsed = parse_event(entry, lambda name: LabelledNames() if name == "crm" else DEFAULT_NAMES)
    if dataset != "other":
        assert isinstance(parsed, TableHint | DatasetHint) == exported or isinstance(parsed, OtherTable) != exported
