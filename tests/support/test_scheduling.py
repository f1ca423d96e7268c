"""Tests that share a Spark or a Terraform run in one worker, all others file by file."""

from __future__ import annotations

import pytest
from support.scheduling import scope


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("tests/spark/reconcile/test_job.py::test_a[b::c]", "tests/spark/reconcile/"),
        ("tests/spark/test_session.py::test_b", "tests/spark/"),
        ("tests/infra/test_plan.py::test_b", "tests/infra/"),
        ("tests/merge/test_apply.py::test_c[tests/spark/]", "tests/merge/test_apply.py"),
        ("tests/local/test_spark.py::test_d", "tests/local/test_spark.py"),
    ],
)
def test_a_test_goes_with_its_file_or_with_all_that_share_a_server(test: str, expected: str) -> None:
    assert scope(test) == expected
