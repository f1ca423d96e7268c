"""The variables of the environment that Terraform sets for a function are those that its code reads."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import textwrap
from pathlib import Path

import pytest
from support.planned import environment
from support.terraform import ROOT, Plan

from onefold.settings import emr, redshift
from onefold.settings.batches import PASSED_ON, BatchSettings
from onefold.settings.environment import Settings, load_settings
from onefold.settings.events import EventSettings
from onefold.settings.registry import RegistrySettings
from onefold.settings.variables import VARIABLES
from onefold.sink.handler import check_sink_settings

FUNCTIONS = ("refresh_view", "launch_batch", "sink_records", "load_shredded", "write_pages")
SERVED = (*FUNCTIONS, "schema_registry")
# Terraform does not set these. The file of table settings is packaged, and read from the package.
NOT_SET = {
    "ONEFOLD_CONFIG",
    # Standard output of a function is no terminal, so its log is JSON.
    "ONEFOLD_LOG",
    # The variables of capture, which is not a function.
    "ONEFOLD_SOURCE_PASSWORD",
    "ONEFOLD_HEARTBEAT",
    "ONEFOLD_METRICS_PORT",
    "ONEFOLD_FLUSH_SECONDS",
    "ONEFOLD_CAPTURES",
    # That of the job that notifies owners (test_changes_notify).
    "ONEFOLD_OWNERS",
    # Common options of commands.
    "ONEFOLD_DATASET",
    "ONEFOLD_SOURCE",
    "ONEFOLD_JSON",
    "ONEFOLD_QUIET",
    "ONEFOLD_VERBOSE",
    # The key of a person or a job that reads another server.
    "ONEFOLD_REGISTRY_APIKEY",
    # The variables of the functions on AWS (test_aws_pipeline, test_aws_new_files).
    *redshift.VARIABLES,
    *emr.VARIABLES,
    emr.ARGUMENTS,
}
# Set where sources are pulled (test_pulls).
OF_PULLS = {
    "ONEFOLD_BATCH_SOURCE_ACCOUNTS",
    "ONEFOLD_BATCH_SOURCE_BUCKETS",
    "ONEFOLD_BATCH_CHECKPOINTS",
    "ONEFOLD_PULLED_FILES",
}
CLASSES = {
    Settings: "ONEFOLD_",
    BatchSettings: "ONEFOLD_BATCH_",
    RegistrySettings: "ONEFOLD_REGISTRY_",
    EventSettings: "ONEFOLD_EVENTS_",
}
# The variables that each field of the settings is read from; those of onefold.yaml have none.
FIELDS = {
    field.name: {f"{start}{field.name.upper()}"}
    for class_, start in CLASSES.items()
    for field in dataclasses.fields(class_)
    if f"{start}{field.name.upper()}" in VARIABLES
} | {"passed_on": set(PASSED_ON), "address": {"ONEFOLD_REGISTRY"}}
FIELDS.pop("registry")  # the settings of the registry as a whole
FIELDS.pop("owners")  # of the packaged file: the variable is for a container without one


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def modules(function: str) -> set[Path]:
    """Return the files of this project that a function runs: its own file, and what that imports in turn."""
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
    """Return the attributes that are read of `owner`, or of an attribute of that name."""
    found = [child for child in ast.walk(node) if isinstance(child, ast.Attribute)]
    return {child.attr for child in found if name_of(child.value) == owner}


def name_of(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def methods() -> dict[str, set[str]]:
    """Return the fields that each method of the settings reads."""
    return {
        name: attributes(ast.parse(textwrap.dedent(inspect.getsource(method))), "self")
        for class_ in CLASSES
        for name, method in inspect.getmembers(class_, inspect.isfunction)
        if not name.startswith("__")
    }


def read(function: str) -> set[str]:
    """Return the variables that a function's code reads through the settings."""
    checking = (
        "environment.py",
        "places.py",
        "batches.py",
        "registry.py",
        "events.py",
        "view_templates.py",
        "yaml_unite.py",
    )
    settings = {ROOT / "onefold" / "settings" / name for name in checking}
    asked = set().union(*(attributes(tree(path), "settings") for path in modules(function) - settings))
    waiting, found = list(asked), set()
    while waiting:
        name = waiting.pop()
        waiting += methods().get(name, set()) - {name}
        found |= FIELDS.get(name, set())
    # The code of views announces changes where it writes a view, and a page writes none. Owners are in the packaged file.
    return found - {"ONEFOLD_OWNERS", *(["ONEFOLD_TOPIC_SCHEMA_CHANGES"] if function == "write_pages" else [])}


@pytest.mark.parametrize("function", SERVED)
def test_every_variable_that_a_function_reads_is_set_and_every_one_that_is_set_is_read(
    options_plan: Plan, function: str
) -> None:
    assert environment(options_plan, function).keys() == read(function) - OF_PULLS


def test_every_setting_is_set_for_at_least_one_function(options_plan: Plan) -> None:
    names = set().union(*(environment(options_plan, function) for function in SERVED))
    assert names == set(VARIABLES) - NOT_SET - OF_PULLS


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_settings_are_valid_and_have_the_requested_values(options_plan: Plan, function: str) -> None:
    settings = load_settings(environment(options_plan, function))
    assert settings.project == "my-project"
    assert settings.datasets == frozenset({"shop", "crm"})
    if function == "refresh_view":
        assert settings.clean_datasets == frozenset()
        assert (settings.view_dataset, settings.view_name) == ("{dataset}_unified", "{table}_all")
        assert settings.plain_dataset == "{dataset}_bases"
        return
    if function == "sink_records":
        assert check_sink_settings(settings).large_records == "gs://my-project-eu-onefold-capture/records"
        return
    if function == "load_shredded":
        assert settings.events.require_all() == ("crm", "gs://exports/shredded")
        return
    if function == "write_pages":
        assert settings.pages == "gs://my-project-eu-onefold-pages/pages"
        return
    settings.batch.check_complete()
    assert settings.batch.passed_on == {
        "ONEFOLD_PROJECT": "my-project",
        "ONEFOLD_DATASETS": "shop,crm",
        "ONEFOLD_VIEW_DATASET": "{dataset}_unified",
        "ONEFOLD_VIEW_NAME": "{table}_all",
        "ONEFOLD_PLAIN_DATASET": "{dataset}_bases",
        "ONEFOLD_TOPIC_SCHEMA_CHANGES": "eu-schema-changes",
        "ONEFOLD_TOPIC_TABLE_CREATED": "eu-table-created",
        "ONEFOLD_CHANGES_DATASET": "onefold_changes",
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


def test_the_settings_of_the_registry_are_valid_and_have_the_requested_values(options_plan: Plan) -> None:
    settings = load_settings(environment(options_plan, "schema_registry")).registry
    assert settings == RegistrySettings(
        address="gs://my-project-eu-onefold-registry",
        order="sequential",
        patches=True,
        keys="/registry-keys/keys.json",
        public=("org.open",),
        warehouses=("redshift",),
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_topic_that_a_function_publishes_to_exists_and_is_granted_and_no_other(
    options_plan: Plan, function: str
) -> None:
    variables = environment(options_plan, function)
    named = {variables[name] for name in read(function) if name.startswith("ONEFOLD_TOPIC_")}
    assert named <= {topic["name"] for topic in options_plan.of("google_pubsub_topic").values()}
    if function == "launch_batch":
        # The job publishes there, by the account of its own.
        (batch,) = (grant for name, grant in options_plan.of("google_pubsub_topic_iam_member").items() if name == "batch")
        assert Path(batch["topic"]).name == "schema-changes"
        assert batch["member"] == f"serviceAccount:{variables['ONEFOLD_BATCH_SERVICE_ACCOUNT']}"
        named.remove(variables["ONEFOLD_TOPIC_SCHEMA_CHANGES"])
        # The accounts of sources publish there (test_pulls).
        named.remove(variables["ONEFOLD_TOPIC_TABLE_CREATED"])
    email = next(iter(options_plan.of("google_cloudfunctions2_function")[f'function["{function}"]']["service_config"]))[
        "service_account_email"
    ]
    grants = options_plan.of("google_pubsub_topic_iam_member").values()
    granted = {f"eu-{Path(grant['topic']).name}" for grant in grants if grant["member"] == f"serviceAccount:{email}"}
    assert granted == named


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_is_an_entry_point_of_the_package(options_plan: Plan, function: str) -> None:
    (build,) = options_plan.of("google_cloudfunctions2_function")[f'function["{function}"]']["build_config"]
    exported = next(
        node.value
        for node in tree(ROOT / "functions" / "main.py").body
        if isinstance(node, ast.Assign) and name_of(node.targets[0]) == "NAMES"
    )
    assert build["entry_point"] in ast.literal_eval(exported)
