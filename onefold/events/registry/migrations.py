"""From one state of a model's table to another: the changes as values, and the statements that make them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onefold.core.names import TableId
from onefold.events.registry.bigquery_table import BigQueryTable
from onefold.events.registry.columns import ModelTable
from onefold.events.registry.ddl import create_recovery, named_types
from onefold.schema import bigquery, redshift_ddl
from onefold.schema.diff import SchemaChange, Severity, compare

Table = ModelTable | BigQueryTable


@dataclass(frozen=True)
class Migration:
    """What brings a table from one version to another.

    Attributes:
        before: the table as it is.
        after: the table as it will be.
        changes: the changes of its columns, and the recovery tables that it needs.
    """

    before: Table
    after: Table
    changes: tuple[SchemaChange, ...]

    def statements(self, dataset: str | None = None) -> list[str]:
        """Return the statements of the migration, in the order in which they must run.

        Args:
            dataset: the dataset of BigQuery or the schema of Redshift; None for the default one.

        Raises:
            LimitExceeded: the warehouse would refuse a table.
        """
        if self.before == self.after:
            return []
        recovery = list(create_recovery(self.after, self.after.recovered[len(self.before.recovered) :], dataset))
        own = self._in_redshift(dataset) if isinstance(self.after, ModelTable) else self._in_bigquery(dataset)
        return own + recovery

    def _in_redshift(self, schema: str | None) -> list[str]:
        table = self.after.name
        made = [(one, redshift_ddl.change_statement(one, table, schema)) for one in self.changes]
        wider = [sql for one, sql in made if sql and one.kind == "retyped"]
        new = [sql for one, sql in made if sql and one.kind == "added"]
        if self.before.version == self.after.version:
            return []
        # A longer VARCHAR cannot be part of a transaction. The comment comes last: it says that all the rest is done.
        return [*wider, "BEGIN", *new, redshift_ddl.comment_on(table, self.after.uri, schema), "COMMIT"]

    def _in_bigquery(self, dataset: str | None) -> list[str]:
        if self.before.version == self.after.version:
            return []
        id_ = TableId(None, dataset, self.after.name)
        made = [bigquery.change_statement(change, id_) for change in self.changes]
        return [*(sql for sql in made if sql), bigquery.describe_statement(id_, self.after.uri)]


def migration(before: Table, after: Table) -> Migration:
    """Return what brings the table of a model from one state to a later one.

    Args:
        before: the table of the first versions of a model.
        after: the table of the same and further versions, for the same warehouse.
    """
    if isinstance(before, BigQueryTable) and isinstance(after, BigQueryTable):
        pairs = ([one.column for one in table.columns] for table in (before, after))
        changes = list(compare(*pairs))
    else:
        changes = list(_in_redshift(before, after))
    was_nullable = [column.nullable for column in before.columns]
    is_nullable = [column.nullable for column in after.columns]
    names = [name for name, _ in named_types(before.columns)]
    for name, old, new in zip(names, was_nullable, is_nullable, strict=False):
        if new and not old:
            changes.append(SchemaChange("made nullable", name, Severity.WARNING))
    return Migration(before, after, (*changes, *_recoveries(before, after)))


def _in_redshift(before: Table, after: Table) -> Iterator[SchemaChange]:
    known = dict(named_types(before.columns))
    for name, type_ in named_types(after.columns):
        if name not in known:
            yield SchemaChange("added", name, Severity.INFO, new=type_)
        elif known[name] != type_:
            yield SchemaChange("retyped", name, Severity.WARNING, old=known[name], new=type_)


def _recoveries(before: Table, after: Table) -> Iterator[SchemaChange]:
    for recovery in after.recovered[len(before.recovered) :]:
        reasons = "; ".join(recovery.reasons)
        yield SchemaChange("recovery table", recovery.name, Severity.CRITICAL, new=f"for {recovery.version}: {reasons}")
