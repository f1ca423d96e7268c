"""EMR Serverless behind moto's server, whose StartJobRun runs the job: Spark of this machine, files and code in moto's S3.

moto refuses the release `emr-spark-8.0.0`, and runs no job. What the stand-in does as the service does:

- it knows one application; a call with a ClientToken that is known gives the job of that token, and nothing runs again;
- one job runs at a time, as infra/aws sets it, and others are QUEUED; GetJobRun and ListJobRuns tell jobs, in one page;
- the entry point, `--py-files` and `spark.archives` come from S3 into a folder of the job, which has nothing else of ours;
- the arguments are given as they are, and the job finds S3 by s3a;
- a job is SUCCESS if its process ends with 0, else FAILED; both streams of the driver go to the log group of the call, and
  to moto's CloudWatch where the call names how a stream begins.

It answers before the job has ended. It knows no roles and no capacity, and no other parameter of spark-submit. A test may
keep jobs from running, and set their states itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.emrserverless.responses import EMRServerlessResponse
from support.maven_jars import s3a_arguments

SECONDS = 300
LOCAL = "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false"
Answer = tuple[int, dict[str, str], str]


@dataclass
class EmrServerless:
    """The jobs that were started, and what their drivers wrote.

    Attributes:
        application: the identifier of the application.
        endpoint: of S3.
        folder: for the files of jobs.
        tokens: the job of each token.
        states: by job: QUEUED, RUNNING until its process has ended.
        created: by job, when it was started, in seconds since 1970.
        calls: by job, the call that started it.
        held: True where jobs stay as they are, and do not run.
        refused: the code of the error with which no job is started; empty where jobs are.
        threads: by job, the one that runs it.
        logs: the lines of drivers, by log group.
    """

    application: str
    endpoint: str
    folder: Path
    tokens: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    created: dict[str, float] = field(default_factory=dict)
    calls: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    held: bool = False
    refused: str = ""
    turn: threading.Lock = field(default_factory=threading.Lock)
    threads: dict[str, threading.Thread] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    logs: dict[str, list[str]] = field(default_factory=dict)

    def start(self, call: Mapping[str, Any]) -> Answer:
        if self.refused:
            return _error(403, self.refused, "not allowed")
        token = call["clientToken"]
        with self.lock:
            if token not in self.tokens:
                job = self.tokens[token] = f"job{len(self.tokens)}"
                self.states[job], self.created[job], self.calls[job] = "QUEUED", time.time(), call
                self.threads[job] = threading.Thread(target=self._work, args=[job, call], daemon=True)
                if not self.held:
                    self.threads[job].start()
        body = {"applicationId": self.application, "jobRunId": self.tokens[token], "arn": "arn"}
        return 200, {}, json.dumps(body)

    def job(self, job: str) -> Answer:
        if job not in self.states:
            return _error(404, "ResourceNotFoundException", f"no job {job}")
        return 200, {}, json.dumps({"jobRun": {**self._told(job), "jobRunId": job}})

    def jobs(self) -> Answer:
        return 200, {}, json.dumps({"jobRuns": [{**self._told(job), "id": job} for job in self.states]})

    def _told(self, job: str) -> dict[str, Any]:
        name, created = self.calls[job]["name"], self.created[job]
        fields = {"name": name, "arn": "arn", "createdBy": "arn", "executionRole": "arn", "releaseLabel": "emr-spark-8.0.0"}
        return {**fields, "applicationId": self.application, "state": self.states[job], "stateDetails": "",
                "createdAt": created, "updatedAt": created}  # fmt: skip

    def state(self, job: str) -> str:
        """Wait for the end of a job, and return its state."""
        self.threads[job].join(timeout=SECONDS)
        return self.states[job]

    def _work(self, job: str, call: Mapping[str, Any]) -> None:
        with self.turn:
            self.states[job] = "RUNNING"
            done = self._run(self.folder / job, call["jobDriver"]["sparkSubmit"])
        logging = call["configurationOverrides"]["monitoringConfiguration"]["cloudWatchLoggingConfiguration"]
        texts = {"STDOUT": done.stdout, "STDERR": done.stderr}
        lines = [line for name in logging["logTypes"]["SPARK_DRIVER"] for line in texts[name].splitlines()]
        self.logs.setdefault(logging["logGroupName"], []).extend(lines)
        if lines and (prefix := logging.get("logStreamNamePrefix")):
            _write_log(logging["logGroupName"], f"{prefix}/applications/{self.application}/jobs/{job}/SPARK_DRIVER", lines)
        self.states[job] = "FAILED" if done.returncode else "SUCCESS"

    def _run(self, folder: Path, driver: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        folder.mkdir()
        option, py_files, conf, archives = driver["sparkSubmitParameters"].split()
        assert (option, conf) == ("--py-files", "--conf"), driver
        addresses = (driver["entryPoint"], py_files, archives.removeprefix("spark.archives="))
        script, modules, libraries = (self._file(folder, address) for address in addresses)
        code = f"--py-files {modules} --conf spark.archives={libraries}"
        submit = f"{LOCAL} {s3a_arguments(self.endpoint)} {code} pyspark-shell"
        ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environ = {**ours, "PYTHONPATH": str(modules), "PYSPARK_SUBMIT_ARGS": submit, "PYSPARK_PYTHON": sys.executable}
        # -P: the script finds the modules of the archive, and not those of the folder that it runs in.
        return subprocess.run(
            [sys.executable, "-P", str(script), *driver["entryPointArguments"]],
            cwd=folder, env=environ, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip

    def _file(self, folder: Path, address: str) -> Path:
        bucket, _, key = address.removeprefix("s3://").partition("/")
        path = folder / key.rpartition("/")[2]
        path.write_bytes(boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read())
        return path


def _write_log(group: str, stream: str, lines: list[str]) -> None:
    logs = boto3.client("logs")
    if not logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]:
        logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName=stream)
    now = int(time.time() * 1000)
    logs.put_log_events(
        logGroupName=group, logStreamName=stream, logEvents=[{"timestamp": now, "message": line or " "} for line in lines]
    )  # fmt: skip


def _error(status: int, code: str, message: str) -> Answer:
    return status, {"status": str(status), "x-amzn-errortype": code}, json.dumps({"message": message})


def api_call(schedule: str, token: str) -> Any:
    """Return the call that EventBridge Scheduler makes of the input of a schedule: it spells members with a capital letter.

    Args:
        schedule: the input.
        token: what the scheduler puts in the place of the name of its invocation.
    """
    return _spelled(json.loads(schedule.replace("<aws.scheduler.execution-id>", token)))


def _spelled(given: Any, is_map: bool = False) -> Any:
    if not isinstance(given, dict):
        return given
    return {name if is_map else name[0].lower() + name[1:]: _spelled(one, name == "LogTypes") for name, one in given.items()}


@pytest.fixture
def emr_serverless(s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmrServerless:
    """A service that the real client finds by the environment."""
    service = EmrServerless("00abc", s3_server, tmp_path)

    def start(self: EMRServerlessResponse) -> Answer:
        path = self.uri.rpartition("/applications/")[2]
        if path.split("/")[0] != service.application:
            return _error(404, "ResourceNotFoundException", f"no application {path}")
        return service.start(json.loads(self.body))

    def job(self: EMRServerlessResponse) -> Answer:
        return service.job(self.uri.rpartition("/")[2].partition("?")[0])

    monkeypatch.setattr(EMRServerlessResponse, "start_job_run", start)
    monkeypatch.setattr(EMRServerlessResponse, "get_job_run", job)
    monkeypatch.setattr(EMRServerlessResponse, "list_job_runs", lambda _: service.jobs())
    return service
