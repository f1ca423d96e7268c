"""Fixtures of the tests of the Spark job that compares."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from support.compare_job import Job


@pytest.fixture(scope="module")
def job(spark: SparkSession) -> Job:
    return Job(spark)
