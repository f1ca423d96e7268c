"""One Spark for the whole test session: it takes seconds to start, and a process can have no two."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from onefold.doctor.java import java_hint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
}
"""For a few rows: more parts, and plans that are made anew midway, take half as much again. `in_parts` has both."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark with the settings of our jobs."""
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'onefold[spark]'")
    hint = java_hint()
    if hint:
        pytest.skip(hint)
    from pyspark.sql import SparkSession
    from support.spark_class_archive import make_archive

    from onefold.spark.session import prepared

    make_archive(tmp_path_factory.mktemp("classes"))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("tests").config(map={**SMALL})
    session = prepared(builder.getOrCreate())
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def in_parts(spark: SparkSession) -> Iterator[None]:
    """As on a cluster: rows are sent to several parts, and plans follow what was met on the way."""
    wanted = {"spark.sql.shuffle.partitions": "3", "spark.sql.adaptive.enabled": "true"}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    yield
    for name in wanted:
        spark.conf.set(name, SMALL[name])
