"""Redshift Spectrum: the external schema over a catalogue, and late-binding views over loaded and external tables."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from onefold.adapters.redshift.connection import DEFAULT_ROLE, RedshiftConnection
from onefold.adapters.redshift.copies import file_list
from onefold.adapters.redshift.data_api import DataApi
from onefold.adapters.redshift.event_tables import RedshiftEventTables
from onefold.core.errors import InvalidInput
from onefold.core.names import quote_redshift, quote_redshift_text
from onefold.ports.event_tables import MANIFEST_TABLE, Columns, EventFile
from onefold.ports.external_tables import RUN_COLUMN, ExternalTable
from onefold.ports.objects import ObjectWriter
from onefold.schema.redshift_catalog import grown_type
from onefold.schema.redshift_ddl import table_sql
from onefold.schema.table_columns import grown_by_name

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,126}")


class SpectrumViews:
    """`onefold.ports.external_tables.ExternalViews` of a database of Redshift."""

    def __init__(
        self,
        connection: RedshiftConnection,
        catalog: str,
        external: str,
        views: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Check the names.

        Args:
            connection: where the loaded tables are; its role reads the catalogue and the files.
            catalog: the database of the catalogue.
            external: the schema of the external tables.
            views: the schema of the views.
            sleep: waits for some seconds.

        Raises:
            InvalidInput: names are not valid, or two of the schemas are one; the error lists all problems.
        """
        given = {"--external-schema": external, "--view-schema": views}
        problems = [
            f"{option} {name!r} is not a schema: use lower-case letters, digits and underscores"
            for option, name in given.items()
            if not _SCHEMA.fullmatch(name)
        ]
        if len({external, views, connection.schema}) < 3:
            problems.append("expected three schemas, of the loaded tables, the external tables and the views: name others")
        if problems:
            raise InvalidInput(problems)
        self._connection, self._catalog, self._external, self._views = connection, catalog, external, views
        self._api = DataApi(connection, sleep)
        self._loaded = RedshiftEventTables(connection, sleep)

    def prepare(self) -> None:
        """Create the schemas and the manifest table unless they exist. No transaction can create an external schema."""
        self._loaded.prepare()
        self._api.execute(external_schema(self._external, self._catalog, self._connection.role))
        self._api.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_redshift(self._views)}")

    def loaded(self, name: str) -> Columns:
        """Return the columns of the loaded table; none where there is no such table."""
        found = self._loaded.find(name)
        return found.columns if found else ()

    def create(self, table: ExternalTable, loaded: Columns) -> None:
        """Create or replace the view of a table."""
        self._api.execute(union_view(table, loaded, self._connection.schema, self._external, self._views))


def list_writer(objects: ObjectWriter) -> Callable[[str, Sequence[EventFile]], None]:
    """Return the function that writes the list of files of a run and a table to an address, as COPY reads it."""

    def put(address: str, files: Sequence[EventFile]) -> None:
        objects.write(address, file_list(files))

    return put


def external_schema(name: str, catalog: str, role: str) -> str:
    """Return the statement that creates the schema of external tables, over a database of the Glue Data Catalog.

    Args:
        name: the schema.
        catalog: the database of the catalogue.
        role: the ARN of the role that reads the catalogue and the files, or `default`.
    """
    by = role if role == DEFAULT_ROLE else quote_redshift_text(role)
    return (
        f"CREATE EXTERNAL SCHEMA IF NOT EXISTS {quote_redshift(name)} FROM DATA CATALOG "
        f"DATABASE {quote_redshift_text(catalog)} IAM_ROLE {by}"
    )


def union_view(table: ExternalTable, loaded: Columns, schema: str, external: str, views: str) -> str:
    """Return the statement of the late-binding view over a loaded and an external table.

    The manifest table says which runs are loaded, by the same transaction that loads their rows: such a run is read inside,
    and each other one outside. So no run is read twice, and none is missing, at any moment.

    Args:
        table: the external table.
        loaded: the columns of the loaded table; empty where there is none.
        schema: the schema of the loaded tables and of the manifest table.
        external: the schema of the external tables.
        views: the schema of the view.
    """
    of_loaded = {name.lower() for name, _ in loaded}
    columns = (*loaded, *(one for one in grown_by_name((), table.columns, grown_type) if one[0] not in of_loaded))
    inside = ", ".join(_value(name, type_, of_loaded) for name, type_ in columns)
    of_files = {name for name, _ in table.columns}
    outside = ", ".join(_value(name, type_, of_files, from_file=True) for name, type_ in columns)
    recorded = (
        f'SELECT "run" FROM {table_sql(MANIFEST_TABLE, schema)} '
        f'WHERE "state" = \'loaded\' AND "table_name" = {quote_redshift_text(table.name)}'
    )
    parts = [f"SELECT {inside}\nFROM {table_sql(table.name, schema)}"] if loaded else []
    parts.append(
        f"SELECT {outside}\nFROM {table_sql(table.name, external)}\nWHERE {quote_redshift(RUN_COLUMN)} NOT IN ({recorded})"
    )
    body = "\nUNION ALL\n".join(parts)
    return f"CREATE OR REPLACE VIEW {table_sql(table.name, views)} AS\n{body}\nWITH NO SCHEMA BINDING"


def _value(name: str, type_: str, there: set[str], *, from_file: bool = False) -> str:
    quoted = quote_redshift(name)
    if name.lower() not in there:
        return f"CAST(NULL AS {type_}) AS {quoted}"
    if not from_file:
        return quoted
    source = quote_redshift(name.lower())
    value = f"{source} AT TIME ZONE 'UTC'" if type_ == "TIMESTAMPTZ" else source
    return value if value == quoted else f"{value} AS {quoted}"
