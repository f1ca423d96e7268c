"""What became of changes of a table under its contract."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from onefold.core.names import fold_case
from onefold.schema.contract_rules import Contract
from onefold.schema.diff import SchemaChange

Outcome = Literal["shown", "hidden", "waiting", "accepted", "rejected", "kept"]
"""What became of a change: one of the decisions that the ledger keeps."""
_PRECEDENCE: tuple[Outcome, ...] = ("waiting", "rejected", "hidden", "kept", "accepted", "shown")


def foremost(outcomes: Collection[Outcome]) -> Outcome:
    """Return the outcome that somebody has to know of most; `shown` where there is none.

    Examples:
        >>> foremost(["accepted", "waiting", "shown"])
        'waiting'
    """
    return next((outcome for outcome in _PRECEDENCE if outcome in outcomes), "shown")


def outcomes_of(
    change: str, operations: Iterable[SchemaChange], contract: Contract, protected: Collection[str] = ()
) -> Mapping[str, Outcome]:
    """Return what a contract makes of each operation, by its path in the form in which names are compared.

    Args:
        change: the identifier of the change.
        operations: how the schema of the table changed.
        contract: that of the table, with the decisions.
        protected: as for `held`.

    Examples:
        >>> from onefold.schema.diff import Severity
        >>> added = SchemaChange("added", "Zip", Severity.INFO)
        >>> outcomes_of("c1", [added], Contract(new_columns="review")), outcomes_of("c1", [added], Contract())
        ({'zip': 'waiting'}, {'zip': 'shown'})
    """
    free = {fold_case(name) for name in protected}
    return {
        fold_case(operation.path): _outcome(change, operation, contract)
        for operation in operations
        if fold_case(operation.path.partition(".")[0]) not in free
    }


def _outcome(change: str, operation: SchemaChange, contract: Contract) -> Outcome:
    rules = {"added": contract.new_columns, "retyped": contract.types}
    rule, verdict = rules.get(operation.kind, "show"), contract.verdicts.about(change, operation.path)
    if rule in ("show", "widen", "refuse"):
        return "shown"
    if verdict:
        return "accepted" if verdict == "accept" else "rejected"
    return "waiting" if rule == "review" else "hidden" if rule == "hide" else "kept"
