"""Fixtures for every test, markers, and the order of tests."""

from __future__ import annotations

import gc
import os
import tempfile
from pathlib import Path

import pytest
from support.kinds import mark, show_skipped
from support.library_caches import clear_the_caches
from support.row_table import pytest_assertrepr_compare  # noqa: F401
from support.spark_class_archive import quick_java
from support.zetasql_judge import Judge

quick_java()
# A worker that has talked to Pub/Sub starts other programs, such as Spark's: gRPC's handlers of forks may end these at once.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Return Google's analyzer and evaluator, one for the session, since its start takes seconds."""
    return Judge()


# Permissions as code.
from support.access_apis import access_servers, apis  # noqa: E402, F401

# The emulator of BigQuery and the command line.
from support.bigquery_emulator import dataset, emulator_host, emulator_storage  # noqa: E402, F401
from support.browser import browser, visit  # noqa: E402, F401
from support.cli import run  # noqa: E402, F401

# How many tests ran.
from support.counts import pytest_collection_finish, pytest_sessionfinish  # noqa: E402, F401

# Deployments.
from support.deploy import recorder  # noqa: E402, F401
from support.fake_emr_serverless import emr_serverless  # noqa: E402, F401

# Buckets.
from support.fake_gcs import object_store  # noqa: E402, F401
from support.fake_s3 import s3_server  # noqa: E402, F401

# PostgreSQL in the place of Redshift.
from support.postgres import postgres, postgres_server  # noqa: E402, F401

# What the tests of quarantine stand on.
from support.quarantine_scene import reader, scene  # noqa: E402, F401

# Redshift's Data API, and S3.
from support.redshift_scene import redshift_scene  # noqa: E402, F401
from support.redshift_server import redshift, redshift_database  # noqa: E402, F401

# Refreshes of views; Google's client does not retry in tests.
from support.refresh_shop import cloud, eager_threads, no_retries_of_the_client, small_texts  # noqa: E402, F401

# The API of a schema registry.
from support.registry_server import api, started_api  # noqa: E402, F401

# One Spark for all its tests.
from support.scheduling import pytest_xdist_make_scheduler  # noqa: E402, F401

# Random values.
from support.seeding import chance, mark_property_tests, only_long_tests, seed_the_run, show_seed  # noqa: E402, F401

# Snapshots.
from support.snapshot import read_method  # noqa: E402, F401

# Source databases.
from support.source_database import choose_servers, mariadb, mysql, server, source  # noqa: E402, F401

# Spark.
from support.spark_session import in_parts, spark  # noqa: E402, F401

# Terraform.
from support.terraform import terraform, tested  # noqa: E402, F401

# Handlers of messages about views.
from support.view_fixtures import announcer, denied, handler, refusing, tagged  # noqa: E402, F401

# XA transactions.
from support.xa import xa  # noqa: E402, F401

TESTS = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by the systems that they start, and let the heavy ones run first: at the end, one would run alone."""
    mark(items, TESTS)
    if only_long_tests(config):
        mark_property_tests(items)
    items.sort(key=lambda item: item.get_closest_marker("heavy") is None)
    gc.freeze()  # the tests stay until the end, and looking through them again and again took a tenth of the fast ones' time
    gc.set_threshold(100_000, 20, 50)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    choose_servers(metafunc)


def pytest_configure(config: pytest.Config) -> None:
    seed_the_run(config)
    # A stack that a person has started on this machine is not that of the tests.
    state = tempfile.TemporaryDirectory(prefix="onefold-state-")
    config.add_cleanup(state.cleanup)
    os.environ["XDG_STATE_HOME"] = state.name


def pytest_runtest_setup() -> None:
    clear_the_caches()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    show_skipped(terminalreporter)
    show_seed(terminalreporter)
