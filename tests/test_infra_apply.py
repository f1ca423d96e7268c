"""`terraform apply` for real, as far as there is something to apply to: Google's Pub/Sub emulator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from emulator import EmulatedDataset
from recorders import ABC
from terraforming import Terraform, found_terraform
from test_pubsub import names, pubsub_emulator, subscriber, until  # noqa: F401

from onefold.events import table_message
from onefold.local.emulator import DEFAULT_PROJECT
from onefold.local.stack import function_server
from onefold.pubsub import Message, PubSub

PROJECT = "my-project"
NOBODY = "http://127.0.0.1:9/"
PURPOSES = ("refresh_view", "launch_batch", "push_refresh_view", "push_launch_batch", "batch", "build")
ACCOUNTS = {purpose: f"{purpose.replace('_', '-')}@{PROJECT}.iam.gserviceaccount.com" for purpose in PURPOSES}
VARIABLES = (
    f"-var=project={PROJECT}",
    "-var=region=europe-west1",
    # What the emulator does not have: APIs to enable, and accounts to make.
    "-var=enable_apis=false",
    f"-var=service_accounts={json.dumps(ACCOUNTS)}",
)
TARGETS = ("google_pubsub_topic.topic", "google_pubsub_subscription.dead_letter", "google_pubsub_subscription.push")
OVERRIDE = """
terraform {{
  backend "local" {{}}
}}
locals {{
  agent     = "service-1" # Google would have to be asked for the project's number
  endpoints = {{ refresh_view = "{refresh_view}", launch_batch = "{launch_batch}" }}
}}
"""

Apply = Callable[[str], Terraform]


def topic(purpose: str) -> str:
    return f"projects/{PROJECT}/topics/{purpose}"


def subscription(name: str) -> str:
    return f"projects/{PROJECT}/subscriptions/{name}"


@pytest.fixture
def environ(pubsub_emulator: str) -> dict[str, str]:  # noqa: F811
    """The provider's own variables for another address, and for a token that nobody asks for."""
    return {"GOOGLE_PUBSUB_CUSTOM_ENDPOINT": f"http://{pubsub_emulator}/v1/", "GOOGLE_OAUTH_ACCESS_TOKEN": "none"}


def changed(terraform: Terraform, environ: dict[str, str], command: str, *options: str) -> int:
    """The exit code of a plan, or of what carries one out; all that Terraform says where it fails."""
    targets = [f"-target={target}" for target in TARGETS]
    done = terraform.run(command, "-input=false", "-no-color", *options, *VARIABLES, *targets, **environ)
    assert done.returncode in (0, 2), done.stdout + done.stderr
    return done.returncode


@pytest.fixture
def apply(tmp_path: Path, environ: dict[str, str]) -> Iterator[Apply]:
    """Applies topics and subscriptions, with the real function's address as that of refresh_view."""
    applied: list[Terraform] = []

    def apply_with(url: str) -> Terraform:
        terraform = found_terraform(tmp_path, OVERRIDE.format(refresh_view=url, launch_batch=NOBODY))
        applied.append(terraform)
        changed(terraform, environ, "apply", "-auto-approve")
        return terraform

    yield apply_with
    for terraform in applied:
        changed(terraform, environ, "destroy", "-auto-approve")


def test_a_message_to_the_applied_topic_reaches_the_real_function_and_the_view_is_there(
    apply: Apply,
    dataset: EmulatedDataset,
    pubsub_emulator: str,  # noqa: F811
) -> None:
    dataset.land("customer_v_abc", ABC, "1, 'Ada', 'Lovelace', 'Ada Lovelace'")
    environ = {
        "BIGQUERY_EMULATOR_HOST": dataset.host,
        "PUBSUB_EMULATOR_HOST": pubsub_emulator,
        "ONEFOLD_PROJECT": DEFAULT_PROJECT,
        "ONEFOLD_DATASETS": dataset.name,
        "ONEFOLD_TOPIC_TABLE_CREATED": topic("table-created"),
        "ONEFOLD_TOPIC_SCHEMA_CHANGES": topic("schema-changes"),
        "ONEFOLD_TOPIC_DEAD_LETTER": topic("dead-letter"),
    }
    with function_server("refresh_view", environ) as url, pytest.MonkeyPatch.context() as patch:
        apply(url)
        patch.setenv("PUBSUB_EMULATOR_HOST", pubsub_emulator)
        PubSub(PROJECT).publish("table-created", [Message(table_message(dataset.name, "customer", "abc"))])
        assert until(lambda: "customer_unified" in names(dataset))
    assert dataset.rows("customer_unified") == [(1, "Ada", "Lovelace", "Ada Lovelace")]


def test_what_cannot_be_handled_waits_in_the_applied_subscription(
    apply: Apply,
    dataset: EmulatedDataset,
    subscriber: Any,  # noqa: F811
    pubsub_emulator: str,  # noqa: F811
) -> None:
    environ = {
        "BIGQUERY_EMULATOR_HOST": dataset.host,
        "PUBSUB_EMULATOR_HOST": pubsub_emulator,
        "ONEFOLD_PROJECT": DEFAULT_PROJECT,
        "ONEFOLD_TOPIC_DEAD_LETTER": topic("dead-letter"),
    }
    with function_server("refresh_view", environ) as url:
        apply(url)
        PubSub(PROJECT).publish("table-created", [Message(b"rubbish")])
        request = {"subscription": subscription("dead-letter"), "max_messages": 10}
        (received,) = until(lambda: subscriber.pull(request, timeout=30).received_messages)
    assert received.message.data == b"rubbish"


def test_applied_twice_nothing_changes(apply: Apply, environ: dict[str, str]) -> None:
    assert changed(apply(NOBODY), environ, "plan", "-detailed-exitcode") == 0


def test_the_subscriptions_are_in_pubsub_as_they_were_written(apply: Apply, subscriber: Any) -> None:  # noqa: F811
    apply(NOBODY)
    for name, purpose, seconds in (("refresh-view", "table-created", 360), ("launch-batch", "batch-requests", 180)):
        found = subscriber.get_subscription(subscription=subscription(name))
        assert (found.topic, found.ack_deadline_seconds) == (topic(purpose), seconds)
        assert found.message_retention_duration.days == 7
        assert found.dead_letter_policy.dead_letter_topic == topic("dead-letter")
        assert found.push_config.oidc_token.service_account_email == ACCOUNTS[f"push_{name.replace('-', '_')}"]
