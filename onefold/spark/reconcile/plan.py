"""What a reconciliation is to do: all that it reads and how that fits together, with every fault, before it writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pyspark.sql import SparkSession

from onefold.batches.arguments import ReconcileArguments
from onefold.batches.values import Uri
from onefold.core.errors import InvalidInput, NotFound
from onefold.core.names import fold_case
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Column
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

_OURS = "_onefold_"
"""How the names begin that the job gives to columns of its own."""

FORMATS: Mapping[str, ChangeFormat] = {"datastream": Datastream(), "debezium": Debezium(), "modify_time": ModifyTime()}


class JobTables(Protocol):
    """What a plan needs of BigQuery, where changes or the base are there."""

    def read_changes(self, uri: Uri, arguments: ReconcileArguments) -> Sequence[ChangeLog]:
        """Every version of a change table; its rows are read when it is opened, at least those of the window."""

    def base_columns(self, uri: Uri) -> tuple[Column, ...] | None:
        """The columns that the base table is to have: the unified ones. Asked for after its changes were read."""


@dataclass(frozen=True)
class JobPlan:
    """What is to be done, and nothing against it.

    columns: the unified ones, in order; the base's come first.
    landed: by folded name, the types in which values have landed, those of the base included.
    base_rows, base_live: how many rows the base has, and how many of them are not deleted.
    """

    arguments: ReconcileArguments
    logs: tuple[ChangeLog, ...]
    columns: tuple[Column, ...]
    landed: Mapping[str, tuple[Type, ...]]
    base: BaseFolder | None
    base_rows: int = 0
    base_live: int = 0

    @property
    def keys(self) -> tuple[str, ...]:
        """As the unified columns spell them."""
        spelling = {fold_case(column.name): column.name for column in self.columns}
        return tuple(spelling[fold_case(key)] for key in self.arguments.keys)


def make_plan(spark: SparkSession, arguments: ReconcileArguments, tables: JobTables | None = None) -> JobPlan:
    """Read what the schemas say, and collect every fault."""
    problems = _overlaps(spark, arguments)
    logs = [log for uri in arguments.changes for log in _logs(spark, uri, arguments, tables, problems)]
    base = _base(spark, arguments, problems)
    stored = base.columns if base else _stored_columns(arguments, tables)
    format_ = FORMATS[arguments.format]
    sources = [Version(log.name, columns) for log in logs for columns in format_.columns(log)]
    columns = _unified(arguments, stored, sources)
    for log in logs:
        problems += [*format_.problems(log, arguments), *_name_problems(log, format_)]
    held_here = [Version(log.name, columns) for log in logs if not log.converts for columns in format_.columns(log)]
    problems += [problem for version in held_here for problem in _conversion_problems(version, columns)]
    if base:
        problems += [*base_problems(base, arguments, columns), *_fit_problems(base, sources)]
    problems += _untyped_keys(logs, arguments, columns)
    if arguments.position:
        problems += kind_problems([*sources, Version("the base", tuple(stored))], arguments.position)
    if problems:
        raise InvalidInput(dict.fromkeys(problems))
    return _counted_base(JobPlan(arguments, tuple(logs), columns, _landed_types(base, sources), base))


def _logs(
    spark: SparkSession, uri: Uri, arguments: ReconcileArguments, tables: JobTables | None, problems: list[str]
) -> Sequence[ChangeLog]:
    try:
        if uri.table is None:
            return [_with_rows(read_folder(spark, str(uri), arguments.keys))]
        if tables is None:
            raise InvalidInput(f"{uri}: this job was started without BigQuery")
        return tables.read_changes(uri, arguments)
    except (InvalidInput, NotFound) as error:
        problems += str(error).splitlines()
        return []


def _with_rows(log: ChangeLog) -> ChangeLog:
    """Files of JSON lines without a line have no columns either, and are nothing that could be checked."""
    if not log.columns:
        raise InvalidInput(f"{log.name}: there is no row in any of its files")
    return log


def _base(spark: SparkSession, arguments: ReconcileArguments, problems: list[str]) -> BaseFolder | None:
    if arguments.base is None or arguments.base.table is not None or arguments.mode == "rebuild":
        return None
    try:
        return find_base(spark, str(arguments.base), arguments.keys)
    except InvalidInput as error:
        problems += error.problems
        return None


def _stored_columns(arguments: ReconcileArguments, tables: JobTables | None) -> tuple[Column, ...]:
    if tables is None or arguments.base is None or arguments.base.table is None:
        return ()
    return tables.base_columns(arguments.base) or ()


def _unified(arguments: ReconcileArguments, stored: Sequence[Column], sources: Sequence[Version]) -> tuple[Column, ...]:
    """A base in BigQuery has the unified columns, by the rules of its table; folders have no rules."""
    if stored and arguments.base is not None and arguments.base.table is not None:
        return tuple(stored)
    return fold([Version("base", tuple(stored)), *sources], TableRules())


def _overlaps(spark: SparkSession, arguments: ReconcileArguments) -> list[str]:
    """The output must be apart from what is read, or the next job would take it for changes."""
    if arguments.output is None:
        return []
    output = Folder(spark, str(arguments.output)).qualified() + "/"
    read = [uri for uri in (*arguments.changes, arguments.base) if uri is not None and uri.table is None]
    places = {uri: Folder(spark, str(uri)).qualified() + "/" for uri in read}
    return [
        f"--output {arguments.output} and {uri} lie one in the other: name a new folder apart from both"
        for uri, place in places.items()
        if place.startswith(output) or output.startswith(place)
    ]


def _name_problems(log: ChangeLog, format_: ChangeFormat) -> Iterator[str]:
    for columns in format_.columns(log):
        yield from (
            f"{log.name}: the column {column.name} has a name that the base or this job needs for itself"
            for column in columns
            if fold_case(column.name) in (POSITION, DELETED) or fold_case(column.name).startswith(_OURS)
        )


def _untyped_keys(logs: Sequence[ChangeLog], arguments: ReconcileArguments, unified: Sequence[Column]) -> Iterator[str]:
    known = {fold_case(column.name) for column in unified}
    for key in arguments.keys:
        if fold_case(key) not in known and any(fold_case(key) in log.empty for log in logs):
            yield f"there is no value of the key {key} in any file, so nothing says its type"


def _conversion_problems(version: Version, unified: Sequence[Column]) -> Iterator[str]:
    targets = {fold_case(column.name): column.type for column in unified}
    for column in version.columns:
        target = targets[fold_case(column.name)]
        if not can_convert(column.type, target):
            yield f"{version.id}, column {column.name}: {column.type} cannot be converted to {target} outside of BigQuery"


def _fit_problems(base: BaseFolder, sources: Sequence[Version]) -> Iterator[str]:
    """Any two types meet in text at last; a struct that met a plain value there would be no change but a mistake."""
    known = {fold_case(column.name): column for column in base.columns}
    for version in sources:
        for column in version.columns:
            stored = known.get(fold_case(column.name))
            if (
                stored
                and isinstance(stored.type, Struct) != isinstance(column.type, Struct)
                and JSON
                not in (
                    stored.type,
                    column.type,
                )
            ):
                yield (
                    f"{base.landed.name} and {version.id} do not fit: column {column.name} is {stored.type} in the one and "
                    f"{column.type} in the other"
                )


def _landed_types(base: BaseFolder | None, sources: Sequence[Version]) -> dict[str, tuple[Type, ...]]:
    found: dict[str, dict[Type, None]] = {}
    for name, types in base.landed_types().items() if base else ():
        found.setdefault(name, {}).update(dict.fromkeys(types))
    for version in sources:
        for column in version.columns:
            found.setdefault(fold_case(column.name), {})[column.type] = None
    return {name: tuple(types) for name, types in found.items()}


def _counted_base(plan: JobPlan) -> JobPlan:
    """A copy of the source may be anything; of what a batch wrote, it is known that no key is there twice."""
    if plan.base is None:
        return plan
    if plan.base.manifest is not None and plan.base.is_known_unique(plan.keys, plan.columns):
        report = plan.base.manifest.report or {}
        return replace(plan, base_rows=report["rows"], base_live=report["live"])
    with reading(plan.base.landed.name):
        counts = count_keys(base_rows(plan.base, plan.columns, plan.arguments.position), plan.keys)
    if counts.repeated:
        raise InvalidInput(f"{plan.base.landed.name} has keys that are not unique: {'; '.join(counts.repeated)}")
    return replace(plan, base_rows=counts.rows, base_live=counts.live)
