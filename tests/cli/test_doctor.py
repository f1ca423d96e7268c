"""`onefold doctor` against the laptop's stack, and with credentials that a token server takes or refuses."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from support.bigquery_emulator import EmulatedDataset
from support.capture_receiver import Receiver, receiving
from support.cli import Run
from support.fake_google_project import FakeGoogleProject, serving_project

from onefold.cli.doctor import GoogleClients
from onefold.core.errors import Rejected


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """An emulator of Pub/Sub, which knows no rights."""
    with receiving() as topics:
        topics.knows_rights = False
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", topics.pubsub_address)
        yield topics


def test_the_stack_of_a_laptop_is_in_order(run: Run, dataset: EmulatedDataset, topics: Receiver) -> None:
    done = run("doctor", "--dataset", dataset.name, "--json")
    checks = {check["name"]: check for check in done.results}
    assert (done.code, [check["name"] for check in done.results if not check["ok"]]) == (0, ["credentials", "rights"]), (
        done.out
    )
    assert {"Python", "Java", "settings", "project", f"dataset {dataset.name}", "topic table-created"} <= checks.keys()
    assert checks["PUBSUB_EMULATOR_HOST"]["note"] == f"{topics.pubsub_address} answers"
    assert all(check.keys() == {"name", "state", "ok", "problems", "note"} for check in checks.values())


def test_what_is_not_checked_is_never_ok(run: Run, dataset: EmulatedDataset, topics: Receiver) -> None:
    assert topics.pubsub_address
    checks = {check["name"]: check for check in run("doctor", "--dataset", dataset.name, "--json").results}
    assert {(check["state"], check["ok"]) for check in checks.values()} == {("ok", True), ("not checked", None)}
    assert checks["rights"]["state"] == "not checked"
    printed = run("doctor", "--dataset", dataset.name).out
    assert "not checked rights: an emulator has no accounts" in printed
    assert printed.endswith("no problem was found; not checked: credentials, rights\n")


def test_problems_of_the_stack_are_shown_with_their_commands(run: Run, dataset: EmulatedDataset, topics: Receiver) -> None:
    topics.missing.add("table-created")
    done = run("doctor", "--dataset", f"{dataset.name}_x")
    assert done.code == 2
    missing = f"dataset local.{dataset.name}_x does not exist at BIGQUERY_EMULATOR_HOST; run: "
    assert missing in done.out
    assert "gcloud pubsub topics create table-created --project=local\n" in done.out
    assert done.out.endswith("2 problems; not checked: credentials, rights\n")
    command = shlex.split(done.out.partition(missing)[2].splitlines()[0])
    assert run(*command[1:]).code == 0
    assert run("doctor", "--dataset", f"{dataset.name}_x").out.endswith("1 problem; not checked: credentials, rights\n")
    dataset.client.delete_dataset(f"{dataset.name}_x")


def test_without_an_emulator_of_topics_they_are_left_out(
    run: Run, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PUBSUB_EMULATOR_HOST", raising=False)
    done = run("doctor", "--dataset", dataset.name)
    assert (done.code, "\nnot checked topics: BIGQUERY_EMULATOR_HOST is set, and PUBSUB" in done.out) == (0, True)


def test_invalid_names_are_refused(run: Run) -> None:
    assert "dataset 'a.b' is not a valid name" in run("doctor", "--dataset", "a.b").err


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeGoogleProject]:
    """A server of tokens, and the key of a service account that names it."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with serving_project() as fake:
        account = {"type": "service_account", "client_email": "ada@my-project.iam.gserviceaccount.com"}
        more = {"private_key": key.decode(), "token_uri": f"{fake.url}/token", "project_id": "my-project"}
        (tmp_path / "key.json").write_text(json.dumps({**account, **more}))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
        yield fake


def test_the_account_of_the_credentials_is_named(google: FakeGoogleProject) -> None:
    assert google.gives_tokens
    assert GoogleClients().account() == "serviceAccount:ada@my-project.iam.gserviceaccount.com"


def test_credentials_that_google_refuses_are_an_error_with_the_command(google: FakeGoogleProject) -> None:
    google.gives_tokens = False
    with pytest.raises(
        Rejected, match=r"^no valid credentials: run `gcloud auth application-default login` \(invalid_grant: None\)$"
    ):
        GoogleClients().account()


def test_credentials_that_are_missing_are_an_error_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")
    with pytest.raises(
        Rejected,
        match=r"^no valid credentials: run `gcloud auth application-default login` \(File /nowhere/key\.json was not found",
    ):
        GoogleClients().account()
