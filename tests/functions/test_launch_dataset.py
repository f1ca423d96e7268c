"""A message without a table, from the real function to the real Spark job: one batch merges all tables of the dataset."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.batches import ENVIRON
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.fuzz_messages import EVENT_HEADERS
from support.in_memory import push_body
from support.merge_shop import CUSTOMER, LONG_AGO, Shop

from onefold.adapters.dataproc import connect
from onefold.adapters.send_event import local_session
from onefold.batches.batch import exit_code
from onefold.batches.launch import follow
from onefold.batches.request import batch_message
from onefold.ports.batches import BatchState, StoredBatch
from onefold.settings.environment import load_settings
from onefold_lab.dataproc import dataproc_emulator
from onefold_lab.processes import function_server


class Deployment:
    """`launch_batch` on its server, and the stand-in for Dataproc that runs its jobs."""

    def __init__(self, dataset: EmulatedDataset, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.config = folder / "onefold.yaml"
        self.config.write_text(
            "tables:\n  all_a:\n    keys: [id]\n  all_plain:\n    keys: [id]\n  all_wrong:\n    keys: [number]\n"
        )
        self.environ = {**ENVIRON, "ONEFOLD_PROJECT": "local", "ONEFOLD_DATASETS": dataset.name}
        self.environ["ONEFOLD_PLAIN_DATASET"] = "{dataset}_bases"
        self.dataset, self.monkeypatch = dataset, monkeypatch

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        jobs = {"BIGQUERY_EMULATOR_HOST": self.dataset.host, "ONEFOLD_CONFIG": str(self.config)}
        with dataproc_emulator(jobs) as host, tempfile.TemporaryFile() as self.log:
            self.monkeypatch.setenv("DATAPROC_EMULATOR_HOST", host)
            self.batches = connect("local", load_settings(ENVIRON).batch)
            environ = {**self.environ, "DATAPROC_EMULATOR_HOST": host}
            with function_server("launch_batch", environ, self.log) as self.url:
                yield

    def deliver(self, identifier: str, published: datetime) -> dict[str, Any]:
        """Push a request to merge all tables, and return the line that the function logs about it."""
        message = batch_message("reconcile", self.dataset.name, None, {"match": "all_*"})
        envelope = json.loads(push_body(message, identifier))
        envelope["message"]["publishTime"] = published.isoformat()
        with local_session() as session:
            answer = session.post(self.url, data=json.dumps(envelope).encode(), headers=EVENT_HEADERS, timeout=300)
        assert answer.status_code == 204
        self.log.seek(0)
        line: dict[str, Any] = json.loads([line for line in self.log if line.startswith(b'{"severity"')][-1])
        return line

    def ended(self, id_: str) -> StoredBatch:
        return follow(self.batches, id_, lambda _: None)


@pytest.mark.long
@pytest.mark.usefixtures("spark")  # where there is no Spark, there is no job
def test_one_message_merges_all_tables_once(
    dataset: EmulatedDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shops = {name: Shop(dataset, name=f"all_{name}") for name in ("a", "unkeyed", "wrong")}
    for shop in shops.values():
        shop.create("1a", CUSTOMER)
        shop.land("1a", change("INSERT", "1", id=1, name=shop.name), at=LONG_AGO)
    land_changes(
        dataset, "all_plain", {"id": "INT64", "name": "STRING"}, [change("INSERT", "1", id=7, name="as Datastream wrote it")]
    )
    bases = EmulatedDataset(dataset.host, dataset.client, f"{dataset.name}_bases")
    dataset.client.create_dataset(bases.name)
    deployment = Deployment(dataset, tmp_path, monkeypatch)
    early = datetime.now(UTC) - timedelta(minutes=5)
    with deployment.running():
        first = deployment.deliver("1", early)
        failed = deployment.ended(first["batch"])
        assert (failed.state, exit_code(failed)) == (BatchState.FAILED, 2)
        assert "all_wrong failed" in failed.message
        assert "2 merged, 0 up to date, 1 skipped, 1 failed" in failed.message
        assert [row["name"] for row in shops["a"].people_see()] == ["all_a"]
        assert bases.run(f"SELECT id, name FROM {bases.quoted('all_plain_base')}") == [(7, "as Datastream wrote it")]

        deployment.config.write_text(deployment.config.read_text().replace("number", "id"))
        second = deployment.deliver("2", datetime.now(UTC))
        assert second["batch"] != first["batch"]
        assert deployment.ended(second["batch"]).state is BatchState.SUCCEEDED
        assert [row["name"] for row in shops["wrong"].people_see()] == ["all_wrong"]

        late = deployment.deliver("3", early)
        assert (late["event"], late["batch"], late["created"]) == ("superseded", second["batch"], False)
        assert deployment.deliver("1", early)["batch"] == second["batch"]
        assert not deployment.batches.active({})
