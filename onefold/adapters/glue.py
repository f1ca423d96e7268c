"""External tables in a database of the Glue Data Catalog, by the port `ExternalCatalog`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from onefold.adapters.redshift.data_api import connect
from onefold.core.errors import InvalidInput, NotFound, Rejected, TryAgain
from onefold.core.text import reason_of
from onefold.ports.external_tables import RUN_COLUMN, ExternalTable

_DATABASE = re.compile(r"[a-z0-9_]{1,255}")
_TYPES = {
    "SMALLINT": "smallint", "INT": "int", "BIGINT": "bigint", "REAL": "float", "DOUBLE PRECISION": "double",
    "BOOLEAN": "boolean", "DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMPTZ": "timestamp",
}  # fmt: skip
_OF_GLUE = {glue: type_ for type_, glue in _TYPES.items() if type_ != "TIMESTAMPTZ"}
_MARK = {"classification": "parquet", "EXTERNAL": "TRUE", "created_by": "onefold"}
_FILLING = {"onefold_runs": "incomplete"}
"""The mark of a table to which the runs of before are still being added."""
_NOTES = ("Description", "Owner", "Retention", "LastAccessTime", "LastAnalyzedTime", "PartitionKeys")
"""What a change of a table gives back to Glue as it was: `UpdateTable` replaces the table as a whole."""
_FORMATS = {
    "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "SerdeInfo": {"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"},
}
_MOST_PARTITIONS = 100
"""Partitions of one call (Glue, BatchCreatePartition, 2026-11)."""
# Glue, "Common errors" and the errors of each operation, 2026-11.
_PASSING = frozenset(
    {
        "ConcurrentModificationException", "InternalServiceException", "OperationTimeoutException", "ThrottlingException",
        "ResourceNumberLimitExceededException", "ServiceUnavailable", "InternalFailure", "ExpiredTokenException",
    }
)  # fmt: skip
_THERE = "AlreadyExistsException"


def glue_type(type_: str) -> str:
    """Return the type of a column in Glue.

    Examples:
        >>> glue_type("VARCHAR(20)"), glue_type("DOUBLE PRECISION"), glue_type("DECIMAL(36,2)")
        ('varchar(20)', 'double', 'decimal(36,2)')
    """
    return _TYPES.get(type_) or type_.lower()


class GlueCatalog:
    """A database of the Glue Data Catalog. The client is created at the first use."""

    def __init__(self, database: str, region: str | None = None) -> None:
        """Check the name of the database.

        Raises:
            InvalidInput: Redshift could not read a database of this name.
        """
        if not _DATABASE.fullmatch(database):
            raise InvalidInput(f"{database!r} is not a database of Glue: use lower-case letters, digits and underscores")
        self._database = database
        self._region = region
        self._client: Any = None
        self._found: dict[str, dict[str, Any]] = {}
        """Each table as it was found: Glue refuses a change of another version."""

    def find(self, name: str) -> ExternalTable | None:
        """Return a table, with its columns but for its partition; None where there is no such table.

        Raises:
            NotFound: the database does not exist.
            Rejected: somebody else made the table.
        """
        found = self._table(name)
        if found is None:
            self._call("get_database", Name=self._database)
            return None
        marks = found.get("Parameters", {})
        if marks.get("created_by") != _MARK["created_by"]:
            raise Rejected(f"{self._database}.{name} is a table that onefold has not made: rename or drop it")
        self._found[name] = found
        storage = found["StorageDescriptor"]
        columns = tuple((one["Name"], _OF_GLUE.get(one["Type"]) or one["Type"].upper()) for one in storage["Columns"])
        return ExternalTable(name, columns, storage.get("Location", ""), is_filled=not _FILLING.items() <= marks.items())

    def create(self, table: ExternalTable) -> None:
        """Create a table without partitions; a table of this name stays as it is."""
        self._call("create_table", allowed=_THERE, TableInput=_table_input(table), DatabaseName=self._database)

    def change(self, table: ExternalTable) -> None:
        """Bring a table to other columns, or mark it as filled. What people have noted on it and its columns stays.

        Raises:
            TryAgain: somebody else has changed it since it was found.
        """
        found = self._found.get(table.name, {})
        seen = {"VersionId": found["VersionId"]} if found.get("VersionId") else {}
        self._call("update_table", TableInput=_changed(found, table), DatabaseName=self._database, **seen)

    def runs(self, name: str) -> frozenset[str]:
        """Return the addresses of the runs that are partitions of a table."""
        return frozenset(self._runs(name))

    def add_runs(self, table: ExternalTable, lists: Mapping[str, str]) -> None:
        """Add runs as partitions; a run that is there stays as it is.

        Raises:
            Rejected: Glue refuses one.
        """
        made = [{"Values": [run], "StorageDescriptor": _storage(table, address)} for run, address in lists.items()]
        for start in range(0, len(made), _MOST_PARTITIONS):
            some = made[start : start + _MOST_PARTITIONS]
            done = self._call("batch_create_partition", **self._of(table.name), PartitionInputList=some) or {}
            errors = [one["ErrorDetail"] for one in done.get("Errors", ()) if one["ErrorDetail"]["ErrorCode"] != _THERE]
            if errors:
                raise Rejected(f"{self._database}.{table.name}: {errors[0].get('ErrorMessage') or errors[0]['ErrorCode']}")

    def _runs(self, name: str) -> Iterator[str]:
        token: dict[str, str] = {}
        while True:
            page = self._call("get_partitions", **self._of(name), ExcludeColumnSchema=True, **token) or {}
            yield from (one["Values"][0] for one in page["Partitions"])
            if not page.get("NextToken"):
                return
            token = {"NextToken": page["NextToken"]}

    def _table(self, name: str) -> dict[str, Any] | None:
        found = self._call("get_table", allowed="EntityNotFoundException", DatabaseName=self._database, Name=name)
        return found and found["Table"]

    def _of(self, name: str) -> dict[str, str]:
        return {"DatabaseName": self._database, "TableName": name}

    def _call(self, operation: str, /, allowed: str = "", **arguments: Any) -> dict[str, Any] | None:
        """Return what Glue answers; None for the error that is allowed.

        Raises:
            NotFound: the database does not exist.
            Rejected: Glue refuses.
            TryAgain: Glue failed, and may answer later.
        """
        self._client = self._client or connect("glue", self._region)
        from botocore.exceptions import BotoCoreError, ClientError

        call: Callable[..., dict[str, Any]] = getattr(self._client, operation)
        try:
            return call(**arguments)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code == allowed:
                return None
            if code == "EntityNotFoundException":
                raise NotFound(f"Glue has no database {self._database}: create it, as infra/aws does") from error
            kind = TryAgain if code in _PASSING else Rejected
            raise kind(f"Glue, {operation} in {self._database}: {error}: see the rights of the caller") from error
        except BotoCoreError as error:
            raise TryAgain(f"Glue does not answer ({operation}): {reason_of(error)}: try again") from error


def _table_input(table: ExternalTable) -> dict[str, Any]:
    return {
        "Name": table.name,
        "TableType": "EXTERNAL_TABLE",
        "Parameters": _MARK if table.is_filled else {**_MARK, **_FILLING},
        "PartitionKeys": [{"Name": RUN_COLUMN, "Type": "varchar(2048)"}],
        "StorageDescriptor": _storage(table, table.location),
    }


def _changed(found: Mapping[str, Any], table: ExternalTable) -> dict[str, Any]:
    """Return what a table becomes, with what was noted on it and on its columns.

    Args:
        found: the table in Glue.
        table: its other columns.
    """
    made, before = _table_input(table), found.get("StorageDescriptor", {})
    marks = {name: value for name, value in found.get("Parameters", {}).items() if name not in _FILLING}
    noted = {column["Name"]: column for column in before.get("Columns", ())}
    own = made["StorageDescriptor"]
    columns = [{**noted.get(column["Name"], {}), **column} for column in own["Columns"]]
    return {
        **made,
        **{name: found[name] for name in _NOTES if name in found},
        "Parameters": {**marks, **made["Parameters"]},
        "StorageDescriptor": {**before, **own, "Columns": columns},
    }


def _storage(table: ExternalTable, location: str) -> dict[str, Any]:
    columns: Sequence[dict[str, str]] = [{"Name": name.lower(), "Type": glue_type(type_)} for name, type_ in table.columns]
    return {"Columns": columns, "Location": location, **_FORMATS}
