"""The report of a run of the shredder: its counts, as JSON and for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from onefold.core.text import counted


@dataclass(frozen=True)
class ShredReport:
    """What a run has read and written.

    Attributes:
        run: its name; None where nothing was written.
        output: the folder of the runs.
        inputs: how many files were read.
        taken: how many files were left out because an earlier run has read them.
        events: the events that were read.
        tables: the rows of each table with rows.
        bad: the bad events by kind.
        dry_run: True where the run only counted.
        removed: unfinished runs that were removed because of their age.
        set_aside: files that cannot be read and are left out until somebody replaces them, with the reasons.
        found_unreadable: those of them that this run has found.
        unusable: the schemas of the registry that cannot be used, with the reasons; their entities are unknown.
        bad_entities: the entities that were set apart from their events, by kind.
        retried: the entities of earlier bad rows that became rows.
        stale: the registries that do not answer and whose copies were used, with the reasons.
        duplicates: what became of duplicates, as the manifest has it; empty where the run did not look for them.
    """

    run: str | None
    output: str
    inputs: int
    taken: int
    events: int = 0
    tables: Mapping[str, int] = field(default_factory=dict)
    bad: Mapping[str, int] = field(default_factory=dict)
    dry_run: bool = False
    removed: tuple[str, ...] = ()
    set_aside: Mapping[str, str] = field(default_factory=dict)
    found_unreadable: tuple[str, ...] = ()
    unusable: Mapping[str, str] = field(default_factory=dict)
    bad_entities: Mapping[str, int] = field(default_factory=dict)
    retried: int = 0
    stale: Mapping[str, str] = field(default_factory=dict)
    duplicates: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the report as one line of JSON."""
        body = {name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(self).items()}
        return json.dumps(body, ensure_ascii=False)

    def summary(self) -> str:
        """Return the report for people: what is left out, each table, bad rows by kind, then one line with all counts."""
        lines = [f"set aside: {file}: {reason}" for file, reason in self.set_aside.items()]
        if not self.inputs:
            read = f"{self.output}: no new files, so no run; {counted(self.taken, 'file')} read by earlier runs"
            return "\n".join([*lines, read])
        lines += [f"registry that does not answer, its copy was used: {one}: {why}" for one, why in self.stale.items()]
        lines += [f"schema that cannot be used: {schema}: {reason}" for schema, reason in self.unusable.items()]
        lines += [f"{table}: {counted(rows, 'row')}" for table, rows in self.tables.items()]
        lines += [f"bad, {kind}: {counted(count, 'event')}" for kind, count in self.bad.items()]
        lines += [f"set apart, {kind}: {_entities(count)}" for kind, count in self.bad_entities.items()]
        lines += [f"loaded from bad rows: {_entities(self.retried)}"] if self.retried else []
        lines += [_duplicates(self.duplicates)] if self.duplicates else []
        what = "dry run, nothing written" if self.dry_run else f"run {self.run}"
        bad = sum(self.bad.values())
        return "\n".join([*lines, f"{what}: {counted(self.events, 'event')} of {counted(self.inputs, 'file')}, {bad:,} bad"])


def _entities(count: int) -> str:
    return f"{count:,} {'entity' if count == 1 else 'entities'}"


def _duplicates(counts: Mapping[str, int]) -> str:
    compared = f"compared with {counted(counts['runs'], 'run')} of {counted(counts['window_days'], 'day')}"
    return f"duplicates: {counted(counts['left_out'], 'event')} left out, {counts['renamed']:,} with a new id; {compared}"
