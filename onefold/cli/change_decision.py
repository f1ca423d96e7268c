"""A decision about a change that a contract holds: what is known before it is made, what stops it, and what it writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from onefold.changes.deciding import ChangeToDecide, is_within
from onefold.changes.decisions import decide, read_decisions, verdicts_of
from onefold.changes.entry import Entry
from onefold.changes.meanwhile import OtherDecision, decided_meanwhile
from onefold.changes.read import read_entries
from onefold.cli.changes_list import ledger_dataset
from onefold.cli.common import Failure, open_warehouse, read_settings
from onefold.cli.named_tables import NamedTables
from onefold.cli.table_arguments import named_tables
from onefold.cli.view_reports import check, work_on
from onefold.cli.warehouse import open_project
from onefold.core.errors import InvalidInput, NotFound, Rejected
from onefold.core.names import fold_case
from onefold.core.text import shown_list
from onefold.ports.rows import Row
from onefold.schema.contract_rules import SHOW_ALL, DecisionKey, Verdict
from onefold.schema.versions import Version, active_versions
from onefold.schema.waiting import Waiting
from onefold.settings.environment import Settings

if TYPE_CHECKING:
    from onefold.refresh.plan import ViewPlan


@dataclass(frozen=True)
class DecisionToMake:
    """A decision that somebody asks for, with what was known before.

    Attributes:
        verdict: the decision.
        change: what it is about.
        table: the table, as the command or the ledger names it.
        named: the same.
        left: the versions that the views are made of.
        before: the rows of the table of decisions.
        settings: those of the project.
        warehouse: the project.
    """

    verdict: Verdict
    change: ChangeToDecide
    table: str
    named: NamedTables
    left: Sequence[Version]
    before: Sequence[Row]
    settings: Settings
    warehouse: Any

    @property
    def what(self) -> str:
        """What is decided, as people read it."""
        change, columns = self.change.change, self.change.columns
        return f"{shown_list(columns)} of change {change}" if columns else f"change {change}"

    @property
    def _is_gone(self) -> bool:
        """Whether the versions that brought the change are gone."""
        return not self.change.open and not self.change.versions & {version.id for version in self.left}

    @cached_property
    def _written(self) -> dict[DecisionKey, Verdict]:
        """What is decided, rejected fields of an accepted struct first, so that nothing is accepted before they are kept."""
        below = self.change.rejected_below() if self.verdict == "accept" else ()
        return {**dict.fromkeys(below, "reject"), **dict.fromkeys(self.change.keys(self.verdict), self.verdict)}

    @cached_property
    def _in_text(self) -> Sequence[str]:
        return self.change.fields_in_text(self.left) if self.verdict == "accept" else ()

    def check(self) -> None:
        """Check what is decided before anything is.

        Raises:
            NotFound: the table has no such change, or the change no such column.
            Rejected: nothing would follow, or onefold.yaml says the opposite.
        """
        _check(self.change, self.table)
        if self.verdict == "accept":
            _check_effect(self.change, self.table, is_gone=self._is_gone)
        _check_file(self.settings, self.verdict, [key for key, one in self._written.items() if one == self.verdict])

    def write(self) -> None:
        """Append what is decided to the table of decisions.

        Raises:
            AccessDenied, NotFound, Rejected: as `decide`.
        """
        place = ledger_dataset(self.settings)
        for verdict, about in groupby(self._written, key=self._written.__getitem__):
            decide(self.warehouse, place, list(about), verdict)

    def meanwhile(self) -> Sequence[OtherDecision]:
        """Return what others have decided about the same columns since `before`."""
        after = read_decisions(self.warehouse, ledger_dataset(self.settings))
        return decided_meanwhile(self.before, after, self._written, self.settings.contracts.verdicts)

    def warnings(self) -> Iterator[str]:
        """Yield what the decision does not do, and what it shows along."""
        is_shown = not self.change.open and not self._is_gone and not self.change.first
        return _said(self.change, self.verdict, self._in_text, is_shown=is_shown)

    def as_dict(self) -> dict[str, Any]:
        """Return what is decided, as JSON has it."""
        decided = {"change": self.change.change, "table": self.table, "verdict": self.verdict}
        return {**decided, "columns": list(self.change.columns), "fields_in_text": list(self._in_text)}


def read_decision(
    context: click.Context, verdict: Verdict, change: str, table: str | None, columns: Sequence[str], project: str | None
) -> DecisionToMake:
    """Return a decision with what the ledger, the table of decisions and the plans of views say about its change.

    Raises:
        NotFound: there is no such table, or no such change.
        InvalidInput: no contract holds the change.
        Rejected: the views of the table cannot be planned.
    """
    settings = read_settings(context)
    place = ledger_dataset(settings)
    warehouse: Any = open_project(context, project or settings.project)
    change, table, entries = _found(read_entries(warehouse, place, settings.contracts.verdicts), change, table)
    (named,) = named_tables((table,), None, context.command_path)
    plans = undecided_plans(context, named, project)
    own = [entry for entry in entries if (entry.dataset, entry.table) == (named.dataset, named.table)]
    before = read_decisions(warehouse, place)
    verdicts = settings.contracts.verdicts.over(verdicts_of(before))
    contract = next((settings.contracts.of_table(plan.base) for plan in plans), SHOW_ALL)
    decided = ChangeToDecide(change, columns, held_by(plans), own, verdicts, contract)
    left = [version for plan in plans for version in active_versions(plan.versions, settings.rules_for(plan.base))]
    return DecisionToMake(verdict, decided, table, named, left, before, settings, warehouse)


def _found(entries: Sequence[Entry], change: str, table: str | None) -> tuple[str, str, Sequence[Entry]]:
    """Return the identifier of a change, which all tenants share, the table that it is of, and the entries.

    Raises:
        NotFound: the ledger does not list the change, and no table is named.
        InvalidInput: no contract holds it, or nothing is named.
    """
    if not change.strip():
        raise InvalidInput("the ID is empty: `onefold plan` and `onefold changes` show those of changes")
    listed = [entry for entry in entries if change in (entry.id, entry.change)]
    if not listed and not table:
        raise NotFound(
            f"the ledger lists no change {change}: name its table, too, as in `onefold changes accept ID DATASET.TABLE`; "
            "`onefold plan DATASET.TABLE` shows what waits"
        )
    if not listed:
        return change, table or "", entries
    if not listed[0].change:
        what = "a change of settings" if listed[0].settings else "a change that the views show"
        raise InvalidInput(f"{change} is {what}, which no contract holds: change onefold.yaml instead")
    return listed[0].change, table or f"{listed[0].dataset}.{listed[0].table}", entries


def undecided_plans(context: click.Context, named: NamedTables, project: str | None) -> list[ViewPlan]:
    """Return plans of the views of a table by which all that they do not show waits, whatever was decided about it.

    Raises:
        NotFound: there is no such table.
        Rejected: its views cannot be planned.
    """
    from onefold.refresh.write import plan_refresh

    settings, warehouse = open_warehouse(context, project, named.dataset, named.table)
    undecided = replace(settings, contracts=settings.contracts.undecided(), changes_dataset="")
    plans = work_on(warehouse, check(warehouse, named, undecided), undecided, plan_refresh)
    if any(isinstance(one, Failure) for one in plans):
        raise Rejected(f"nothing was decided: the views of {named.dataset}.{named.table} cannot be written")
    return plans


def held_by(plans: Sequence[ViewPlan]) -> list[Waiting]:
    """Return what the views of plans do not show."""
    return [one for plan in plans if plan.view for one in plan.view.waiting]


def _check(decided: ChangeToDecide, table: str) -> None:
    """Check that a change is one of a table, and that columns are its own, before anything is decided.

    Raises:
        NotFound: they are not.
    """
    change, paths = decided.change, decided.paths
    if not paths:
        raise NotFound(f"{table} has no change {change}: `onefold plan {table}` shows what waits")
    wrong = [name for name in decided.columns if not any(is_within(fold_case(name), path) for path in paths)]
    if wrong:
        raise NotFound(f"change {change} of {table} is not about {shown_list(wrong)}, but about {shown_list(sorted(paths))}")


def _check_effect(decided: ChangeToDecide, table: str, *, is_gone: bool) -> None:
    """Check that views show a change that is accepted.

    Raises:
        Rejected: they would not show it.
    """
    if above := decided.new_above:
        field, struct = above
        raise Rejected(
            f"{field} of change {decided.change} was not accepted, since nothing would follow: {table} does not show "
            f"{struct}: accept that, and reject the fields that views are not to show"
        )
    if decided.open:
        return
    if first := decided.first:
        raise Rejected(
            f"change {decided.change} was not accepted, since nothing would follow: {table} does not show {first.path} "
            f"before change {first.change} is accepted: accept that one first"
        )
    if is_gone:
        raise Rejected(
            f"change {decided.change} was not accepted, since nothing would follow: {table} has version "
            f"{shown_list(sorted(decided.versions))} no longer: `onefold changes reject` takes the change off the list"
        )


def _check_file(settings: Settings, verdict: Verdict, keys: Sequence[DecisionKey]) -> None:
    """Check that onefold.yaml, which comes first, does not say the opposite.

    Raises:
        Rejected: it does. The decision would count as soon as the line in the file counts no longer.
    """
    other: Verdict = "reject" if verdict == "accept" else "accept"
    if any(settings.contracts.verdicts.about(change, path) == other for change, path in keys):
        raise Rejected(f"nothing was decided: onefold.yaml says `{other}` about it, and comes first: change the line there")


def _said(decided: ChangeToDecide, verdict: Verdict, in_text: Sequence[str], *, is_shown: bool) -> Iterator[str]:
    if in_text:
        yield (
            f"the text of a whole struct has {shown_list(in_text)}, which views did not show: what waits, is hidden or was "
            "rejected there can be read once the text is accepted"
        )
    rejected, held = decided.left_out(verdict)
    if rejected:
        yield f"{shown_list(rejected)} was rejected and is not accepted along: --column accepts it"
    if held:
        yield f"{shown_list(held)} is held by the contract and is not accepted along: --column accepts it"
    if is_shown and verdict == "reject":
        yield "the views show this change already, and go on to show it"
