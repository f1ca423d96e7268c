"""The adapter of Dataproc with its emulator, whose batches run until a test ends them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud import dataproc_v1
from support.batches import BATCH_SETTINGS, REQUEST

from onefold.adapters.dataproc import DataprocBatches, connect
from onefold.batches.allow_list import AllowList
from onefold.batches.batch import plan_batch
from onefold.ports.batches import BatchState
from onefold_lab.dataproc import LocalDataproc, dataproc_emulator

ALLOWED = AllowList("my-project", frozenset({"shop"}), BATCH_SETTINGS)
BATCH = plan_batch(REQUEST, "1", BATCH_SETTINGS, ALLOWED)
PARENT = "projects/my-project/locations/europe-west1"


class Stage:
    """The adapter with the emulator, whose batches run until `end` is called."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.may_end = threading.Event()
        self.message: str | None = None
        self.batches: DataprocBatches

    def run(self, _: dataproc_v1.Batch, cancelled: threading.Event) -> str | None:
        while not (self.may_end.wait(0.01) or cancelled.is_set()):
            pass
        return self.message

    def end(self, id_: str, message: str | None = None) -> None:
        self.message = message
        self.may_end.set()
        while not self.state_of(id_).ended:
            pass
        self.may_end.clear()

    def state_of(self, id_: str) -> BatchState:
        found = self.batches.get(id_)
        assert found
        return found.state


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    stage = Stage()
    for name in ("create_batch", "list_batches"):
        monkeypatch.setattr(LocalDataproc, name, recording(getattr(LocalDataproc, name), stage.requests))
    with dataproc_emulator(run=stage.run) as host:
        monkeypatch.setenv("DATAPROC_EMULATOR_HOST", host)
        stage.batches = connect("my-project", BATCH_SETTINGS)
        yield stage


def recording(method: Callable[..., Any], requests: list[Any]) -> Callable[..., Any]:
    def called(self: LocalDataproc, request: Any) -> Any:
        requests.append(request)
        return method(self, request)

    return called
