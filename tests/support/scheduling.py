"""Which tests run in one worker: those of a file, and all that share a Spark, which no two processes can share."""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler.loadfile import LoadFileScheduling

SHARED = ("tests/spark/reconcile/", "tests/spark/", "tests/infra/")
"""Folders whose tests stay in one worker: a second Terraform would do the same work again, a third Spark cost its start.

Two workers have a Spark: all of its tests, one after the other, take longer than everything else that a worker does.
"""


class BySystem(LoadFileScheduling):
    """Files are given to the workers as they become free, and each folder of SHARED as a whole."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def scope(nodeid: str) -> str:
    """Return what a test is given to a worker with: the name of a folder of SHARED, or of its file."""
    return next((folder for folder in SHARED if nodeid.startswith(folder)), nodeid.partition("::")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> BySystem | None:
    """Return our scheduler where the command line says `--dist loadfile`."""
    return BySystem(config, log) if config.getvalue("dist") == "loadfile" else None
