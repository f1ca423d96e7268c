"""Decides what a table of events with wide columns needs. Its columns are compared by their names, and not by their places.

A run has the wide columns of its own events, so that two runs have them in other orders, and a table gets them as they come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from onefold.core.errors import SchemaConflict
from onefold.events.load.plan import EventTablePlan, Facts, TableAltered, Wanted, action_for
from onefold.events.registry.schema_key import ModelKey
from onefold.events.shred.counts import EVENTS
from onefold.existing.tools.snowplow import model_of
from onefold.ports.event_tables import Columns, KnownColumns
from onefold.schema.table_columns import Grown, holds

_NESTED = ("STRUCT<", "ARRAY<STRUCT<")


def is_wide(wanted: Wanted, facts: Facts) -> bool:
    """Return whether a table is one of events that has wide columns, or is about to get some."""
    states = [wanted.table.columns, *(one.columns for one in facts.after), facts.found.columns if facts.found else ()]
    return wanted.table.name == EVENTS and any(type_.startswith(_NESTED) for state in states for _, type_ in state)


def models_of_columns(columns: Columns, models: Collection[ModelKey]) -> tuple[tuple[str, str], ...]:
    """Return the wide columns of a run with the paths of the models whose data they have.

    Args:
        columns: those of the table of events, or of another one, which has none.
        models: all models whose data a row of the run has.

    Examples:
        >>> models_of_columns((("contexts_com_acme_a_1", "ARRAY<STRUCT<b INT64>>"),), [ModelKey.parse("com.acme/a/j/1")])
        (('contexts_com_acme_a_1', 'com.acme/a/j/1'),)
    """
    named = [(name, model_of(name)) for name, type_ in columns if type_.startswith(_NESTED)]
    owners = {of: _owners(of, models) for _, of in named if of}
    digested = {one for (base, _), found in owners.items() for one in found if one.base != base}
    plain = {of: [one for one in found if of[0] != one.base or one not in digested] for of, found in owners.items()}
    return tuple((name, plain[of][0].path) for name, of in named if of and len(plain[of]) == 1)


def with_descriptions(plan: EventTablePlan, wanted: Wanted) -> EventTablePlan:
    """Return the plan of a table with wide columns, with the descriptions of those that have none and are certain.

    They are those of models that have a column in the run: others have another place. Another loader has one column for all
    schemas of a base name, so a column that an adopted table had before is certain only where one schema of the run has its
    base name.

    Args:
        plan: the plan of the table of events.
        wanted: the table as the run has it.
    """
    had = dict(plan.found.columns) if plan.found and plan.table.is_adopted else {}
    placed = dict(models_of_columns(wanted.of_files, wanted.models)).values()
    texts = models_of_columns(plan.table.columns, [one for one in wanted.models if one.path in placed])
    certain = tuple((name, text) for name, text in texts if name not in had or not _is_shared(name, wanted.models))
    plan = replace(plan, table=replace(plan.table, descriptions=certain))
    return replace(plan, action="change") if plan.action == "none" and plan.described else plan


def undescribed(plan: EventTablePlan) -> tuple[str, ...]:
    """Return the wide columns of a table that have no description and get none: which schema they are of is not certain."""
    if plan.found is None or plan.found.descriptions is None:
        return ()
    texts = {**dict(plan.found.descriptions), **dict(plan.table.descriptions)}
    return tuple(
        name for name, type_ in plan.found.columns if type_.startswith(_NESTED) and model_of(name) and name not in texts
    )


def _is_shared(column: str, models: Collection[ModelKey]) -> bool:
    of = model_of(column)
    return of is not None and len(_owners(of, models)) > 1


def _owners(of: tuple[str, int], models: Collection[ModelKey]) -> list[ModelKey]:
    """Return the models that a column may be of: their base is its own, or begins it before a digest of the schema."""
    base, model = of
    found = [one for one in models if one.model == model and base in (one.base, _with_digest(one, base))]
    return [one for one in found if one.base != base] or found


def _with_digest(model: ModelKey, base: str) -> str:
    digest = base.removeprefix(f"{model.base}_")
    return (
        f"{model.base}_{digest}" if digest and hashlib.sha256(model.schema.encode()).hexdigest().startswith(digest) else ""
    )


def plan_wide_table(wanted: Wanted, facts: Facts, grown: Grown) -> EventTablePlan:
    """Return what a table of events that loaders made needs for a run; the arguments are those of `plan_table`.

    Raises:
        TableAltered: the table has other columns than loaders gave it.
        SchemaConflict: the run has columns that the table cannot hold.
    """
    name, found = wanted.table.name, facts.found
    listed = _united(name, [one.columns for one in facts.after], grown)
    loaded = _loaded(facts.after)
    if found is None:
        columns = _united(name, [*loaded, wanted.table.columns], grown)
    else:
        if listed:
            _check_unaltered(name, found.columns, listed, _loaded(facts.before), grown)
        columns = _united(name, [found.columns, wanted.table.columns], grown)
    table = replace(wanted.table, columns=columns)
    is_news = not any(holds(state, columns, grown) for state in loaded)
    return EventTablePlan(action_for(table, found), table, found, holds(listed, columns, grown), is_news)


def _loaded(listed: Iterable[KnownColumns]) -> list[Columns]:
    return [one.columns for one in listed if one.is_loaded]


def _united(name: str, states: Iterable[Columns], grown: Grown) -> Columns:
    """Return the columns of all states, each with the type that holds the values of all of them.

    Raises:
        SchemaConflict: there is no such type.
    """
    known: dict[str, str] = {}
    problems = []
    for state in states:
        for column, type_ in state:
            before = known.get(column, type_)
            both = before if before == type_ else grown(before, type_) or grown(type_, before)
            if both is None:
                problems.append(f"{name}: column {column} is {before} and cannot hold {type_}")
            known[column] = both or before
    if problems:
        raise SchemaConflict([*problems, f"{name}: load the run into another dataset, or rename the table"])
    return tuple(known.items())


def _check_unaltered(name: str, found: Columns, possible: Columns, loaded: Sequence[Columns], grown: Grown) -> None:
    problems = [f"{name}: {problem}" for problem in _problems(found, possible, loaded, grown)]
    if problems:
        remedy = "nobody but the loader may alter the table: bring its columns back, or rename it to have it created anew"
        raise TableAltered([*dict.fromkeys(problems), f"{name}: {remedy}"])


def _problems(found: Columns, possible: Columns, loaded: Sequence[Columns], grown: Grown) -> Iterator[str]:
    may_have = dict(possible)
    for column, type_ in found:
        if column not in may_have:
            yield f"column {column} {type_} is in the table alone"
        elif not holds(possible, ((column, type_),), grown):
            yield f"column {column}: expected {may_have[column]}, got {type_}"
    for state in loaded:
        missing = (column for column in state if not holds(found, (column,), grown))
        yield from (f"column {name} {type_} is missing" for name, type_ in missing)
