"""The report of the job of a batch: the last line of JSON that it has printed. Dataproc keeps the output in a bucket."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onefold.core.text import counted
from onefold.ports.objects import ObjectFinder

Report = Mapping[str, Any]


def read_report(objects: ObjectFinder, output: str) -> Report | None:
    """Return the report of a job; None where it has printed none.

    Args:
        objects: reads what was printed.
        output: its address without the number of a part: Dataproc writes `driveroutput.000000000` and so on.

    Raises:
        Rejected: the caller may not read it.
        TryAgain: the store does not answer.
    """
    parts = itertools.takewhile(bool, (objects.find(f"{output}.{number:09}") for number in itertools.count()))
    text = b"".join(part.data for part in parts if part).decode(errors="replace")
    return last_report(text.splitlines())


def last_report(lines: Sequence[str]) -> Report | None:
    """Return the report among the lines that a job has printed; None where there is none.

    Examples:
        >>> last_report(['{"events": 1}', '{"severity": "INFO"}', "done"])
        {'events': 1}
    """
    return next((report for line in reversed(lines) if (report := _parsed(line))), None)


def _parsed(line: str) -> Report | None:
    if not line.startswith("{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return None if "severity" in found else found  # a line of a log


def count_lines(report: Report) -> Iterator[str]:
    """Yield the counts of a report as lines: those of each table, and then those of the whole job.

    Examples:
        >>> list(count_lines({"events": 3, "tables": {"com_acme_click_1": 2}, "bad": {"invalid": 1}}))
        ['com_acme_click_1: 2 rows', 'bad: invalid 1', 'events 3']
        >>> list(count_lines({"loaded": 1, "tables": [{"table": "score", "outcome": "loaded", "rows": 5, "files": 1}]}))
        ['score: rows 5, files 1', 'loaded 1']
    """
    for one in report.get("datasets", ()):  # of a job on several databases
        yield from (f"{one['dataset']}: {line}" for line in count_lines(one))
    tables = report.get("tables", ())
    if isinstance(tables, Mapping):
        yield from (f"{name}: {counted(rows, 'row')}" for name, rows in tables.items())
    else:
        yield from (f"{one['table']}: {_counts(one)}" for one in tables if _counts(one))
    others = {name: value for name, value in report.items() if isinstance(value, Mapping) and name != "tables"}
    yield from (f"{name}: {_counts(value)}" for name, value in others.items() if _counts(value))
    if own := _counts(report):
        yield own


def _counts(values: Report) -> str:
    return ", ".join(f"{name} {value:,}" for name, value in values.items() if type(value) is int)
