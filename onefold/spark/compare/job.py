"""The use case: two sides are compared, and what was found is written. Everything is checked before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.batches.arguments import CompareArguments, uris_of
from onefold.batches.values import Uri
from onefold.compare.files import CSV
from onefold.compare.findings import FINDING_COLUMNS, Summary
from onefold.core.errors import InvalidInput
from onefold.schema.columns import Column
from onefold.schema.types import STRING
from onefold.spark.compare.inputs import BigQueryInputs, OpenInput, open_folder, without_blanks
from onefold.spark.compare.rows import SparkComparison, compare_sides
from onefold.spark.io.base_folder import SUCCESS, Manifest, is_done, written
from onefold.spark.io.files import reading
from onefold.spark.io.filesystem import Folder


def compare(spark: SparkSession, arguments: CompareArguments, connect: Callable[[], BigQueryWarehouse]) -> Summary:
    """Run the job.

    Args:
        connect: the warehouse, where a table of BigQuery is named.

    Raises:
        InvalidInput: everything that is wrong with the arguments and with what they name. Nothing was written.
        NotFound: there is no such table.
        Rejected: the table for the findings is there already.
        TryAgain: trouble that may pass.
    """
    if not any(uri.table for uri in uris_of(arguments)):
        return _compare(spark, arguments, None)
    with closing(BigQueryInputs(spark, connect())) as tables:
        return _compare(spark, arguments, tables)


def _compare(spark: SparkSession, arguments: CompareArguments, tables: BigQueryInputs | None) -> Summary:
    if arguments.output:
        _check_new(spark, arguments, arguments.output, tables)
    left, right = _open(spark, arguments, tables)
    as_text = left.format != right.format and (left.is_text or right.is_text)
    one, other = left.side, right.side
    if as_text and CSV in (left.format, right.format):
        one, other = without_blanks(one), without_blanks(other)
    compared = compare_sides(one, other, arguments.keys, as_text=as_text, without=arguments.without)
    with reading(f"{arguments.left} or {arguments.right}"):
        return _write(spark, arguments, compared, tables)


def _open(spark: SparkSession, arguments: CompareArguments, tables: BigQueryInputs | None) -> tuple[OpenInput, OpenInput]:
    def open_(uri: Uri, wanted: tuple[str, ...] = ()) -> OpenInput:
        return tables.open(uri.table) if tables and uri.table else open_folder(spark, uri.text, wanted)

    right = open_(arguments.right)
    left = open_(arguments.left, right.side.names)
    # A column of JSON lines that holds no value has no type: it is of use where the other side has it.
    return left, open_(arguments.right, left.side.names) if right.is_text else right


def _check_new(spark: SparkSession, arguments: CompareArguments, output: Uri, tables: BigQueryInputs | None) -> None:
    if tables and output.table:
        tables.check_new(output.table)
        return
    folder = Folder(spark, output.text)
    if folder.has(SUCCESS):
        raise InvalidInput(f"--output {output}: it is there already, and nothing is overwritten: name a new folder")
    is_done(folder, _as_written(arguments))


def _write(
    spark: SparkSession, arguments: CompareArguments, compared: SparkComparison, tables: BigQueryInputs | None
) -> Summary:
    output = arguments.output
    if output is None:
        _count(compared.findings)
        return compared.summary()
    if tables and output.table:
        tables.write(output.table, compared.findings)
        return compared.summary()
    manifest = Manifest(_as_written(arguments), arguments.keys, tuple(Column(name, STRING) for name in FINDING_COLUMNS))
    with written(spark, output.text, manifest) as folder:
        rows = folder.write(compared.findings)
        summary = compared.summary()
        folder.finish(replace(manifest, report=summary.as_dict()), rows)
    return summary


def _count(findings: DataFrame) -> None:
    """Run the comparison, and keep nothing but its counts."""
    findings.write.format("noop").mode("overwrite").save()


def _as_written(arguments: CompareArguments) -> Mapping[str, Any]:
    return {
        "left": arguments.left.text,
        "right": arguments.right.text,
        "keys": list(arguments.keys),
        "except": list(arguments.without),
        "output": str(arguments.output),
    }
