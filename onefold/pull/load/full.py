"""Full loads: the whole table is read each time, and replaces what was there.

The rows of a load have its name as `datastream_metadata.uuid`. Views show the rows of the newest load alone, so they read
one complete load at any moment: the present version is replaced at one moment, before older versions are emptied.
"""

from __future__ import annotations

from collections.abc import Sequence

from onefold.core.names import TableId, versioned_name
from onefold.ports.load_jobs import LoadJobs
from onefold.pull.read.pulled import PulledFiles


def replace_all(jobs: LoadJobs, base: TableId, pulled: PulledFiles, older: Sequence[str]) -> tuple[str, ...]:
    """Replace the rows of all versions by those of a full load; return the identifiers of the jobs.

    Args:
        jobs: runs load jobs.
        base: the id of the table without a version.
        pulled: the whole table.
        older: the other versions of the table.
    """
    present = base.sibling(pulled.plan.target.name)
    if not pulled.files:
        # Emptied first, the present version would leave an older load as the newest one.
        _empty(jobs, base, older)
        jobs.replace(present, ())
        return ()
    job = jobs.replace(present, pulled.files)
    _empty(jobs, base, older)
    return (job.id,) if job else ()


def _empty(jobs: LoadJobs, base: TableId, older: Sequence[str]) -> None:
    for version in older:
        jobs.replace(base.sibling(versioned_name(base.table, version)), ())
