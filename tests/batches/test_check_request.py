"""Requests for the job that checks tables against their source."""

from __future__ import annotations

import pytest

from onefold.batches.allow_list import AllowList
from onefold.batches.batch import plan_batch
from onefold.batches.request import batch_message, parse_batch_request
from onefold.batches.source_arguments import CheckArguments, CheckDatabasesArguments, parse_check
from onefold.core.errors import InvalidInput, InvalidMessage
from onefold.settings.batches import BatchSettings

SETTINGS = BatchSettings(region="r", service_account="a", code="gs://code/v1", source_accounts={"fraud": "reads-fraud"})
ALLOWED = AllowList("p", None, SETTINGS)
WORDS = ["--source", "fraud", "--database", "models"]


def test_all_arguments() -> None:
    words = [
        *WORDS, "--tables", "a,b*", "c", "--rows=7", "--padding-minutes=0", "--settle-seconds=9", "--whole", "--fix",
        "--parallel=2",
    ]  # fmt: skip
    expected = CheckArguments(
        "fraud", "models", ("a", "b*", "c"), rows=7, padding_minutes=0, settle_seconds=9, whole=True, fix=True, parallel=2
    )
    assert CheckArguments.parse(words) == expected
    assert CheckArguments.parse(WORDS) == CheckArguments("fraud", "models")
    captured = CheckArguments.parse([*WORDS, "--captured=shop", "--tenant=eu"])
    assert (captured.dataset, captured.tenant, CheckArguments.parse(WORDS).dataset) == ("shop", "eu", "fraud_models")


def test_all_problems_at_once() -> None:
    with pytest.raises(InvalidInput) as error:
        CheckArguments.parse(["--source=", "--database=", "--rows=0", "--padding-minutes=-1", "--parallel=99", "--tenant=x"])
    found = [problem.split(":")[0] for problem in error.value.problems]
    assert found[:5] == ["--source", "--database", "--rows", "--padding-minutes", "--parallel"]
    assert found[5].startswith("--tenant is for captured tables")
    assert CheckArguments.parse([*WORDS, "--captured=shop", "--fix"]).fix


def test_a_message_starts_a_batch_as_the_account_of_the_source_with_the_driver() -> None:
    arguments = {"source": "fraud", "databases": ["card-data", "card_data"], "captured": "shop", "tenant": "eu"}
    words = ["--source=fraud", "--databases=card-data,card_data", "--captured=shop", "--tenant=eu", "--fix"]
    found = parse_check(words)
    assert isinstance(found, CheckDatabasesArguments)
    assert found.datasets == ("shop", "shop")
    assert [(one.database, one.dataset, one.tenant_name, one.fix) for one in found.checks] == [
        ("card-data", "shop", "eu", True), ("card_data", "shop", "eu", True),
    ]  # fmt: skip
    with pytest.raises(InvalidInput, match="more than one has the dataset fraud_card_data"):
        parse_check(words[:2])
    request = parse_batch_request(batch_message("check", None, None, arguments))
    with pytest.raises(InvalidMessage, match=r"^dataset shop is not among ONEFOLD_DATASETS"):
        plan_batch(request, "1", SETTINGS, AllowList("p", frozenset({"fraud_models"}), SETTINGS))


def test_a_message_may_not_check_tables_of_another_dataset() -> None:
    request = parse_batch_request(batch_message("check", "shop", None, {"source": "fraud", "database": "models"}))
    with pytest.raises(InvalidMessage, match="fraud_models is not shop"):
        plan_batch(request, "1", SETTINGS, ALLOWED)
