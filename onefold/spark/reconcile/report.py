"""The report of a reconciliation: its counts, as JSON and for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from onefold.core.text import counted
from onefold.merge.plan import BROUGHT_UP, BroughtUp

_MADE_BEFORE = "an earlier job with the same arguments made this output, so nothing was done; its report:"

BaseWas = Literal["read", "absent", "missing", "ignored", "merged"]


@dataclass(frozen=True)
class JobReport:
    """The counts of a reconciliation.

    changes: the rows in the window.
    keys: the number of different keys of these rows.
    inserted, updated, deleted: the rows that appear, change and disappear for readers. A base in BigQuery counts only the
        rows that were inserted and updated, tombstones included.
    tombstones: the deletions of keys that had no row.
    repeated: the keys whose winner is in the base already.
    lost: the keys whose winner is older than the base's row.
    below_floor: the keys that were not inserted because their changes are older than the floor of a purge.
    disputed: the changes that share their position with another one of other content; the digest of the row decided.
    without_sequence: the changes without a position in the source's log, which are older than all changes with one.
    ordered_by_text: the changes whose sequence has no documented form, so that it was ordered as text.
    unknown_types: the changes with a `change_type` that is not documented, which count as upserts.
    unavailable_values: the values that Debezium left out, and that were taken from an earlier row of the key.
    unknown_values: the left out values that no earlier row has, which are NULL.
    base: what became of the old base.
    base_rows, rows: the rows of the old and the new base, tombstones included.
    live: the rows of the new base that are not deleted.
    brought_up: how a base in BigQuery was changed before the merge.
    already: whether an earlier job did all this.
    window: the window as the job understood it.
    columns: the columns of the new base and their types.
    """

    changes: int
    keys: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    tombstones: int = 0
    repeated: int = 0
    lost: int = 0
    below_floor: int = 0
    disputed: int = 0
    without_sequence: int = 0
    ordered_by_text: int = 0
    unknown_types: int = 0
    unavailable_values: int = 0
    unknown_values: int = 0
    base: BaseWas = "absent"
    base_rows: int = 0
    rows: int = 0
    live: int = 0
    brought_up: BroughtUp | None = None
    already: bool = False
    window: str = ""
    columns: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> JobReport:
        """Return the report that an earlier job wrote, without counts that this release does not know."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in content.items() if name in known})

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    def summary(self) -> str:
        before = f"{_MADE_BEFORE}\n" if self.already else ""
        window = f"of the window: {self.window}\n" if self.window else ""
        return before + window + (self._summary_of_merge() if self.base == "merged" else self._summary_of_output())

    def _summary_of_merge(self) -> str:
        brought_up = f"; the base was {BROUGHT_UP[self.brought_up]}" if self.brought_up else ""
        return "\n".join(
            (
                f"{self._read}, merged into the base{brought_up}",
                f"{counted(self.inserted, 'row')} inserted, {self.updated:,} updated; "
                f"{counted(self.below_floor, 'key')} below the floor",
                self._doubtful,
            )
        )

    def _summary_of_output(self) -> str:
        base = {
            "read": f"a base of {counted(self.base_rows, 'row')}",
            "absent": "no base: an empty one",
            "missing": "WARNING: the base is not there: an empty one",
            "ignored": "the base was not read: rebuilt from the changes alone",
        }[self.base]
        return "\n".join(
            (
                f"{self._read}; {base}",
                f"{counted(self.inserted, 'row')} inserted, {self.updated:,} updated, {self.deleted:,} deleted; "
                f"{counted(self.tombstones, 'key')} deleted that had no row",
                f"{counted(self.repeated, 'key')} merged before, {self.lost:,} newer in the base; {self._doubtful}",
                f"the new base: {counted(self.live, 'row')}, and {counted(self.rows - self.live, 'tombstone')}",
            )
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people should look at, of changes that were merged all the same."""
        texts = {
            "ordered by text, as its sequence has no documented form": self.ordered_by_text,
            "of an unknown change_type, taken as upserts": self.unknown_types,
        }
        return tuple(f"{counted(number, 'change')} {text}" for text, number in texts.items() if number)

    @property
    def _read(self) -> str:
        return f"{counted(self.changes, 'change')} of {counted(self.keys, 'key')}"

    @property
    def _doubtful(self) -> str:
        by_text = f", {self.ordered_by_text:,} ordered by text" if self.ordered_by_text else ""
        disputed = counted(self.disputed, "change")
        unknown = f", {self.unknown_types:,} of an unknown change_type, taken as upserts" if self.unknown_types else ""
        return f"{disputed} of a disputed position, {self.without_sequence:,} without a sequence{by_text}{unknown}"
