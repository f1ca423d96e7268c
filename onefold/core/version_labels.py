"""Versions by labels: the labels of a table that a loader created name the base name and the version.

The name of a recovery table, `com_acme_ad_click_1_0_2_recovered_0f0b3ce0`, does not follow from its base name and its
version `1r0f0b3ce0`, so no pattern of names can describe it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from onefold.core.errors import NotFound
from onefold.core.event_labels import LABEL_BASE, LABEL_VERSION
from onefold.core.names import problems_of_name
from onefold.core.versioned_names import SkippedTable, VersionedNames

LABELS = "labels"
"""The value of `version_pattern` for a dataset whose tables have labels."""


def labelled_version(labels: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the base name and the version that labels name; None where they do not name both.

    Examples:
        >>> labelled_version({"onefold_base": "com_acme_ad_click", "onefold_version": "1r0f0b3ce0"})
        ('com_acme_ad_click', '1r0f0b3ce0')
        >>> labelled_version({"team": "web"}) is None
        True
    """
    base, version = labels.get(LABEL_BASE), labels.get(LABEL_VERSION)
    if not base or not version or problems_of_name("table", base) or problems_of_name("version", version):
        return None
    return base, version


@dataclass(frozen=True)
class LabelledNames(VersionedNames):
    """The naming of a dataset in which versions are found by labels.

    Settings hold it without tables. A list of the dataset gives the tables that it knows: see `resolved`.

    Attributes:
        tables: base name and version by table; empty where the dataset has not been listed.
        incomplete: the tables that have a label of a base name, and no version.
    """

    pattern: str = LABELS
    tables: Mapping[str, tuple[str, str]] = field(default_factory=dict, repr=False, compare=False)
    incomplete: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def by_labels(self) -> bool:
        return True

    @property
    def described(self) -> str:
        return f"with the labels {LABEL_BASE} and {LABEL_VERSION}"

    def described_versions(self, base: str) -> str:
        return f"with the labels {LABEL_BASE}: {base} and {LABEL_VERSION}"

    def resolved(self, labels: Mapping[str, Mapping[str, str]]) -> LabelledNames:
        found = {table: labelled for table, given in labels.items() if (labelled := labelled_version(given))}
        rest = tuple(table for table, given in labels.items() if LABEL_BASE in given and table not in found)
        return replace(self, tables=found, incomplete=rest)

    def name(self, base: str, version: str) -> str:
        """Return the name of the table that holds a version.

        Raises:
            NotFound: no table has these labels.
        """
        for table, labelled in self.tables.items():
            if labelled == (base, version):
                return table
        raise NotFound(f"no table has the labels {LABEL_BASE} {base} and {LABEL_VERSION} {version}: label its table")

    def tables_of(self, base: str) -> tuple[str, ...]:
        """Return the names of the tables that are versions of a base name."""
        return tuple(table for table in self.tables if self.version_of(base, table) is not None)

    def problems(self, base: str, version: str) -> list[str]:  # noqa: ARG002 only the labels of tables can tell
        return []

    def versions_pattern(self, base: str) -> str:
        return f"the label {LABEL_BASE}: {base}"

    def skipped(self, tables: Iterable[str]) -> tuple[SkippedTable, ...]:
        return tuple(skipped for table in tables if (skipped := self._skipped(table, set())))

    def _skipped(self, table: str, known: set[str]) -> SkippedTable | None:  # noqa: ARG002 no pattern to compare with
        if table in self.incomplete and table not in self.declared:
            return SkippedTable(table, table, f"it has the label {LABEL_BASE}, and no valid label {LABEL_VERSION}")
        found = self._match(table)
        reason = self.exclusion_reason(found[0], table) if found else None
        return SkippedTable(table, found[0], reason) if found and reason else None

    def _match(self, table: str) -> tuple[str, str] | None:
        return None if table in self.declared else self.tables.get(table)
