"""The seed of a test run: another one each time, shown with every failure, and repeated by TEST_SEED."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import settings

SEED = "TEST_SEED"


def seed_the_run(config: pytest.Config) -> None:
    """Choose the seed once; the processes of pytest-xdist inherit it."""
    os.environ.setdefault(SEED, str(random.SystemRandom().randrange(2**32)))
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = int(os.environ[SEED])
    # Without a deadline: a loaded machine is no failure. A blob repeats the one example that failed.
    settings.register_profile("seeded", deadline=None, print_blob=True)
    settings.load_profile("seeded")


def show_seed(reporter: pytest.TerminalReporter) -> None:
    """Say with a failure how to run the same examples again."""
    if reporter.stats.get("failed") or reporter.stats.get("error"):
        reporter.write_line(f"the random values of this run are repeated by {SEED}={os.environ[SEED]}")


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Random values of the run's seed, others in each test."""
    return random.Random(f"{os.environ[SEED]} {request.node.nodeid}")
