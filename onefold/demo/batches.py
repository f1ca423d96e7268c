"""The demo's second part: a change log becomes the table it came from, by batches that messages launch."""

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

from onefold.adapters.bigquery.emulator import DEFAULT_PROJECT, EmulatedWarehouse
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.dataproc import EMULATOR, connect
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
from onefold.local.dataproc import dataproc_emulator
from onefold.local.load_workload import land
from onefold.local.processes import function_server, told_errors
from onefold.local.send_event import send_event
from onefold.ports.batches import Batches, BatchState, StoredBatch
from onefold.settings.batches import read_batch_settings
from onefold.views.display import show_rows

TABLE = "account"
OPTIONS = WorkloadOptions(operations=1000, key_changes=0.1, duplicates=0.1, shuffle=True, every_type=False)
COLUMNS = ("id", "name", "amount")
_REGION = "europe-west1"
_SETTINGS = {
    "ONEFOLD_BATCH_REGION": _REGION,
    "ONEFOLD_BATCH_SERVICE_ACCOUNT": f"batches@{DEFAULT_PROJECT}.iam.gserviceaccount.com",
    "ONEFOLD_BATCH_CODE": "gs://code/onefold",
}


def play_batches(console: Console, client: bigquery.Client, host: str, dataset: str) -> None:
    """Land a workload, merge it in two batches, compare with the truth, and run both again.

    Args:
        host: the emulator's, for the jobs.
        dataset: is there already.

    Raises:
        Rejected: a batch failed, or its table is not the truth.
    """
    workload = make_workload(OPTIONS)
    console.print()
    console.rule("[bold]A change log becomes a table")
    (changes,) = workload.changes.values()
    land(client, TableId(DEFAULT_PROJECT, dataset, TABLE), changes)
    console.print(
        f"{OPTIONS.operations:,} operations at a source ({_counted(workload.counts)}) arrive as "
        f"{counted(len(changes), 'change')}, in any order and some of them twice, in [bold]{TABLE}[/]. "
        f"At the end the source has {counted(len(workload.truth), 'row')}."
    )
    with _launcher(host, dataset) as (batches, url, log):
        batching = _BatchDemo(console, EmulatedWarehouse(client), batches, url, log, dataset)
        middle = _middle(workload)
        batching.merge("first batch", {"to": middle})
        batching.merge("second batch", {"from": middle})
        batching.check(workload.truth)
        before = batching.base()
        batching.merge("first batch, again", {"to": middle})
        batching.merge("second batch, again", {"from": middle})
        if batching.base() != before:
            raise Rejected(f"{TABLE}_base is another one after both batches ran again")
        console.print(
            f"\nRun again, both batches change nothing: all {counted(len(before), 'row')}, tombstones too, are as they were."
        )


@dataclass(frozen=True)
class _BatchDemo:
    console: Console
    warehouse: BigQueryWarehouse
    batches: Batches
    url: str
    log: IO[bytes]
    dataset: str

    def merge(self, which: str, window: Mapping[str, str]) -> None:
        """Send the message, and follow its batch to the end."""
        message = json.dumps(
            {
                "job": "reconcile",
                "dataset": self.dataset,
                "table": {"name": TABLE},
                "arguments": {"keys": ["id"], **window},
            }
        ).encode()
        self.console.print(f"\n[bold]The {which}.[/]")
        # Whatever its length, a message is one line, as it is sent.
        self.console.print(f"message: {message.decode()}", highlight=False, soft_wrap=True)
        id_ = batch_id(parse_batch_request(message), send_event(self.url, message))
        with self.console.status("the batch runs ..."):
            ended = self._follow(id_)
        if ended.state is not BatchState.SUCCEEDED:
            raise Rejected(f"batch {ended.id} {ended.state.value}: {ended.message}")
        self.console.print(f"batch {ended.id}: {ended.state.value}", highlight=False)

    def _follow(self, id_: str) -> StoredBatch:
        try:
            return follow(self.batches, id_, lambda _: None)
        except OnefoldError as error:
            raise Rejected(f"{error}\nThe log of launch_batch:\n{told_errors(self.log)}") from error

    def check(self, truth: Sequence[Row]) -> None:
        """Compare with the truth, row by row, and show what was compared."""
        live = [
            {name: value for name, value in row.items() if name in COLUMNS} for row in self.base() if not row["_deleted"]
        ]
        found = compare_rows(live, truth, ["id"])
        show_rows(
            self.console,
            f"{TABLE}_base beside the truth",
            ["", f"{TABLE}_base", "truth"],
            [
                ("rows", found.left_rows, found.right_rows),
                ("rows that the other has not", len(found.only_left), len(found.only_right)),
                ("rows that differ", len({difference.key for difference in found.differences}), ""),
            ],
        )
        if not found.same:
            raise Rejected(f"{TABLE}_base is not the truth")

    def base(self) -> list[dict[str, Any]]:
        rows = self.warehouse.read_rows(TableId(DEFAULT_PROJECT, self.dataset, f"{TABLE}_base"))
        return sorted((dict(row) for row in rows), key=lambda row: int(row["id"]))


@contextlib.contextmanager
def _launcher(host: str, dataset: str) -> Iterator[tuple[Batches, str, IO[bytes]]]:
    """The stand-in's batches, the URL of the function that launches them, and the function's log."""
    # Dataproc's regions are named as ONEFOLD_BATCH_REGION is; here any will do.
    with dataproc_emulator({"BIGQUERY_EMULATOR_HOST": host}) as dataproc, tempfile.TemporaryFile() as log:
        os.environ[EMULATOR] = dataproc
        environ = {"ONEFOLD_PROJECT": DEFAULT_PROJECT, "ONEFOLD_DATASETS": dataset, **_SETTINGS}
        with (
            function_server("launch_batch", environ, log) as url,
            contextlib.closing(connect(DEFAULT_PROJECT, read_batch_settings(_SETTINGS, []))) as batches,
        ):
            yield batches, url, log


def _middle(workload: Workload) -> str:
    """The sequence in the middle of all, as the source wrote it."""
    sequences = {change[METADATA]["change_sequence_number"] for changes in workload.changes.values() for change in changes}
    return str(sorted(sequences, key=lambda sequence: str(Position(sequence)))[len(sequences) // 2])


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(counted(count, kind) for kind, count in counts.items() if count)
