"""All checks together: between a BigQuery, a Pub/Sub and a project of Google Cloud that answer as Google does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests
from support.capture_receiver import Receiver, receiving
from support.fake_bigquery import FakeBigQuery
from support.fake_google_project import FakeGoogleProject, serving_project

from onefold.adapters.bigquery.hash_keys import BigQueryHashKeys
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.google_project import GoogleProject
from onefold.adapters.pubsub import PubSub
from onefold.core.errors import Rejected
from onefold.doctor.check import Check
from onefold.doctor.examine import Examination, examine

ENVIRON = {"ONEFOLD_PROJECT": "my-project", "ONEFOLD_DATASETS": "shop", "ONEFOLD_TOPIC_DEAD_LETTER": "dead-letter"}
SHOP = "//bigquery.googleapis.com/projects/my-project/datasets/shop"
PROJECT = "//cloudresourcemanager.googleapis.com/projects/my-project"
TOPICS = "//pubsub.googleapis.com/projects/my-project/topics"
# docs/reference/permissions.md, in the words of IAM.
RIGHTS = {
    ("onefold-refresh-view", "bigquery.jobs.create", PROJECT),
    ("onefold-refresh-view", "bigquery.tables.getData", SHOP),
    ("onefold-refresh-view", "bigquery.tables.list", SHOP),
    ("onefold-refresh-view", "bigquery.tables.create", SHOP),
    ("onefold-refresh-view", "bigquery.tables.update", SHOP),
    ("onefold-refresh-view", "pubsub.topics.publish", f"{TOPICS}/table-created"),
    ("onefold-refresh-view", "pubsub.topics.publish", f"{TOPICS}/schema-changes"),
    ("onefold-refresh-view", "pubsub.topics.publish", f"{TOPICS}/dead-letter"),
    ("onefold-launch-batch", "dataproc.batches.create", PROJECT),
    ("onefold-launch-batch", "pubsub.topics.publish", f"{TOPICS}/dead-letter"),
    ("onefold-batch", "bigquery.jobs.create", PROJECT),
    ("onefold-batch", "bigquery.tables.getData", SHOP),
    ("onefold-batch", "bigquery.tables.updateData", SHOP),
    ("onefold-batch", "bigquery.tables.create", SHOP),
    ("onefold-batch", "bigquery.tables.update", SHOP),
    ("onefold-batch", "pubsub.topics.publish", f"{TOPICS}/schema-changes"),
    ("onefold-sink-records", "bigquery.tables.get", SHOP),
    ("onefold-sink-records", "bigquery.tables.updateData", SHOP),
    ("onefold-sink-records", "pubsub.topics.publish", f"{TOPICS}/dead-letter"),
}


@dataclass
class Scene:
    """The outside systems, and the clients of them."""

    bigquery: FakeBigQuery
    topics: Receiver
    google: FakeGoogleProject
    refused: str = ""
    environ: dict[str, str] = field(default_factory=lambda: dict(ENVIRON))

    def account(self) -> str:
        if self.refused:
            raise Rejected(self.refused)
        return "user:ada@example.com"

    def warehouse(self, project: str) -> BigQueryWarehouse:
        assert project == "my-project"
        return BigQueryWarehouse(self.bigquery.client())

    def publisher(self, project: str) -> PubSub:
        return PubSub(project)

    def project(self, project: str) -> GoogleProject:
        return GoogleProject(project, requests.Session(), self.google.addresses)

    def hash_keys(self, project: str) -> BigQueryHashKeys:
        assert project == "my-project"
        return BigQueryHashKeys(self.bigquery.client())

    def problems(self, **more: object) -> dict[str, tuple[str, ...]]:
        checks = examine(Examination(self.environ, **more), self)  # type: ignore[arg-type]
        return {check.name: check.problems for check in checks if check.problems}

    def checks(self) -> dict[str, Check]:
        return {check.name: check for check in examine(Examination(self.environ), self)}


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Scene]:
    monkeypatch.chdir(tmp_path)
    with receiving() as topics, serving_project() as google:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", topics.pubsub_address)
        yield Scene(FakeBigQuery(), topics, google)


def emails(rights: set[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    return {(f"{name}@my-project.iam.gserviceaccount.com", *rest) for name, *rest in rights}  # type: ignore[misc]


def test_everything_is_in_order_and_every_right_of_the_docs_is_asked_for(scene: Scene) -> None:
    assert scene.problems() == {}
    assert set(scene.google.asked) == emails(RIGHTS)


@pytest.mark.parametrize("right", sorted(RIGHTS))
def test_each_missing_right_is_one_problem_of_its_account(scene: Scene, right: tuple[str, str, str]) -> None:
    name, permission, resource = right
    scene.google.lacks = emails({right})
    ((check, (problem,)),) = scene.problems().items()
    assert check == f"rights of {name}"
    assert problem.startswith(
        f"{name}@my-project.iam.gserviceaccount.com lacks {permission} on {resource[2:]}; run: make deploy "
    )


def test_all_problems_are_reported_at_once_each_with_its_command(scene: Scene) -> None:
    scene.environ |= {"ONEFOLD_DATASETS": "shop,elsewhere", "ONEFOLD_TOPIC_SCHEMA_CHANGES": "told"}
    scene.topics.missing.add("told")
    scene.google.enabled.remove("dataproc.googleapis.com")
    scene.google.enabled.remove("run.googleapis.com")
    scene.google.accounts.remove("onefold-batch@my-project.iam.gserviceaccount.com")
    found = scene.problems()
    assert set(found) == {"dataset elsewhere", "topic told", "APIs", "rights of onefold-batch"}
    assert "run: bq --location=LOCATION mk --dataset my-project:elsewhere" in found["dataset elsewhere"][0]
    assert "gcloud pubsub topics create told --project=my-project" in found["topic told"][0]
    command = "gcloud services enable dataproc.googleapis.com run.googleapis.com --project=my-project"
    assert found["APIs"][0].endswith(f"run: {command}")
    assert found["rights of onefold-batch"] == (
        "the account onefold-batch@my-project.iam.gserviceaccount.com does not exist; run: make deploy PROJECT=my-project "
        "REGION=YOUR-REGION DATASETS=elsewhere,shop",
    )


def test_wrong_settings_are_problems_and_stop_no_other_check(scene: Scene) -> None:
    scene.environ |= {"ONEFOLD_VIEW_NAME": "all", "ONEFOLD_TOPICS": "x", "ONEFOLD_BATCH_REGION": "?"}
    checks = examine(Examination(scene.environ, project="my-project", datasets=("shop",)), scene)
    found = {check.name: check.problems for check in checks}
    assert len(found["settings"]) == 3
    assert found["dataset shop"] == found["APIs"] == ()


@pytest.mark.parametrize("project", ["", "NO PROJECT"])
def test_without_a_valid_project_nothing_of_the_cloud_is_asked(scene: Scene, project: str) -> None:
    scene.environ = {"ONEFOLD_PROJECT": project} if project else {}
    assert scene.problems()["project"]
    assert scene.checks()["cloud"].as_dict()["ok"] is None
    assert scene.checks()["cloud"].note == "datasets, topics, APIs and rights: correct the problems above first"
    assert scene.google.asked == []


def test_credentials_that_are_missing_are_a_problem_with_their_command(scene: Scene) -> None:
    scene.refused = "run: gcloud auth application-default login"
    assert scene.problems() == {"credentials": (scene.refused,)}


def test_rights_that_cannot_be_read_are_no_missing_rights(scene: Scene) -> None:
    scene.google.unknown = {"dataproc.batches.create"}
    ((check, (problem,)),) = scene.problems().items()
    assert (check, "is not known (UNKNOWN_INFO_DENIED); run: gcloud projects" in problem) == (
        "rights of onefold-launch-batch",
        True,
    )
    scene.google.enabled.remove("policytroubleshooter.googleapis.com")
    ((check, (problem,)),) = scene.problems().items()
    assert (check, "gcloud services enable policytroubleshooter.googleapis.com" in problem) == ("rights", True)


def test_a_project_that_may_not_be_read_is_one_problem(scene: Scene) -> None:
    scene.google.closed = True
    ((check, (problem,)),) = scene.problems().items()
    assert (check, "the caller may not do this" in problem) == ("APIs", True)


def test_a_second_deployment_and_a_dataset_of_views_are_checked(scene: Scene) -> None:
    scene.environ["ONEFOLD_VIEW_DATASET"] = "{dataset}_views"
    scene.google.accounts = {f"eu-{email}" for email in scene.google.accounts}
    assert set(scene.problems(prefix="eu-")) == {"dataset shop_views"}
    resources = {resource.rpartition("/")[2] for account, permission, resource in scene.google.asked if "refresh" in account}
    assert resources == {"my-project", "shop", "shop_views", "eu-table-created", "eu-schema-changes", "eu-dead-letter"}
    written = {
        resource for account, permission, resource in scene.google.asked if "refresh" in account and "create" in permission
    }
    assert written == {PROJECT, f"{SHOP}_views"}


def test_a_table_and_a_dataset_of_the_settings_that_do_not_exist_are_problems_with_the_near_name(scene: Scene) -> None:
    scene.bigquery.land("customer_v_abc", {"id": "INT64"})
    Path("onefold.yaml").write_text("tables: {custmer: {keys: [id]}, customer: {keys: [id]}, shap.lead: {keys: [id]}}")
    assert scene.problems()["tables of onefold.yaml"] == (
        "there is no dataset shap, which onefold.yaml names (did you mean shop?): correct the name, or remove the entry",
        "tables.custmer of onefold.yaml: no table custmer in shop (did you mean customer?): "
        "correct the name, or remove the entry",
    )
    Path("onefold.yaml").write_text("tables: {customer: {keys: [id]}, shop.customer: {keys: [id]}}")
    assert "tables of onefold.yaml" not in scene.problems()


def test_an_empty_file_of_settings_is_said(scene: Scene) -> None:
    Path("onefold.yaml").write_text("")
    assert scene.checks()["settings"].note == "onefold.yaml is empty: every setting has its default"
