"""One dataset of BigQuery in a region, at the transport of the client: for queries of a region's metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import requests
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery


@dataclass
class Region:
    """Answers for one dataset in a region: what it is, jobs that run there, and the rows of each query. It runs no SQL."""

    rows: Sequence[Mapping[str, Any]]
    columns: Mapping[str, str]
    made: list[tuple[str, str]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    is_mtls: bool = False
    billing: str = "LOGICAL"
    """The bytes that the dataset is billed for."""

    def client(self) -> bigquery.Client:
        return bigquery.Client(project="p", credentials=AnonymousCredentials(), _http=cast(requests.Session, self))  # type: ignore[no-untyped-call]

    def request(self, method: str, url: str, data: str | None = None, **_: object) -> requests.Response:
        path = url.split("/projects/p/")[1].split("?")[0]
        self.made.append((method, path.split("/")[0]))
        body = json.loads(data) if data else {}
        answer = requests.Response()
        answer.status_code, answer.url, answer.headers["Content-Type"] = 200, url, "application/json"
        answer._content = json.dumps(self.answer(path, body)).encode()
        return answer

    def answer(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        reference = {"projectId": "p", "jobId": "job", "location": "EU"}
        if path.startswith("datasets/"):
            bills = {"storageBillingModel": self.billing}
            return {"datasetReference": {"projectId": "p", "datasetId": "shop"}, "location": "EU", **bills}
        if path == "jobs":
            self.places.append(body["jobReference"]["location"])
            return {**body, "jobReference": reference, "status": {"state": "DONE"}, "statistics": {"query": {}}}
        fields = [{"name": name, "type": type_, "mode": "NULLABLE"} for name, type_ in self.columns.items()]
        rows = [{"f": [{"v": row[name]} for name in self.columns]} for row in self.rows]
        result = {"schema": {"fields": fields}, "rows": rows, "totalRows": str(len(rows))}
        return {"jobComplete": True, "jobReference": reference, **result}
