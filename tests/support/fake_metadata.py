"""The queries of INFORMATION_SCHEMA that the library sends to `fake_bigquery`.

They ask for versions, for the tables of one name in several datasets, and for the types of one column.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from support.rest import PROJECT, Resource

Shape = tuple[tuple[str, str], ...]
"""Names and types of the columns of a result."""
_METADATA = re.compile(
    r"SELECT t\.table_name, t\.creation_time, "
    r"STRING_AGG\(TO_JSON_STRING\(\[c\.column_name, c\.data_type\]\), ',' ORDER BY c\.ordinal_position\) AS columns\n"
    r"FROM `[^.`]+\.(?P<dataset>\w+)`\.INFORMATION_SCHEMA\.TABLES AS t "
    r"JOIN `[^.`]+\.(?P=dataset)`\.INFORMATION_SCHEMA\.COLUMNS AS c ON c\.table_name = t\.table_name\n"
    r"WHERE t\.table_type = 'BASE TABLE' AND REGEXP_CONTAINS\(t\.table_name, '(?P<pattern>[^']*)'\)\n"
    r"AND c\.ordinal_position IS NOT NULL AND c\.is_hidden = 'NO'\n"
    r"GROUP BY t\.table_name, t\.creation_time"
)
_COLUMN = re.compile(
    r"SELECT c\.table_name, c\.data_type\n"
    r"FROM `[^.`]+\.(?P<dataset>\w+)`\.INFORMATION_SCHEMA\.TABLES AS t "
    r"JOIN `[^.`]+\.(?P=dataset)`\.INFORMATION_SCHEMA\.COLUMNS AS c ON c\.table_name = t\.table_name\n"
    r"WHERE t\.table_type = 'BASE TABLE' AND LOWER\(c\.column_name\) = '(?P<column>\w+)'"
)
_TENANT = re.compile(r"SELECT '(?P<dataset>\w+)' AS dataset, v\.\*\nFROM \(\n(?P<query>.*)\n\) AS v", re.DOTALL)
_ROW: Shape = (("table_name", "STRING"), ("creation_time", "TIMESTAMP"), ("columns", "STRING"))
_COLUMN_ROW: Shape = (("table_name", "STRING"), ("data_type", "STRING"))


@dataclass
class Metadata:
    """Jobs over the tables of datasets, and their results in pages."""

    tables: Callable[[str], Mapping[str, Resource]]
    """The tables of a dataset that the metadata show, by name."""
    _results: dict[str, tuple[list[Resource], list[Resource]]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def query(self, sql: str) -> str | None:
        """Run a query. Return its job, or None for another query than those."""
        tenants = [_TENANT.fullmatch(part) for part in sql.split("\nUNION ALL\n")]
        if match := _METADATA.fullmatch(sql):
            shape, rows = _ROW, list(self._versions(match["dataset"], match["pattern"].replace("\\\\", "\\")))
        elif match := _COLUMN.fullmatch(sql):
            shape, rows = _COLUMN_ROW, list(self._columns(match["dataset"], match["column"]))
        elif all(tenants):
            shape = (("dataset", "STRING"), *_ROW)
            rows = [row for one in tenants if one for row in self._of_tenant(one["dataset"], one["query"])]
        else:
            return None
        job = f"job-{next(self._numbers)}"
        self.keep(job, [{"name": name, "type": kind, "mode": "NULLABLE"} for name, kind in shape], rows)
        return job

    def keep(self, job: str, fields: list[Resource], rows: list[Resource]) -> None:
        """Keep the result of a job, for its pages."""
        self._results[job] = (fields, rows)

    def page(self, job: str, start: int, most: int) -> Resource:
        """Return some rows of a result; of 0 at most, all of them."""
        fields, rows = self._results[job]
        stop = start + (most or len(rows))
        page = {"jobComplete": True, "schema": {"fields": fields}, "totalRows": str(len(rows)), "rows": rows[start:stop]}
        return described(job, {**page, **({"pageToken": str(stop)} if stop < len(rows) else {})})

    def _versions(self, dataset: str, pattern: str) -> Iterator[Resource]:
        for name, resource in self.tables(dataset).items():
            if re.search(pattern, name):
                columns = ",".join(json.dumps(column, ensure_ascii=False) for column in resource["_types"])
                cells = (name, str(resource["_created"] * 1_000_000), columns)
                yield {"f": [{"v": cell} for cell in cells]}

    def _of_tenant(self, dataset: str, query: str) -> Iterator[Resource]:
        match = _METADATA.fullmatch(query)
        assert match, query
        assert match["dataset"] == dataset, query
        for row in self._versions(dataset, match["pattern"].replace("\\\\", "\\")):
            yield {"f": [{"v": dataset}, *row["f"]]}

    def _columns(self, dataset: str, column: str) -> Iterator[Resource]:
        for name, resource in self.tables(dataset).items():
            for named, type_ in resource.get("_types", ()):
                if named.lower() == column:
                    yield {"f": [{"v": name}, {"v": type_}]}


def described(job: str, content: Resource) -> Resource:
    return {**content, "jobReference": {"projectId": PROJECT, "jobId": job, "location": "EU"}}
