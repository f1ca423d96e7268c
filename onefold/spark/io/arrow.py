"""Batches of Arrow through a function of Python, where pandas is not installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

ArrowFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def map_in_arrow(frame: DataFrame, function: ArrowFunction, schema: StructType) -> DataFrame:
    """Return what a function makes of the batches of each partition, as `DataFrame.mapInArrow` does.

    That method asks for pandas, which neither it nor the worker uses for batches of Arrow; so the JVM's function is called
    here (Spark 4.0, pyspark/sql/pandas/map_ops.py).

    Args:
        frame: the rows.
        function: takes the batches of a partition, and yields batches of the schema.
        schema: of the result.
    """
    udf = UserDefinedFunction(function, returnType=schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column: Any = udf(*(frame[name] for name in frame.columns))
    java: Any = frame
    return type(frame)(java._jdf.mapInArrow(column._jc, False, None), frame.sparkSession)
