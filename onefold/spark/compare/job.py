"""The comparison as a use case: compare two inputs and write the findings. All checks come before the first write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.batches.arguments import CompareArguments
from onefold.batches.values import Uri
from onefold.compare.files import CSV
from onefold.compare.findings import FINDING_COLUMNS, Summary
from onefold.core.errors import InvalidInput
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING
from onefold.spark.compare.inputs import BigQueryInputs, OpenInput, open_folder, without_blanks
from onefold.spark.compare.rows import SparkComparison, compare_sides
from onefold.spark.io.base_output import open_output
from onefold.spark.io.files import reading
from onefold.spark.io.filesystem import Folder
from onefold.spark.io.manifest import SUCCESS, OutputManifest, find_finished


def compare(spark: SparkSession, arguments: CompareArguments, connect: Callable[[], BigQueryWarehouse]) -> Summary:
    """Run the job.

    Args:
        spark: the session.
        arguments: the arguments of the job.
        connect: returns the warehouse; called only if the arguments name a table of BigQuery.

    Raises:
        InvalidInput: the arguments, or the files that they name, have errors; the text lists all. Nothing was written.
        NotFound: a table does not exist.
        Rejected: the table for the findings exists already.
        TryAgain: an error that may pass.
    """
    if not any(uri.table for uri in arguments.uris):
        return _compare(spark, arguments, None)
    with closing(BigQueryInputs(spark, connect())) as tables:
        return _compare(spark, arguments, tables)


def _compare(spark: SparkSession, arguments: CompareArguments, tables: BigQueryInputs | None) -> Summary:
    if arguments.output:
        _check_new(spark, arguments, arguments.output, tables)
    left, right = _open(spark, arguments, tables)
    as_text = left.format != right.format and (left.is_text or right.is_text)
    left_side, right_side = left.side, right.side
    if as_text and CSV in (left.format, right.format):
        left_side, right_side = without_blanks(left_side), without_blanks(right_side)
    comparison = compare_sides(left_side, right_side, arguments.keys, as_text=as_text, without=arguments.without)
    with reading(f"{arguments.left} or {arguments.right}"):
        return _write(spark, arguments, comparison, tables)


def _open(spark: SparkSession, arguments: CompareArguments, tables: BigQueryInputs | None) -> tuple[OpenInput, OpenInput]:
    def open_(uri: Uri, expected: tuple[str, ...] = ()) -> OpenInput:
        return tables.open(uri.table) if tables and uri.table else open_folder(spark, uri.text, expected)

    right = open_(arguments.right)
    left = open_(arguments.left, right.side.columns.names)
    # A column of JSON lines without any value has no type: it counts as a column if the other side has it. So the right
    # side is opened again once the columns of the left side are known.
    return left, open_(arguments.right, left.side.columns.names) if right.is_text else right


def _check_new(spark: SparkSession, arguments: CompareArguments, output: Uri, tables: BigQueryInputs | None) -> None:
    if tables and output.table:
        tables.check_new(output.table)
        return
    folder = Folder(spark, output.text)
    if folder.has(SUCCESS):
        raise InvalidInput(f"--output {output} exists already, and nothing is overwritten: name a new folder")
    find_finished(folder, _as_json(arguments))


def _write(
    spark: SparkSession, arguments: CompareArguments, comparison: SparkComparison, tables: BigQueryInputs | None
) -> Summary:
    output = arguments.output
    if output is None:
        _count(comparison.findings)
        return comparison.summary()
    if tables and output.table:
        tables.write(output.table, comparison.findings)
        return comparison.summary()
    manifest = OutputManifest(_as_json(arguments), arguments.keys, Schema(Column(name, STRING) for name in FINDING_COLUMNS))
    with open_output(spark, output.text, manifest) as folder:
        rows = folder.write(comparison.findings)
        summary = comparison.summary()
        folder.finish(replace(manifest, report=summary.as_dict()), rows)
    return summary


def _count(findings: DataFrame) -> None:
    """Run the comparison without storing its findings, so that its counts are known."""
    findings.write.format("noop").mode("overwrite").save()


def _as_json(arguments: CompareArguments) -> Mapping[str, Any]:
    return {
        "left": arguments.left.text,
        "right": arguments.right.text,
        "keys": list(arguments.keys),
        "except": list(arguments.without),
        "output": str(arguments.output),
    }
