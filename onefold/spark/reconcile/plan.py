"""The plan of a reconciliation: everything that it reads, checked together, with all errors, before it writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pyspark.sql import SparkSession

from onefold.batches.arguments import ReconcileArguments
from onefold.batches.values import Uri
from onefold.changelog.key_columns import key_type_problems
from onefold.core.errors import InvalidInput, NotFound
from onefold.core.names import fold_case
from onefold.core.text import shown_list
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.types import JSON, Struct, Type
from onefold.schema.versions import Version, fold
from onefold.spark.io.base_folder import BaseFolder, find_base
from onefold.spark.io.files import read_folder, reading
from onefold.spark.io.filesystem import Folder
from onefold.spark.io.frames import ChangeLog
from onefold.spark.reconcile.base import base_problems, base_rows, count_keys
from onefold.spark.reconcile.change_log import ChangeFormat, Datastream
from onefold.spark.reconcile.debezium import Debezium
from onefold.spark.reconcile.modify_time import ModifyTime, kind_problems
from onefold.spark.values.casts import can_convert

_RESERVED_PREFIX = "_onefold_"
"""The prefix of the names of the columns that the job adds."""

FORMATS: Mapping[str, ChangeFormat] = {"datastream": Datastream(), "debezium": Debezium(), "modify_time": ModifyTime()}


class JobTables(Protocol):
    """The tables of BigQuery that a plan needs, if changes or the base are there."""

    def read_changes(self, uri: Uri, arguments: ReconcileArguments) -> Sequence[ChangeLog]:
        """Return every version of a change table; opening a version reads at least its rows of the window."""

    def base_columns(self, uri: Uri) -> Schema | None:
        """Return the unified columns, which the base table is to have. Call `read_changes` before."""


@dataclass(frozen=True)
class JobPlan:
    """Everything that the job needs, without errors.

    logs: the versions of the changes.
    columns: the unified columns in order; those of the base come first.
    landed_types: by folded name, the types in which values have landed, including those of the base.
    base: the base, if it is a folder.
    base_rows, base_live: the number of the base's rows, and of those that are not deleted.
    """

    arguments: ReconcileArguments
    logs: tuple[ChangeLog, ...]
    columns: Schema
    landed_types: Mapping[str, tuple[Type, ...]]
    base: BaseFolder | None
    base_rows: int = 0
    base_live: int = 0

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key, as the unified columns spell them."""
        return self.columns.only(self.arguments.keys).names


def make_plan(spark: SparkSession, arguments: ReconcileArguments, tables: JobTables | None = None) -> JobPlan:
    """Read all schemas, and collect every error.

    Args:
        spark: the session.
        arguments: the arguments of the job.
        tables: the tables of BigQuery; None if the arguments name none.

    Raises:
        InvalidInput: the arguments, or the files and tables that they name, have errors; the text lists all of them.
    """
    problems = _overlaps(spark, arguments)
    logs = [log for uri in arguments.changes for log in _logs(spark, uri, arguments, tables, problems)]
    base = _base(spark, arguments, problems)
    stored = base.columns if base else _stored_columns(arguments, tables)
    format_ = FORMATS[arguments.format]
    sources = [Version(log.name, columns) for log in logs for columns in format_.columns(log)]
    columns = _unified(arguments, stored, sources)
    for log in logs:
        problems += [*format_.problems(log, arguments), *_name_problems(log, format_)]
    converted_here = [Version(log.name, shape) for log in logs if not log.converts for shape in format_.columns(log)]
    problems += [problem for version in converted_here for problem in _conversion_problems(version, columns)]
    if base:
        problems += [*base_problems(base, arguments, columns), *_fit_problems(base, sources)]
    problems += _untyped_keys(logs, arguments, columns)
    problems += key_type_problems(", ".join(map(str, arguments.changes)), columns, arguments.keys)
    if arguments.position:
        problems += kind_problems([*sources, Version("the base", stored)], arguments.position)
    if problems:
        raise InvalidInput(dict.fromkeys(problems))
    return _with_counts(JobPlan(arguments, tuple(logs), columns, _landed_types(base, sources), base))


def _logs(
    spark: SparkSession, uri: Uri, arguments: ReconcileArguments, tables: JobTables | None, problems: list[str]
) -> Sequence[ChangeLog]:
    try:
        if uri.table is None:
            return [_check_columns(read_folder(spark, str(uri), arguments.keys))]
        if tables is None:
            raise InvalidInput(f"{uri}: expected a folder, got a table, and this job was started without BigQuery")
        return tables.read_changes(uri, arguments)
    except (InvalidInput, NotFound) as error:
        problems += str(error).splitlines()
        return []


def _check_columns(log: ChangeLog) -> ChangeLog:
    """Return a log that has columns: files of JSON lines without a line have none, and cannot be checked.

    Raises:
        InvalidInput: the log has no columns.
    """
    if not log.columns:
        raise InvalidInput(f"{log.name}: there is no row in any of its files: name other files")
    return log


def _base(spark: SparkSession, arguments: ReconcileArguments, problems: list[str]) -> BaseFolder | None:
    if arguments.base is None or arguments.base.table is not None or arguments.mode == "rebuild":
        return None
    try:
        return find_base(spark, str(arguments.base), arguments.keys)
    except InvalidInput as error:
        problems += error.problems
        return None


def _stored_columns(arguments: ReconcileArguments, tables: JobTables | None) -> Schema:
    if tables is None or arguments.base is None or arguments.base.table is None:
        return Schema()
    return tables.base_columns(arguments.base) or Schema()


def _unified(arguments: ReconcileArguments, stored: Schema, sources: Sequence[Version]) -> Schema:
    """Return the columns of the new base. A base in BigQuery has them by the rules of its table; folders have no rules."""
    if stored and arguments.base is not None and arguments.base.table is not None:
        return stored
    return Schema(fold([Version("base", stored), *sources], TableRules()))


def _overlaps(spark: SparkSession, arguments: ReconcileArguments) -> list[str]:
    """Return an error for each input that contains the output or lies in it: the next job would read the output as input."""
    if arguments.output is None:
        return []
    output = Folder(spark, str(arguments.output)).qualified() + "/"
    inputs = [uri for uri in (*arguments.changes, arguments.base) if uri is not None and uri.table is None]
    paths = {uri: Folder(spark, str(uri)).qualified() + "/" for uri in inputs}
    return [
        f"--output {arguments.output} and {uri} lie one in the other: name a new folder apart from both"
        for uri, path in paths.items()
        if path.startswith(output) or output.startswith(path)
    ]


def _name_problems(log: ChangeLog, format_: ChangeFormat) -> Iterator[str]:
    for columns in format_.columns(log):
        yield from (
            f"{log.name}: the column {column.name} has a name that is reserved for the base or this job: rename the column"
            for column in columns
            if fold_case(column.name) in (POSITION, DELETED) or fold_case(column.name).startswith(_RESERVED_PREFIX)
        )


def _untyped_keys(logs: Sequence[ChangeLog], arguments: ReconcileArguments, unified: Schema) -> Iterator[str]:
    for key in arguments.keys:
        if not unified.has(key) and any(fold_case(key) in log.empty for log in logs):
            yield f"there is no value of the key {key} in any file, so nothing says its type"


def _conversion_problems(version: Version, unified: Schema) -> Iterator[str]:
    for column in version.columns:
        target = unified.get(column.name)
        if target and not can_convert(column.type, target.type):
            types = f"{column.type} cannot be converted to {target.type}"
            yield f"{version.id}, column {column.name}: {types} outside of BigQuery"


def _fit_problems(base: BaseFolder, sources: Sequence[Version]) -> Iterator[str]:
    """Yield columns that are a struct on one side only: their common type would be text, which is rather a mistake.

    A base that a batch wrote has the types of its changes. It is no mistake that more changes have them, too.
    """
    for version in sources if base.manifest is None else ():
        for column in version.columns:
            stored = base.columns.get(column.name)
            if stored and _is_struct_and_other(stored.type, column.type):
                yield (
                    f"{base.frame.name} and {version.id} do not fit: column {column.name} is {stored.type} in the one and "
                    f"{column.type} in the other: convert one of them first"
                )


def _is_struct_and_other(one: Type, other: Type) -> bool:
    return isinstance(one, Struct) != isinstance(other, Struct) and JSON not in (one, other)


def _landed_types(base: BaseFolder | None, sources: Sequence[Version]) -> dict[str, tuple[Type, ...]]:
    found: dict[str, dict[Type, None]] = {}
    for name, types in base.landed_types().items() if base else ():
        found.setdefault(name, {}).update(dict.fromkeys(types))
    for version in sources:
        for column in version.columns:
            found.setdefault(fold_case(column.name), {})[column.type] = None
    return {name: tuple(types) for name, types in found.items()}


def _with_counts(plan: JobPlan) -> JobPlan:
    """Add the counts of the base. Rows that no batch wrote are counted, and their keys are checked.

    Raises:
        InvalidInput: keys are repeated.
    """
    if plan.base is None:
        return plan
    if plan.base.manifest is not None and plan.base.is_known_unique(plan.keys, plan.columns):
        report = plan.base.manifest.report or {}
        return replace(plan, base_rows=report["rows"], base_live=report["live"])
    with reading(plan.base.frame.name):
        counts = count_keys(base_rows(plan.base, plan.columns, plan.arguments.position), plan.keys)
    if counts.repeated:
        keys = shown_list(counts.repeated, joint="; ")
        raise InvalidInput(f"{plan.base.frame.name} has keys that are not unique: {keys}: name other --keys")
    return replace(plan, base_rows=counts.rows, base_live=counts.live)
