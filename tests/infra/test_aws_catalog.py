"""The rights on the Glue Data Catalog in infra/aws, for external tables over the runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.aws_values import ACCOUNT, REGION, copy_values, only_checks, policies, refused_by

TABLES = [f"arn:aws:glue:{REGION}:{ACCOUNT}:{name}" for name in ("catalog", "database/acme", "table/acme/*")]
READS = ["glue:GetDatabase", "glue:GetTable", "glue:GetTables", "glue:GetPartition", "glue:GetPartitions"]
WRITES = [
    "glue:GetDatabase", "glue:GetTable", "glue:GetPartitions", "glue:CreateTable", "glue:UpdateTable",
    "glue:BatchCreatePartition",
]  # fmt: skip


@pytest.fixture
def values(tmp_path: Path) -> Path:
    return copy_values(tmp_path)


def allow(sid: str, actions: list[str]) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": TABLES}


def test_a_catalog_gives_the_rights_on_its_own_tables_and_no_others(values: Path) -> None:
    usual, more = policies(values), policies(values, catalog="acme")
    added = {"copy": [allow("ReadCatalog", READS)], "loader": [allow("WriteCatalog", WRITES)]}
    assert more == {name: [*statements, *added.get(name, [])] for name, statements in usual.items()}


def test_external_tables_need_a_catalogue_three_schemas_and_runs_in_parquet(values: Path) -> None:
    only_checks(values)

    def refused(schema: str, form: str, **more: str) -> str:
        shred = f'{{ events = ["s3://acme/good"], registries = ["s3://acme-registry"], format = "{form}" }}'
        return refused_by(values, shred, external=f'{{ schema = "{schema}", views = "events" }}', **more)

    wrong = (
        refused("spectrum", "parquet"),
        refused("events", "parquet", catalog="acme"),
        refused("spectrum", "csv", catalog="acme"),
    )
    for said in wrong:
        assert "shred.format must be parquet with `external`, which goes with `catalog`, and names two schemas" in said
    assert not refused("spectrum", "parquet", catalog="acme")
