"""An entry of the ledger: one change of a schema or of a setting, and what each view makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from onefold.schema.diff import SchemaChange, Severity, highest_severity

Origin = Literal["capture", "pull", "registry", "settings", "discovered"]
"""Who reported the change. `discovered`: nobody; the version was found in the warehouse."""
EffectKind = Literal["new column", "cast", "lossy cast", "null", "removed", "hidden", "nothing"]
"""What readers of a view notice: a column more; a column of another type, with or without a loss; NULL in the rows that come
from now on; a column less; a column that is left out or masked; nothing."""
Decision = Literal["shown", "hidden", "waiting", "accepted", "rejected", "kept"]

_SEVERITY: dict[EffectKind, Severity] = {
    "new column": Severity.INFO,
    "hidden": Severity.INFO,
    "nothing": Severity.INFO,
    "cast": Severity.WARNING,
    "null": Severity.WARNING,
    "lossy cast": Severity.CRITICAL,
    "removed": Severity.CRITICAL,
}


@dataclass(frozen=True)
class Effect:
    """What one view does with a change.

    Attributes:
        view: the full name of the view.
        kind: what its readers notice.
        path: a column, or a field in the form `address.street`; empty for the whole view.
        detail: the types, such as `INT64 -> STRING`, and what a lossy cast loses.
    """

    view: str
    kind: EffectKind
    path: str
    detail: str = ""

    @property
    def severity(self) -> Severity:
        """The effect on those who read the view; of a kind that a newer release wrote, the worst."""
        return _SEVERITY.get(self.kind, Severity.CRITICAL)


@dataclass(frozen=True)
class SettingChange:
    """A setting with which a view would be written and was not written before.

    Attributes:
        name: the name of the setting, such as `types.id`.
        before: its value in the view; None for the default.
        after: its value now; None for the default.
    """

    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"{self.name}: {self.before or 'default'} -> {self.after or 'default'}"

    def as_dict(self) -> dict[str, str | None]:
        return {"setting": self.name, "before": self.before, "after": self.after}


@dataclass(frozen=True)
class Entry:
    """One change, in the form in which the ledger keeps it.

    Attributes:
        id: 32 hexadecimal digits, a digest of what changed: the same however often a message comes (`changes.ids`).
        recorded_at: when the entry was made, by our clock.
        origin: who reported the change.
        dataset: the dataset of the versioned tables.
        table: their base name.
        operations: how the schema of the table changed.
        effects: what each view does with it.
        decision: whether the views show the change, by the contract of the table.
        changed_at: the time of the change at the source, where that is known.
        tenant: the database whose table changed; empty where nobody reported it.
        version_before: the version before the change; empty for the first one.
        version_after: the version after the change.
        statement: the statement of the source, with `?` in the place of each literal.
        settings: the settings that changed, of the origin `settings`.
        change: the identifier of the change of versions that all tenants share, which decisions name; empty for other
            changes.
        decided_at: when somebody decided, where that is known: read with the decisions, and in no row of the ledger.
        unknown: what of its row this release does not know, such as a kind of a newer release, in words.
    """

    id: str
    recorded_at: datetime
    origin: Origin
    dataset: str
    table: str
    operations: tuple[SchemaChange, ...]
    effects: tuple[Effect, ...] = ()
    decision: Decision = "shown"
    changed_at: datetime | None = None
    tenant: str = ""
    version_before: str = ""
    version_after: str = ""
    statement: str = ""
    settings: tuple[SettingChange, ...] = ()
    change: str = ""
    decided_at: datetime | None = None
    unknown: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """The highest of the effects, or of the operations where no view is known.

        With a setting at least WARNING: values may be others though no column is. One that retires versions changes none.
        So is a change that waits, because somebody has to decide.
        """
        found = [effect.severity for effect in self.effects] or [highest_severity(self.operations)]
        needs_care = self.decision == "waiting" or any(one.name != "retire" for one in self.settings)
        return max([*found, Severity.WARNING] if needs_care else found)
