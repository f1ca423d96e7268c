"""The Dataproc adapter, the only user of google-cloud-dataproc. DATAPROC_EMULATOR_HOST names an emulator, as host:port."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

import google.auth
import grpc
from google.api_core import exceptions as api
from google.api_core.client_options import ClientOptions
from google.api_core.retry import Retry, if_exception_type
from google.cloud import dataproc_v1
from google.cloud.dataproc_v1.services.batch_controller.transports import BatchControllerGrpcTransport
from google.protobuf.duration_pb2 import Duration

from onefold.adapters.call_counter import CallCounter
from onefold.adapters.google_errors import DATAPROC
from onefold.core.errors import Rejected
from onefold.ports.batches import ACTIVE, Batch, BatchExists, BatchState, StoredBatch
from onefold.settings.batches import BatchSettings

EMULATOR = DATAPROC.emulator
DEFAULT_PROJECT = "local"
"""The project where the emulator is used and no project is set: that of BigQuery's emulator too."""

_TIMEOUT = 30.0
"""Seconds."""
_PAGE = 100
"""Batches listed in one call."""
# The client retries nothing by itself. Every request here may arrive twice, because Onefold chooses the identifiers.
_RETRY = Retry(if_exception_type(api.ServiceUnavailable), initial=0.25, maximum=5.0, timeout=_TIMEOUT)


def connect(project: str | None, settings: BatchSettings) -> DataprocBatches:
    """Return the batches of a project in the region of the settings, or those of an emulator.

    Args:
        project: the project; that of the credentials by default.
        settings: what batches need; the region is one of them.

    Raises:
        InvalidSettings: a setting that a batch needs is missing.
        Rejected: there are no credentials, or there is no project.
    """
    settings.check_complete()
    region = settings.region or ""
    if host := os.environ.get(EMULATOR):
        return DataprocBatches(_emulator_client(host), project or DEFAULT_PROJECT, region)
    with DATAPROC.translated("the project"):
        credentials, found = google.auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
    project = project or found
    if not project:
        raise Rejected("no project: give --project, or set ONEFOLD_PROJECT")
    options = ClientOptions(api_endpoint=f"{region}-dataproc.googleapis.com:443")
    client = dataproc_v1.BatchControllerClient(credentials=credentials, client_options=options)
    return DataprocBatches(client, project, region)


def _emulator_client(host: str) -> dataproc_v1.BatchControllerClient:
    # A proxy of the environment would not reach this machine.
    channel = grpc.insecure_channel(host, options=[("grpc.enable_http_proxy", 0)])
    return dataproc_v1.BatchControllerClient(transport=BatchControllerGrpcTransport(channel=channel))


class DataprocBatches:
    """`onefold.ports.batches.Batches` on Dataproc Serverless."""

    def __init__(self, client: dataproc_v1.BatchControllerClient, project: str, region: str) -> None:
        self.project = project
        self.region = region
        self._client = client
        self._calls = CallCounter()

    @property
    def calls(self) -> int:
        return self._calls.count

    def close(self) -> None:
        self._client.transport.close()  # type: ignore[no-untyped-call]

    def get(self, id_: str) -> StoredBatch | None:
        with self._translated():
            try:
                return _stored(self._call(self._client.get_batch, name=f"{self._parent}/batches/{id_}"))
            except api.NotFound:
                return None

    def active(self, labels: Mapping[str, str]) -> list[StoredBatch]:
        return self._list(_filter(ACTIVE, labels))

    def succeeded(self, labels: Mapping[str, str], since: datetime) -> list[StoredBatch]:
        # https://cloud.google.com/dataproc-serverless/docs/reference/rest/v1/projects.locations.batches/list, 2026-11: a
        # filter may compare create_time with a time in RFC 3339.
        after = f'create_time > "{since.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"'
        return self._list(f"{_filter((BatchState.SUCCEEDED,), labels)} AND {after}")

    def _list(self, filter_: str) -> list[StoredBatch]:
        request = dataproc_v1.ListBatchesRequest(parent=self._parent, filter=filter_, page_size=_PAGE)
        found: list[StoredBatch] = []
        while True:
            # Not iterated: the client would send the requests for further pages uncounted, and without this translation.
            with self._translated():
                page = self._call(self._client.list_batches, request=request)
            found += [_stored(batch) for batch in page.batches]
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    def create(self, batch: Batch) -> StoredBatch:
        request = dataproc_v1.CreateBatchRequest(
            parent=self._parent, batch=as_proto(batch), batch_id=batch.id, request_id=batch.request_id
        )
        with self._translated():
            try:
                self._call(self._client.create_batch, request=request)
            except api.AlreadyExists as error:
                raise BatchExists(f"batch {batch.id} exists already") from error
        return StoredBatch(batch.id, BatchState.PENDING, labels=batch.labels)

    @property
    def _parent(self) -> str:
        return f"projects/{self.project}/locations/{self.region}"

    def _call(self, method: Callable[..., Any], **arguments: Any) -> Any:
        self._calls.add()
        return method(**arguments, retry=_RETRY, timeout=_TIMEOUT)

    def _translated(self) -> AbstractContextManager[None]:
        return DATAPROC.translated(f"Dataproc in {self._parent}")


def as_proto(batch: Batch) -> dataproc_v1.Batch:
    """Return a batch as the API takes it.

    Runtime 3.0 would run a batch as the account that creates it, so the service account is named as the identity. Spark's
    connector for BigQuery is part of that runtime.
    """
    settings = batch.settings
    return dataproc_v1.Batch(
        labels=dict(batch.labels),
        pyspark_batch=dataproc_v1.PySparkBatch(
            main_python_file_uri=batch.main,
            python_file_uris=list(batch.archives),
            file_uris=list(batch.files),
            archive_uris=list(batch.unpacked),
            args=list(batch.arguments),
        ),
        runtime_config=dataproc_v1.RuntimeConfig(version=settings.runtime_version, properties=batch.properties),
        environment_config=dataproc_v1.EnvironmentConfig(execution_config=_execution(settings)),
    )


def _execution(settings: BatchSettings) -> dataproc_v1.ExecutionConfig:
    ttl = Duration()
    if settings.ttl:
        ttl.FromTimedelta(settings.ttl)
    authentication = dataproc_v1.AuthenticationConfig.AuthenticationType.SERVICE_ACCOUNT
    return dataproc_v1.ExecutionConfig(
        service_account=settings.service_account,
        authentication_config=dataproc_v1.AuthenticationConfig(user_workload_authentication_type=authentication),
        subnetwork_uri=settings.subnet,
        staging_bucket=settings.bucket,
        kms_key=settings.kms_key,
        ttl=ttl if settings.ttl else None,
    )


def _filter(allowed: Iterable[BatchState], labels: Mapping[str, str]) -> str:
    states = " OR ".join(f"state = {state.value}" for state in allowed)
    return " AND ".join([f"({states})", *(f'labels.{name} = "{value}"' for name, value in labels.items())])


def _stored(batch: dataproc_v1.Batch) -> StoredBatch:
    names = {state.value: state for state in BatchState}
    state = names.get(dataproc_v1.Batch.State(batch.state).name, BatchState.UNKNOWN)
    id_, arguments = batch.name.rpartition("/")[2], tuple(batch.pyspark_batch.args)
    created = dataproc_v1.Batch.pb(batch).create_time.ToDatetime(UTC)
    output = batch.runtime_info.output_uri
    return StoredBatch(id_, state, batch.state_message, dict(batch.labels), arguments, created, output)
