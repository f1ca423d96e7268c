"""A check for bases whose positions an earlier release ordered as text, where this release compares numbers.

Such a position sorts below every hexadecimal position that this release writes. A merge would let any change win over it,
even an older one; and the row itself may be the wrong one, because the earlier release compared it wrongly. So such a base
is refused until it is rebuilt.
"""

from __future__ import annotations

from onefold.changelog.position import is_stored_as_text, is_stored_as_text_sql, readable_sequence
from onefold.core.errors import SchemaConflict
from onefold.core.text import counted
from onefold.merge.base_table import BaseTable
from onefold.merge.plan import MergePlan
from onefold.ports.warehouse import BaseWarehouse


def check_positions(warehouse: BaseWarehouse, plan: MergePlan) -> None:
    """Check the positions of a base, once: the first merge of this release logs that they can be compared.

    Raises:
        SchemaConflict: names the base, how many of its rows cannot be compared, and one of their sequences.
    """
    if plan.stored is None or plan.state.comparable or plan.brought_up in ("created", "rebuilt"):
        return
    row = warehouse.fetch(stored_as_text_query(plan.base))[0]
    if row["found"]:
        raise SchemaConflict(
            f"{plan.base.id}: expected positions that order hexadecimal sequences and sort keys as numbers, got "
            f"{counted(row['found'], 'row')} that an earlier release ordered as text, such as "
            f"{readable_sequence(row['example'])!r}: rebuild the base from the whole history (onefold merge --rebuild)"
        )


def check_floor(plan: MergePlan) -> None:
    """Check that late changes can be compared with the floor of a purge.

    Raises:
        SchemaConflict: the floor is a position that an earlier release ordered as text.
    """
    floor = plan.state.floor
    if floor is not None and is_stored_as_text(floor):
        raise SchemaConflict(
            f"{plan.base.log}: expected a floor that orders hexadecimal sequences and sort keys as numbers, got "
            f"{readable_sequence(floor[1:].split(' ')[0])!r}, which an earlier release ordered as text: drop {plan.base.id} "
            "and merge again, which lifts the floor"
        )


def stored_as_text_query(base: BaseTable) -> str:
    """Return a query of how many rows have such a position, and of one of their sequences. It reads one column."""
    position = base.position_sql("b")
    found = is_stored_as_text_sql(position)
    return (
        f"SELECT COUNTIF({found}) AS found, MIN(IF({found}, REGEXP_EXTRACT({position}, r'^.([^ ]*)'), NULL)) AS example\n"
        f"FROM {base.id.quoted} AS b"
    )
