"""The arguments of a job for all tables of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onefold.batches.parsers import reconcile_dataset_parser
from onefold.core.errors import InvalidInput
from onefold.core.names import problems_of_name

DATASET_OPTION = "--dataset"
MAX_PARALLEL = 64


@dataclass(frozen=True)
class DatasetArguments:
    """The arguments of `spark_jobs/reconcile.py --dataset`.

    dataset: the dataset whose tables are merged.
    match: a pattern of base names, as in a shell; None for all tables.
    parallel: how many tables are merged at the same time.
    """

    dataset: str
    match: str | None = None
    parallel: int = 4


def is_for_dataset(words: Sequence[str]) -> bool:
    """Return whether the words of a command line ask for all tables of a dataset.

    Examples:
        >>> is_for_dataset(["--dataset=shop"]), is_for_dataset(["--changes", "bigquery:shop.customer"])
        (True, False)
    """
    return any(word.partition("=")[0] == DATASET_OPTION for word in words)


def parse_reconcile_dataset(words: Sequence[str]) -> DatasetArguments:
    """Return the arguments of `spark_jobs/reconcile.py` for all tables of a dataset.

    Raises:
        InvalidInput: everything that is wrong with them.

    Examples:
        >>> parse_reconcile_dataset(["--dataset", "shop", "--match", "order_*"])
        DatasetArguments(dataset='shop', match='order_*', parallel=4)
    """
    found = reconcile_dataset_parser(DatasetArguments.parallel).parse_args(list(words))
    problems = [f"--dataset: {problem}" for problem in problems_of_name("dataset", found.dataset)]
    if found.match == "":
        problems.append("--match: expected a pattern of base names, got an empty text: write order_*, or leave it out")
    if not 1 <= found.parallel <= MAX_PARALLEL:
        problems.append(f"--parallel: expected 1 to {MAX_PARALLEL} tables at the same time, got {found.parallel}")
    if problems:
        raise InvalidInput(problems)
    return DatasetArguments(found.dataset, found.match, found.parallel)
