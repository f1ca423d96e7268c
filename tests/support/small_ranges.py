"""Runs `spark_jobs/pull.py` with small key ranges: a table of some hundred rows is read like one of millions."""

from __future__ import annotations

import runpy
import sys

import onefold.pull.read.key_ranges

ROWS = 300
"""About the rows of a range."""

if __name__ == "__main__":
    onefold.pull.read.key_ranges.PART_ROWS = ROWS
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
