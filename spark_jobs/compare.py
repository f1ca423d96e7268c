"""The batch that compares two sets of rows, row by row. See docs/compare.md.

Exit codes: 0 the same; 1 an error, wrong usage included; 2 different.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from onefold.bigquery import connect
from onefold.jobs import parse_compare
from onefold.settings import load_settings
from onefold.spark.compare_job import compare
from onefold.spark.job import run_job
from onefold.spark.session import open_session


def main(argv: Sequence[str]) -> int:
    return run_job("compare", argv, lambda: run(argv))


def run(argv: Sequence[str]) -> int:
    arguments = parse_compare(argv)
    summary = compare(open_session("onefold compare"), arguments, lambda: connect(load_settings(os.environ).project))
    sys.stdout.write(f"{json.dumps(summary.as_dict(), ensure_ascii=False)}\n")
    return 0 if summary.same else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
