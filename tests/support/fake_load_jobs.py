"""A fake of BigQuery's load jobs at the transport: what `google.cloud.bigquery.Client(_http=...)` sends requests through.

It honours:

- jobs.insert of load jobs from addresses: the identifier is unique for ever, and a second one is answered by 409
  (`duplicate`); a job takes all of its files or none;
- jobs.get with the state: a job is RUNNING for as many requests as `running` says, and then DONE;
- WRITE_APPEND, WRITE_TRUNCATE and WRITE_TRUNCATE_DATA; of `table$YYYYMMDD` only that partition, and a row of another day
  is an error (`invalid`);
- maxBadRecords: a row that is no JSON object fails the job where it is 0;
- a file that does not exist fails the job (`notFound`), a table that does not exist is 404;
- datasets.get with the location, tables.get with the labels and the time of creation, jobs.get with the time of creation;
  jobs.get with another location is 404;
- jobs.query and jobs.insert of one statement: DELETE of a partition or of all rows, COUNT(*) of a table;
- jobs that fail (`fail_next`), and requests that are done but whose answer is lost (`lose_answers`).

It does not: know schemas and types, quotas or permissions.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import requests
from support.rest import PROJECT, Answer, HttpRequest, Resource, RestSession, error

LOCATION = "europe-west1"
_JOB = re.compile(rf"/bigquery/v2/projects/{PROJECT}/jobs/(?P<job>[^/]+)")
_RESULTS = re.compile(rf"/bigquery/v2/projects/{PROJECT}/queries/(?P<job>[^/]+)")
_TABLE = re.compile(rf"/bigquery/v2/projects/{PROJECT}/datasets/(?P<dataset>[^/]+)/tables/(?P<table>[^/]+)")
_DATASET = re.compile(rf"/bigquery/v2/projects/{PROJECT}/datasets/(?P<dataset>[^/]+)")
_COUNT = re.compile(r"SELECT COUNT\(\*\) AS n FROM `my-project\.\w+\.(?P<table>\w+)`")
_DELETE = re.compile(r"DELETE FROM `my-project\.\w+\.(?P<table>\w+)` WHERE (?:`_day` = DATE '(?P<day>[0-9-]+)'|TRUE)")

Row = dict[str, Any]


@dataclass
class FakeTable:
    labels: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    created: int = 1_000


@dataclass
class FakeLoadJobs(RestSession):
    """One project; also the session that a client sends its requests through."""

    tables: dict[str, FakeTable] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """The content of files by address."""
    jobs: dict[str, Resource] = field(default_factory=dict)
    running: int = 0
    """A new job is RUNNING for this number of requests."""
    fail_next: list[str] = field(default_factory=list)
    """Reasons with which the next jobs fail."""
    lose_answers: int = 0
    inserted: list[Resource] = field(default_factory=list)
    """The configurations of all jobs that were accepted, in order."""
    requests_seen: int = 0
    now: int = 2_000
    """Milliseconds since 1970, at which jobs and tables are created."""

    def answer(self, request: HttpRequest) -> Answer:
        self.requests_seen += 1
        answered = self._answer(request)
        if self.lose_answers and request.method == "POST":
            self.lose_answers -= 1
            raise requests.exceptions.ConnectionError("the connection was reset")
        return answered

    def _answer(self, request: HttpRequest) -> Answer:
        path = request.path
        if match := _JOB.fullmatch(path):
            return self._get_job(match["job"], request.query.get("location", LOCATION))
        if match := _RESULTS.fullmatch(path):
            reference = {"projectId": PROJECT, "jobId": match["job"], "location": LOCATION}
            return 200, {"jobReference": reference, "jobComplete": True, **self.jobs[match["job"]]["answer"]}
        if match := _TABLE.fullmatch(path):
            table = self.tables.get(match["table"])
            reference = {"projectId": PROJECT, "datasetId": match["dataset"], "tableId": match["table"]}
            if table is None:
                return error(404, "notFound")
            return 200, {"tableReference": reference, "labels": table.labels, "creationTime": str(table.created)}
        if match := _DATASET.fullmatch(path):
            return 200, {"datasetReference": {"projectId": PROJECT, "datasetId": match["dataset"]}, "location": LOCATION}
        assert request.method == "POST", path
        return self._insert(request.json)

    def _insert(self, body: Resource) -> Answer:
        id_ = body["jobReference"]["jobId"]
        if id_ in self.jobs:
            return error(409, "duplicate", f"Already Exists: Job {PROJECT}:{LOCATION}.{id_}")
        configuration = body["configuration"]
        job: Resource = {"jobReference": {"projectId": PROJECT, "jobId": id_, "location": LOCATION}, "left": self.running}
        job |= {"configuration": configuration, "created": self.now}
        if "query" in configuration:
            job["answer"] = self._query(configuration["query"]["query"])
        else:
            self.inserted.append(configuration["load"])
            job["error"] = _reason(self.fail_next.pop(0)) if self.fail_next else self._load(configuration["load"], job)
        self.jobs[id_] = job
        return 200, _described(job)

    def _get_job(self, id_: str, location: str) -> Answer:
        if id_ not in self.jobs or location != LOCATION:
            return error(404, "notFound", f"Not found: Job {id_}")
        job = self.jobs[id_]
        job["left"] = max(job["left"] - 1, 0)
        return 200, _described(job)

    def _load(self, load: Resource, job: Resource) -> Resource | None:
        name, _, partition = load["destinationTable"]["tableId"].partition("$")
        missing = [uri for uri in load["sourceUris"] if uri not in self.files]
        if name not in self.tables or missing:
            return _reason("notFound", f"Not found: {missing or name}")
        try:
            rows = [json.loads(line) for uri in load["sourceUris"] for line in self.files[uri].splitlines()]
        except ValueError as error:
            assert load["maxBadRecords"] == 0, "the fake refuses what is no JSON, and skips nothing"
            return _reason("invalid", f"Error while reading data: {error}")
        days = {row["_day"].replace("-", "") for row in rows}
        if partition and days - {partition}:
            return _reason("invalid", f"Some rows belong to different partitions than {partition}")
        table = self.tables[name]
        if load["writeDisposition"] in ("WRITE_TRUNCATE", "WRITE_TRUNCATE_DATA"):
            table.rows = [row for row in table.rows if partition and row["_day"].replace("-", "") != partition]
        table.rows += rows
        job["rows"] = len(rows)
        return None

    def _query(self, sql: str) -> Resource:
        if match := _COUNT.fullmatch(sql):
            rows = [{"f": [{"v": str(len(self.tables[match["table"]].rows))}]}]
            return {"totalRows": "1", "schema": {"fields": [{"name": "n", "type": "INTEGER"}]}, "rows": rows}
        match = _DELETE.fullmatch(sql)
        assert match, sql
        table = self.tables[match["table"]]
        table.rows = [row for row in table.rows if match["day"] and row["_day"] != match["day"]]
        return {"totalRows": "0"}


def _described(job: Resource) -> Resource:
    is_done = job["left"] == 0
    error = job.get("error")
    status: Resource = {"state": "DONE" if is_done else "RUNNING"}
    if is_done and error:
        status |= {"errorResult": error, "errors": [error]}
    statistics: Resource = {"creationTime": str(job["created"])}
    if is_done:
        statistics |= {"load": {"outputRows": str(job.get("rows", 0))}}
    described = {name: job[name] for name in ("jobReference", "configuration")}
    return {**described, "status": status, "statistics": statistics}


def _reason(reason: str, message: str = "as the test wanted") -> Resource:
    return {"reason": reason, "message": message, "location": "gs://"}
