"""The clean views may read what lies below them: the access lists through HTTP, and what the command says."""

from __future__ import annotations

from pathlib import Path

import google.auth
import pytest
from google.auth.credentials import AnonymousCredentials
from support.access_apis import AccessApis
from support.cli import Run
from support.rest import PROJECT

from onefold.access.authorize import authorize_views, clean_datasets
from onefold.cli.access_clients import AccessClients, Addresses
from onefold.core.errors import InvalidInput, TryAgain
from onefold.settings.environment import Settings
from onefold.settings.sources import Source

OWNERS = {"role": "OWNER", "specialGroup": "projectOwners"}
UNTIL = {"role": "READER", "groupByEmail": "g@example.com", "condition": {"expression": "true", "title": "t"}}
VIEW = {"view": {"projectId": "p", "datasetId": "d", "tableId": "v"}}
CLEAN = {"dataset": {"dataset": {"projectId": PROJECT, "datasetId": "shop__views_clean"}, "targetTypes": ["VIEWS"]}}
DATASETS = clean_datasets(Settings(), PROJECT, "shop")


def shop(apis: AccessApis) -> None:
    apis.datasets.put("shop", OWNERS, UNTIL, VIEW)
    for name in ("shop__views_clean", "shop__keys"):
        apis.datasets.put(name, OWNERS)


def test_clean_views_are_authorized_and_every_entry_is_kept(apis: AccessApis) -> None:
    shop(apis)
    found = authorize_views(apis.lists, PROJECT, DATASETS)
    assert [(one.dataset, one.is_new) for one in found] == [("shop", True), ("shop__keys", True)]
    assert apis.datasets.entries("shop") == [OWNERS, UNTIL, VIEW, CLEAN]
    assert apis.datasets.entries("shop__keys") == [OWNERS, CLEAN]
    assert apis.datasets.entries("shop__views_clean") == [OWNERS]
    again = authorize_views(apis.lists, PROJECT, DATASETS)
    assert ([one.is_new for one in again], apis.datasets.writes) == ([False, False], 2)


def test_the_views_of_plain_change_tables_are_read_through_their_own_dataset(apis: AccessApis) -> None:
    shop(apis)
    apis.datasets.put("shop__onefold", OWNERS)
    found = authorize_views(apis.lists, PROJECT, DATASETS)
    assert [(one.dataset, one.views) for one in found] == [
        ("shop", "shop__views_clean"),
        ("shop__keys", "shop__views_clean"),
        ("shop__onefold", "shop__views_clean"),
        ("shop", "shop__onefold"),
    ]
    own = {"dataset": {"dataset": {"projectId": PROJECT, "datasetId": "shop__onefold"}, "targetTypes": ["VIEWS"]}}
    assert apis.datasets.entries("shop") == [OWNERS, UNTIL, VIEW, CLEAN, own]
    assert apis.datasets.entries("shop__onefold") == [OWNERS, CLEAN]
    assert not any(one.is_new for one in authorize_views(apis.lists, PROJECT, DATASETS))


def test_changes_by_others_and_lost_answers_are_not_lost(apis: AccessApis) -> None:
    shop(apis)
    other = {"role": "READER", "userByEmail": "ada@example.com"}

    def change(method: str, _: str) -> None:
        if method == "PATCH" and other not in apis.datasets.entries("shop"):
            apis.datasets.add("shop", other)

    apis.datasets.before, apis.datasets.lose_answers = change, 1
    authorize_views(apis.lists, PROJECT, DATASETS, sleep=lambda _: None)
    assert apis.datasets.entries("shop") == [OWNERS, UNTIL, VIEW, other, CLEAN]
    assert apis.datasets.entries("shop__keys") == [OWNERS, CLEAN]


def test_lists_that_others_change_all_the_time_are_left(apis: AccessApis) -> None:
    shop(apis)

    def change(method: str, _: str) -> None:
        if method == "PATCH":
            apis.datasets.add("shop")

    apis.datasets.before = change
    with pytest.raises(TryAgain, match="dataset shop: others changed it"):
        authorize_views(apis.lists, PROJECT, DATASETS, sleep=lambda _: None)


def test_missing_datasets_are_named_before_anything_is_written(apis: AccessApis) -> None:
    apis.datasets.put("shop", OWNERS)
    with pytest.raises(InvalidInput) as raised:
        authorize_views(apis.lists, PROJECT, DATASETS)
    assert [one.partition(" does not exist: run `bq mk")[0] for one in raised.value.problems] == [
        "dataset shop__views_clean",
        "dataset shop__keys",
    ]
    assert apis.datasets.writes == 0


def test_pulled_tables_are_read_through_their_full_views() -> None:
    sources = {"fraud": Source("fraud", "db", databases=("models",))}
    found = clean_datasets(Settings(sources=sources), PROJECT, "fraud_models")
    assert (found.current, found.views) == ("fraud_models__views_full", "fraud_models__views_clean")
    assert clean_datasets(Settings(view_dataset="{dataset}_views"), PROJECT, "shop").current == "shop_views"
    with pytest.raises(InvalidInput, match=r"ONEFOLD_VIEW_DATASET has \{table\}"):
        clean_datasets(Settings(view_dataset="{dataset}_{table}"), PROJECT, "shop")


@pytest.fixture
def command(apis: AccessApis, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command, over the fake."""
    monkeypatch.delenv("BIGQUERY_EMULATOR_HOST", raising=False)
    monkeypatch.setattr(google.auth, "default", lambda **_: (AnonymousCredentials(), PROJECT))  # type: ignore[no-untyped-call]
    monkeypatch.setattr(AccessClients, "addresses", Addresses(bigquery=apis.bigquery_url))
    monkeypatch.setenv("ONEFOLD_PROJECT", PROJECT)
    return run


def test_command_says_what_it_did_and_who_can_read_the_key(command: Run, apis: AccessApis) -> None:
    shop(apis)
    apis.datasets.add(
        "shop__keys",
        {"role": "READER", "specialGroup": "projectReaders"},
        {"role": "READER", "userByEmail": "onefold@my-project.iam.gserviceaccount.com"},
    )
    shown = command("policies", "authorize", "shop", "--dry-run")
    assert (shown.code, shown.out.splitlines()[0]) == (0, "shop would authorize the views of shop__views_clean")
    assert apis.datasets.writes == 0
    made = command("policies", "authorize", "shop")
    assert (made.code, made.out.splitlines()) == (
        0,
        ["shop now authorizes the views of shop__views_clean", "shop__keys now authorizes the views of shop__views_clean"],
    )
    assert "projectReaders READER on shop__keys: whoever reads the key can compute every hash" in " ".join(made.err.split())
    assert "gserviceaccount" not in made.err
    again = command("policies", "authorize", "shop", "--json")
    assert again.json["results"][0] == {"dataset": "shop", "views": "shop__views_clean", "new": False}
    assert len(again.json["warnings"]) == 1


def test_command_says_who_can_write_a_view_that_reads_the_key(command: Run, apis: AccessApis) -> None:
    """A dataset that `bq mk` makes has a grant to the editors of the project."""
    shop(apis)
    apis.datasets.add(
        "shop__views_clean",
        {"role": "READER", "specialGroup": "projectReaders"},
        {"role": "WRITER", "specialGroup": "projectWriters"},
        {"role": "OWNER", "userByEmail": "ada@example.com"},
        {"role": "WRITER", "userByEmail": "onefold@my-project.iam.gserviceaccount.com"},
    )
    writers = ("projectWriters WRITER", "user:ada@example.com OWNER")
    why = "whoever writes views there can read the key by one, and compute every hash: take this right away"
    found = command("policies", "authorize", "shop", "--json").json["warnings"]
    assert found == [f"{grant} on shop__views_clean: {why}" for grant in writers]


def test_command_needs_the_datasets_and_a_project(command: Run, apis: AccessApis, tmp_path: Path) -> None:
    missing = command("policies", "authorize", "shop")
    assert (missing.code, missing.err.count("bq mk"), apis.datasets.writes) == (1, 3, 0)
    wrong = command("policies", "authorize", "shop-1")
    assert (wrong.code, "dataset 'shop-1'" in wrong.err) == (1, True)
    assert not list(tmp_path.iterdir())
