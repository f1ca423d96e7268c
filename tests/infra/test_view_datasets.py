"""Who may use the datasets that Terraform makes: nobody by being somebody in the project, and others are listed."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.hcl_text import resources
from support.terraform import INFRA, ROOT, Outcome, found_terraform

REFUSED = "validation.tftest.hcl"
"""Most of its plans are refused, and it takes longer than all others."""
FILES = sorted(path.name for path in (INFRA / "tests").glob("*.tftest.hcl") if path.name != REFUSED)
OWNERS = ("OWNER", "projectOwners")
SHOP, ADS = "shop__views_clean", "ads_clicks__views_full"
REFRESH = "onefold-refresh-view@my-project.iam.gserviceaccount.com"
SOURCES = "sources: {ads: {host: db, user: u, password: projects/my-project/secrets/s, databases: [clicks]}}\n"
VIEWS = "projects/my-project/roles/onefold_views"
DEFAULT = [
    {"role": "READER", "special_group": "projectReaders"},
    {"role": "WRITER", "special_group": "projectWriters"},
    {"role": "OWNER", "special_group": "projectOwners"},
    {"role": "OWNER", "user_by_email": "ada@example.com"},
]
"""What BigQuery gives a dataset that is made without access."""


def entries(dataset: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Role and name of every entry of a list; an authorized dataset has no role."""
    names = ("special_group", "user_by_email", "group_by_email", "domain", "iam_member")
    return {(one["role"] or "", next((one[name] for name in names if one.get(name)), "")) for one in dataset["access"]}


def made(tested: Callable[[str], Outcome]) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in FILES:
        for plan in tested(file).plans.values():
            yield from plan.of("google_bigquery_dataset").items()


def test_every_dataset_that_is_made_is_owned_by_the_owners_and_open_to_nobody_else(
    tested: Callable[[str], Outcome],
) -> None:
    found = list(made(tested))
    assert {name.partition("[")[0] for name, _ in found} == {"changes", "clean", "full", "keys", "plain", "streamed"}
    for name, dataset in found:
        others = entries(dataset) - {OWNERS}
        assert OWNERS in entries(dataset), dataset["dataset_id"]
        if not name.startswith("keys"):
            assert others == set(), dataset["dataset_id"]
        # The key has readers, which are accounts of the deployment, and clean views that may read it.
        accounts = ("@my-project.iam.gserviceaccount.com", "")
        assert all(role in ("READER", "") and who.endswith(accounts) for role, who in others), dataset["dataset_id"]


def test_every_dataset_of_the_configuration_is_among_them() -> None:
    """A dataset that no test plans would not be seen above."""
    found = {name for name in resources(INFRA) if name.startswith("google_bigquery_dataset.")}
    assert found == {f"google_bigquery_dataset.{name}" for name in ("changes", "clean", "full", "keys", "plain", "streamed")}


def reviewed(folder: Path, plan: str) -> subprocess.CompletedProcess[str]:
    (folder / "plan.json").write_text(plan)
    command = [sys.executable, "-m", "infra.review", str(folder / "plan.json")]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def existing(name: str, key: str, dataset: str) -> dict[str, Any]:
    """A dataset of an older deployment, in a state of Terraform."""
    attributes = {
        "id": f"projects/my-project/datasets/{dataset}",
        "project": "my-project",
        "dataset_id": dataset,
        "location": "europe-west1",
        "access": DEFAULT,
    }
    return {
        "mode": "managed",
        "type": "google_bigquery_dataset",
        "name": name,
        "provider": 'provider["registry.terraform.io/hashicorp/google"]',
        "instances": [{"index_key": key, "schema_version": 0, "attributes": attributes}],
    }


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the plan, as JSON, for a deployment whose datasets of views were made without access."""
    terraform = found_terraform(tmp_path_factory.mktemp("older"), 'terraform {\n  backend "local" {}\n}\n')
    if Path(terraform.program).name == "tofu":
        pytest.skip("the state names the registry of Terraform, and OpenTofu has one of its own")
    state = {"version": 4, "serial": 1, "lineage": "l", "terraform_version": "1.9.0", "outputs": {}}
    made = [existing("clean", "shop", SHOP), existing("full", "ads clicks", ADS)]
    (terraform.folder / "terraform.tfstate").write_text(json.dumps({**state, "resources": made}))
    # A plan refuses pulls of sources that the tables' settings do not have.
    (terraform.folder.parent / "onefold.yaml").write_text(SOURCES)
    checked = {"yaml_sha256": hashlib.sha256(SOURCES.encode()).hexdigest(), "settings": yaml.safe_load(SOURCES)}
    (terraform.folder.parent / "onefold.checked.json").write_text(json.dumps(checked))
    variables = {
        "project": "my-project",
        "region": "europe-west1",
        "enable_apis": "false",
        "datasets": '["shop", "ads_clicks"]',
        "clean_views": '["shop"]',
        "pulls": '{ads = {databases = ["clicks"], secret = "s"}}',
    }
    targets = ("google_bigquery_dataset.clean", "google_bigquery_dataset.full")
    options = [*(f"-var={name}={value}" for name, value in variables.items()), *(f"-target={one}" for one in targets)]
    planned = terraform.run(
        "plan", "-input=false", "-no-color", "-refresh=false", "-out=older", *options, GOOGLE_OAUTH_ACCESS_TOKEN="none"
    )
    assert planned.returncode == 0, planned.stdout + planned.stderr
    return terraform.run("show", "-json", "older").stdout


@pytest.mark.long
def test_the_access_of_an_existing_dataset_is_not_overwritten(older: str) -> None:
    changes = json.loads(older)["resource_changes"]
    assert {change["change"]["after"]["dataset_id"] for change in changes} == {SHOP, ADS}
    for change in changes:
        assert change["change"]["after"]["access"] == change["change"]["before"]["access"]
        assert entries(change["change"]["after"]) == {
            (one["role"], one.get("special_group") or one["user_by_email"]) for one in DEFAULT
        }


def test_the_open_access_of_an_existing_dataset_is_listed_with_the_command_that_closes_it(
    older: str, tmp_path: Path
) -> None:
    done = reviewed(tmp_path, older)
    assert done.returncode == 0, "nothing is taken away by the plan"
    title, *lines = done.stdout.splitlines()
    assert "others may use these datasets of views" in title
    listed = [re.match(r"  (\w+): (\S+) of (\S+); to remove it: (.*)", line) for line in lines]
    assert [(one[1], one[2], one[3]) for one in listed if one] == [
        (ADS, "roles/bigquery.dataViewer", "projectReaders"),
        (ADS, "roles/bigquery.dataEditor", "projectWriters"),
        (SHOP, "roles/bigquery.dataViewer", "projectReaders"),
        (SHOP, "roles/bigquery.dataEditor", "projectWriters"),
        (ADS, "roles/bigquery.dataOwner", "ada@example.com"),
        (SHOP, "roles/bigquery.dataOwner", "ada@example.com"),
    ]
    assert listed[2] is not None
    assert listed[2][4] == (
        f"bq show --format=json my-project:{SHOP} | "
        """jq 'del(.access[] | select(.role == "READER" and .specialGroup == "projectReaders"))' > access.json"""
        f" && bq update --source=access.json my-project:{SHOP}"
    )


def unchanged(type_: str, address: str, values: Mapping[str, Any]) -> dict[str, Any]:
    change = {"actions": ["no-op"], "before": values, "after": values}
    return {"type": f"google_bigquery_dataset{type_}", "address": address, "change": change}


def plan_of(access: list[dict[str, Any]], *grants: Mapping[str, str], dataset: str = SHOP) -> str:
    made = unchanged("", "a", {"project": "my-project", "dataset_id": dataset, "access": access})
    return json.dumps({"resource_changes": [made, *(unchanged("_iam_member", "b", grant) for grant in grants)]})


OWN = {"dataset_id": SHOP, "role": VIEWS, "member": f"serviceAccount:{REFRESH}"}


@pytest.mark.parametrize(
    "entry",
    [
        {"role": "OWNER", "special_group": "projectOwners"},
        {"role": VIEWS, "user_by_email": REFRESH},
        {"role": f"{VIEWS}_withcond_0123456789abcdef", "user_by_email": REFRESH},
        {"role": "", "dataset": [{"dataset": [{"dataset_id": "shop"}]}]},
        {"role": None, "view": [{"table_id": "v"}]},
    ],
)
def test_what_the_deployment_granted_and_authorized_views_are_not_listed(entry: dict[str, Any], tmp_path: Path) -> None:
    assert reviewed(tmp_path, plan_of([entry], OWN)).stdout == ""


@pytest.mark.parametrize(
    "entry",
    [
        {"role": "WRITER", "user_by_email": REFRESH},
        {"role": "OWNER", "special_group": "projectWriters"},
        {"role": "READER", "iam_member": "allUsers"},
        {"role": "READER", "special_group": "allAuthenticatedUsers"},
        {"role": "READER", "domain": "example.com"},
        {"role": "roles/bigquery.metadataViewer", "group_by_email": "all@example.com"},
    ],
)
def test_every_other_grant_is_listed(entry: dict[str, Any], tmp_path: Path) -> None:
    _, line = reviewed(tmp_path, plan_of([entry], OWN)).stdout.splitlines()
    assert line.startswith(f"  {SHOP}: ")
    assert json.dumps(next(value for name, value in entry.items() if name != "role")) in line


def test_datasets_of_others_and_of_tables_are_not_listed(tmp_path: Path) -> None:
    assert reviewed(tmp_path, plan_of(DEFAULT, dataset="shop")).stdout == ""
