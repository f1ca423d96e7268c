"""The contracts of onefold.yaml: by patterns of tables, or of event schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onefold.core.names import fold_case
from onefold.core.problems import Path, Problem
from onefold.schema.contract_rules import ContractRule, Contracts, Verdict, Verdicts
from onefold.settings.yaml_policies import given_twice

_KEYS = ("new_columns", "types", "dropped")
Bodies = Mapping[str, Mapping[str, Any]]
"""The keys of contracts, by patterns."""


def contract_problems(contracts: Bodies) -> Iterator[Problem]:
    """Yield the problems of contracts that the schema cannot tell."""
    yield from given_twice(contracts, ("contracts",))
    for pattern, body in contracts.items():
        yield from (_schema_problems if "/" in pattern else _table_problems)(body, ("contracts", pattern))
    yield from _contradictions(contracts)


def read_contracts(contracts: Bodies) -> Contracts:
    """Return the contracts, from a checked mapping."""
    rules = (ContractRule(pattern, key, body[key]) for pattern, body in contracts.items() for key in _KEYS if key in body)
    return Contracts(tuple(rules), Verdicts({key: verdict for _, key, verdict in _verdicts(contracts)}))


def _table_problems(body: Mapping[str, Any], at: Path) -> Iterator[Problem]:
    for key, others in (("new_columns", "show, hide or review"), ("types", "widen, keep or review")):
        if body.get(key) == "refuse":
            text = f"a table cannot refuse what lands: write {others}, or name event schemas, as acme.com/order*"
            yield Problem(text, (*at, key))


def _schema_problems(body: Mapping[str, Any], at: Path) -> Iterator[Problem]:
    for key, allowed in (("new_columns", ("show", "refuse")), ("types", ("widen", "refuse"))):
        if body.get(key, "refuse") not in allowed:
            text = f"a registry takes a schema or refuses it: write {' or '.join(allowed)}, or name tables, as order*"
            yield Problem(text, (*at, key))
    for key in ("dropped", "decisions"):
        if key in body:
            yield Problem("is of tables, not of event schemas: remove it", (*at, key))


def _contradictions(contracts: Bodies) -> Iterator[Problem]:
    """Yield a problem for each decision that another one contradicts; a change is of one table only."""
    first: dict[tuple[str, str], Verdict] = {}
    for at, key, verdict in _verdicts(contracts):
        if first.setdefault(key, verdict) != verdict:
            yield Problem(f"{verdict}, but another pattern says {first[key]}: remove one of them", at)


def _verdicts(contracts: Bodies) -> Iterator[tuple[Path, tuple[str, str], Verdict]]:
    """Yield each decision with its place in the file, and the change and the column that it is about."""
    for pattern, body in contracts.items():
        for change, verdict in (body.get("decisions") or {}).items():
            at: Path = ("contracts", pattern, "decisions", change)
            columns = verdict if isinstance(verdict, Mapping) else {"": verdict}
            for path, one in columns.items():
                yield (*at, path) if path else at, (change, fold_case(path)), one
