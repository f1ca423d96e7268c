"""What the tests of batches share: settings, requests, and Dataproc's batches in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from onefold.batches.request import BatchRequest
from onefold.ports.batches import ACTIVE, Batch, BatchExists, BatchState, StoredBatch
from onefold.settings.batches import BatchSettings
from onefold.settings.environment import Settings

ENVIRON = {
    "ONEFOLD_PROJECT": "my-project",
    "ONEFOLD_DATASETS": "shop",
    "ONEFOLD_BATCH_REGION": "europe-west1",
    "ONEFOLD_BATCH_SERVICE_ACCOUNT": "spark@my-project.iam.gserviceaccount.com",
    "ONEFOLD_BATCH_CODE": "gs://code/v1",
    "ONEFOLD_BATCH_FOLDERS": "gs://lake/changes, gs://lake/bases/",
}
BATCH_SETTINGS = BatchSettings(
    region="europe-west1",
    service_account="spark@my-project.iam.gserviceaccount.com",
    code="gs://code/v1",
    folders=("gs://lake/changes", "gs://lake/bases"),
    passed_on={"ONEFOLD_PROJECT": "my-project", "ONEFOLD_DATASETS": "shop"},
)
SETTINGS = Settings(datasets=frozenset({"shop"}), topic_dead_letter="dead-letter", batch=BATCH_SETTINGS)
REQUEST = BatchRequest("reconcile", "shop", "customer", ("--keys=id",))


class MemoryBatches:
    """`onefold.batches.launch.Batches` in memory. A rival may be faster between our look and our write."""

    project = "my-project"
    region = "europe-west1"

    def __init__(self) -> None:
        self.calls = 0
        self.kept: dict[str, StoredBatch] = {}
        self.created: list[Batch] = []
        self.rival: Callable[[Batch], None] | None = None
        self.error: Exception | None = None

    def enter(self, id_: str, state: BatchState, message: str = "") -> None:
        known = self.kept.get(id_) or StoredBatch(id_, state, labels={})
        self.kept[id_] = replace(known, state=state, message=message)

    def get(self, id_: str) -> StoredBatch | None:
        self._call()
        return self.kept.get(id_)

    def active(self, labels: Mapping[str, str]) -> list[StoredBatch]:
        self._call()
        found = (batch for batch in self.kept.values() if batch.state in ACTIVE)
        return [batch for batch in found if labels.items() <= (batch.labels or {}).items()]

    def succeeded(self, labels: Mapping[str, str], since: datetime) -> list[StoredBatch]:
        self._call()
        found = (batch for batch in self.kept.values() if batch.state is BatchState.SUCCEEDED)
        later = (batch for batch in found if batch.created and batch.created > since)
        return [batch for batch in later if labels.items() <= (batch.labels or {}).items()]

    def create(self, batch: Batch) -> StoredBatch:
        self._call()
        if self.rival:
            self.rival(batch)
        if batch.id in self.kept:
            raise BatchExists(f"{batch.id} is there")
        self.created.append(batch)
        self.kept[batch.id] = StoredBatch(
            batch.id, BatchState.PENDING, labels=batch.labels, arguments=batch.arguments, created=datetime.now(UTC)
        )
        return self.kept[batch.id]

    def _call(self) -> None:
        self.calls += 1
        if self.error:
            raise self.error
