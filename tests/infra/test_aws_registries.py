"""infra/aws: the registries of the job, whose buckets it may read, and the lists that a plan refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from infra.test_aws_pipeline import allow, listed
from support.aws_values import BUCKET, copy_values, only_checks, policies, refused_by


@pytest.fixture
def values(tmp_path: Path) -> Path:
    return copy_values(tmp_path)


def test_the_job_reads_the_buckets_that_a_resolvers_file_names(values: Path) -> None:
    shred = (
        '{ events = ["s3://acme-collector/good"], registries = ["s3://acme-pipeline/resolver.json"], '
        'resolver_buckets = ["s3://acme-iglu", "s3://acme-more/central/"] }'
    )
    reads = [one for one in policies(values, shred=shred)["job"] if one["Action"] in ("s3:GetObject", "s3:ListBucket")]
    assert reads == [
        listed("acme-collector", "good", "good/*"),
        listed("acme-pipeline", "resolver.json", "resolver.json/*"),
        listed("acme-iglu", "*"),
        listed("acme-more", "central", "central/*"),
        listed(BUCKET, "code", "code/*"),
        allow(
            "s3:GetObject",
            [
                *(f"arn:aws:s3:::acme-collector/good{end}" for end in ("", "/*")),
                *(f"arn:aws:s3:::acme-pipeline/resolver.json{end}" for end in ("", "/*")),
                "arn:aws:s3:::acme-iglu/*",
                *(f"arn:aws:s3:::acme-more/central{end}" for end in ("", "/*")),
                *(f"arn:aws:s3:::{BUCKET}/code{end}" for end in ("", "/*")),
            ],
            "ReadInputs",
        ),
    ]


@pytest.mark.parametrize(
    ("days", "shred", "told"),
    [
        ("0", 'registries = ["s3://a-b", "s3://a-b/"]', "shred.registries must be named once each"),
        ("0", 'registries = ["s3://a-b", "s3://a-b/r.json"]', "shred.registries must be either registries or one"),
        ("0", 'registries = ["s3://a-b/q.json", "s3://a-b/r.json"]', "shred.registries must be either registries or one"),
        ("0", 'registries = ["s3://a-b"], resolver_buckets = ["s3://a-c"]', "shred.resolver_buckets must be"),
        ("0", 'registries = ["s3://a-b/r.json"], resolver_buckets = ["a-c"]', "shred.resolver_buckets must be"),
        ("6", 'registries = ["s3://a-b"], duplicates_window = 7', "shred.duplicates_window must be at most `days`"),
        ("7", 'registries = ["s3://a-b/r.json"], resolver_buckets = ["s3://a-c"], duplicates_window = 7', None),
    ],
)
def test_a_plan_refuses_what_the_job_would_refuse(values: Path, days: str, shred: str, told: str | None) -> None:
    only_checks(values)
    refused = refused_by(values, f'{{ events = ["s3://acme/good"], {shred} }}', days=days)
    assert told in refused if told else not refused
