"""The second part of the demo: messages launch batches that merge a change log into a table."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from google.cloud import bigquery
from rich.console import Console

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.dataproc import EMULATOR, connect
from onefold.adapters.send_event import send_event
from onefold.batches.batch import batch_id
from onefold.batches.launch import follow
from onefold.batches.request import parse_batch_request
from onefold.changelog.generator import Row, Workload, WorkloadOptions, make_workload
from onefold.changelog.metadata import METADATA
from onefold.changelog.position import Position
from onefold.compare.rows import compare_rows
from onefold.core.errors import OnefoldError, Rejected
from onefold.core.names import TableId
from onefold.core.text import counted
from onefold.ports.batches import Batches, BatchState, StoredBatch
from onefold.settings.batches import read_batch_settings
from onefold.settings.environment import Settings
from onefold_lab.dataproc import dataproc_emulator
from onefold_lab.demo.story import Story, timed
from onefold_lab.load_workload import land
from onefold_lab.processes import function_server, last_errors
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

TABLE = "account"
OPTIONS = WorkloadOptions(operations=1000, key_changes=0.1, duplicates=0.1, shuffle=True, every_type=False)
COLUMNS = ("id", "name", "amount")
_REGION = "europe-west1"
_SETTINGS = {
    "ONEFOLD_BATCH_REGION": _REGION,
    "ONEFOLD_BATCH_SERVICE_ACCOUNT": f"batches@{DEFAULT_PROJECT}.iam.gserviceaccount.com",
    "ONEFOLD_BATCH_CODE": "gs://code/onefold",
}


def play_batches(console: Console, story: Story, client: bigquery.Client, host: str, dataset: str) -> None:
    """Load a workload, merge it in two batches, compare with its known result, and run both batches again.

    Args:
        console: shows the steps.
        story: tells them.
        client: a client of the emulator.
        host: the address of the emulator, for the jobs.
        dataset: a dataset that exists already.

    Raises:
        Rejected: a batch failed, or its table is not as expected.
    """
    workload = make_workload(OPTIONS)
    console.rule("[bold]A change log becomes a table")
    (changes,) = workload.changes.values()
    land(client, TableId(DEFAULT_PROJECT, dataset, TABLE), changes)
    client.create_dataset(_of_bases(dataset), exists_ok=True)
    console.print(
        f"{OPTIONS.operations:,} operations at a source ({_counted(workload.counts)}) arrive as "
        f"{counted(len(changes), 'change')}, in random order and some of them twice, in [bold]{TABLE}[/]. "
        f"At the end the source has {counted(len(workload.truth), 'row')}."
    )
    with _launcher(host, dataset) as (batches, url, log):
        demo = _BatchDemo(console, story, EmulatedWarehouse(client), batches, url, log, dataset)
        middle = _middle(workload)
        demo.merge("first batch", {"to": middle})
        demo.merge("second batch", {"from": middle})
        demo.check(workload.truth)
        before = demo.base()
        demo.merge("first batch, again", {"to": middle})
        demo.merge("second batch, again", {"from": middle})
        if demo.base() != before:
            raise Rejected(f"{TABLE}_base has changed after both batches ran again")
        console.print(f"Both batches run again change nothing: all {counted(len(before), 'row')} are unchanged.")


@dataclass(frozen=True)
class _BatchDemo:
    """The steps of the demo, with the function that launches batches at `url` and its log."""

    console: Console
    story: Story
    warehouse: BigQueryWarehouse
    batches: Batches
    url: str
    log: IO[bytes]
    dataset: str

    def merge(self, which: str, window: Mapping[str, str]) -> None:
        """Send a message and follow its batch to the end.

        Raises:
            Rejected: the batch failed.
        """
        message = json.dumps(
            {
                "job": "reconcile",
                "dataset": self.dataset,
                "table": {"name": TABLE},
                "arguments": {"keys": ["id"], **window},
            }
        ).encode()
        self.story.message(message)
        id_ = batch_id(parse_batch_request(message), send_event(self.url, message))
        with timed(self.console, f"the {which} runs on Spark") as seconds:
            ended = self._follow(id_)
        if ended.state is not BatchState.SUCCEEDED:
            raise Rejected(f"batch {ended.id} {ended.state.value}: {ended.message}")
        self.story.batch_ended(which, ended, seconds())

    def _follow(self, id_: str) -> StoredBatch:
        """Follow a batch to its end.

        Raises:
            Rejected: there is no such batch; the text has the log of the function.
        """
        try:
            return follow(self.batches, id_, lambda _: None)
        except OnefoldError as error:
            raise Rejected(f"{error}\nThe log of launch_batch:\n{last_errors(self.log)}") from error

    def check(self, truth: Sequence[Row]) -> None:
        """Compare the base with the expected rows, and show the counts.

        Raises:
            Rejected: the rows differ.
        """
        live = [
            {name: value for name, value in row.items() if name in COLUMNS} for row in self.base() if not row["_deleted"]
        ]
        found = compare_rows(live, truth, ["id"])
        self.story.compared(f"{TABLE}_base", found)
        if not found.same:
            raise Rejected(f"{TABLE}_base differs from the truth in {counted(found.summary.findings, 'row')}")

    def base(self) -> list[dict[str, Any]]:
        rows = self.warehouse.read_rows(TableId(DEFAULT_PROJECT, _of_bases(self.dataset), f"{TABLE}_base"))
        return sorted((dict(row) for row in rows), key=lambda row: int(row["id"]))


def _of_bases(dataset: str) -> str:
    """Return the dataset of the bases of plain change tables, which the table of the workload is."""
    return Settings().plain_dataset.format(dataset=dataset)


@contextlib.contextmanager
def _launcher(host: str, dataset: str) -> Iterator[tuple[Batches, str, IO[bytes]]]:
    """Run the emulator of Dataproc and the function. Yields the batches, the URL of the function, and its log."""
    # The emulator accepts every region.
    with dataproc_emulator({"BIGQUERY_EMULATOR_HOST": host}) as dataproc, tempfile.TemporaryFile() as log:
        os.environ[EMULATOR] = dataproc
        environ = {"ONEFOLD_PROJECT": DEFAULT_PROJECT, "ONEFOLD_DATASETS": dataset, **_SETTINGS}
        with (
            function_server("launch_batch", environ, log) as url,
            contextlib.closing(connect(DEFAULT_PROJECT, read_batch_settings(_SETTINGS))) as batches,
        ):
            yield batches, url, log


def _middle(workload: Workload) -> str:
    """Return the median of all sequences, as the source wrote it."""
    sequences = {change[METADATA]["change_sequence_number"] for changes in workload.changes.values() for change in changes}
    return str(sorted(sequences, key=lambda sequence: str(Position(sequence)))[len(sequences) // 2])


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(counted(count, kind) for kind, count in counts.items() if count)
