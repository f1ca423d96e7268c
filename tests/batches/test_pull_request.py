"""Requests for the job that pulls tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from onefold.batches.allow_list import AllowList
from onefold.batches.batch import plan_batch, subject_labels
from onefold.batches.request import batch_message, parse_batch_request
from onefold.batches.source_arguments import PullArguments, PullDatabasesArguments, parse_pull
from onefold.core.errors import InvalidInput, InvalidMessage
from onefold.settings.batches import BatchSettings

SETTINGS = BatchSettings(region="r", service_account="a", code="gs://code/v1")
ALLOWED = AllowList("p", None, SETTINGS)
WORDS = ["--source", "fraud", "--database", "models", "--window", "15m"]


def test_all_arguments() -> None:
    words = [*WORDS, "--tables", "a,b*", "c", "--at", "2026-05-03T04:00:00+02:00", "--parallel", "8", "--compress", "gzip"]
    at = datetime(2026, 5, 3, 2, tzinfo=UTC)
    assert PullArguments.parse(words) == PullArguments("fraud", "models", "15m", ("a", "b*", "c"), at, 8, "gzip")
    assert PullArguments.parse(WORDS) == PullArguments("fraud", "models", "15m")


def test_all_problems_at_once() -> None:
    with pytest.raises(InvalidInput) as error:
        PullArguments.parse(["--source=", "--database=", "--window=day", "--at=soon", "--parallel=0"])
    assert {problem.split(":")[0] for problem in error.value.problems} == {"--source", "--database", "--parallel", "--at"}
    assert len(error.value.problems) == 4


@pytest.mark.parametrize("tables", ["", ",", ["", ""], "--"])
def test_no_table_at_all_does_not_mean_all(tables: object) -> None:
    arguments = {"source": "fraud", "database": "models", "window": "day", "tables": tables}
    request = parse_batch_request(batch_message("pull", "fraud_models", None, arguments))
    with pytest.raises(InvalidInput, match="--tables: "):
        plan_batch(request, "1", SETTINGS, ALLOWED)


def test_a_message_starts_a_batch_with_the_client_of_mysql() -> None:
    arguments = {"source": "fraud", "database": "models", "window": "day", "tables": ["a", "b"]}
    request = parse_batch_request(batch_message("pull", "fraud_models", None, arguments))
    batch = plan_batch(request, "1", SETTINGS, ALLOWED)
    assert batch.arguments == ("--source=fraud", "--database=models", "--window=day", "--tables=a,b")
    assert batch.archives == ("gs://code/v1/spark.zip", "gs://code/v1/pymysql.zip")
    assert PullArguments.parse(batch.arguments).tables == ("a", "b")


def test_a_message_with_the_former_name_has_the_batch_that_it_had_before() -> None:
    """So a message that comes again after an update starts no second batch, whatever folder of code the batch runs from."""
    arguments = {"source": "fraud", "database": "models", "window": "day"}
    request = parse_batch_request(batch_message("extract", "fraud_models", None, arguments))
    batch = plan_batch(request, "1", SETTINGS, ALLOWED)
    assert (batch.id, batch.main) == ("onefold-extract-5273f698e0a65cb498bb", "gs://code/v1/extract.py")
    assert batch.labels["onefold_job"] == "extract"
    now = plan_batch(parse_batch_request(batch_message("pull", "fraud_models", None, arguments)), "1", SETTINGS, ALLOWED)
    assert (batch.arguments, batch.archives) == (now.arguments, now.archives)
    assert now.main == "gs://code/v1/pull.py"


def test_the_dataset_of_a_message_is_that_of_the_source() -> None:
    arguments = {"source": "fraud", "database": "models", "window": "day"}
    request = parse_batch_request(batch_message("pull", "shop", None, arguments))
    with pytest.raises(InvalidMessage, match="fraud_models is not shop"):
        plan_batch(request, "1", SETTINGS, ALLOWED)


def test_a_table_of_a_message_is_the_pattern() -> None:
    arguments = {"source": "fraud", "database": "models", "window": "day"}
    request = parse_batch_request(batch_message("pull", "fraud_models", "score", arguments))
    assert plan_batch(request, "1", SETTINGS, ALLOWED).arguments[-1] == "--tables=score"


def test_a_batch_runs_as_the_account_of_its_source() -> None:
    account = "pull-fraud@my-project.iam.gserviceaccount.com"
    arguments = {"source": "fraud", "database": "models", "window": "day"}
    request = parse_batch_request(batch_message("pull", "fraud_models", None, arguments))
    own = plan_batch(request, "1", replace(SETTINGS, source_accounts={"fraud": account}), ALLOWED)
    assert own.settings.service_account == account
    other = plan_batch(request, "1", replace(SETTINGS, source_accounts={"other": account}), ALLOWED)
    assert other.settings.service_account == SETTINGS.service_account


def test_a_batch_stages_its_files_in_the_bucket_of_its_source() -> None:
    arguments = {"source": "fraud", "database": "models", "window": "day"}
    request = parse_batch_request(batch_message("pull", "fraud_models", None, arguments))
    settings = replace(SETTINGS, bucket="shared", source_buckets={"fraud": "pull-fraud"})
    assert plan_batch(request, "1", settings, ALLOWED).settings.bucket == "pull-fraud"
    others = replace(settings, source_buckets={"other": "pull-other"})
    assert plan_batch(request, "1", others, ALLOWED).settings.bucket == "shared"


def test_a_request_of_a_time_to_come_is_refused() -> None:
    now = datetime(2026, 5, 3, 12, tzinfo=UTC)
    late = PullArguments.parse([*WORDS, "--at=2027-05-03T12:00:00+00:00"])
    with pytest.raises(InvalidInput, match=r"expected a time up to now .2026-05-03 12:00:00.*got 2027-05-03.*correct it"):
        late.asked_at(now)
    assert PullArguments.parse([*WORDS, "--at=2026-05-03T12:05"]).asked_at(now) == datetime(2026, 5, 3, 12, 5, tzinfo=UTC)
    assert PullArguments.parse(WORDS).asked_at(now) == now


SEVERAL = {"source": "fraud", "databases": ["models", "card-data"], "window": "15m", "parallel": 8}


def test_a_message_asks_for_one_batch_of_several_databases() -> None:
    request = parse_batch_request(batch_message("pull", None, None, SEVERAL))
    account = "pull-fraud@my-project.iam.gserviceaccount.com"
    settings = replace(SETTINGS, source_accounts={"fraud": account}, source_buckets={"fraud": "pull-fraud"})
    batch = plan_batch(request, "1", settings, ALLOWED)
    assert request.subject == "2 databases of fraud"
    assert batch.arguments == ("--source=fraud", "--databases=models,card-data", "--window=15m", "--parallel=8")
    assert (batch.settings.service_account, batch.settings.bucket) == (account, "pull-fraud")
    arguments = parse_pull(batch.arguments)
    assert isinstance(arguments, PullDatabasesArguments)
    assert arguments.pulls == tuple(
        PullArguments("fraud", database, "15m", parallel=8) for database in ("models", "card-data")
    )


def test_batches_of_the_same_databases_know_each_other_and_those_of_others_do_not() -> None:
    def labels(**changed: object) -> dict[str, str]:
        return subject_labels(parse_batch_request(batch_message("pull", None, None, {**SEVERAL, **changed})))

    assert labels() == labels(window="day")
    assert labels() != labels(databases=["models"])
    assert labels() != labels(source="ads")


def test_each_database_of_a_message_needs_an_allowed_dataset() -> None:
    request = parse_batch_request(batch_message("pull", None, None, SEVERAL))
    allowed = AllowList("p", frozenset({"fraud_models"}), SETTINGS)
    with pytest.raises(InvalidMessage, match=r"^dataset fraud_card_data is not among ONEFOLD_DATASETS: add it there$"):
        plan_batch(request, "1", SETTINGS, allowed)


@pytest.mark.parametrize(
    ("dataset", "changed", "problem"),
    [
        ("fraud_models", {}, "the message has the unknown field 'dataset'"),
        (None, {"databases": []}, "argument 'databases' must be text or a list of texts, and not empty"),
        (None, {"databases": ["a-b", "a_b"]}, "--databases: more than one has the dataset fraud_a_b"),
        (None, {"databases": ","}, "--databases: expected at least one name, got none"),
        (None, {"database": "models"}, "unrecognized arguments: --database=models"),
    ],
)
def test_a_message_of_several_databases_is_refused_where_it_is_not_clear(
    dataset: str | None, changed: dict[str, object], problem: str
) -> None:
    with pytest.raises((InvalidMessage, InvalidInput), match=problem):
        plan_batch(parse_batch_request(batch_message("pull", dataset, None, {**SEVERAL, **changed})), "1", SETTINGS, ALLOWED)
