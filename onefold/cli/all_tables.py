"""Parts that the commands on all tables of a dataset share: their options, and the outcome of each table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from onefold.cli.common import ERROR, OK, Failure, print_lines, say, work_on_each
from onefold.cli.output import echo_json
from onefold.core.errors import KeyUnknown, NoCurrentView, NoOwnDataset, NothingToMerge, NoVersions
from onefold.core.names import TableId
from onefold.core.text import shown_list


@dataclass(frozen=True)
class TableOutcome:
    """What became of one table.

    table: the table.
    outcome: a word for it, such as `merged`.
    details: more fields of its entry in the JSON.
    lacks_dataset: whether it was skipped because the dataset of its base and its view does not exist.
    """

    table: TableId
    outcome: str
    details: tuple[tuple[str, Any], ...] = ()
    lacks_dataset: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {"table": str(self.table), "outcome": self.outcome, **dict(self.details)}


def refuse_for_many(**given: object) -> None:
    """Refuse options that make sense for one table only, where a command names several.

    Args:
        given: the values of the options, by name; None and False where an option was not given.

    Raises:
        UsageError: names all that were given.
    """
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value not in (None, False)]
    if named:
        raise click.UsageError(f"{shown_list(named)} is for one table: name one, as shop.customer.")


def run_for_many(
    dataset: str, tables: Sequence[TableId], work: Callable[[TableId], TableOutcome], title: str, as_json: bool
) -> int:
    """Work on tables one after the other, print what became of them, and return the exit code.

    A table that fails, or is skipped, does not stop the others.

    Args:
        dataset: the dataset, for the summary.
        tables: the tables.
        work: is called with each table.
        title: what is done, for a progress bar on standard error.
        as_json: print JSON instead of a summary.
    """
    results = work_on_each(tables, unless_skipped(work), None if as_json else title)
    if as_json:
        echo_json([entry(result) for result in results])
    else:
        counts = Counter("failed" if isinstance(result, Failure) else result.outcome for result in results)
        print_lines(f"{dataset}: {', '.join(f'{count:,} {name}' for name, count in counts.items())}")
    return code_of(results)


def code_of(results: Sequence[TableOutcome | Failure]) -> int:
    """Return the exit code: an error where a table failed, or where nothing could be done for want of a dataset."""
    outcomes = [result for result in results if isinstance(result, TableOutcome)]
    is_blocked = any(one.lacks_dataset for one in outcomes) and all(one.outcome == "skipped" for one in outcomes)
    return ERROR if is_blocked or len(outcomes) < len(results) else OK


def unless_skipped(work: Callable[[TableId], TableOutcome]) -> Callable[[TableId], TableOutcome]:
    """Return `work`, for which a table is skipped, and no failure, that is known to have nothing to work on.

    Its key is unknown, the settings exclude it, its rows are no changes, it has no rows yet, or its views have no dataset.
    """

    def skipping(table: TableId) -> TableOutcome:
        try:
            return work(table)
        except (KeyUnknown, NoCurrentView, NothingToMerge, NoVersions, NoOwnDataset) as error:
            say("yellow", f"Skipped: {error}")
            return TableOutcome(table, "skipped", (("reason", str(error)),), isinstance(error, NoOwnDataset))

    return skipping


def entry(result: TableOutcome | Failure) -> dict[str, Any]:
    """Return the entry of a table in the JSON."""
    return {"outcome": "failed", **result.as_dict()} if isinstance(result, Failure) else result.as_dict()
