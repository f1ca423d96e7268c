"""The jobs that a message can ask for, each with the arguments that a request may leave out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from onefold.batches.arguments import CompareArguments, ReconcileArguments, parse_compare, parse_reconcile
from onefold.batches.check_arguments import CheckArguments, parse_check
from onefold.batches.dataset_arguments import DatasetArguments, parse_reconcile_dataset
from onefold.batches.extract_arguments import ExtractArguments, parse_extract
from onefold.batches.shred_arguments import ShredArguments, parse_shred

Arguments = ReconcileArguments | CompareArguments | DatasetArguments | ExtractArguments | CheckArguments | ShredArguments


@dataclass(frozen=True)
class Default:
    """An argument that a request may leave out.

    name: the name of the argument, without hyphens.
    value: its default, in which {dataset} and {table} are those of the request.
    unless: other arguments; where a request names one of them, the default does not apply.
    """

    name: str
    value: str
    unless: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """What a job does for a table, for a dataset or for folders: the parser of its arguments, and their defaults."""

    parse: Callable[[Sequence[str]], Arguments]
    defaults: tuple[Default, ...]

    def completed(self, words: Sequence[str], dataset: str | None, table: str | None) -> tuple[str, ...]:
        """Return the words of a command line, and after them the defaults of the arguments that they leave out.

        Args:
            words: the words of a request.
            dataset: the dataset of the request; None for a job on folders.
            table: the table of the request; None for all tables.

        Examples:
            >>> form = Form(parse_compare, (Default("left", "bigquery:{dataset}.{table}_current"),))
            >>> form.completed(["--keys=id"], "shop", "customer")
            ('--keys=id', '--left=bigquery:shop.customer_current')
        """
        named = {word.partition("=")[0] for word in words}
        left_out = [one for one in self.defaults if not named & {f"--{name}" for name in (one.name, *one.unless)}]
        return (*words, *(f"--{one.name}={one.value.format(dataset=dataset, table=table)}" for one in left_out))


@dataclass(frozen=True)
class Job:
    """A job. A form is None where the job does not work on that: on one table, on a dataset, on folders."""

    of_table: Form | None = None
    of_dataset: Form | None = None
    of_folders: Form | None = None


JOBS: Mapping[str, Job] = {
    "reconcile": Job(
        Form(
            parse_reconcile,
            (
                Default("changes", "bigquery:{dataset}.{table}"),
                Default("base", "bigquery:{dataset}.{table}_base", unless=("output",)),
            ),
        ),
        Form(parse_reconcile_dataset, (Default("dataset", "{dataset}"),)),
    ),
    "extract": Job(Form(parse_extract, (Default("tables", "{table}"),)), Form(parse_extract, ())),
    "check": Job(Form(parse_check, (Default("tables", "{table}"),)), Form(parse_check, ())),
    "compare": Job(Form(parse_compare, (Default("left", "bigquery:{dataset}.{table}_current"),))),
    "shred": Job(of_folders=Form(parse_shred, ())),
}
"""Every job by its name, which is that of its file in `spark_jobs/`."""
