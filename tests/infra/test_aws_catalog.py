"""The rights on the Glue Data Catalog in infra/aws, for external tables over the runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.aws_values import ACCOUNT, REGION, copy_values, policies

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
