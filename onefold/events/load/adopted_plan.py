"""Decides what an adopted table needs before rows of a run are loaded. Nothing is written.

Rows go to its columns by their names, so neither their order nor columns that no row has matter, and people may add columns
and make them longer at any time. Only what the rows need is compared: their columns have to be there and hold the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onefold.core.errors import SchemaConflict
from onefold.events.load.plan import EventTablePlan, Facts, Wanted, action_for, check_exists
from onefold.ports.event_tables import Columns
from onefold.schema.table_columns import Grown, grown_by_name, holds


def plan_adopted_table(wanted: Wanted, facts: Facts, grown: Grown) -> EventTablePlan:
    """Return what an adopted table needs for the rows of a run; the arguments are those of `plan.plan_table`.

    Raises:
        SchemaConflict: the table does not exist, or lacks what rows of the run need; the error lists all of it.
    """
    table, found = wanted.table, facts.found
    check_exists(table, found)
    has = found.columns if found else ()
    if problems := list(_problems(wanted, has, grown)):
        remedy = (
            "rows go to the columns that it had when it was adopted: bring these back, or adopt it again by "
            "`onefold schema adopt --record` and shred the inputs of the run again"
        )
        raise SchemaConflict([f"{table.name} was adopted, and {problem}" for problem in (*problems, remedy)])
    columns = grown_by_name(has, wanted.of_files, grown)
    known = [one for one in facts.after if holds(columns, one.columns, grown)]
    uri = max([*((one.registry_read_at, one.uri) for one in known), (wanted.registry_read_at, table.uri)])[1]
    changed = replace(table, columns=columns, uri=uri)
    same = [one for one in known if holds(one.columns, columns, grown)]
    is_listed = any(one.uri == table.uri for one in same)
    return EventTablePlan(action_for(changed, found), changed, found, is_listed, not any(one.is_loaded for one in same))


def _problems(wanted: Wanted, has: Columns, grown: Grown) -> Iterator[str]:
    """Yield what rows need and the table does not have. The loader adds only what was not there at the adoption."""
    found, adopted = dict(has), dict(wanted.adopted)
    for name, type_ in wanted.of_files:
        least = adopted.get(name, type_)
        if name not in found:
            if name in adopted:
                yield f"its column {name} {least} is missing"
        elif not holds(has, ((name, type_),), grown) and (
            grown(found[name], type_) is None or (name in adopted and not holds(has, ((name, least),), grown))
        ):
            yield f"its column {name} is {found[name]} and cannot hold {type_}"
