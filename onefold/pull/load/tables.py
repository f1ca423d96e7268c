"""The versioned tables of a pulled table: made and announced before their first row, and told apart from captured ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from onefold.changelog.declared_keys import same_columns, source_key
from onefold.changes.versions import ReportedChange
from onefold.core.errors import NotFound, SchemaConflict
from onefold.core.names import TableId, versioned_name
from onefold.core.text import shown_list
from onefold.core.versioned_names import DEFAULT_NAMES
from onefold.landing.announce import Destination, NewTable, announce_once, redeclaration
from onefold.ports.load_jobs import PULLED_LABEL
from onefold.ports.publisher import Publisher
from onefold.ports.warehouse import BaseWarehouse
from onefold.pull.read.plan import LoadState, TablePlan
from onefold.pull.read.pulled_table import DAY
from onefold.schema.versions import Version

LABELS = {PULLED_LABEL: "true"}


@dataclass(frozen=True)
class Announcements:
    """Makes versioned tables.

    Attributes:
        warehouse: where the tables are.
        publisher: publishes the messages about new tables.
        topic: for these messages.
    """

    warehouse: BaseWarehouse
    publisher: Publisher
    topic: str

    def versions_for(self, plan: TablePlan) -> tuple[Version, ...]:
        """Make the versioned table of a pull unless it exists; return all versions, that of the pull first.

        Raises:
            SchemaConflict: the dataset has a captured table of this base name, or another table has the name of the version.
            TryAgain: an error that may pass.
        """
        base = TableId(self.warehouse.project, plan.dataset, plan.target.table)
        found = self._versions(base)
        check_not_captured(base, plan, found)
        # The message about a version may have been lost with the process that made the table, so each process sends it.
        destination = Destination(self.warehouse, self.publisher, plan.dataset, self.topic)
        table = replace(plan.target, primary_key=plan.keys)
        announce_once(destination, NewTable(table, DAY.name, LABELS), _reported(plan))
        present = Version(plan.target.version, plan.target.columns)
        return (present, *(version for version in found if version.id != present.id))

    def pulled_tables(self, dataset: str) -> frozenset[str]:
        """Return the base names of the pulled tables of a dataset; none where it does not exist.

        Args:
            dataset: the dataset.
        """
        try:
            labels = self.warehouse.list_labels(dataset)
        except NotFound:
            return frozenset()
        names = (DEFAULT_NAMES.split(table) for table, own in labels.items() if PULLED_LABEL in own)
        return frozenset(name[0] for name in names if name)

    def lost(self, table: TableId, state: LoadState) -> tuple[str, ...]:
        """Return the versions with rows whose table is not there any more, or is newer than the last load of the log.

        Args:
            table: the base name.
            state: what the log says about it.
        """
        if state.version is None or state.logged_at is None:
            return ()
        versions = dict.fromkeys((*state.row_versions, state.version))
        return tuple(version for version in versions if not self._has(table, version, state.logged_at))

    def _has(self, table: TableId, version: str, since: datetime) -> bool:
        name = versioned_name(table.table, version)
        stored = self.warehouse.read_table(TableId(self.warehouse.project, table.dataset, name))
        return stored is not None and stored.created <= since

    def check_key(self, plan: TablePlan) -> None:
        """Check that an incremental table is read by the key that its versioned table declares, or by one in onefold.yaml.

        The key is no part of a version: an ALTER may change it alone, and then views would take rows of other keys for one.

        Raises:
            SchemaConflict: the source has another key by now.
            TryAgain: an error that may pass.
        """
        if plan.watermark is None or plan.keys_are_named:
            return
        id_ = TableId(self.warehouse.project, plan.dataset, plan.target.name)
        stored = self.warehouse.read_table(id_)
        declared = source_key(stored.primary_key) if stored else ()
        if declared and not same_columns(declared, plan.keys):
            raise SchemaConflict(
                f"{plan.table}: the key at the source is {shown_list(plan.keys)}, and {id_} declares {shown_list(declared)}"
                f": name `keys` for the table in onefold.yaml, or run in BigQuery: {redeclaration(id_, plan.target)}"
            )

    def _versions(self, base: TableId) -> tuple[Version, ...]:
        try:
            return self.warehouse.read_versions(base)
        except NotFound as error:
            raise NotFound(f"{error}: create the dataset, or have Terraform create it (docs/reference/loads.md)") from error


def _reported(plan: TablePlan) -> ReportedChange | None:
    """Return what the message reports: the change, until the log of loads has a load into the version; then nothing."""
    before = plan.previous.version or ""
    return None if before == plan.target.version else ReportedChange("pull", version_before=before)


def check_not_captured(base: TableId, plan: TablePlan, versions: Sequence[Version]) -> None:
    """Check that no version of a table was made by capture: its rows must never be replaced.

    Args:
        base: the id of the table without a version.
        plan: of the pull.
        versions: all versions that exist.

    Raises:
        SchemaConflict: names the captured versions, and the source that is pulled.
    """
    captured = [version.id for version in versions if version.schema.get(DAY.name) != DAY]
    if captured:
        source = f"{plan.request.source}/{plan.request.database}.{plan.structure.table}"
        names = shown_list(versioned_name(base.table, id_) for id_ in captured)
        raise SchemaConflict(
            f"{source} cannot be pulled into {base}: the dataset has a captured table of this name ({names}): capture into "
            "another dataset, or do not pull this table"
        )
