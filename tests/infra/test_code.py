"""The Terraform against the code: what functions read is set, what they publish to exists, what is sent is understood."""

from __future__ import annotations

import ast
import base64
import dataclasses
import functools
import inspect
import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from support.in_memory import audit_entry
from support.terraform import ROOT, Outcome, Plan, Terraform

from onefold.batches.allow_list import AllowList
from onefold.batches.batch import plan_batch
from onefold.batches.request import parse_batch_request
from onefold.capture.records import SourceEventKind
from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.messages.table_created import DatasetHint, TableHint, parse_event
from onefold.ports.batches import ARCHIVE
from onefold.schema.columns import Column
from onefold.schema.diff import Severity
from onefold.schema.types import parse_type
from onefold.schema.versions import Version
from onefold.settings.batches import DEFAULT_CONFIG, PASSED_ON, BatchSettings
from onefold.settings.environment import VARIABLES, Settings, load_settings
from onefold.sink.handler import check_sink_settings
from onefold.views.unified_view import build_view

FUNCTIONS = ("refresh_view", "launch_batch", "sink_records")
# The file of the tables' settings is packaged, and is looked for where it then lies.
NOT_SET = {
    "ONEFOLD_CONFIG",
    # Capture's, which is no function.
    "ONEFOLD_SOURCE_PASSWORD",
    "ONEFOLD_HEARTBEAT",
    "ONEFOLD_TOPIC_CHANGE_RECORDS",
}
CLASSES = {Settings: "ONEFOLD_", BatchSettings: "ONEFOLD_BATCH_"}
# The variables that each field of the settings is read from; those of onefold.yaml have none.
FIELDS = {
    field.name: {f"{start}{field.name.upper()}"}
    for class_, start in CLASSES.items()
    for field in dataclasses.fields(class_)
    if f"{start}{field.name.upper()}" in VARIABLES
} | {"passed_on": set(PASSED_ON)}


@pytest.fixture(scope="module")
def plan(terraform: Terraform) -> Plan:
    """With every option, so that every variable has a value, and with a file of the tables' settings."""
    config = terraform.folder.parent / DEFAULT_CONFIG
    config.write_text("tables: {customer: {keys: [id]}}\n")
    try:
        return terraform.tested("options.tftest.hcl").plans["all_options"]
    finally:
        config.unlink()


@pytest.fixture
def plain_plan(tested: Callable[[str], Outcome]) -> Plan:
    """With no option, and without that file."""
    return tested("grants.tftest.hcl").plans["two_datasets"]


def environment(plan: Plan, function: str) -> dict[str, str]:
    (service,) = plan.of("google_cloudfunctions2_function")[f'function["{function}"]']["service_config"]
    return dict(service["environment_variables"])


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def modules(function: str) -> set[Path]:
    """What a function runs of our code: its own file, and what that imports in turn."""
    found: set[Path] = set()
    waiting = [ROOT / "functions" / f"{function}.py"]
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found.add(path)
            waiting += [
                ROOT / folder / f"{name.replace('.', '/')}.py" for folder in (".", "functions") for name in imports(path)
            ]
    return found


def imports(path: Path) -> set[str]:
    nodes = list(ast.walk(tree(path)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


def attributes(node: ast.AST, owner: str) -> set[str]:
    """What is asked of `owner`, or of anything's attribute of that name."""
    found = [child for child in ast.walk(node) if isinstance(child, ast.Attribute)]
    return {child.attr for child in found if name_of(child.value) == owner}


def name_of(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def methods() -> dict[str, set[str]]:
    """What each method of the settings reads of them."""
    return {
        name: attributes(ast.parse(textwrap.dedent(inspect.getsource(method))), "self")
        for class_ in CLASSES
        for name, method in inspect.getmembers(class_, inspect.isfunction)
        if not name.startswith("__")
    }


def read(function: str) -> set[str]:
    """The variables that a function's code reads, through the settings."""
    settings = {ROOT / "onefold" / "settings" / name for name in ("environment.py", "batches.py")}
    asked = set().union(*(attributes(tree(path), "settings") for path in modules(function) - settings))
    waiting, found = list(asked), set()
    while waiting:
        name = waiting.pop()
        waiting += methods().get(name, set()) - {name}
        found |= FIELDS.get(name, set())
    return found


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_variable_that_a_function_reads_is_set_and_every_one_that_is_set_is_read(plan: Plan, function: str) -> None:
    assert environment(plan, function).keys() == read(function)


def test_every_setting_is_set_for_at_least_one_function(plan: Plan) -> None:
    told = set().union(*(environment(plan, function) for function in FUNCTIONS))
    assert told == set(VARIABLES) - NOT_SET


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_settings_are_valid_and_have_the_requested_values(plan: Plan, function: str) -> None:
    settings = load_settings(environment(plan, function))
    assert settings.project == "my-project"
    assert settings.datasets == frozenset({"shop", "crm"})
    if function == "refresh_view":
        assert (settings.view_dataset, settings.view_name) == ("{dataset}_unified", "{table}_all")
        return
    if function == "sink_records":
        assert check_sink_settings(settings).large_records == "gs://my-project-eu-onefold-capture/records"
        return
    settings.batch.check_complete()
    assert settings.batch.passed_on == {
        "ONEFOLD_PROJECT": "my-project",
        "ONEFOLD_DATASETS": "shop,crm",
        "ONEFOLD_VIEW_DATASET": "{dataset}_unified",
        "ONEFOLD_VIEW_NAME": "{table}_all",
        "ONEFOLD_TOPIC_SCHEMA_CHANGES": "eu-schema-changes",
        "ONEFOLD_DIFFERENCES": "log",
    }
    assert settings.batch.kms_key == "projects/keys/locations/europe-west1/keyRings/ring/cryptoKeys/key"
    assert settings.batch.properties == {"spark.executor.cores": "8", "spark.jars": "gs://a/b.jar,gs://a/c.jar"}
    assert settings.batch.folders == (
        "gs://my-project-eu-onefold-staging",
        "gs://exports/shop",
        "gs://exports/crm",
        "gs://archive/base",
    )
    assert settings.batch.subnet == "projects/host/regions/europe-west1/subnetworks/given"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_topic_that_a_function_publishes_to_exists_and_is_granted_and_no_other(plan: Plan, function: str) -> None:
    told = environment(plan, function)
    named = {told[name] for name in read(function) if name.startswith("ONEFOLD_TOPIC_")}
    assert named <= {topic["name"] for topic in plan.of("google_pubsub_topic").values()}
    if function == "launch_batch":
        # The job publishes there, by the account of its own.
        (batch,) = (grant for name, grant in plan.of("google_pubsub_topic_iam_member").items() if name == "batch")
        assert Path(batch["topic"]).name == "schema-changes"
        assert batch["member"] == f"serviceAccount:{told['ONEFOLD_BATCH_SERVICE_ACCOUNT']}"
        named.remove(told["ONEFOLD_TOPIC_SCHEMA_CHANGES"])
    email = next(iter(plan.of("google_cloudfunctions2_function")[f'function["{function}"]']["service_config"]))[
        "service_account_email"
    ]
    grants = plan.of("google_pubsub_topic_iam_member").values()
    granted = {f"eu-{Path(grant['topic']).name}" for grant in grants if grant["member"] == f"serviceAccount:{email}"}
    assert granted == named


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_is_an_entry_point_of_the_package(plan: Plan, function: str) -> None:
    (build,) = plan.of("google_cloudfunctions2_function")[f'function["{function}"]']["build_config"]
    exported = next(
        node.value
        for node in tree(ROOT / "functions" / "main.py").body
        if isinstance(node, ast.Assign) and name_of(node.targets[0]) == "__all__"
    )
    assert build["entry_point"] in ast.literal_eval(exported)


def uploaded(plan: Plan) -> dict[str, set[str]]:
    """The names of what lies in each folder."""
    found: dict[str, set[str]] = {}
    for object_ in plan.of("google_storage_bucket_object").values():
        folder, _, name = f"gs://{object_['bucket']}/{object_['name']}".rpartition("/")
        found.setdefault(folder, set()).add(name)
    return found


JOBS = {path.name for path in (ROOT / "spark_jobs").glob("*.py")}


def test_the_jobs_and_the_tables_settings_are_uploaded_where_batches_look_for_them(plan: Plan) -> None:
    code = environment(plan, "launch_batch")["ONEFOLD_BATCH_CODE"]
    assert uploaded(plan)[code] == {*JOBS, ARCHIVE, DEFAULT_CONFIG}


def test_without_table_settings_only_the_jobs_are_uploaded_to_another_folder(plan: Plan, plain_plan: Plan) -> None:
    with_, without = (environment(one, "launch_batch")["ONEFOLD_BATCH_CODE"] for one in (plan, plain_plan))
    assert uploaded(plain_plan)[without] == {*JOBS, ARCHIVE}
    assert Path(with_).name != Path(without).name, "the folder is named by a digest of all that is in it"


def test_without_options_a_job_has_the_settings_of_the_functions(plain_plan: Plan) -> None:
    launch, refresh = (load_settings(environment(plain_plan, name)) for name in ("launch_batch", "refresh_view"))
    told = load_settings(launch.batch.passed_on)
    assert (told.project, told.datasets) == (refresh.project, refresh.datasets)
    assert (told.view_dataset, told.view_name) == (refresh.view_dataset, refresh.view_name)


def sink_pattern(plan: Plan) -> re.Pattern[str]:
    (sink,) = plan.of("google_logging_project_sink").values()
    return re.compile(re.findall(r'protoPayload\.resourceName=~"([^"]+)"', sink["filter"])[0].replace("\\\\", "\\"))


TABLES = (
    "customer_v_5b6ffe5fb", "customer_vip_v_1a2b", "größe_v_1", "a-b_v_Z9", "customer_v_a_v_b",
    "customer", "customer_v_", "customer_v_backup_old", "_v_abc", "customer_unified", "customer_current", "customer_base",
    "customer_merges",
)  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_the_sink_exports_only_versioned_tables(plan: Plan, table: str) -> None:
    told = sink_pattern(plan).search(f"projects/my-project/datasets/shop/tables/{table}")
    assert bool(told) == bool(DEFAULT_NAMES.split(table))


@pytest.mark.parametrize(
    "table", ["ad_click_1", "ad_click_1r0f", "customer_v_abc", "ad_click_copy", "ad_click_unified", "1"]
)
def test_the_sink_uses_the_version_pattern_of_each_dataset(plan: Plan, table: str) -> None:
    names = VersionedNames(r"(?P<base>[a-z\d_]+)_(?P<version>[0-9]+|1r[0-9a-f]+)")
    told = sink_pattern(plan).search(f"projects/my-project/datasets/crm/tables/{table}")
    assert bool(told) == bool(names.split(table))


def test_the_sink_exports_entries_that_the_function_parses_and_no_writes_of_rows(plan: Plan) -> None:
    (sink,) = plan.of("google_logging_project_sink").values()
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
def test_the_sink_exports_no_view_that_a_refresh_writes(plan: Plan) -> None:
    settings = load_settings(environment(plan, "refresh_view"))
    base = TableId("my-project", "shop", "customer")
    versions = tuple(Version(f"a{number}", (Column("id", parse_type("STRING")),)) for number in range(20))
    view = build_view(settings.view_of(base), base, versions, settings.rules_for(base))
    assert view.leaves
    for id_ in (view.id, *(leaf.id for leaf in view.leaves)):
        assert not sink_pattern(plan).search(f"projects/{id_.project}/datasets/{id_.dataset}/tables/{id_.table}")


@pytest.mark.parametrize("dataset", ["other", "shop2", "my_shop"])
def test_the_sink_exports_no_other_dataset(plan: Plan, dataset: str) -> None:
    assert not sink_pattern(plan).search(f"projects/my-project/datasets/{dataset}/tables/customer_v_abc")


def sent(plan: Plan) -> dict[str, list[bytes]]:
    """The messages of the schedules, by the topic's purpose."""
    found: dict[str, list[bytes]] = {}
    for job in plan.of("google_cloud_scheduler_job").values():
        (target,) = job["pubsub_target"]
        found.setdefault(Path(target["topic_name"]).name, []).append(base64.b64decode(target["data"]))
    return found


def test_the_schedules_publish_messages_that_the_functions_parse(plan: Plan) -> None:
    messages = sent(plan)
    assert [parse_event(data) for data in messages["table-created"]] == [DatasetHint("crm"), DatasetHint("shop")]
    requests = {request.table: request for request in map(parse_batch_request, messages["batch-requests"])}
    assert requests.keys() == {"customer", "größe"}
    settings = load_settings(environment(plan, "launch_batch"))
    places = AllowList("my-project", settings.datasets, settings.batch)
    batch = plan_batch(requests["größe"], "1", settings.batch, places)
    assert batch.arguments[:3] == ("--keys=a,b", "--mode=rebuild", "--changes=bigquery:shop.größe")


def test_the_schedules_are_those_of_the_variables(plan: Plan) -> None:
    found = {
        (job["description"], job["schedule"], job["time_zone"]) for job in plan.of("google_cloud_scheduler_job").values()
    }
    assert found == {
        ("Checks all views of shop.", "17 3 * * *", "Europe/Berlin"),
        ("Checks all views of crm.", "17 3 * * *", "Europe/Berlin"),
        ("Batch: reconcile shop.customer.", "30 4 * * *", "Europe/Berlin"),
        ("Batch: reconcile shop.größe.", "40 4 * * *", "Europe/Berlin"),
    }


def test_metrics_and_alerts_use_fields_and_events_of_the_log(plan: Plan) -> None:
    filters = [metric["filter"] for metric in plan.of("google_logging_metric").values()]
    for policy in plan.of("google_monitoring_alert_policy").values():
        filters += [found["filter"] for condition in policy["conditions"] for found in condition["condition_matched_log"]]
    text = "\n".join(
        (ROOT / "onefold" / name).read_text() for name in ("refresh/handler.py", "batches/launch.py", "messages/consumer.py")
    )
    events = set(re.findall(r'jsonPayload\.event="(\w+)"', "\n".join(filters)))
    assert events == {
        "refreshed",
        "launched",
        "differences_found",
        "table_truncated",
        "table_dropped",
        "quarantined",
        "captured",
    }
    text += (ROOT / "spark_jobs" / "compare.py").read_text()
    text += "".join(
        (ROOT / "onefold" / "capture" / name).read_text() for name in ("log_reader.py", "isolation.py", "run.py")
    )
    text += "".join(f'"{kind.replace(" ", "_")}"' for kind in get_args(SourceEventKind))
    for event in events:
        assert f'"{event}"' in text
    assert set(re.findall(r'jsonPayload\.changes_severity="(\w+)"', "\n".join(filters))) == {max(Severity).name}
    # `message` is where Dataproc puts a line of a driver's output.
    asked = set(re.findall(r"jsonPayload\.(\w+)", json.dumps(plan.changes))) - {"message"}
    for field in asked:
        assert re.search(rf'\b{field}=|"{field}"', text), field


def test_an_answer_that_asks_for_a_later_delivery_is_not_an_error(plan: Plan) -> None:
    answered = set(re.findall(r", (5\d\d)$", (ROOT / "functions" / "http_entry.py").read_text(), re.MULTILINE))
    (alert,) = plan.of("google_monitoring_alert_policy")['log["function errors"]']["conditions"]
    filters = [found["filter"] for found in alert["condition_matched_log"]]
    for filter_ in (*filters, plan.of("google_logging_metric")['count["errors"]']["filter"]):
        assert set(re.findall(r"NOT httpRequest\.status=(\d+)", filter_)) == answered == {"500"}


def test_the_dashboard_is_valid_for_cloud_monitoring(plan: Plan) -> None:
    (dashboard,) = plan.of("google_monitoring_dashboard").values()
    tiles = json.loads(dashboard["dashboard_json"])["mosaicLayout"]["tiles"]
    places = [(tile["xPos"], tile["yPos"]) for tile in tiles]
    assert len(set(places)) == len(places) == 8
    metrics = {f"logging.googleapis.com/user/{metric['name']}" for metric in plan.of("google_logging_metric").values()}
    shown = set(re.findall(r'metric\.type=\\"([^\\]+)\\"', dashboard["dashboard_json"]))
    assert {name for name in shown if "/user/" in name} == metrics


def test_temporary_tables_of_a_batch_have_names_that_it_may_drop() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "onefold" / "spark").rglob("*.py"))
    made = re.findall(r'(?:name = |sibling\()f"([^"]+)"', code)
    assert len(made) == 2
    assert all(name.startswith("{TEMPORARY_PREFIX}") for name in made)
