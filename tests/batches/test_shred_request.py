"""Requests for the job that shreds events: its arguments, its message and the places that it may use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from onefold.batches.allow_list import AllowList
from onefold.batches.batch import plan_batch, subject_labels
from onefold.batches.request import BatchRequest, batch_message, parse_batch_request
from onefold.batches.shred_arguments import ShredArguments
from onefold.core.errors import InvalidInput, InvalidMessage
from onefold.settings.batches import BatchSettings

SETTINGS = BatchSettings(region="r", service_account="a", code="gs://code/v1", folders=("gs://lake", "s3://lake/in"))
ALLOWED = AllowList("p", None, SETTINGS, "https://registry.example/api")
ARGUMENTS = {
    "events": ["gs://lake/good/2026-*/*.gz", "s3://lake/in"], "registry": "gs://lake/registry", "output": "gs://lake/shredded/",
    "format": "csv", "input": "enriched-tsv",
}  # fmt: skip


def request(**changed: object) -> BatchRequest:
    return parse_batch_request(batch_message("shred", None, None, {**ARGUMENTS, **changed}))


def problems(**changed: object) -> tuple[str, ...]:
    with pytest.raises(InvalidMessage) as error:
        plan_batch(request(**changed), "1", SETTINGS, ALLOWED)
    return error.value.problems


def test_all_arguments() -> None:
    words = ["--events", "a,b", "c*", "--registry=r/", "--output=o/", "--format=parquet", "--input=self-describing"]
    found = ShredArguments.parse([*words, "--dry-run"])
    assert found == ShredArguments(("a", "b", "c*"), ("r/",), "o", "self-describing", format="parquet", dry_run=True)


def test_all_problems_at_once() -> None:
    words = [
        "--events",
        "gs://in/{a,b}",
        "ftp://x",
        "--registry=gs://r/*",
        "--output=o?",
        "--format=csv",
        "--input=enriched-json",
    ]
    with pytest.raises(InvalidInput) as error:
        ShredArguments.parse(words)
    named = [problem.split()[0] for problem in error.value.problems]
    assert named == ["--events", "--events", "--events", "--registry", "--output"]


def test_a_message_names_no_dataset_and_starts_a_batch_with_its_libraries() -> None:
    batch = plan_batch(request(), "1", SETTINGS, ALLOWED)
    assert ShredArguments.parse(batch.arguments).events == ("gs://lake/good/2026-*/*.gz", "s3://lake/in")
    assert batch.main == "gs://code/v1/shred.py"
    assert batch.unpacked == ("gs://code/v1/compiled_libraries.zip",)
    assert plan_batch(BatchRequest("reconcile", "shop", "t", ("--keys=id",)), "1", SETTINGS, ALLOWED).unpacked == ()


def test_batches_with_one_output_have_labels_in_common() -> None:
    assert subject_labels(request()) == subject_labels(request(output="gs://lake/shredded", format="parquet"))
    assert subject_labels(request()) != subject_labels(request(output="gs://lake/other"))
    assert request().subject == "output gs://lake/shredded"


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"events": ["gs://lake/a", "gs://other/a"]}, "gs://other/a is not in a folder of ONEFOLD_BATCH_FOLDERS"),
        ({"events": "gs://lake*/a"}, "--events 'gs://lake*/a': expected gs://bucket/folder"),
        ({"events": "s3://lake/*/in"}, "s3://lake is not in a folder"),
        ({"events": "gs://lake/*/../../other"}, "is no folder that a batch may use"),
        ({"events": "/etc/passwd"}, "is no folder that a batch may use"),
        ({"continuous": 60}, "--continuous is for a cluster of your own"),
        ({"output": "gs://co"}, "is no folder that a batch may use"),
        ({"output": "gs://other/x"}, "gs://other/x is not in a folder"),
        ({"registry": "gs://other/registry"}, "gs://other/registry is not in a folder"),
        ({"registry": "https://evil.example/api"}, "is no folder that a batch may use"),
        ({"registry": ["gs://lake/registry", "https://evil.example/api"]}, "is no folder that a batch may use"),
        (
            {"registry": "gs://lake/resolver.json"},
            "gs://lake/resolver.json is a resolver's file: name it in ONEFOLD_REGISTRY",
        ),
    ],
)
def test_places_outside_the_allowed_folders_are_refused(changed: dict[str, object], text: str) -> None:
    found = problems(**changed)
    assert len(found) == 1
    assert text in found[0]


def test_the_folder_of_the_code_is_never_an_output() -> None:
    allowed = AllowList("p", None, replace(SETTINGS, folders=("gs://lake", "gs://code")))
    with pytest.raises(InvalidMessage, match="gs://code holds the code of the jobs"):
        plan_batch(request(output="gs://code"), "1", SETTINGS, allowed)


def test_the_registry_of_the_settings_is_allowed_wherever_it_is() -> None:
    assert plan_batch(request(registry="https://registry.example/api"), "1", SETTINGS, ALLOWED).arguments


def test_registries_are_a_list_in_their_order() -> None:
    batch = plan_batch(request(registry=["https://registry.example/api/", "gs://lake/registry"]), "1", SETTINGS, ALLOWED)
    assert ShredArguments.parse(batch.arguments).registry == ("https://registry.example/api/", "gs://lake/registry")


@pytest.mark.parametrize(
    "changed",
    [
        {"registry": "gs://pipeline/resolver.json"},
        {"settings": replace(SETTINGS, folders=(*SETTINGS.folders, "gs://pipeline/resolver.json"))},
    ],
)
def test_a_resolver_that_the_settings_name_is_allowed(changed: dict[str, Any]) -> None:
    words = request(registry="gs://pipeline/resolver.json")
    assert plan_batch(words, "1", SETTINGS, replace(ALLOWED, **changed)).arguments


def test_a_message_with_a_dataset_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="unknown field 'dataset'"):
        parse_batch_request(batch_message("shred", "shop", None, ARGUMENTS))
    with pytest.raises(InvalidInput, match="the job shred works on folders: leave out dataset and table"):
        _ = BatchRequest("shred", "shop").form


def test_every_place_of_a_repeated_option_is_read() -> None:
    words = ["--events", "gs://lake/a", "--events", "gs://lake/b", "gs://lake/c,gs://lake/d"]
    rest = ["--registry=gs://lake/registry", "--output=gs://lake/out", "--format=parquet", "--input=self-describing"]
    assert ShredArguments.parse([*words, *rest]).events == ("gs://lake/a", "gs://lake/b", "gs://lake/c", "gs://lake/d")
