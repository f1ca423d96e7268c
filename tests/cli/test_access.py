"""The commands of permissions: exit codes, standard output and standard error."""

from __future__ import annotations

import json
from pathlib import Path

import google.auth
import pytest
import yaml
from google.auth.credentials import AnonymousCredentials
from support.access_apis import AccessApis
from support.cli import Run
from support.fake_gcs import ObjectStore

from onefold.cli.access_clients import AccessClients, Addresses

OWNERS = {"role": "OWNER", "specialGroup": "projectOwners"}
ADA = {"role": "READER", "userByEmail": "ada@example.com"}
OWN = {"role": "projects/my-project/roles/onefold_views", "userByEmail": "onefold@my-project.iam.gserviceaccount.com"}
GRANTS = {
    "project": "my-project",
    "state": "gs://my-project-onefold-terraform/onefold/default.tfstate",
    "lineage": "l",
    "serial": 7,
    "views": ["shop_unified"],
    "grants": [
        {"dataset": "shop", "role": OWN["role"], "member": f"serviceAccount:{OWN['userByEmail']}", "condition": None}
    ],
}
STATE = "my-project-onefold-terraform/onefold/default.tfstate"
POLICY = """
datasets:
  shop:
    projectOwners: OWNER
    group:analysts@example.com: READER
groups:
  analysts@example.com: [grace@example.com]
"""
PLAN = """\
dataset shop will be changed
  + group:analysts@example.com  READER
  - user:ada@example.com        READER

group analysts@example.com will be changed
  - bob@example.com    MANAGER, MEMBER
  + grace@example.com  MEMBER

Plan: 2 to add, 2 to remove, in 1 dataset and 1 group.
"""


@pytest.fixture
def place(apis: AccessApis, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A dataset, a group and a deployment, and an access.yaml in the present folder that changes both."""
    monkeypatch.setenv("ONEFOLD_PROJECT", "my-project")
    monkeypatch.setattr(google.auth, "default", lambda **_: (AnonymousCredentials(), "my-project"))  # type: ignore[no-untyped-call]
    addresses = Addresses(apis.bigquery_url, apis.groups_url, apis.bigquery_url, apis.bigquery_url)
    monkeypatch.setattr(AccessClients, "addresses", addresses)
    apis.datasets.put("shop", OWNERS, ADA, OWN)
    apis.datasets.tables["shop"] = {}
    apis.directory.put("analysts@example.com", **{"bob@example.com": "MANAGER,MEMBER", "boss@example.com": "OWNER,MEMBER"})
    object_store.write(STATE, json.dumps({"lineage": "l", "serial": 7}).encode(), None)
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "my-project.grants.json").write_text(json.dumps(GRANTS))
    (tmp_path / "access.yaml").write_text(POLICY)
    return tmp_path


@pytest.mark.usefixtures("place")
def test_plan_reads_like_terraforms_writes_nothing_and_exits_with_2(run: Run, apis: AccessApis) -> None:
    done = run("access", "plan")
    assert (done.code, done.out, done.err) == (2, PLAN, "")
    assert apis.datasets.writes == 0
    assert "grace@example.com" not in apis.directory.members("analysts@example.com")


@pytest.mark.usefixtures("place")
def test_apply_shows_the_plan_makes_it_and_then_nothing_is_left_to_do(run: Run, apis: AccessApis) -> None:
    done = run("access", "apply", "--yes")
    assert (done.code, done.out) == (0, f"{PLAN}Applied.\n")
    assert apis.datasets.entries("shop") == [OWNERS, OWN, {"role": "READER", "groupByEmail": "analysts@example.com"}]
    assert set(apis.directory.members("analysts@example.com")) == {"boss@example.com", "grace@example.com"}
    again = run("access", "plan")
    assert (again.code, again.out) == (0, "No changes. Datasets and groups are as declared.\n")
    assert run("access", "apply").code == 0, "without a change nothing is asked"


@pytest.mark.usefixtures("place")
def test_the_look_at_apply_shows_the_plan_and_writes_nothing(run: Run, apis: AccessApis) -> None:
    shown = run("access", "apply", "--dry-run")
    assert (shown.code, shown.out) == (0, f"{PLAN}Nothing was written.\n")
    assert run("access", "apply", "--dry-run", "--json").code == 0
    assert apis.datasets.writes == 0
    assert "grace@example.com" not in apis.directory.members("analysts@example.com")


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("answer", "code", "writes"), [("y\n", 0, 1), ("n\n", 1, 0), ("", 1, 0)])
def test_apply_asks_before_the_first_change(run: Run, apis: AccessApis, answer: str, code: int, writes: int) -> None:
    done = run("access", "apply", stdin=answer)
    assert (done.code, apis.datasets.writes) == (code, writes), done.err


@pytest.mark.parametrize("broken", ["missing", "old", "no state"])
def test_apply_refuses_without_a_fresh_file_of_the_deployment(
    run: Run, apis: AccessApis, place: Path, object_store: ObjectStore, broken: str
) -> None:
    if broken == "missing":
        (place / "infra" / "my-project.grants.json").unlink()
    elif broken == "old":
        object_store.write(STATE, json.dumps({"lineage": "l", "serial": 8}).encode(), None)
    else:
        object_store.objects.clear()
    done = run("access", "apply", "--yes")
    assert done.code == 1
    assert "make deploy" in done.err
    assert "nothing was changed" in done.err
    assert apis.datasets.writes == 0
    planned = run("access", "plan")
    assert planned.code == 2
    assert "apply refuses until then" in planned.err


def test_the_file_of_the_deployment_can_be_in_a_bucket(run: Run, place: Path, object_store: ObjectStore) -> None:
    (place / "infra" / "my-project.grants.json").unlink()
    object_store.write("bucket/grants.json", json.dumps(GRANTS).encode(), None)
    assert run("access", "apply", "--yes", "--grants", "gs://bucket/grants.json").code == 0
    assert "gs://bucket/none.json does not exist" in run("access", "plan", "--grants", "gs://bucket/none.json").err


def test_everything_is_validated_before_the_first_write(run: Run, apis: AccessApis, place: Path) -> None:
    text = POLICY.replace("groups:", "  nowhere: {projectOwners: OWNER}\ngroups:\n  none@example.com: []")
    (place / "access.yaml").write_text(text)
    done = run("access", "apply", "--yes")
    assert done.code == 1
    assert "dataset nowhere:" in done.err
    assert "group none@example.com:" in done.err
    assert apis.datasets.writes == 0


@pytest.mark.parametrize("command", [("plan",), ("apply", "--yes")])
def test_writers_of_a_dataset_of_views_need_a_flag(
    run: Run, apis: AccessApis, place: Path, command: tuple[str, ...]
) -> None:
    apis.datasets.put("shop_unified", OWNERS)
    apis.datasets.tables["shop_unified"] = {}
    (place / "access.yaml").write_text("datasets: {shop_unified: {projectOwners: OWNER, 'user:ada@example.com': WRITER}}")
    refused = run("access", *command)
    assert refused.code == 1
    assert "set allow_writers: true below datasets.shop_unified" in refused.err
    assert apis.datasets.writes == 0
    assert run("access", *command, "--allow-writers").code in (0, 2)


def test_plan_warns_of_rights_on_the_key_of_hashes(run: Run, apis: AccessApis, place: Path) -> None:
    apis.datasets.put("shop__keys", OWNERS)
    keys = "  shop__keys:\n    projectOwners: OWNER\n    group:analysts@example.com: READER\n"
    (place / "access.yaml").write_text(POLICY.replace("groups:\n", f"{keys}groups:\n"))
    (warning,) = run("access", "plan", "--json", "--no-tables").json["warnings"]
    assert warning == (
        "group:analysts@example.com READER on shop__keys: whoever reads the key can compute every hash: take this right away"
    )


@pytest.mark.usefixtures("place")
def test_plan_warns_of_grants_that_bypass_the_file(run: Run, apis: AccessApis) -> None:
    apis.datasets.project_bindings = [{"role": "roles/bigquery.dataViewer", "members": ["group:all@example.com"]}]
    apis.datasets.tables["shop"] = {"customer": [{"role": "roles/bigquery.dataEditor", "members": ["user:x@example.com"]}]}
    done = run("access", "plan", "--json")
    assert done.code == 2
    assert done.json["warnings"] == [
        "project my-project gives roles/bigquery.dataViewer to group:all@example.com, whatever the file declares",
        "table shop.customer gives roles/bigquery.dataEditor to user:x@example.com, whatever the file declares",
    ]
    assert done.results[0] == {
        "dataset": "shop",
        "action": "add",
        "principal": "group:analysts@example.com",
        "role": "READER",
        "condition": None,
    }
    assert {"group": "analysts@example.com", "action": "remove", "member": "bob@example.com"} in done.results
    assert len(run("access", "plan", "--json", "--no-tables").json["warnings"]) == 1
    apis.datasets.denied.add("my-project:getIamPolicy")
    assert "grants on the project are not known" in run("access", "plan").err


@pytest.mark.usefixtures("place")
def test_a_failure_is_reported_and_the_rest_is_done(run: Run, apis: AccessApis) -> None:
    apis.directory.refused.add("grace@example.com")
    done = run("access", "apply", "--yes", "--json")
    assert done.code == 1
    (error,) = done.json["errors"]
    assert error.startswith("group analysts@example.com: grace@example.com: ")
    assert f"Error: {error}" in done.err
    assert apis.datasets.writes == 1
    assert set(apis.directory.members("analysts@example.com")) == {"boss@example.com"}


def test_import_prints_a_file_with_which_nothing_changes(run: Run, place: Path) -> None:
    printed = run("access", "import", "shop", "--group", "Analysts@example.com")
    assert (printed.code, printed.err) == (0, "")
    assert printed.out == (
        "# yaml-language-server: $schema=onefold/access/access.schema.json\n"
        "datasets:\n  shop:\n    projectOwners: OWNER\n    user:ada@example.com: READER\n"
        "groups:\n  analysts@example.com:\n  - bob@example.com\n"
    )
    (place / "access.yaml").write_text(printed.out)
    assert run("access", "plan").code == 0
    same = run("access", "import", "shop", "--group", "Analysts@example.com", "--json")
    assert (same.code, same.result) == (0, yaml.safe_load(printed.out))


@pytest.mark.usefixtures("place")
def test_import_names_the_grants_that_no_file_can_declare(run: Run, apis: AccessApis) -> None:
    apis.datasets.add("shop", {"role": "READER", "iamMember": "deleted:user:bob@example.com?uid=1"})
    printed = run("access", "import", "shop")
    assert (printed.code, "bob" in printed.out) == (0, False)
    assert (
        "shop: deleted:user:bob@example.com?uid=1 has READER, and cannot be declared: a plan removes the grant"
        in printed.err
    )


@pytest.mark.usefixtures("place")
def test_wrong_usage_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "expected the name of a dataset" in run("access", "import").err
    assert "--json needs --yes" in run("access", "apply", "--json").err
    assert "cannot be read" in run("access", "plan", "--file", "nowhere.yaml").err
    assert run("access", "plan", "--file", "nowhere.yaml", "--json").json["command"] == "access plan"
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", "127.0.0.1:9")
    assert "the emulator of BigQuery keeps no permissions" in run("access", "plan").err
    monkeypatch.delenv("BIGQUERY_EMULATOR_HOST")
    monkeypatch.delenv("ONEFOLD_PROJECT")
    assert "expected a project" in run("access", "plan").err
