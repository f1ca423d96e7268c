"""The adapter of EMR Serverless: job runs in one application. Credentials and region are those of the environment."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from onefold.core.errors import InvalidInput, Rejected, TryAgain
from onefold.core.extras import how_to_install
from onefold.core.text import reason_of
from onefold.ports.batches import ARCHIVE, COMPILED_LIBRARIES, BatchState, StoredBatch
from onefold.settings.emr import EmrSettings

RECENT = timedelta(days=2)
"""A job run waits for 12 hours at most (infra/aws/shredder.tf)."""
_SECONDS = 30
# EMR Serverless API Reference, "JobRun", state, 2026-11. The driver of a job run that is SCHEDULED may have begun.
_STATES = {
    "SUBMITTED": BatchState.PENDING, "PENDING": BatchState.PENDING, "QUEUED": BatchState.PENDING,
    "SCHEDULED": BatchState.RUNNING, "RUNNING": BatchState.RUNNING, "SUCCESS": BatchState.SUCCEEDED,
    "FAILED": BatchState.FAILED, "CANCELLING": BatchState.CANCELLING, "CANCELLED": BatchState.CANCELLED,
}  # fmt: skip
# EMR Serverless API Reference, "Common errors", and "Errors" of each operation, 2026-11.
_PASSING = frozenset(
    {
        "InternalServerException", "InternalFailure", "ServiceUnavailable", "ThrottlingException", "Throttling",
        "RequestTimeout", "ConflictException", "ServiceQuotaExceededException", "ExpiredToken", "500", "502", "503", "504",
    }
)  # fmt: skip


class EmrServerless:
    """`onefold.ports.job_runs.JobRuns` on EMR Serverless. The client is created at the first use."""

    def __init__(self, settings: EmrSettings) -> None:
        self._settings = settings
        self._client: Any = None

    def get(self, id_: str) -> StoredBatch | None:
        found = self._answer("GetJobRun", lambda client: client.get_job_run(**self._application, jobRunId=id_))
        return None if found is None else _stored(found["jobRun"]["jobRunId"], found["jobRun"])

    def recent(self, name: str) -> list[StoredBatch]:
        since = datetime.now(UTC) - RECENT
        found = self._answer("ListJobRuns", lambda client: list(self._pages(client, since)))
        return [_stored(one["id"], one) for one in found or () if one.get("name") == name]

    def _pages(self, client: Any, since: datetime) -> Iterator[Mapping[str, Any]]:
        pages = client.get_paginator("list_job_runs").paginate(**self._application, createdAtAfter=since)
        for page in pages:
            yield from page["jobRuns"]

    def start(self, name: str, words: Sequence[str], token: str, log_prefix: str = "") -> str:
        call = start_call(self._settings, name, words, token, log_prefix)
        answer = self._answer("StartJobRun", lambda client: client.start_job_run(**call))
        if answer is None:
            raise Rejected(f"there is no application {self._settings.application}: correct ONEFOLD_EMR_APPLICATION")
        return str(answer["jobRunId"])

    def printed(self, log_prefix: str) -> list[str]:
        """Return the lines that a job run has printed, as far as its log has them.

        Args:
            log_prefix: that of its start, how the names of its streams begin.
        """
        found = self._answer("FilterLogEvents", lambda _: list(self._lines(log_prefix)))
        return [line for text in found or () for line in text.splitlines()]

    def _lines(self, log_prefix: str) -> Iterator[str]:
        pages = _new_client("logs").get_paginator("filter_log_events")
        for page in pages.paginate(logGroupName=self._settings.log, logStreamNamePrefix=log_prefix):
            yield from (event["message"] for event in page["events"])

    @property
    def _application(self) -> dict[str, str]:
        return {"applicationId": self._settings.application}

    def _answer(self, operation: str, ask: Callable[[Any], Any]) -> Any:
        """Return what the service answers; None where it does not know the job run or the application.

        Raises:
            InvalidInput: boto3 is not installed.
            Rejected: the service refuses, or there are no credentials, or no region.
            TryAgain: the service failed, and may answer later.
        """
        _check_boto3()
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

        try:
            return ask(self._connected())
        except ClientError as error:
            return _check_missing(operation, error)
        except (NoCredentialsError, NoRegionError) as error:
            raise Rejected(f"EMR Serverless, {operation}: {reason_of(error)}; run: aws configure") from error
        except (BotoCoreError, OSError) as error:
            raise TryAgain(f"EMR Serverless, {operation}: no answer: {reason_of(error)}: try again") from error

    def _connected(self) -> Any:
        if self._client is None:
            self._client = _new_client("emr-serverless")
        return self._client


def _new_client(service: str) -> Any:
    import boto3
    from botocore.config import Config

    config = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS, retries={"mode": "standard"})
    return boto3.client(service, config=config)


def _check_boto3() -> None:
    """Check that boto3 is installed.

    Raises:
        InvalidInput: it is not.
    """
    if importlib.util.find_spec("boto3") is None:
        raise InvalidInput(f"jobs on EMR Serverless need boto3: {how_to_install('aws')}")


def start_call(
    settings: EmrSettings, name: str, words: Sequence[str], token: str, log_prefix: str = ""
) -> dict[str, Any]:  # fmt: skip
    """Return the call that starts a job run of the shredder, as the schedule of infra/aws makes it.

    Args:
        settings: where it runs.
        name: as for `JobRuns.start`.
        words: as for `JobRuns.start`.
        token: as for `JobRuns.start`.
        log_prefix: how the names of the streams of its log begin, by which they are found.
    """
    code = settings.code
    driver = {
        "entryPoint": f"{code}/shred.py",
        "entryPointArguments": list(words),
        "sparkSubmitParameters": f"--py-files {code}/{ARCHIVE} --conf spark.archives={code}/{COMPILED_LIBRARIES}",
    }
    log: dict[str, Any] = {"enabled": True, "logGroupName": settings.log, "logTypes": {"SPARK_DRIVER": ["STDOUT", "STDERR"]}}
    if log_prefix:
        log["logStreamNamePrefix"] = log_prefix
    monitoring = {"cloudWatchLoggingConfiguration": log, "managedPersistenceMonitoringConfiguration": {"enabled": False}}
    return {
        "applicationId": settings.application,
        "clientToken": token,
        "executionRoleArn": settings.role,
        "executionTimeoutMinutes": settings.minutes,
        "name": name,
        "jobDriver": {"sparkSubmit": driver},
        "configurationOverrides": {"monitoringConfiguration": monitoring},
    }


def _stored(id_: str, job: Mapping[str, Any]) -> StoredBatch:
    state = _STATES.get(job["state"], BatchState.UNKNOWN)
    return StoredBatch(id_, state, job.get("stateDetails", ""), created=job["createdAt"])


def _check_missing(operation: str, error: Any) -> None:
    """Check that an error means that there is no such thing.

    Raises:
        TryAgain: the service failed, and may answer later.
        Rejected: the service refuses.
    """
    code = str(error.response.get("Error", {}).get("Code", ""))
    if code == "ResourceNotFoundException":
        return
    if code in _PASSING:
        raise TryAgain(f"EMR Serverless, {operation}: {reason_of(error)}: try again") from error
    service = "logs" if operation == "FilterLogEvents" else "emr-serverless"
    advice = f"grant {service}:{operation}" if code == "AccessDeniedException" else "check the application and the region"
    raise Rejected(f"EMR Serverless, {operation}: {error}; {advice}") from error
