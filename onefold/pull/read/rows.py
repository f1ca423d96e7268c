"""A pulled row as one line of JSON: it lands like a captured one, with the day of its watermark."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

from onefold.changelog.metadata import (
    DATABASE_NAME,
    LANDED_AT,
    METADATA,
    SOURCE_NAME,
    UNUSED_BY_CAPTURE,
    ChangeMetadata,
)
from onefold.mysql.binlog.rows import Row
from onefold.pull.read.clock import time_of
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.pulled_table import DAY

PULL = "PULL"
SEQUENCE = "change_sequence_number"
_SIGN = 1 << 63
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def watermark_section(reading: int | None) -> str:
    """Return the first section of a sequence: a number that sorts like the watermark, also below zero; lowest without one.

    Examples:
        >>> watermark_section(None), watermark_section(-1), watermark_section(2**63)
        ('0', '7FFFFFFFFFFFFFFF', '10000000000000000')
    """
    return "0" if reading is None else f"{reading + _SIGN:X}"


def sequence(plan: TablePlan, reading: int | None, part: int, line: int) -> str:
    """Return the change sequence number of a row, as hexadecimal sections.

    Args:
        plan: of the pull.
        reading: the watermark as the column shows it.
        part: the number of the key range, which one process reads.
        line: the number of the row within the range.
    """
    return f"{watermark_section(reading)}/{plan.read_at:X}/{part:X}/{line:X}"


def metadata(plan: TablePlan, change_type: str, sequence_number: str) -> dict[str, Any]:
    """Return the metadata of a row; its `uuid` is the load.

    Args:
        plan: of the pull.
        change_type: INSERT or DELETE.
        sequence_number: the row's place in the order of changes.
    """
    change = ChangeMetadata(PULL, change_type, sequence_number, plan.read_at // 1000, plan.keys)
    return {**UNUSED_BY_CAPTURE, **change.to_json(), "uuid": plan.load_id}


def shared_fields(plan: TablePlan, part: int) -> tuple[bytes, bytes, bytes]:
    """Return what the lines of a key range share: the bytes before the watermark's section, the row's number and the day.

    A quote follows the day. As values of an object they would be encoded anew for each row.

    Args:
        plan: of the pull.
        part: the number of the key range.
    """
    fields = metadata(plan, "INSERT", "")
    same = _encode({name: value for name, value in fields.items() if value is not None and name != SEQUENCE})
    before = f'{_encode(added_values(plan))[1:-1]},"{METADATA}":{same[:-1]},"{SEQUENCE}":"'
    return before.encode(), f"/{plan.read_at:X}/{part:X}/".encode(), f'"}},"{DAY.name}":"'.encode()


def added_values(plan: TablePlan) -> dict[str, Any]:
    """Return the values of the columns that all rows of a pull share."""
    return {
        SOURCE_NAME: plan.request.source,
        DATABASE_NAME: plan.request.database,
        LANDED_AT: time_of(plan.read_at).isoformat(" ", "microseconds"),
    }


def json_line(plan: TablePlan, row: Row, reading: int | None, day: date, at: tuple[int, int]) -> str:
    """Return the line of a row, without a line break.

    Args:
        plan: of the pull.
        row: its values as they land, in the order of the structure.
        reading: the watermark as the column shows it.
        day: the partition.
        at: the number of the key range, and of the row within it.
    """
    return line_at(plan, row, day, sequence(plan, reading, *at))


def line_at(plan: TablePlan, row: Row, day: date, sequence_number: str) -> str:
    """Return the line of a row that has a given place in the order of changes, without a line break.

    Args:
        plan: of the pull.
        row: its values as they land, in the order of the structure.
        day: the partition.
        sequence_number: the row's place.
    """
    values = dict(zip(plan.target.source_names, row, strict=True))
    texts = {name: text for name in plan.json_columns if (text := values.pop(name)) is not None}
    body = _encode(
        {
            **{name: value for name, value in values.items() if value is not None},
            **added_values(plan),
            METADATA: metadata(plan, "INSERT", sequence_number),
            DAY.name: day.isoformat(),
        }
    )
    # A value of the type JSON is an object of a load job, not a text.
    return body[:-1] + "".join(f",{_encode(name)}:{text}" for name, text in texts.items()) + "}"
