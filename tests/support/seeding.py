"""Random values of a test run: the seed, a new one in each run and repeated by TEST_SEED, and the number of examples.

Property tests try 25 examples in `make test` and `make test-fast`, 10 against each of `make mutants`, and 250 in `make
test-long`, which runs them again for that: each run has other values. A test whose examples are expensive takes a share of
these numbers by `examples`. Only tests that start a Spark job for each example set a number by hand: they run once, in `make
test`.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable

import pytest
from hypothesis import is_hypothesis_test, settings

SEED = "TEST_SEED"
PROFILE = "TEST_PROFILE"
EXAMPLES = {"mutants": 10, "short": 25, "long": 250}
"""The number of examples of a property test, by the profile of Hypothesis. TEST_PROFILE names one for a run."""


def seed_the_run(config: pytest.Config) -> None:
    """Choose the seed, which the processes of pytest-xdist inherit, and the profile of Hypothesis."""
    os.environ.setdefault(SEED, str(random.SystemRandom().randrange(2**32)))
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = int(os.environ[SEED])
    for profile, count in EXAMPLES.items():
        # No deadline: a slow machine is not a failure. The printed blob repeats the example that failed.
        settings.register_profile(profile, deadline=None, print_blob=True, max_examples=count)
    settings.load_profile(os.environ.get(PROFILE) or ("long" if only_long_tests(config) else "short"))


def only_long_tests(config: pytest.Config) -> bool:
    """Return True in `make test-long`, which runs pytest with `-m long`."""
    return str(config.getoption("markexpr")).strip() == "long"


def examples(percent: int) -> int:
    """Return a share of the number of examples of this run, for tests whose examples are expensive."""
    return max(settings().max_examples * percent // 100, 1)


def mark_property_tests(items: Iterable[pytest.Item]) -> None:
    """Mark property tests as long, so that `make test-long` runs them as well, except those that start Spark."""
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)) and not item.get_closest_marker("spark"):
            item.add_marker("long")


def show_seed(reporter: pytest.TerminalReporter) -> None:
    """Print after a failure how to run the same examples again."""
    if reporter.stats.get("failed") or reporter.stats.get("error"):
        reporter.write_line(f"the random values of this run are repeated by {SEED}={os.environ[SEED]}")


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Return random values that follow from the seed of the run and the name of the test."""
    return random.Random(f"{os.environ[SEED]} {request.node.nodeid}")
