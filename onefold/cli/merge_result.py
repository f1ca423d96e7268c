"""The result of a merge, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from onefold.changelog.metadata import CHANGE_TYPES
from onefold.cli.all_tables import TableOutcome
from onefold.core.text import counted
from onefold.merge.merge_state import MergeCounts
from onefold.merge.plan import BROUGHT_UP

if TYPE_CHECKING:
    from onefold.views.reconcile import MergeResult


def outcome_of(done: MergeResult) -> TableOutcome:
    """Return the entry of a merge in the JSON."""
    fields = {
        "base": str(done.plan.base.id),
        "key": list(done.plan.base.keys),
        "brought_up": done.brought_up,
        "read_by": done.plan.changes[0].way,
        **asdict(done.counts),
        "snapshot": asdict(done.snapshot) if done.snapshot else None,
        "purged": done.purged,
        "view": str(done.view.id) if done.view else None,
    }
    return TableOutcome(done.plan.base.table, "merged", tuple(fields.items()))


def lines_of(done: MergeResult) -> list[str]:
    """Return what a merge did, line by line, and what people should look at."""
    base = done.plan.base.id
    lines = [f"{base}: {BROUGHT_UP[done.brought_up]}"] if done.brought_up else []
    lines += [done.plan.reads] if done.plan.reads else []
    if done.snapshot:
        lines.append(f"{base}: from the copy {_counts_text(done.snapshot, 'row')}")
    lines.append(f"{base}: {_counts_text(done.counts, 'change')}")
    lines += (f"WARNING: {base}: {warning}" for warning in _warnings(done.counts + (done.snapshot or MergeCounts())))
    if done.purged is not None:
        lines.append(f"{counted(done.purged, 'tombstone')} purged")
    if done.view:
        lines.append(f"{done.view.id} {'is up to date' if done.view.action == 'none' else 'updated'}")
    return lines


def _warnings(counts: MergeCounts) -> Iterator[str]:
    """Yield a warning for sequences of unknown form, which are ordered as text, and one for changes of unknown type."""
    if counts.ordered_by_text:
        yield (
            f"{counted(counts.ordered_by_text, 'change')} ordered by text, since a sequence such as {counts.text_example!r} "
            "has no documented form; if text is not the order of the source, make the source write hexadecimal sections "
            "(docs/explanation/position-and-digest.md, Position) and merge with --rebuild"
        )
    if counts.unknown_types:
        yield (
            f"{counted(counts.unknown_types, 'change')} with a change_type other than {', '.join(CHANGE_TYPES)} counted as "
            "upserts; where they are deletions, correct the rows in the change table and merge with --rebuild"
        )


def _counts_text(counts: MergeCounts, what: str) -> str:
    parts = [f"{counted(counts.changes, what)} of {counted(counts.keys, 'key')} read"]
    if counts.inserted is not None and counts.updated is not None:
        parts.append(f"{counted(counts.inserted, 'row')} inserted, {counts.updated:,} updated")
    elif counts.written is not None:
        parts.append(f"{counted(counts.written, 'row')} written")
    if counts.below_floor:
        parts.append(f"{counted(counts.below_floor, 'key')} not inserted, at or below the floor of a purge")
    if counts.bytes:
        parts.append(f"{counted(counts.bytes, 'byte')} processed")
    if counts.disputed:
        parts.append(f"{counted(counts.disputed, 'change')} with the position of another change but other content")
    return "; ".join(parts)
