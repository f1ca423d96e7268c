"""The page "From a MySQL to a clean view with alerts in an hour": its policies, and its commands for permissions."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import google.auth
import pytest
import yaml
from cli.test_access import GRANTS, OWN, OWNERS, STATE
from google.auth.credentials import AnonymousCredentials
from support.access_apis import AccessApis
from support.cli import Outcome, Run
from support.fake_gcs import ObjectStore
from support.pages import ROOT, fenced

from onefold.cli.access_clients import AccessClients, Addresses
from onefold.core.names import TableId
from onefold.schema.column_policy import Action
from onefold.settings.environment import load_settings

PAGE = (ROOT / "docs" / "tutorials" / "clean-views-and-alerts.md").read_text()
CLEAN, GROUP = "club_members__views_clean", "analysts@example.com"


def blocks(kind: str) -> list[str]:
    """Return the blocks of a kind."""
    return [text for found, text in fenced(PAGE) if found == kind]


@pytest.fixture
def cloud(apis: AccessApis, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AccessApis:
    """The dataset of clean views as Terraform makes it, a group with an owner, and the file of the deployment's grants."""
    monkeypatch.setattr(google.auth, "default", lambda **_: (AnonymousCredentials(), "my-project"))  # type: ignore[no-untyped-call]
    addresses = Addresses(apis.bigquery_url, apis.groups_url, apis.bigquery_url, apis.bigquery_url)
    monkeypatch.setattr(AccessClients, "addresses", addresses)
    apis.datasets.put(CLEAN, OWNERS, OWN)
    apis.datasets.tables[CLEAN] = {}
    apis.directory.put(GROUP, **{"boss@example.com": "OWNER,MEMBER"})
    object_store.write(STATE, json.dumps({"lineage": "l", "serial": 7}).encode(), None)
    (tmp_path / "infra").mkdir()
    own = {**GRANTS, "grants": [{**GRANTS["grants"][0], "dataset": CLEAN}]}  # type: ignore[index]
    (tmp_path / "infra" / "my-project.grants.json").write_text(json.dumps(own))
    return apis


def do(run: Run, command: str) -> Outcome:
    words, _, _ = command.partition(" > ")
    return run(*shlex.split(words)[1:], stdin="y\n")


def test_the_commands_for_permissions_run_and_print_what_the_page_shows(run: Run, cloud: AccessApis, tmp_path: Path) -> None:
    imported, planned, applied = (text for text in blocks("sh cloud") if "onefold access" in text)
    (declared,), (shown,) = blocks("yaml access"), blocks("text")
    draft = do(run, imported)
    assert (draft.code, yaml.safe_load(draft.out)) == (
        0,
        {"datasets": {CLEAN: {"projectOwners": "OWNER"}}, "groups": {GROUP: []}},
    )
    (tmp_path / "access.yaml").write_text(declared)
    assert [(plan.code, plan.out) for plan in [do(run, planned)]] == [(2, shown)]
    assert do(run, applied).code == 0
    assert cloud.datasets.entries(CLEAN) == [OWNERS, OWN, {"role": "READER", "groupByEmail": GROUP}]
    assert set(cloud.directory.members(GROUP)) == {"boss@example.com", "ada@example.com"}
    assert do(run, planned).code == 0


def test_the_settings_of_the_page_are_valid_and_decide_every_column_but_the_city(tmp_path: Path) -> None:
    (text,) = blocks("yaml")
    (tmp_path / "onefold.yaml").write_text(text)
    settings = load_settings({"ONEFOLD_CONFIG": str(tmp_path / "onefold.yaml")})
    assert settings.sources["club"].databases == ("members",)
    assert settings.policies
    of_member = settings.policies.of_table(TableId("my-project", "club_members", "member"))
    columns = ("id", "name", "email", "city", "pin", "changed_at", "source_name", "database_name")
    assert [name for name in columns if not of_member.decide(name).decided] == ["city"]
    of_payment = settings.policies.of_table(TableId("my-project", "club_members", "payment"))
    assert of_payment.decide("amount").action is Action.CLEAR
