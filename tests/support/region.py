"""One dataset of BigQuery in a region, at the transport of the client: for queries of a region's metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from support.rest import PROJECT, Answer, HttpRequest, RestSession


@dataclass
class Region(RestSession):
    """Answers for one dataset in a region: what it is, jobs that run there, and the rows of each query. It runs no SQL."""

    rows: Sequence[Mapping[str, Any]]
    columns: Mapping[str, str]
    made: list[tuple[str, str]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    queries: list[Mapping[str, Any]] = field(default_factory=list)
    """The queries of its jobs, with their parameters."""
    billing: str = "LOGICAL"
    """The bytes that the dataset is billed for."""

    def answer(self, request: HttpRequest) -> Answer:
        kind = request.path.split(f"/projects/{PROJECT}/")[1].split("/")[0]
        self.made.append((request.method, kind))
        reference = {"projectId": PROJECT, "jobId": "job", "location": "EU"}
        if kind == "datasets":
            dataset = {"projectId": PROJECT, "datasetId": "shop"}
            return 200, {"datasetReference": dataset, "location": "EU", "storageBillingModel": self.billing}
        if kind == "jobs":
            self.places.append(request.json["jobReference"]["location"])
            self.queries.append(request.json["configuration"]["query"])
            state = {"status": {"state": "DONE"}, "statistics": {"query": {}}}
            return 200, {**request.json, "jobReference": reference, **state}
        fields = [{"name": name, "type": type_, "mode": "NULLABLE"} for name, type_ in self.columns.items()]
        rows = [{"f": [{"v": row[name]} for name in self.columns]} for row in self.rows]
        result = {"schema": {"fields": fields}, "rows": rows, "totalRows": str(len(rows))}
        return 200, {"jobComplete": True, "jobReference": reference, **result}
