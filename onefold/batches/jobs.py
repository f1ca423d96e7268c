"""The jobs that a message can ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onefold.batches.arguments import CompareArguments, DatasetArguments, ReconcileArguments
from onefold.batches.shred_arguments import ShredArguments
from onefold.batches.source_arguments import (
    CheckArguments,
    CheckDatabasesArguments,
    PullArguments,
    PullDatabasesArguments,
)

Arguments = (
    ReconcileArguments
    | DatasetArguments
    | CompareArguments
    | PullArguments
    | PullDatabasesArguments
    | CheckArguments
    | CheckDatabasesArguments
    | ShredArguments
)
Form = type[Arguments]
"""What a job does for a table, for a dataset, for databases or for folders, by its arguments."""


@dataclass(frozen=True)
class Job:
    """A job. A form is None where the job does not work on that: on one table, on a dataset, on folders, on databases."""

    of_table: Form | None = None
    of_dataset: Form | None = None
    of_folders: Form | None = None
    of_databases: type[PullDatabasesArguments] | type[CheckDatabasesArguments] | None = None

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms that there are, each once."""
        found = (self.of_table, self.of_dataset, self.of_folders, self.of_databases)
        return tuple(dict.fromkeys(form for form in found if form))


JOBS: Mapping[str, Job] = {
    "reconcile": Job(ReconcileArguments, DatasetArguments),
    "pull": Job(PullArguments, PullArguments, of_databases=PullDatabasesArguments),
    "check": Job(CheckArguments, CheckArguments, of_databases=CheckDatabasesArguments),
    "compare": Job(CompareArguments),
    "shred": Job(of_folders=ShredArguments),
}
"""Every job by its name, which is that of its file in `spark_jobs/`."""
FORMER_JOBS: Mapping[str, str] = {"extract": "pull"}
"""The present name of a job by its former one, which is taken for one release. A batch has the name of its message, and its
identifier has it as well: a message that comes again after an update starts no second batch."""


def present_name(name: str) -> str:
    """Return the present name of a job.

    Examples:
        >>> present_name("extract"), present_name("pull")
        ('pull', 'pull')
    """
    return FORMER_JOBS.get(name, name)


def former_name_warning(name: str) -> str:
    """Return what to do about a former name."""
    return f"the job {name} is now called {FORMER_JOBS[name]}: the former name goes with the next release"
