"""Statements that a job runs in `fake_bigquery`: queries whose rows a test gives, and copies of a base.

A query has the rows that the test gave for a part of its text; any other one is refused. `CREATE TABLE IF NOT EXISTS ... AS
SELECT * FROM` a table, and `DROP TABLE IF EXISTS`, do to the tables what they say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from support.fake_tables import FakeTables
from support.rest import Resource, RestError
from support.rest_fields import rest_field

from onefold.schema.types import parse_type

_NAME = r"`[^.`]+\.(?P<{0}dataset>\w+)\.(?P<{0}table>\w+)`"
_COPY = re.compile(
    rf"CREATE TABLE IF NOT EXISTS {_NAME.format('')} AS\nSELECT \* FROM {_NAME.format('from_')}", re.MULTILINE
)
_DROP = re.compile(rf"DROP TABLE IF EXISTS {_NAME.format('')}")
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
Answered = tuple[list[Resource], list[Resource]]
"""The fields of a result, and its rows, in REST form."""


@dataclass
class FakeStatements:
    """Statements, and what answers them."""

    tables: FakeTables
    ran: list[str] = field(default_factory=list)
    """The statements that changed tables, as they came."""
    _known: list[tuple[str, Answered]] = field(default_factory=list)

    def answer(self, part: str, columns: Mapping[str, str], *rows: Sequence[Any]) -> None:
        """Give the rows of queries whose text has a part; the last one that was given for it counts."""
        fields = [rest_field(name, parse_type(type_)) for name, type_ in columns.items()]
        self._known.insert(0, (part, (fields, [_struct(row) for row in rows])))

    def run(self, sql: str) -> Answered:
        if made := _COPY.fullmatch(sql):
            self.ran.append(sql)
            self._copy(made)
            return [], []
        if dropped := _DROP.fullmatch(sql):
            self.ran.append(sql)
            self.tables.dataset(dropped["dataset"]).pop(dropped["table"], None)
            return [], []
        for part, answered in self._known:
            if part in sql:
                return answered
        raise RestError(400, "invalidQuery", f"Syntax error: no test gave rows for {sql}")

    def _copy(self, made: re.Match[str]) -> None:
        source = self.tables.find(made["from_dataset"], made["from_table"])
        if made["table"] not in self.tables.dataset(made["dataset"]):
            content: Resource = {key: source[key] for key in ("schema", "_types") if key in source}
            self.tables.dataset(made["dataset"])[made["table"]] = self.tables.new(
                made["dataset"], made["table"], "TABLE", content
            )


def _struct(row: Sequence[Any]) -> Resource:
    return {"f": [{"v": _cell(value)} for value in row]}


def _cell(value: Any) -> Any:
    """Return a value as the REST API has it."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case datetime():
            return str((value - _EPOCH) // timedelta(microseconds=1))
        case list():
            return [{"v": _cell(one)} for one in value]
        case tuple():
            return _struct(value)
        case _:
            return str(value)
