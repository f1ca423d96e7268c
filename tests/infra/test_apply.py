"""`terraform apply` for real, as far as there is something to apply to: Google's Pub/Sub emulator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from adapters.test_pubsub import names, pubsub_emulator, subscriber, until  # noqa: F401
from support.bigquery_emulator import EmulatedDataset
from support.in_memory import ABC
from support.terraform import Terraform, found_terraform

from onefold.adapters.pubsub import PubSub
from onefold.messages.table_created import table_message
from onefold.ports.publisher import Message
from onefold_lab.processes import function_server
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

PROJECT = "my-project"
NOBODY = "http://127.0.0.1:9/"
FUNCTIONS = ("refresh_view", "launch_batch", "sink_records")
PURPOSES = (*FUNCTIONS, *(f"push_{name}" for name in FUNCTIONS), "batch", "build")
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
  project_number = "1" # Google would have to be asked
  endpoints      = {{ refresh_view = "{refresh_view}", launch_batch = "{nobody}", sink_records = "{nobody}" }}
}}
"""


def topic(purpose: str) -> str:
    return f"projects/{PROJECT}/topics/{purpose}"


def subscription(name: str) -> str:
    return f"projects/{PROJECT}/subscriptions/{name}"


@pytest.fixture(scope="module")
def environ(pubsub_emulator: str) -> dict[str, str]:  # noqa: F811
    """Variables of the provider for other addresses, and a token that no server checks."""
    return {"GOOGLE_PUBSUB_CUSTOM_ENDPOINT": f"http://{pubsub_emulator}/v1/", "GOOGLE_OAUTH_ACCESS_TOKEN": "none"}


@pytest.fixture(scope="module")
def url(pubsub_emulator: str, emulator_host: str) -> Iterator[str]:  # noqa: F811
    """The real function, over both emulators."""
    environ = {
        "BIGQUERY_EMULATOR_HOST": emulator_host,
        "PUBSUB_EMULATOR_HOST": pubsub_emulator,
        "ONEFOLD_PROJECT": DEFAULT_PROJECT,
        "ONEFOLD_TOPIC_TABLE_CREATED": topic("table-created"),
        "ONEFOLD_TOPIC_SCHEMA_CHANGES": topic("schema-changes"),
        "ONEFOLD_TOPIC_DEAD_LETTER": topic("dead-letter"),
    }
    with function_server("refresh_view", environ) as url:
        yield url


def changed(terraform: Terraform, environ: dict[str, str], command: str, *options: str) -> int:
    """The exit code of a plan, or of what carries one out; all that Terraform says where it fails."""
    targets = [f"-target={target}" for target in TARGETS]
    done = terraform.run(command, "-input=false", "-no-color", *options, *VARIABLES, *targets, **environ)
    assert done.returncode in (0, 2), done.stdout + done.stderr
    return done.returncode


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory, environ: dict[str, str], url: str) -> Iterator[Terraform]:
    """Topics and subscriptions, once for all tests here, with the real function's address as that of refresh_view."""
    override = OVERRIDE.format(refresh_view=url, nobody=NOBODY)
    terraform = found_terraform(tmp_path_factory.mktemp("applied"), override)
    try:
        changed(terraform, environ, "apply", "-auto-approve")
        yield terraform
    finally:
        changed(terraform, environ, "destroy", "-auto-approve")


@pytest.mark.usefixtures("applied", "subscriber")
def test_a_message_to_the_applied_topic_reaches_the_real_function_and_the_view_is_there(dataset: EmulatedDataset) -> None:
    dataset.land("customer_v_abc", ABC, "1, 'Ada', 'Lovelace', 'Ada Lovelace'")
    PubSub(PROJECT).publish("table-created", [Message(table_message(dataset.name, "customer", "abc"))])
    assert until(lambda: "customer_unified" in names(dataset))
    assert dataset.rows("customer_unified") == [(1, "Ada", "Lovelace", "Ada Lovelace")]


@pytest.mark.usefixtures("applied")
def test_a_message_that_cannot_be_handled_is_a_dead_letter_in_the_applied_subscription(subscriber: Any) -> None:  # noqa: F811
    PubSub(PROJECT).publish("table-created", [Message(b"rubbish")])
    request = {"subscription": subscription("dead-letter"), "max_messages": 10}
    (received,) = until(lambda: subscriber.pull(request, timeout=300).received_messages)
    assert received.message.data == b"rubbish"


def test_a_second_apply_changes_nothing(applied: Terraform, environ: dict[str, str]) -> None:
    assert changed(applied, environ, "plan", "-detailed-exitcode") == 0


@pytest.mark.usefixtures("applied")
def test_pubsub_has_the_subscriptions_of_the_configuration(subscriber: Any) -> None:  # noqa: F811
    expected = (
        ("refresh-view", "table-created", 360),
        ("launch-batch", "batch-requests", 180),
        ("sink-records", "change-records", 180),
    )
    for name, purpose, seconds in expected:
        found = subscriber.get_subscription(subscription=subscription(name))
        assert (found.topic, found.ack_deadline_seconds) == (topic(purpose), seconds)
        assert found.message_retention_duration.days == 7
        assert found.dead_letter_policy.dead_letter_topic == topic("dead-letter")
        assert found.push_config.oidc_token.service_account_email == ACCOUNTS[f"push_{name.replace('-', '_')}"]
