"""Lines of pulled rows in Spark: the same bytes as `onefold.pull.read.rows` gives for one row in Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType

from onefold.changelog.metadata import METADATA
from onefold.mysql.encodings import Unrepresentable, wkt
from onefold.mysql.snapshot.renderings import rendering_of
from onefold.pull.read.clock import time_of
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.pulled_table import DAY
from onefold.pull.read.queries import COUNTED, READING, SHOWN
from onefold.pull.read.rows import added_values, metadata
from onefold.pull.read.watermark import LAST_DAY, NO_DAY
from onefold.spark.values.text import base64_text

LINE, DAY_OF_ROW, NUMBER, LOST = "line", "day", "reading", "lost"
"""The columns of `line_frame`; the last one is followed by the number of a source's column."""
_KIND = {"date": "date", "geometry": "geometry"}
"""The kind of loss, by the form of a column that may have one."""
_SIGN = -(1 << 63)
_EMPTY, _SEQUENCE = "{}", "change_sequence_number"
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def line_frame(frame: DataFrame, plan: TablePlan, part: int) -> DataFrame:
    """Return a line for each row, with its day, its watermark as a number, and whether values were lost.

    Args:
        frame: the rows of `onefold.pull.read.queries.jdbc_query`, in one partition.
        plan: of the pull.
        part: the number of the key range.
    """
    reading = F.col(READING).cast("decimal(20,0)")
    prepared = frame.withColumns({NUMBER: reading, "number": F.monotonically_increasing_id()})
    prepared = prepared.withColumn(DAY_OF_ROW, _day(plan))
    values = _values(plan)
    lost = [
        (F.col(f"c{number}").isNotNull() & values[f"c{number}"].isNull()).alias(f"{LOST}{number}")
        for number in loss_columns(plan)
    ]
    counted = [F.col(COUNTED)] if plan.is_counted else []
    return prepared.select(_line(plan, part, values).alias(LINE), DAY_OF_ROW, NUMBER, *lost, *counted)


def loss_columns(plan: TablePlan) -> Mapping[int, tuple[str, str]]:
    """Return the columns that may lose values, by their number, each with its name and the kind of loss."""
    forms = (rendering_of(column).form for column in plan.structure.columns)
    return {
        number: (column.name, _KIND[form])
        for number, (column, form) in enumerate(zip(plan.structure.columns, forms, strict=True))
        if form in _KIND
    }


def _values(plan: TablePlan) -> dict[str, Value]:
    """Return the landed value of each column."""
    return {
        f"c{number}": _value(F.col(f"c{number}"), rendering_of(column).form)
        for number, column in enumerate(plan.structure.columns)
    }


def _value(x: Value, form: str) -> Value:
    if form == "date":
        # Spark knows the year 0, BigQuery does not.
        is_date = F.substring(x, 1, 10).try_cast("date").isNotNull() & ~x.startswith("0000")
        return F.when(is_date, x)
    if form == "bytes":
        return base64_text(x)
    return F.udf(_wkt, StringType())(x) if form == "geometry" else x


def _wkt(data: bytes | None) -> str | None:
    """Return a geometry as text; such columns are rare, so single values may pass through Python."""
    text = None if data is None else wkt(bytes(data))
    return text.value if isinstance(text, Unrepresentable) else text


def _line(plan: TablePlan, part: int, values: Mapping[str, Value]) -> Value:
    names = dict(zip(values, plan.target.source_names, strict=True))
    plain = [value.alias(names[column]) for column, value in values.items() if names[column] not in plan.json_columns]
    body = F.to_json(F.struct(*plain)) if plain else F.lit(_EMPTY)
    day = F.date_format(F.col(DAY_OF_ROW), "yyyy-MM-dd")
    end = F.lit('"')
    # A value of the type JSON is an object of a load job, not a text.
    texts = [
        F.coalesce(F.concat(F.lit(","), _json_name(names[column]), F.lit(":"), value), F.lit(""))
        for column, value in values.items()
        if names[column] in plan.json_columns
    ]
    return F.concat(_opened(body), *_shared(plan, part), day, end, *texts, F.lit("}\n"))


def _opened(body: Value) -> Value:
    """Return an object that more fields may follow."""
    opened = F.concat(body.substr(F.lit(1), F.length(body) - 1), F.lit(","))
    return F.when(body == _EMPTY, F.lit("{")).otherwise(opened)


def _json_name(name: str) -> Value:
    return F.lit(f'"{name}"')  # a name in BigQuery has letters, digits and underscores only


def _shared(plan: TablePlan, part: int) -> tuple[Value, Value, Value]:
    """Return what all rows have, up to the value of the day: two texts with the sequence between them.

    As fields of the struct they would be encoded anew for each row.
    """
    fields = metadata(plan, "INSERT", "")
    same = _encode({name: value for name, value in fields.items() if value is not None and name != _SEQUENCE})
    sequence = F.concat(_watermark_section(F.col(NUMBER)), F.lit(f"/{plan.read_at:X}/{part:X}/"), F.hex(F.col("number")))
    begin = f'{_encode(added_values(plan))[1:-1]},"{METADATA}":{same[:-1]},"{_SEQUENCE}":"'
    return F.lit(begin), sequence, F.lit(f'"}},"{DAY.name}":"')


def _watermark_section(reading: Value) -> Value:
    """Return `onefold.pull.read.rows.watermark_section` of a number."""
    border = F.lit(str(1 << 63)).cast("decimal(20,0)")
    is_long = reading < border
    signed = F.hex(F.when(is_long, reading).cast("bigint").bitwiseXOR(F.lit(_SIGN)))
    above = F.when(~is_long, reading) - border
    wide = F.concat(F.lit("1"), F.lpad(F.hex(above.cast("bigint")), 16, "0"))
    return F.when(reading.isNull(), "0").when(is_long, signed).otherwise(wide)


def _day(plan: TablePlan) -> Value:
    """Return `onefold.pull.read.days.row_day` of a row."""
    if plan.watermark is None:
        return _date_of(time_of(plan.read_at).date())
    missing = _date_of(NO_DAY)
    if plan.watermark.kind == "key":
        return F.when(F.col(NUMBER).isNull(), missing).otherwise(_key_day(plan))
    if plan.watermark.kind == "unix_seconds":
        first, last = ((day - time_of(0).date()).days for day in (NO_DAY, LAST_DAY))
        days = F.floor(F.col(NUMBER) / 86_400)
        clamped = F.least(F.greatest(days, F.lit(first)), F.lit(last)).cast("int")
        return F.when(F.col(NUMBER).isNull(), missing).otherwise(F.date_add(_date_of(time_of(0).date()), clamped))
    return F.coalesce(F.when(F.col(SHOWN).isNotNull(), _date_day(F.col(SHOWN))), missing)


def _key_day(plan: TablePlan) -> Value:
    days = plan.range.key_days
    found = _date_of(days[0][1])
    for first, day in days[1:]:
        found = F.when(F.col(NUMBER) >= F.lit(str(first)).cast("decimal(20,0)"), _date_of(day)).otherwise(found)
    return found


def _date_day(shown: Value) -> Value:
    """Return `onefold.pull.read.days.date_day` of a date."""
    valid = shown.try_cast("date")
    month, day = F.substring(shown, 6, 2), F.substring(shown, 9, 2)
    # The first day of the month, of January where there is no month.
    first = F.to_date(F.concat(F.substring(shown, 1, 5), F.when(month == "00", "01").otherwise(month), F.lit("-01")))
    clamped = F.when((month == "00") | (day == "00"), F.date_sub(first, 1)).otherwise(F.last_day(first))
    return F.greatest(F.coalesce(valid, clamped), _date_of(NO_DAY))


def _date_of(day: date) -> Value:
    return F.lit(day.isoformat()).cast("date")  # PySpark writes the year 1 of a date without zeros, which Java refuses
