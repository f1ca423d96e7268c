"""Which line of a table a job of BigQuery belongs to, from what the job reads and writes.

| the job | belongs to |
|---|---|
| is a load job, or reads the log of loads, or writes a version | pulls |
| reads a table of a check, or the log of checks | checks |
| writes a base or its log, or reads the log; any other job of Onefold | merges |
| reads a base, and Onefold did not start it | current views |
| reads versions only, and Onefold did not start it | other queries |

Onefold labels its jobs (`onefold`). What a job bills for several tables is divided among them in equal parts: BigQuery does
not say more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from onefold.check.log import CHECK_TABLE
from onefold.core.names import TEMPORARY_PREFIX
from onefold.cost.formulas import Line
from onefold.ports.usage import LoggedJobs
from onefold.pull.load.run_log import LOG_TABLE

Kind = str
"""What a table is: `version`, `base`, `log`."""
Owner = Callable[[str], tuple[str, Kind] | None]
"""Returns the base name that a stored table belongs to, and what it is; None for others. The name is `dataset.table`."""


@dataclass
class Measured:
    """What the log of jobs says of one table.

    Attributes:
        billed: bytes by line.
        jobs: jobs by line.
        merges: statements MERGE into the base.
        loads: load jobs.
    """

    billed: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    jobs: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    merges: int = 0
    loads: int = 0


def measured(jobs: Iterable[LoggedJobs], owner: Owner) -> Mapping[str, Measured]:
    """Return what the log of jobs says of each table, by base name.

    Args:
        jobs: the log.
        owner: tells to which table a stored table belongs.
    """
    found: dict[str, Measured] = defaultdict(Measured)
    for job in jobs:
        named = [known for table in job.tables if (known := owner(table))]
        bases = sorted({base for base, _ in named})
        line = line_of(job, frozenset(kind for _, kind in named))
        for base in bases:
            one = found[base]
            one.billed[line] += job.billed / len(bases)
            one.jobs[line] += job.jobs
            one.loads += job.jobs if job.kind == "LOAD" else 0
            one.merges += job.jobs if job.statement == "MERGE" and owner(job.written) == (base, "base") else 0
    return found


def line_of(job: LoggedJobs, kinds: frozenset[Kind]) -> Line:
    """Return the line that a job belongs to.

    Args:
        job: the job.
        kinds: what the tables are that it reads and writes.

    Examples:
        >>> line_of(LoggedJobs("QUERY", "SELECT", read=frozenset({"shop.a_base"})), frozenset({"base"}))
        'current views'
    """
    names = {table.rpartition(".")[2] for table in job.tables}
    if job.kind == "LOAD" or LOG_TABLE in names:
        return "pulls"
    if CHECK_TABLE in names or any(name.startswith(TEMPORARY_PREFIX) for name in names):
        return "checks"
    if "log" in kinds or (job.written and "base" in kinds):
        return "merges"
    if job.written:
        return "pulls"
    if job.own:
        return "merges"
    return "current views" if "base" in kinds else "other queries"
