"""What a reconciliation did, as numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from onefold.core.text import counted
from onefold.merge.plan import BROUGHT_UP, BroughtUp

BaseWas = Literal["read", "absent", "missing", "ignored", "merged"]


@dataclass(frozen=True)
class JobReport:
    """changes: rows read, in the window. keys: how many different keys they have.

    inserted, updated, deleted: rows that people see appear, change and disappear. Of a base in BigQuery only rows are known
    that were inserted and updated, tombstones among them.
    tombstones: deletions of keys that had no row.
    repeated: keys whose winner is in the base already. lost: keys whose winner is older than the base's row.
    below_floor: keys that were not inserted, since a purge made what is older than its floor unknown.
    disputed: changes that share their position with another one of other content; the digest of the row decided.
    without_sequence: changes that named no place in the source's log, and so are older than all that do.
    ordered_by_text: changes whose sequence has no documented form, so that it was ordered as text.
    unavailable_values: values that Debezium could not tell, and that were taken from an earlier row of the key.
    unknown_values: those of them that no earlier row has, which are NULL.
    base_rows, rows: rows of the old and the new base, tombstones included. live: those of the new one that are not deleted.
    brought_up: what was done to a base in BigQuery before the merge.
    already: whether an earlier job did all this. window: how it was understood.
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
    def of_written(cls, written: Mapping[str, Any]) -> JobReport:
        """What an earlier job wrote, which may know other counts than this one."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in written.items() if name in known})

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    def summary(self) -> str:
        before = "made before, from the same arguments, so nothing was done; what was done then:\n" if self.already else ""
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
    def _read(self) -> str:
        return f"{counted(self.changes, 'change')} of {counted(self.keys, 'key')}"

    @property
    def _doubtful(self) -> str:
        by_text = f", {self.ordered_by_text:,} ordered by text" if self.ordered_by_text else ""
        disputed = counted(self.disputed, "change")
        return f"{disputed} of a disputed position, {self.without_sequence:,} without a sequence{by_text}"
