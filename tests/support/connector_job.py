"""A job that reads and stages tables through the Spark BigQuery connector, and prints what it met as JSON.

It is a process of its own: a connector needs a JVM that was started with its jar, and perhaps another Spark than the tests.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from support.columns import columns

from onefold.core.names import TableId
from onefold.schema.types import parse_type
from onefold.spark.io.bigquery_connector import connector_version
from onefold.spark.io.bigquery_tables import StagingTables, TypedFrame
from onefold.spark.session import prepared
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, emulator_client


def main(dataset: str) -> None:
    spark = prepared(SparkSession.builder.getOrCreate())
    print(json.dumps(found(spark, dataset)))
    spark.stop()


def found(spark: SparkSession, dataset: str) -> dict[str, Any]:
    client = emulator_client(None)
    flat, nested, strange = (TableId(DEFAULT_PROJECT, dataset, name) for name in ("flat", "nested", "strange"))
    with StagingTables(spark, client) as tables:
        as_it_is = tables.read(flat, columns(id="INT64", name="STRING", price="NUMERIC", day="DATE"), where="id >= 2")
        converted = tables.read(flat, columns(id="INT64", price="NUMERIC"), {"price": parse_type("INT64")})
        whole = tables.read(flat, columns(**FLAT))
        staged = tables.stage(whole.frame, flat, columns(**FLAT))
        nothing = tables.stage(whole.frame.where("FALSE"), flat, columns(**FLAT))
        return {
            "version": connector_version(spark),
            "as it is": reported(as_it_is),
            "converted": reported(converted),
            "nested": reported(tables.read(nested, columns(**NESTED))),
            "strange": reported(tables.read(strange, columns(id="INT64"), where="id = 2")),
            "whole": reported(whole),
            "staged": [[str(value) for value in row] for row in client.query(f"{staged.query} ORDER BY id").result()],
            "nothing": [list(row) for row in client.query(nothing.query).result()],
        }


FLAT = {
    "id": "INT64",
    "name": "STRING",
    "price": "NUMERIC",
    "day": "DATE",
    "at": "TIMESTAMP",
    "local": "DATETIME",
    "clock": "TIME",
    "share": "FLOAT64",
    "raw": "BYTES",
    "tags": "ARRAY<STRING>",
}
NESTED = {
    "id": "INT64",
    "place": "STRUCT<city STRING, since TIMESTAMP, open TIME>",
    "pairs": "ARRAY<STRUCT<key STRING, value INT64>>",
}
STRANGE = {"id": "INT64", "lasts": "INTERVAL"}


def reported(rows: TypedFrame) -> dict[str, Any]:
    """The frame's types, and its rows as the text that Spark makes of them."""
    texts = rows.frame.orderBy("id").select(*(F.col(f"`{name}`").cast("string") for name in rows.frame.columns))
    types = {field.name: field.dataType.simpleString() for field in rows.frame.schema.fields}
    return {"types": types, "rows": [list(row) for row in texts.collect()]}


if __name__ == "__main__":
    main(sys.argv[1])
